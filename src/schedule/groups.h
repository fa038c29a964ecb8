// Plans of kernels that groups of threads run: every point is in a block, groups share the blocks,
// and the threads of a group compute a block's tiles together.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Sets group, blocks, stages and the innermost loops of a kernel whose node and inlined definitions
// are known, for a machine of kind gpu. `rows`: points that definitions computed by rows are read
// at.
void plan_group(Graph& g, KernelPlan& k, const Machine& machine, const std::vector<DimId>& rows,
                std::optional<bool> pivot = {});
// The same for a definition that is computed a row at a time inside another kernel.
void plan_group_row(Graph& g, KernelPlan& k, const Machine& machine);

// One thread a group, for what threads cannot share.
void plan_single(Graph& g, KernelPlan& k, const Machine& machine);

}  // namespace tang
