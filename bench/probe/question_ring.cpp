// Whether one arrival a warpgroup may release a slot of a ring, or each warp must: the products
// that a ring of two slots feeds, with warps held up at random, against the exact sums.
#include <cstring>

#include <fmt/format.h>

#include "probe/question.h"
#include "probe/questions.h"
#include "probe/values.h"

namespace tang::probe {

namespace {

// Tiles of small integers, A and B of each stage: as numbers, and as bytes with 128-byte swizzle.
struct Tiles {
  std::vector<int> numbers;  // [tile][A, B][row][k]
  std::vector<std::byte> bytes;
};

Tiles make_tiles() {
  Tiles t;
  t.bytes.resize(ring_tiles * ring_stage_bytes);
  uint32_t state = 1;
  for (uint32_t tile = 0; tile < 2 * ring_tiles; ++tile)
    for (uint32_t row = 0; row < 64; ++row)
      for (uint32_t k = 0; k < 64; ++k) {
        state = state * 1664525 + 1013904223;
        const int x = static_cast<int>(state >> 28) % 3 - 1;
        t.numbers.push_back(x);
        const int64_t at = span_swizzle(128).apply(row * 128 + k * 2);
        store_element(Format::bf16, &t.bytes[tile * ring_tile_bytes + at], 0, x);
      }
  return t;
}

// What each thread's 32 registers hold after so many stages.
std::vector<float> expected(const Tiles& t, uint32_t count) {
  std::vector<double> d(64 * 64, 0);
  for (uint32_t tile = 0; tile < ring_tiles; ++tile) {
    const double times = count / ring_tiles + (tile < count % ring_tiles ? 1 : 0);
    const int* a = &t.numbers[2 * tile * 4096];
    const int* b = a + 4096;
    for (int m = 0; m < 64; ++m)
      for (int n = 0; n < 64; ++n) {
        int sum = 0;
        for (int k = 0; k < 64; ++k) sum += a[m * 64 + k] * b[n * 64 + k];
        d[m * 64 + n] += times * sum;
      }
  }
  std::vector<float> registers;
  for (int thread = 0; thread < 128; ++thread)
    for (int r = 0; r < 32; ++r) {
      const int m = thread / 32 * 16 + thread % 32 / 4 + r / 2 % 2 * 8;
      const int n = thread % 4 * 2 + r % 2 + r / 4 * 8;
      registers.push_back(static_cast<float>(d[m * 64 + n]));
    }
  return registers;
}

Result<Finding> ask_mode(Bench& bench, const Tiles& tiles, uint32_t mode, const char* name) {
  const auto function = bench.question("question_ring");
  if (!function) return tl::unexpected(function.error());
  constexpr uint32_t count = 3000;
  const uint32_t blocks = bench.driver().cores();
  const size_t out_bytes = blocks * 256 * 32 * 4;
  std::vector<std::byte> memory(tiles.bytes.size() + 256 + out_bytes);
  std::copy(tiles.bytes.begin(), tiles.bytes.end(), memory.begin());
  QuestionArgs q{};
  q.in = bench.memory();
  q.other = q.in + tiles.bytes.size();
  q.out = q.other + 256;
  q.count = count;
  q.mode = mode;
  const Launch l{*function, blocks, ring_threads, 1, ring_depth * ring_stage_bytes + 1024,
                 false,     &q};
  const std::vector<float> wanted = expected(tiles, count);
  Finding f{"ring", name, true, ""};
  size_t wrong = 0, blocks_wrong = 0;
  uint32_t late = 0;
  for (int run = 0; run < 20; ++run) {
    Result<void> r = bench.driver().write(bench.memory(), memory);
    if (r) r = bench.driver().launch(l);
    if (r) r = bench.driver().wait();
    std::vector<std::byte> found(memory.size());
    if (r) r = bench.driver().read(bench.memory(), found);
    if (!r) return tl::unexpected(r.error());
    std::memcpy(&late, &found[tiles.bytes.size()], 4);
    for (uint32_t group = 0; group < 2 * blocks; ++group) {
      const std::byte* at = &found[tiles.bytes.size() + 256 + group * wanted.size() * 4];
      size_t here = 0;
      for (size_t k = 0; k < wanted.size(); ++k) {
        float x = 0;
        std::memcpy(&x, at + 4 * k, 4);
        here += x != wanted[k];
      }
      wrong += here;
      blocks_wrong += here != 0;
    }
    if (late) break;
  }
  f.ok = mode == 2 ? wrong > 0 : wrong == 0 && !late;
  f.what = fmt::format("{}: {} of {} sums wrong, in {} warpgroups of {}{}", name, wrong,
                       20 * 2 * blocks * wanted.size(), blocks_wrong, 20 * 2 * blocks,
                       late ? "; a wait timed out" : "");
  return f;
}

}  // namespace

Findings ask_ring(Bench& bench) {
  const Tiles tiles = make_tiles();
  std::vector<Finding> result;
  constexpr const char* names[] = {"one arrival a warpgroup", "one arrival a warp",
                                   "nobody waits (must be wrong)"};
  for (uint32_t mode = 0; mode < 3; ++mode) {
    const auto f = ask_mode(bench, tiles, mode, names[mode]);
    if (!f) return tl::unexpected(f.error());
    result.push_back(*f);
  }
  return result;
}

}  // namespace tang::probe
