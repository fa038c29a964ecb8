// Programs whose kernels several threads share: where they wait for each other.
#pragma once

#include <vector>

#include "emit/workspace.h"
#include "loop/program.h"

namespace tang {

// Whether some kernel can be shared.
bool has_parts(const LoopProgram& program);

// By kernel: whether all parts must be done with the kernels before it. A serial kernel is run by
// one part, the same one each time, so that two of them in a row need not wait. Otherwise a kernel
// waits if it touches memory that a kernel since the last wait wrote, or writes what one touched.
std::vector<bool> waits(const LoopProgram& program, const WorkspacePlan& plan);

}  // namespace tang
