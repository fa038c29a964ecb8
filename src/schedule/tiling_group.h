// Tiles of a group of threads: which coordinates the threads are spread along (algebra.md section
// 9: outputs are independent, terms of a commutative fold may be taken in any order).
#pragma once

#include "schedule/tiling.h"

namespace tang {

// `machine.threads` threads share the nest. Neighbours take neighbouring elements of what most
// reads and stores move along, in vectors where all of them are aligned; what threads are left are
// spread along other points, then along terms. At most
// `point_threads` of them are spread along points.
NestPlan plan_group_nest(const Graph& g, const NestShape& shape, const Machine& machine,
                         int64_t point_threads = INT64_MAX);

// The least power of two that is not below n, at least 1.
int64_t power_of_two(int64_t n);

}  // namespace tang
