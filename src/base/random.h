// Random inputs (language.md section 2, "Files"): one stream per (seed, name), so a value depends
// on neither device nor order nor the other inputs.
//
// A stream is counter-based: element i is a pure function of (seed, name, i), by Philox4x32 with 10
// rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). The 128-bit XXH3
// hash of the name, seeded with the seed, gives the 64-bit key and the upper half of the counter;
// the lower half counts blocks. A block of four 32-bit words serves two 64-bit draws.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/array.h"

namespace tang {

// The bijection itself, for tests against the published vectors.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name);

  // Draw `index`: uniform over all 64-bit values.
  uint64_t bits(uint64_t index) const;

  // Uniform over [0, 1), a multiple of 2^-53.
  double uniform(uint64_t index) const;

  // Standard normal, in f64. Box–Muller turns the two draws of a block into two normals, so draws
  // 2k and 2k + 1 are independent too.
  double normal(uint64_t index) const;

  // Uniform over low … high, both included; high >= low. The bias is below range / 2^64.
  int64_t integer(uint64_t index, int64_t low, int64_t high) const;

 private:
  std::array<uint64_t, 2> block(uint64_t number) const;

  uint64_t key_;
  uint64_t high_counter_;
};

// Fill a whole array, element i from draw i. Reals are rounded to the format, or quantised to its
// blocks; bools are fair.
void fill_normal(Array& array, const RandomStream& stream);
void fill_integers(Array& array, const RandomStream& stream, int64_t low, int64_t high);
void fill_bools(Array& array, const RandomStream& stream);

}  // namespace tang
