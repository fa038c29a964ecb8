// Which kernels are worth sharing among threads, and along which points.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Sets the threads of a kernel whose blocks are planned, if it does enough work or `pins` asks for
// them. Where its outermost loop has too few steps for them, points are cut in parts first, unless
// `pins` gives the blocks.
void plan_threads(const Graph& g, KernelPlan& k, const PlanOptions& options,
                  const KernelPins* pins = nullptr);

// Whether the kernel's outermost loop is over a point that all targets have, so that threads may
// take parts of it.
bool shares_loop(const Graph& g, const KernelPlan& k);

}  // namespace tang
