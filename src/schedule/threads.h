// Which kernels are worth sharing among threads, and along which points.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Sets the threads of a kernel whose blocks are planned, if it does enough work. Where its
// outermost loop has too few steps for them, points are cut in parts first.
void plan_threads(const Graph& g, KernelPlan& k, const PlanOptions& options);

}  // namespace tang
