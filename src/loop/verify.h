// The verifier of loop programs: the invariants of program.h. Each diagnostic names the kernel and
// prints the statement at fault. E0210 names, E0310 types and formats, E0410 buffers, bounds and
// order.
#pragma once

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

Diagnostics verify(const Program& program);
// The rules of one kernel alone, without those about launch order.
Diagnostics verify(const Program& program, const Kernel& kernel);

}  // namespace tang::loop
