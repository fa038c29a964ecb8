// Stores past the caches. A target that is too large to be in them when it is read next need not
// push out what is: whole vectors go to memory without the line being read first.
#pragma once

#include "schedule/schedule.h"
#include "target/machine.h"

namespace tang {

// The name of the machine's row that stores so many elements past the caches; empty: there is none.
std::string streaming_row(const Machine& machine, Format format, int64_t elements);

// Elements of a vector along a coordinate; 1 if vectors run along another.
int64_t vector_elements(const NestPlan& nest, DimId d);

// Why stores of a tensor cannot go past the caches; empty if they can: it is a target with a place
// of its own, stored once, in vectors along its last axis and the innermost loop.
std::string streaming_fault(const Graph& g, const KernelPlan& k, TensorId t,
                            const Machine& machine);

// Chooses those that take half of the last level or more.
void plan_streams(const Graph& g, KernelPlan& k, const Machine& machine);

}  // namespace tang
