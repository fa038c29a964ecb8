// From a graph and its schedule to a loop program, through a tile program for each kernel
// (tile/lower.h).
//
// Buffers are the inputs in program order, then the outputs, then workspace: stored intermediate
// tensors and windows that are too large or not of constant size, and prepared windows, of which
// equal ones of one tensor are one. Reals are computed in f32, or f64
// when an input or output of the kernel is f64; integers in i64. A written format rounds where it
// is stored, and where its definition is recomputed inside another kernel.
#pragma once

#include "loop/program.h"
#include "schedule/schedule.h"
#include "tile/program.h"

namespace tang {

// One workspace buffer, for `allocations` of language.md section 2.
struct Allocation {
  std::string name;
  std::vector<Poly> shape;
  Format format = Format::f32;
  Poly bytes;
};

// The tile program that a kernel was made from.
struct Tiled {
  size_t kernel = 0;                    // of Lowered::tiles
  std::vector<loop::BufferId> buffers;  // of its memories that are arguments, in order
};

struct Lowered {
  LoopProgram program;
  std::vector<Allocation> allocations;      // workspace buffers, in the program's order
  tile::Program tiles;                      // of the kernels that have one
  std::vector<std::optional<Tiled>> tiled;  // by kernel of the loop program
  std::vector<Tiled> prepared;              // by prepare of the loop program
};

// Lowers what `schedule` plans, a plan of this graph. E0590 for a construct without lowering; a
// fault of the lowering itself is an internal error of the builder.
Result<Lowered> lower(const Graph& g, const Schedule& schedule);

}  // namespace tang
