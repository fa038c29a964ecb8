// One kernel as a function of a dialect.
#pragma once

#include "base/diagnostic.h"
#include "emit/gpu_dialect.h"
#include "emit/gpu_source.h"
#include "loop/program.h"

namespace tang {

// `entry` is its name; it calls functions of `library`. Errors: see gpu_source.h.
Result<GpuFunction> gpu_function(const loop::Program& program, const loop::Kernel& kernel,
                                 const std::string& entry, const GpuDialect& dialect,
                                 const GpuFunctions& library, const GpuSourceOptions& options);

}  // namespace tang
