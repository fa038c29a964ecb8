// Blocks: which loops run around the register tiles, and which windows of tensors stand in fast
// memory while they do (algebra.md section 9: purity permits staging, associativity blocks of
// terms).
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Sets blocks, stages and the innermost loops of a kernel whose node and inlined definitions are
// known. Expressions that recognition needs are added to the graph. `pivot` says whether the fold
// runs in pivot form; without a value, what is best.
void plan_blocks(Graph& g, KernelPlan& k, const Machine& machine, std::optional<bool> pivot = {});
// The same without register tiles and with loops of one step, as the program is written.
void plan_plain(Graph& g, KernelPlan& k, const Machine& machine);
// Blocks of `few` rows and terms for groups of threads, without packed windows: the pivot form
// where it fits, and windows of inlined definitions. No blocks if neither is there.
void plan_group_blocks(Graph& g, KernelPlan& k, const Machine& machine, int64_t few,
                       std::optional<bool> pivot);
// The same for a definition that is computed a row at a time inside another kernel: no loops over
// its points.
void plan_row(Graph& g, KernelPlan& k, const Machine& machine, std::optional<bool> pivot = {});

}  // namespace tang
