#include "view/placement_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tang {
namespace {

using testing::HasSubstr;

const AxisNames mnk = {"m", "n", "k"};

std::optional<int64_t> size_of(std::string_view name) {
  if (name == "n") return 176;
  if (name == "KC") return 256;
  return std::nullopt;
}

std::string reprinted(std::string_view text) {
  const auto p = parse_placement(text, mnk, size_of);
  return p ? print(*p, mnk) : p.error().message;
}

std::string storage_reprinted(std::string_view text) {
  const auto s = parse_storage(text, mnk, size_of);
  return s ? print(*s, mnk) : s.error().message;
}

TEST(PlacementText, Canonical) {
  for (const char* text : {
           "warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 32 -> 8n",
           "warp 4 -> 16m, lane 8*4 -> m, reg 2 -> 8m, lane 4 replica",
           "lane 4 partial, lane 8 -> m",
           "reg 4 -> m + 4n, elem 2 -> 3m - 2k",
           "reg 4 -> -m, at 3m - 8n",
           "device 2 -> m, grid 2 -> 2m, cluster 2 -> 4m, group 2 -> 8m, step 2 -> 16m",
           "single",
           "at 64m",
       })
    EXPECT_EQ(reprinted(text), text);
}

TEST(PlacementText, StridesLeftOut) {
  EXPECT_EQ(reprinted("reg 2*1 -> n, reg 2*2 -> m, reg 32*4 -> 8n"),
            "reg 2 -> n, reg 2 -> m, reg 32 -> 8n");
  EXPECT_EQ(reprinted("lane 8*4 -> m, lane 4*1 -> n"), "lane 8*4 -> m, lane 4 -> n");
  const auto p = parse_placement("lane 8*4 -> m, lane 4 -> n, lane 2 replica", mnk);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->digits[1].stride, 1);
  EXPECT_EQ(p->digits[2].stride, 32);
}

TEST(PlacementText, Expressions) {
  EXPECT_EQ(reprinted("reg n/8 -> 8n"), "reg 22 -> 8n");
  EXPECT_EQ(reprinted("reg n/8*4 -> 8n, reg 4 -> (n/16 - 3)m"), "reg 22*4 -> 8n, reg 4 -> 8m");
  EXPECT_EQ(reprinted("reg (n % 16 + 2) -> n"), "reg 2 -> n");
  EXPECT_EQ(storage_reprinted("[n/16 : 64*KC, k : 64, n%16 : 4] align 64"),
            "[n/16 : 16384, k : 64, n%16 : 4] align 64");
}

TEST(PlacementText, Storages) {
  for (const char* text : {"[k/64 : 16384, m : 128, k%64 : 2] sw128 align 1024",
                           "[k/16%4 : 32, m : 128] at 64 sw32", "[m : 4] sw(2,5,3)", "[]"})
    EXPECT_EQ(storage_reprinted(text), text);
}

struct Wrong {
  const char* text;
  int column;
  const char* message;
};

TEST(PlacementText, Errors) {
  for (const Wrong& w : {
           Wrong{"lanes 4 -> m", 1, "`lanes` is not a level"},
           Wrong{"lane 4 > m", 8, "use is expected"},
           Wrong{"lane 4 -> x", 11, "no axis is called `x`"},
           Wrong{"lane -> x", 6, "number is expected"},
           Wrong{"lane 4 -> m + m", 16, "stands twice"},
           Wrong{"lane 4 -> 0m", 11, "coefficient is 0"},
           Wrong{"lane q -> m", 6, "`q` has no value"},
           Wrong{"lane n/7 -> m", 6, "176 is not a multiple of 7"},
           Wrong{"lane n/(n - n) -> m", 6, "divided by 0"},
           Wrong{"lane (n - n) -> m", 6, "an extent is 0"},
           Wrong{"lane 4 -> m lane 8 -> n", 13, "goes on"},
           Wrong{"lane 4*2 -> m", 1, "go on at 2"},
           Wrong{"lane (4 -> m", 9, "not closed"},
           Wrong{"lane 99999999999999999999 -> m", 6, "number is expected"},
           Wrong{"", 1, "is not a level"},
           Wrong{"lane 65536 -> m, reg 65536 -> n", 18, "more than 2^30 positions"},
           Wrong{"lane 4 -> 2147483648m", 11, "a coefficient is 2147483648"},
       }) {
    const auto p = parse_placement(w.text, mnk, size_of);
    ASSERT_FALSE(p) << w.text;
    EXPECT_EQ(p.error().id, "E0111");
    EXPECT_EQ(p.error().where.col, w.column) << w.text;
    EXPECT_THAT(p.error().message, HasSubstr(w.message)) << w.text;
  }
}

TEST(PlacementText, StorageErrors) {
  for (const Wrong& w : {
           Wrong{"m : 4", 1, "begins with `[`"},
           Wrong{"[m 4]", 4, "bytes are expected"},
           Wrong{"[m : 4", 7, "not closed"},
           Wrong{"[q : 4]", 2, "no axis is called `q`"},
           Wrong{"[m%0 : 4]", 4, "less than 1"},
           Wrong{"[m : 4] sw256", 9, "goes on"},
           Wrong{"[m : 4] sw(3,4,2)", 18, "less than its bits"},
           Wrong{"[m : 4] align 0", 16, "less than 1"},
           Wrong{"[m : 9999999999999]", 6, "too many"},
       }) {
    const auto s = parse_storage(w.text, mnk, size_of);
    ASSERT_FALSE(s) << w.text;
    EXPECT_EQ(s.error().where.col, w.column) << w.text;
    EXPECT_THAT(s.error().message, HasSubstr(w.message)) << w.text;
  }
}

}  // namespace
}  // namespace tang
