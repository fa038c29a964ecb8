// A program ready for devices: a graph in the softmax reading, its schedule and its loop program,
// with the correspondence between tensors and buffers.
#pragma once

#include "loop/lower.h"

namespace tang {

struct Variant {
  Graph graph;  // after the softmax reading
  Schedule schedule;
  Lowered lowered;
  std::vector<std::optional<loop::BufferId>> buffer_of;  // by TensorId: where its value lies
  std::vector<loop::BufferId> outputs;                   // in program order

  const LoopProgram& program() const { return lowered.program; }
};

// Reads, plans and lowers a bound or symbolic graph. Errors of plan and lower; E0805 where pins ask
// for loops of a kernel that has no tile form with them.
Result<Variant> make_variant(const Graph& g, const PlanOptions& options);

// The plan of the program as it is written: a kernel for every definition.
PlanOptions naive_plan(PlanOptions options);

// The input tensors, in program order.
std::vector<TensorId> inputs_of(const Graph& g);

// The shape of a tensor of a bound graph.
std::vector<int64_t> bound_shape(const Graph& g, TensorId t);

}  // namespace tang
