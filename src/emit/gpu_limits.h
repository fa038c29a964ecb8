// What a kernel needs, against what a device offers.
#pragma once

#include "base/diagnostic.h"
#include "emit/gpu_source.h"
#include "loop/program.h"

namespace tang {

int64_t shared_bytes(const loop::Kernel& kernel);

// Whether statements compute in the type: values, arrays and locals of it.
bool computes_in(const loop::Program& program, const loop::Kernel& kernel, loop::Type type);

// E0921 and E0922, as gpu_source.h says.
Result<void> within_limits(const loop::Program& program, const loop::Kernel& kernel,
                           const GpuSourceOptions& options);

}  // namespace tang
