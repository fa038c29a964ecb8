// A division is what it says: every piece, put in its place, is that part of the tile.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/random_placement.h"
#include "view/divide.h"
#include "view/placement_text.h"

namespace tang::law {
namespace {

using namespace test;

// The pieces of the first thread digits, each element once, and what the tile has there.
void check_pieces(const Placement& tile, const Placement& piece, const Division& d) {
  const std::vector<PieceAt> all = pieces(d, piece.rank());
  std::set<int64_t> registers;
  for (const PieceAt& p : all)
    for (int64_t k = 0, n = piece.positions(); k < n; ++k) {
      Position at = piece.position(k);
      Point x = piece.coordinates(at);
      int64_t& r = at[static_cast<size_t>(Level::reg)];
      r = d.registers[static_cast<size_t>(r)] + p.register_offset;
      registers.insert(r);
      for (size_t a = 0; a < x.size(); ++a) x[a] += p.offset[a];
      RC_ASSERT(tile.coordinates(at) == x);
    }
  RC_ASSERT(static_cast<int64_t>(registers.size()) == tile.count(Level::reg));
}

RC_GTEST_PROP(Divide, RepetitionsAreFound, (uint64_t seed)) {
  Random random(seed);
  const Placement piece = random_tile(random, 2);
  Placement tile = piece;
  for (int64_t k = draw(random, 0, 3); k > 0; --k)
    tile = repeat(tile, static_cast<uint32_t>(random() % 2), draw(random, 1, 3),
                  random() % 3 ? Level::reg : Level::warp);
  // Registers may be numbered otherwise.
  std::vector<Digit*> registers;
  for (Digit& d : tile.digits)
    if (d.level == Level::reg) registers.push_back(&d);
  std::shuffle(registers.begin(), registers.end(), random);
  int64_t stride = 1;
  for (Digit* d : registers) {
    d->stride = stride;
    stride *= d->extent;
  }
  const auto d = divide(tile, piece);
  RC_ASSERT(d.has_value());
  RC_ASSERT(static_cast<int64_t>(d->registers.size()) == piece.count(Level::reg));
  int64_t rest = 1;
  for (const Digit& digit : d->rest) rest *= digit.extent;
  RC_ASSERT(rest * piece.positions() == tile.positions());
  check_pieces(tile, piece, *d);
}

RC_GTEST_PROP(Divide, WhatIsFoundIsRight, (uint64_t seed)) {
  Random random(seed);
  const Placement piece = random_tile(random, 1), tile = random_tile(random, 1);
  if (const auto d = divide(tile, piece)) check_pieces(tile, piece, *d);
}

TEST(Divide, AccumulatorOfFragments) {
  const AxisNames mn = {"m", "n"};
  const auto place = [&](const char* text) { return parse_placement(text, mn).value(); };
  const Placement tile =
      place("warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m, reg 4 -> 8n");
  const Placement piece = place("lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m");
  const auto d = divide(tile, piece);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->rest.size(), 2u);
  EXPECT_EQ(d->registers, (std::vector<int64_t>{0, 1, 2, 3}));
  const auto all = pieces(*d, 2);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[3].register_offset, 12);
  EXPECT_EQ(all[3].offset, (Point{0, 24}));
  // A digit of the tile holds one of the piece as its lower part.
  const Placement wide = place("lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m, reg 2 -> 8n");
  EXPECT_EQ(pieces(*divide(tile, wide), 2)[1].offset, (Point{0, 16}));
  EXPECT_FALSE(divide(piece, tile));
  EXPECT_FALSE(divide(tile, place("lane 4*8 -> n, lane 8 -> m")));
}

}  // namespace
}  // namespace tang::law
