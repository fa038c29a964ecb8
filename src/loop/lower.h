// From a graph and its schedule to a loop program: the seam that tile programs will replace.
//
// Buffers are the inputs in program order, then the outputs, then workspace: stored intermediate
// tensors and rows of accumulators that are too large or not of constant size. A kernel is a nest
//
//     for outer points { states = identity; for reduce, within the guards { states = states (+)
//     lift(args), inner points innermost }; for inner points { store value(states) } }
//
// Affine guards become loop bounds (equalities give loops of one iteration), others `if`. Reals are
// computed in f32, or f64 when an input or output of the kernel is f64; integers in i64. A written
// format rounds where it is stored, and where its definition is recomputed inside another kernel.
#pragma once

#include "loop/program.h"
#include "schedule/schedule.h"

namespace tang {

// One workspace buffer, for `allocations` of language.md section 2.
struct Allocation {
  std::string name;
  std::vector<Poly> shape;
  Format format = Format::f32;
  Poly bytes;
};

struct Lowered {
  LoopProgram program;
  std::vector<Allocation> allocations;  // workspace buffers, in the program's order
};

// Lowers what `schedule` plans, a plan of this graph. E0590 for a construct without lowering; a
// fault of the lowering itself is an internal error of the builder.
Result<Lowered> lower(const Graph& g, const Schedule& schedule);

}  // namespace tang
