// The verifier of loop programs: the invariants of program.h. Each diagnostic names the kernel and
// prints the statement at fault. E0210 names, E0310 types and formats, E0410 buffers, bounds and
// order, and what threads of a group do together.
#pragma once

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

inline constexpr int64_t max_threads = 1024;                    // of a group
inline constexpr int64_t max_own_bytes = 64 * max_array_bytes;  // arrays of its threads together

Diagnostics verify(const Program& program);
// The rules of one kernel alone, without those about launch order.
Diagnostics verify(const Program& program, const Kernel& kernel);

}  // namespace tang::loop
