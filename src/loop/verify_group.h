// What verify.h asks of kernels that groups of threads run.
#pragma once

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

// Of a kernel that keeps the other rules. E0410.
void verify_group(const Program& program, const Kernel& kernel, Diagnostics& out);

}  // namespace tang::loop
