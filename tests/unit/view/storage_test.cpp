#include "view/storage.h"

#include <set>

#include <gtest/gtest.h>

#include "view/placement_text.h"

namespace tang {
namespace {

const AxisNames mk = {"m", "k"};

Storage store(std::string_view text, const AxisNames& axes = mk, const Names& names = {}) {
  auto s = parse_storage(text, axes, names);
  EXPECT_TRUE(s) << text << ": " << (s ? "" : s.error().message);
  return s ? *s : Storage{};
}

Placement place(std::string_view text, const AxisNames& axes = mk) {
  auto p = parse_placement(text, axes);
  EXPECT_TRUE(p) << text << ": " << (p ? "" : p.error().message);
  return p ? *p : Placement(axes.size());
}

TEST(Swizzle, OfSpans) {
  EXPECT_EQ(span_swizzle(128), (Swizzle{3, 4, 3}));
  EXPECT_EQ(span_swizzle(64), (Swizzle{2, 4, 3}));
  EXPECT_EQ(span_swizzle(32), (Swizzle{1, 4, 3}));
  EXPECT_EQ(span_swizzle(0).bits, 0);
  EXPECT_EQ(span_swizzle(128).period(), 1024);
  EXPECT_EQ(span_swizzle(32).period(), 256);
  EXPECT_EQ(Swizzle{}.period(), 1);
}

TEST(Swizzle, PermutesItsAtom) {
  for (int64_t span : {32, 64, 128}) {
    const Swizzle w = span_swizzle(span);
    std::set<int64_t> seen;
    for (int64_t a = 0; a < w.period(); ++a) {
      EXPECT_EQ(w.apply(w.apply(a)), a);
      EXPECT_EQ(w.apply(a + 3 * w.period()), w.apply(a) + 3 * w.period());
      seen.insert(w.apply(a));
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), w.period());
    EXPECT_EQ(*seen.rbegin(), w.period() - 1);
  }
}

TEST(Swizzle, ColumnsFallInDifferentBankGroups) {
  const Swizzle w = span_swizzle(128);
  for (int64_t column = 0; column < 8; ++column) {
    std::set<int64_t> groups;
    for (int64_t row = 0; row < 8; ++row)
      groups.insert(w.apply(row * 128 + column * 16) % 128 / 16);
    EXPECT_EQ(groups.size(), 8u);
  }
}

TEST(Storage, PackedPanels) {
  const Names panel = [](std::string_view name) -> std::optional<int64_t> {
    return name == "KC" ? std::optional<int64_t>(256) : std::nullopt;
  };
  const AxisNames kn = {"k", "n"};
  const Storage b = store("[n/16 : 64*KC, k : 64, n%16 : 4] align 64", kn, panel);
  EXPECT_EQ(b.address({0, 0}), 0);
  EXPECT_EQ(b.address({3, 21}), 64 * 256 + 3 * 64 + 5 * 4);
  EXPECT_TRUE(b.is_injective({256, 48}, 4));
  EXPECT_EQ(b.bytes({256, 48}, 4), 256 * 48 * 4);
  const Storage a = store("[m/6 : 24*KC, k : 24, m%6 : 4] align 64", mk, panel);
  EXPECT_EQ(a.address({13, 7}), 2 * 24 * 256 + 7 * 24 + 1 * 4);
  EXPECT_TRUE(a.is_injective({144, 256}, 4));
  EXPECT_EQ(vector_width(place("reg 2 -> 8n, elem 8 -> n", kn), b, 4, 8), 8);
}

TEST(Storage, WideTileOfSpans) {
  const Storage s = store("[k/64 : 16384, m : 128, k%64 : 2] sw128 align 1024");
  EXPECT_EQ(s.address({0, 64}), 16384);
  EXPECT_EQ(s.address({1, 0}), 128 + 16);
  EXPECT_EQ(s.address({9, 10}), (9 * 128 + 20) ^ 16);
  EXPECT_TRUE(s.is_injective({128, 128}, 2));
  EXPECT_EQ(s.bytes({128, 128}, 2), 32768);
}

TEST(Storage, RowMajorAndOverlap) {
  const Storage s = row_major({3, 5}, 4);
  EXPECT_EQ(s, store("[m : 20, k : 4] align 4"));
  EXPECT_EQ(s.bytes({3, 5}, 4), 60);
  EXPECT_EQ(s.bytes({0, 5}, 4), 0);
  EXPECT_TRUE(s.is_injective({3, 5}, 4));
  EXPECT_FALSE(s.is_injective({3, 6}, 4));
  EXPECT_FALSE(store("[k : 1]").is_injective({1, 2}, 2));
}

// hopper.md section 6: the pieces of an accumulator are stored by four matrices of 8 rows at a
// time.
TEST(Storage, StmatrixAddressesAreThoseOfTheTile) {
  const Storage s = store("[m : 128, k : 2] sw128 align 1024");
  // Lane 8i + r gives the address of row r of matrix i, here (8 i%2 + r, 8 i/2) of a 16 × 16 piece.
  const Placement rows =
      place("warp 4 -> 16m, lane 8 -> m, lane 2 -> 8m, lane 2 -> 8k, reg 4 -> 16k");
  const Placement holds = place(
      "warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2k, reg 2 -> k, reg 2 -> 8m, reg 2 -> 8k, "
      "reg 4 -> 16k");
  EXPECT_EQ(rows.box(), (Point{64, 57}));
  for (int64_t k = 0; k < rows.positions(); ++k) {
    const Position at = rows.position(k);
    const int64_t w = at[size_t(Level::warp)], lane = at[size_t(Level::lane)];
    const int64_t row = 16 * w + (lane & 7) + 8 * ((lane >> 3) & 1);
    const int64_t a = row * 128 + 32 * at[size_t(Level::reg)] + 16 * (lane >> 4);
    ASSERT_EQ(s.address(rows.coordinates(at)), a ^ ((a >> 3) & 0x70));
  }
  for (int64_t k = 0; k < holds.positions(); ++k) {  // the element is in the row that is stored
    const Position at = holds.position(k);
    const Point x = holds.coordinates(at);
    const int64_t lane = at[size_t(Level::lane)], r = at[size_t(Level::reg)];
    const int64_t matrix = r / 2 % 4;
    Position giver = at;
    giver[size_t(Level::lane)] = 8 * matrix + lane / 4;
    giver[size_t(Level::reg)] = r / 8;
    ASSERT_EQ(s.address(x), s.address(rows.coordinates(giver)) + 2 * (2 * (lane % 4) + r % 2));
  }
  EXPECT_EQ(bank_conflicts(place("lane 8 -> m, lane 4 -> 8k, elem 8 -> k"), s, 2, 8), 1);
}

TEST(Storage, VectorWidth) {
  const Placement rows = place("lane 32 -> m, reg 8 -> k");
  EXPECT_EQ(vector_width(rows, store("[m : 16, k : 2] align 16"), 2, 8), 8);
  EXPECT_EQ(vector_width(rows, store("[m : 16, k : 2] align 16"), 2, 4), 4);
  EXPECT_EQ(vector_width(rows, store("[m : 16, k : 2] align 4"), 2, 8), 2);
  EXPECT_EQ(vector_width(rows, store("[m : 24, k : 2] align 16"), 2, 8), 4);
  EXPECT_EQ(vector_width(rows, store("[m : 16, k : 2] at 2 align 16"), 2, 8), 1);
  EXPECT_EQ(vector_width(rows, store("[m : 128, k : 2] sw128 align 1024"), 2, 16), 8);
  EXPECT_EQ(vector_width(place("lane 32 -> k, reg 8 -> m"), row_major({8, 32}, 4), 4, 4), 1);
}

TEST(Storage, BankConflicts) {
  const Placement column = place("lane 32 -> m, reg 1 -> k");
  EXPECT_EQ(bank_conflicts(column, store("[m : 128, k : 4]"), 4, 1), 32);
  EXPECT_EQ(bank_conflicts(column, store("[m : 132, k : 4]"), 4, 1), 1);
  EXPECT_EQ(bank_conflicts(column, store("[k : 128, m : 4]"), 4, 1), 1);
  EXPECT_EQ(bank_conflicts(place("lane 32 replica, reg 1 -> m"), store("[m : 4]"), 4, 1), 1);
  EXPECT_EQ(bank_conflicts(place("lane 32 -> m, reg 4 -> k"), store("[m : 16, k : 4]"), 4, 4), 1);
  EXPECT_EQ(bank_conflicts(place("lane 32 -> m, reg 4 -> k"), store("[m : 16, k : 4]"), 4, 1), 4);
}

}  // namespace
}  // namespace tang
