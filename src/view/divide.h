// A tile as repetitions of a smaller one: the accumulator of a block as so many fragments of an
// instruction.
//
//   tile   warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m, reg 16 -> 8n
//   piece  lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m
//   rest   warp 4 -> 16m, reg 16*4 -> 8n
#pragma once

#include "view/placement.h"

namespace tang {

struct Division {
  std::vector<Digit> rest;  // the tile's digits that are not the piece's; strides of the tile
  std::vector<int64_t>
      registers;  // the piece's register r is the tile's registers[r], in the first
};

// One piece of a thread.
struct PieceAt {
  int64_t register_offset = 0;  // added to Division::registers
  Point offset;                 // added to the piece's coordinates
};

// Empty if the tile is no repetition of the piece. Threads and elements of registers must have the
// piece's numbers; registers may be numbered otherwise. A digit of the tile may hold one of the
// piece as its lower part. The base of the tile is its first piece's.
std::optional<Division> divide(const Placement& tile, const Placement& piece);

// The pieces that each thread holds, by the values of the rest's register digits, the first of them
// slowest. Other digits of the rest say how pieces differ between threads.
std::vector<PieceAt> pieces(const Division& division, size_t rank);

}  // namespace tang
