#include "emit/gpu_source.h"

#include <algorithm>

#include "emit/gpu_kernel.h"
#include "emit/namer.h"
#include "loop/same.h"

namespace tang {

std::vector<loop::BufferId> bindings(const LoopProgram& program, const loop::Kernel& kernel) {
  std::vector<loop::BufferId> all;
  for (const loop::BufferId id : loop::buffers_in_order(kernel)) {
    const loop::BufferId owner = program.storage(id);
    if (std::find(all.begin(), all.end(), owner) == all.end()) all.push_back(owner);
  }
  return all;
}

namespace {

std::unique_ptr<GpuDialect> dialect_of(const Capability& device) {
  switch (device.dialect) {
    case Dialect::cuda:
      return cuda_dialect();
    case Dialect::opencl:
      return opencl_dialect();
    case Dialect::glsl:
      return glsl_dialect(device.i64);
    case Dialect::wgsl:
      return wgsl_dialect();
    case Dialect::msl:
      return msl_dialect();
  }
  return nullptr;
}

}  // namespace

Result<GpuSource> gpu_source(const LoopProgram& program, const GpuSourceOptions& options) {
  const std::unique_ptr<GpuDialect> dialect = dialect_of(options.capability);
  GpuSource source;
  source.dialect = options.capability.dialect;
  const GpuFunctions library(dialect->library());
  Namer names(dialect->reserved());
  const auto write = [&](const std::vector<loop::Kernel>& list,
                         std::vector<size_t>& functions) -> Result<void> {
    const std::vector<size_t> first = loop::first_of_each(program, list);
    for (size_t k = 0; k < list.size(); ++k) {
      if (first[k] < k) {
        functions.push_back(functions[first[k]]);
        continue;
      }
      auto function =
          gpu_function(program, list[k], names.name(list[k].name), *dialect, library, options);
      if (!function) return tl::unexpected(function.error());
      functions.push_back(source.functions.size());
      source.functions.push_back(std::move(*function));
    }
    return {};
  };
  if (const auto done = write(program.prepares, source.prepares); !done)
    return tl::unexpected(done.error());
  if (const auto done = write(program.kernels, source.kernels); !done)
    return tl::unexpected(done.error());
  return source;
}

}  // namespace tang
