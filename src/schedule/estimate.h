// Sizes as far as they are known when a kernel is planned.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Elements; a parameter without a value counts as `unknown_extent`.
double size_of(const Graph& g, const Poly& p, const PlanOptions& options);
// Bytes of a tensor as it is stored.
double bytes_of(const Graph& g, TensorId t, const PlanOptions& options);

}  // namespace tang
