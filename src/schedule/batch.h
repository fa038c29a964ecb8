// Sums whose order does not follow from how many rows there are.
//
// A plan may follow from all extents: with few points threads share the terms of a sum, with many
// each has its own. Then a row's bits depend on the rows beside it. `--batch-invariant` plans with
// the extents unknown of all dims that no definition sums over, so that one plan serves them all.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// The graph with those extents unknown: a plan for it is one for `g`. Ids are those of `g`.
Graph without_batch(const Graph& g);

// Sets KernelPlan::batch_invariant: whether a plan for unknown extents, and one for extents of 1,
// sum in the order of this one. `options` are those of the plan.
void mark_batch_invariant(const Graph& g, Schedule& schedule, const PlanOptions& options);

}  // namespace tang
