// What a probe kernel gets: one structure for all rows, the same for the host and the device.
#pragma once

#include <cstdint>

namespace tang::probe {

constexpr int operands_most = 3;
constexpr uint32_t smem_align = 1024;  // bytes, of the dynamic shared memory's first byte

// Pointers are device addresses. Images of registers are words [thread][register].
struct alignas(64) Args {
  unsigned char map[128];               // the tensor map
  uint64_t registers[operands_most];    // before the row, of each operand
  uint64_t registers_out;               // of the result, after the row
  uint64_t shared_in, shared_out;       // images of shared memory; of each block of a cluster
  uint64_t global[operands_most];       // operands in global memory
  uint64_t offsets[operands_most];      // u32 of each thread: its operand's bytes from the first
  uint64_t descriptors[operands_most];  // matrix descriptors, but for the address of the image
  uint64_t status;                      // u32: 0 well, 1 a wait timed out, 2 memory not aligned
  uint32_t shared_bytes;                // of the image
  uint32_t barrier;                     // bytes from the image's first to the barrier
  uint32_t expect;                      // bytes that the barrier waits for
  uint32_t keep;                        // 1: the old accumulator counts
  uint32_t bytes;                       // of an operand
  int32_t by;                           // of a shuffle
  int32_t coordinates[5];
};

}  // namespace tang::probe
