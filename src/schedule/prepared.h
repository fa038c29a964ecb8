// Windows of constants, which are packed once for all runs: what they cost nothing for decides
// which operands lie in panels, and how the loops over them are tiled.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Whether the read is of a constant that may lie in panels along the coordinate: it is the only one
// of its tensor, moves along the coordinate by one axis and along the terms, has a known size, and
// panels gain by that: each element is read often, or by some rows and not from wider memory, or
// once from the first level.
bool may_lie_in_panels(Graph& g, const KernelPlan& k, LeafId read, DimId along,
                       const Machine& machine);

// plan_nest, where constants move by one element along the coordinate in which the first target
// lies side by side, if vectors then run along it; plan_nest of the shape as it is otherwise.
NestPlan plan_nest_in_panels(Graph& g, const KernelPlan& k, const NestShape& shape,
                             const Machine& machine);

// Puts constants that the innermost loops read in panels along their tiles, and prepares these and
// all other windows that read constants alone.
void prepare_windows(Graph& g, KernelPlan& k, const Machine& machine);

}  // namespace tang
