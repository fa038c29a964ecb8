// Where outputs live and in which order kernels run (algebra.md 11.20).
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Fills `outputs` and reorders `kernels`, so that an output written over an input comes after all
// other reads of that input. An output whose old value is still wanted is copied at the end.
void place_outputs(const Graph& g, Schedule& s);

}  // namespace tang
