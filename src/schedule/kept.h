// Weights of a row that its reader computes again: exp(x[j] - m) of a softmax's sum is what its
// elements are made of. A row in pivot form that takes all of its terms at once has them at the
// final pivot, so that they can be kept in a window until they are read.
#pragma once

#include "schedule/schedule.h"

namespace tang {

struct Kept {
  ExprId weight = ExprId::none;      // in the reader's values
  std::vector<DimId> points, terms;  // of the reader, which the row's points and terms become
};

// `row` is a fold in pivot form (ir/pivot.h) that `reader` reads a row at a time. nullopt if the
// reader has no such weights.
std::optional<Kept> kept_weights(Graph& g, const Node& reader, const Node& row);

// Why the weights of a row in a kernel cannot be kept; empty if they can.
std::string keeping_fault(Graph& g, const KernelPlan& k, const KernelPlan& row);

// Whether they are worth it: they can, and take half of the first level at most.
bool keeps_weights(Graph& g, const KernelPlan& k, const KernelPlan& row, const Machine& machine);

}  // namespace tang
