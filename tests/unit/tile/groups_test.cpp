// Tile programs of groups of threads: replicas, folds over warps, and the barriers that their
// memories want.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/barriers.h"
#include "tile/text.h"
#include "tile/verify.h"
#include "unit/tile/programs.h"

namespace tang::tile {
namespace {

using testing::HasSubstr;

// Sums of rows by four warps, of which every thread then reads two.
const std::string rows = R"(param N

kernel y on nvidia.sm90a {
  axis i, j, w0
  arg x[i : N, j : 256] : f32
  out y[i : N, j : 256] : f32
  memory row[w0 : 2] : shared f32 = [w0 : 4] align 64
  role all warps 0..3
  place one () = lane 32 replica, warp 4 replica
  place at_j (j) = elem 2 -> j, lane 32 -> 2j, warp 4 -> 64j
  loop ib from 0 to N parallel {
    a = load x[ib, j] -> at_j : f32
    s = reduce sum j : a -> one : f32
    store s -> row[0]
    store s -> row[1]
    barrier
    r = load row[0] -> one : f32
    q = load row[1] -> one : f32
    b = map a * r + q -> at_j : f32
    store b -> y[ib, j]
    barrier
  }
}
)";

Program parsed(const std::string& text) {
  auto p = parse_program(text, "test");
  EXPECT_TRUE(p) << (p ? "" : p.error().message);
  for (const Diagnostic& fault : verify(*p)) ADD_FAILURE() << fault.message;
  return std::move(*p);
}

// The text without the n-th line that holds `words`.
std::string without(std::string text, const std::string& words, int n) {
  size_t at = 0;
  for (int k = 0; k <= n; ++k) at = text.find(words, k == 0 ? 0 : at + 1);
  const size_t from = text.rfind('\n', at), to = text.find('\n', at);
  return text.erase(from, to - from);
}

// What the machine says at several orders of the warps; empty: it ran and the result is right.
std::string result_of(const std::string& text) {
  const Program p = parsed(text);
  const int64_t n = 3;
  Task t{p, {n}, {*make_array(Format::f32, {n, 256}), *make_array(Format::f32, {n, 256})}, {}, {1}};
  Array want = *make_array(Format::f32, {n, 256});
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 256; ++j) {
      t.arguments[0].set(256 * i + j, static_cast<double>((i + 1) * (j % 7)));
      sum += static_cast<double>((i + 1) * (j % 7));
    }
    for (int64_t j = 0; j < 256; ++j)
      want.set(256 * i + j, sum * static_cast<double>((i + 1) * (j % 7)) + sum);
  }
  t.expected = {want};
  std::string said;
  for (const uint64_t seed : {1, 2, 3}) {
    std::string now = run(t, p.kernels[0], {.seed = seed});
    if (seed > 1) EXPECT_EQ(now.empty(), said.empty());
    said = std::move(now);
  }
  return said;
}

TEST(TileGroups, FoldOverWarps) { EXPECT_EQ(result_of(rows), ""); }

TEST(TileGroups, ADroppedBarrierIsARace) {
  EXPECT_THAT(result_of(without(rows, "barrier", 0)), HasSubstr("kernel `y`"));
  EXPECT_THAT(result_of(without(rows, "barrier", 0)),
              testing::AnyOf(HasSubstr("race: "), HasSubstr("uninitialised: ")));
  EXPECT_THAT(result_of(without(rows, "barrier", 1)), HasSubstr("race: a write of byte"));
}

// Lanes of one warp are no exception.
TEST(TileGroups, LanesOfAWarpMeetAtBarriers) {
  std::string one = rows;
  const auto swap = [&](const std::string& from, const std::string& to) {
    for (size_t at = one.find(from); at != std::string::npos; at = one.find(from, at + to.size()))
      one.replace(at, from.size(), to);
  };
  swap("warps 0..3", "warps 0..0");
  swap("warp 4 replica", "warp 1 replica");
  swap("warp 4 -> 64j", "reg 4 -> 64j");
  EXPECT_EQ(result_of(one), "");
  EXPECT_THAT(result_of(without(one, "barrier", 0)), HasSubstr("race: a read of byte 0"));
}

// Warps that a placement knows nothing of all store.
TEST(TileGroups, TheFirstOfReplicasStores) {
  std::string all = rows;
  const size_t at = all.find("place one () = lane 32 replica, warp 4 replica");
  ASSERT_NE(at, std::string::npos);
  all.replace(at, 46, "place one () = single");
  EXPECT_THAT(result_of(all), HasSubstr("race: a write of byte"));
}

// An output in the memory of an input: threads that hold the same read it before one of them
// stores.
const std::string moved = R"(kernel m on nvidia.sm90a {
  axis c
  arg old[c : 8] : f32
  out new[c : 8] : f32
  role all warps 0..1
  place at_c (c) = lane 8 -> c, lane 4 replica, warp 2 replica
  a = load old[c] -> at_c : f32
  b = map a + 1.0 -> at_c : f32
  store b -> new[c]
}
)";

std::string in_place(const Program& p) {
  Array memory = *make_array(Format::f32, {8});
  const auto ran = run(p, p.kernels[0], {}, {&memory, &memory});
  if (!ran) return ran.error().message;
  for (int64_t k = 0; k < 8; ++k) EXPECT_EQ(memory.at(k), 1);
  return "";
}

TEST(TileGroups, OutputsInPlaceHaveBarriers) {
  Program p = parsed(moved);
  EXPECT_THAT(in_place(p), HasSubstr("race: element"));
  add_barriers(p.kernels[0]);
  EXPECT_THAT(in_place(p), HasSubstr("race: element"));
  add_barriers(p.kernels[0], {{static_cast<MemoryId>(1), static_cast<MemoryId>(0)}});
  EXPECT_EQ(in_place(p), "");
}

}  // namespace
}  // namespace tang::tile
