// The fragment maps of matrix instructions and the relations between them.
#include "view/placement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "view/placement_text.h"
#include "view/relation.h"

namespace tang {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Placement place(std::string_view text, const AxisNames& axes = {"m", "n"}) {
  auto p = parse_placement(text, axes);
  EXPECT_TRUE(p) << text << ": " << (p ? "" : p.error().message);
  return p ? *p : Placement(axes.size());
}

// An accumulator of four warps, 64 × n f32, and the operands of the product after it, 64 × k.
Placement accumulator(int n) {
  return place(
      fmt::format("warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m, "
                  "reg {} -> 8n",
                  n / 8));
}
const char* operand_16 =
    "warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, elem 2 -> n, reg 2 -> 8m, reg 2 -> 8n";
const char* operand_32 = "warp 4 -> 16m, lane 8*4 -> m, lane 4 -> n, reg 2 -> 8m, reg 2 -> 4n";
const char* operand_8 =
    "warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 4n, elem 4 -> n, reg 2 -> 8m, reg 2 -> 16n";

TEST(Placement, AccumulatorByDigits) {
  const Placement p = accumulator(176);
  EXPECT_EQ(p.fault(), "");
  EXPECT_TRUE(p.is_bijective());
  EXPECT_EQ(p.box(), (Point{64, 176}));
  EXPECT_EQ(p.count(Level::warp), 4);
  EXPECT_EQ(p.count(Level::lane), 32);
  EXPECT_EQ(p.count(Level::reg), 88);
  for (int64_t k = 0; k < p.positions(); ++k) {
    const Position at = p.position(k);
    const int64_t w = at[size_t(Level::warp)], lane = at[size_t(Level::lane)];
    const int64_t r = at[size_t(Level::reg)];
    EXPECT_EQ(p.coordinates(at),
              (Point{16 * w + lane / 4 + 8 * (r / 2 % 2), 2 * (lane % 4) + r % 2 + 8 * (r / 4)}));
  }
}

TEST(Placement, FragmentsAreBijective) {
  for (const char* text : {operand_16, operand_32, operand_8,
                           "lane 8*4 -> m, lane 4 -> 2n, elem 2 -> n, reg 2 -> 8m, reg 2 -> 8n",
                           "lane 8*4 -> n, lane 4 -> 2m, elem 2 -> m, reg 2 -> 8m",
                           "lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m",
                           "lane 8*4 -> m, lane 4 -> 4n, elem 4 -> n, reg 2 -> 8m, reg 2 -> 16n"})
    EXPECT_TRUE(place(text).is_bijective()) << text;
}

TEST(Placement, RegisterTileOfTheAvxProduct) {
  const Placement acc = place("reg 6*2 -> m, reg 2 -> 8n, elem 8 -> n");
  EXPECT_TRUE(acc.is_bijective());
  EXPECT_EQ(acc.box(), (Point{6, 16}));
  EXPECT_EQ(project(acc, {0}, Use::replica),
            place("reg 6*2 -> m, reg 2 replica, elem 8 replica", {"m"}));
  EXPECT_EQ(project(acc, {1}, Use::partial),
            place("reg 6*2 partial, reg 2 -> 8n, elem 8 -> n", {"n"}));
}

TEST(Placement, Faults) {
  EXPECT_THAT(Placement(1).add(Level::reg, 2, Use::index).fault(), HasSubstr("no axis"));
  EXPECT_THAT(Placement(1).add(Level::reg, 2, Use::replica, {{0, 1}}).fault(),
              HasSubstr("replica or partial"));
  EXPECT_THAT(Placement(1).add(Level::reg, 2, Use::index, {{1, 1}}).fault(),
              HasSubstr("axis 1 of 1"));
  Placement gap(1);
  gap.digits.push_back({Level::lane, 4, 2, Use::index, {{0, 1}}});
  EXPECT_THAT(gap.fault(), HasSubstr("go on at 2"));
}

TEST(Placement, NotBijective) {
  EXPECT_FALSE(place("reg 4 -> m, lane 4 -> m", {"m"}).is_bijective());
  EXPECT_FALSE(place("reg 4 -> 2m", {"m"}).is_bijective());
  EXPECT_FALSE(place("reg 4 -> m, at 1m", {"m"}).is_bijective());
  EXPECT_TRUE(place("reg 4 -> m, lane 4 replica", {"m"}).is_bijective());
  EXPECT_TRUE(place("reg 4 -> -m, at 3m", {"m"}).is_bijective());
}

TEST(Placement, OwnersOfARow) {
  const Placement row = place("warp 4 -> 16m, lane 8*4 -> m, reg 2 -> 8m, lane 4 replica", {"m"});
  const auto held = owners(row, {27});  // warp 1, g = 3, upper half
  ASSERT_EQ(held.size(), 4u);
  for (int64_t t = 0; t < 4; ++t) {
    EXPECT_EQ(held[size_t(t)][size_t(Level::warp)], 1);
    EXPECT_EQ(held[size_t(t)][size_t(Level::lane)], 12 + t);
    EXPECT_EQ(held[size_t(t)][size_t(Level::reg)], 1);
  }
  EXPECT_TRUE(owners(row, {64}).empty());
  EXPECT_TRUE(owners(row, {-1}).empty());
}

// ---- relations ---------------------------------------------------------------------------------

TEST(Relation, SixteenBitOperandIsTheAccumulator) {
  const Conversion c = relation(accumulator(16), place(operand_16), 1);
  EXPECT_EQ(c.relation, Relation::same);
}

TEST(Relation, Tf32OperandPermutesEightKeys) {
  const Conversion c = relation(accumulator(8), place(operand_32), 1);
  EXPECT_EQ(c.relation, Relation::k_perm);
  EXPECT_EQ(c.axis, 1u);
  EXPECT_THAT(c.order, ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(c.registers, ElementsAre(0, 2, 1, 3));
  EXPECT_EQ(relation(accumulator(8), place(operand_32)).relation, Relation::shuffle);
}

TEST(Relation, ByteOperandPermutesThirtyTwoKeys) {
  const Conversion c = relation(accumulator(32), place(operand_8), 1);
  EXPECT_EQ(c.relation, Relation::k_perm);
  EXPECT_THAT(c.order, ElementsAre(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                                   16, 17, 24, 25, 18, 19, 26, 27, 20, 21, 28, 29, 22, 23, 30, 31));
}

TEST(Relation, Others) {
  const Placement rows = place("lane 4 -> m, reg 4 -> n"),
                  columns = place("lane 4 -> n, reg 4 -> m");
  EXPECT_EQ(relation(rows, columns).relation, Relation::shuffle);
  EXPECT_EQ(relation(place("warp 4 -> m, reg 4 -> n"), place("warp 4 -> n, reg 4 -> m")).relation,
            Relation::via_shared);
  const Conversion c =
      relation(place("lane 4 -> m, reg 2 -> 2n, reg 2 -> n"), place("lane 4 -> m, reg 4 -> n"));
  EXPECT_EQ(c.relation, Relation::reg_perm);
  EXPECT_THAT(c.registers, ElementsAre(0, 2, 1, 3));
}

TEST(Relation, PartialDigits) {
  const AxisNames m = {"m"};
  const Placement sums = place("lane 8*4 -> m, lane 4 partial", m);
  const Placement rows = place("lane 8*4 -> m, lane 4 replica", m);
  EXPECT_EQ(relation(sums, rows).relation, Relation::fold);
  EXPECT_EQ(relation(rows, sums).relation, Relation::mask);
  EXPECT_EQ(relation(sums, place("lane 8*4 -> m, lane 2*2 partial, lane 2 partial", m)).relation,
            Relation::same);
  EXPECT_EQ(relation(sums, place("lane 8 -> m, lane 4 partial", m)).relation, Relation::fold);
}

}  // namespace
}  // namespace tang
