// What the kernels of questions.cu get: one structure, the same for the host and the device.
#pragma once

#include <cstdint>

namespace tang::probe {

struct alignas(64) QuestionArgs {
  unsigned char map[128];
  uint64_t in, out;  // device addresses
  uint64_t other;
  uint32_t count;  // of iterations, …
  uint32_t mode;
};

// The ring of question 2: tiles of A and B, 64 × 64 bf16 each with 128-byte swizzle.
constexpr uint32_t ring_tile_bytes = 64 * 64 * 2;
constexpr uint32_t ring_stage_bytes = 2 * ring_tile_bytes;
constexpr uint32_t ring_depth = 2, ring_tiles = 16;
constexpr uint32_t ring_consumers = 2;  // warpgroups
constexpr uint32_t ring_threads = 128 * ring_consumers + 32;

}  // namespace tang::probe
