#include "run/gpu_driver.h"

#include <fmt/format.h>

namespace tang {

namespace {

tl::unexpected<Diagnostic> no_guest(std::string_view name) {
  return error("E0923", fmt::format("{} does not run on memory and streams of the caller", name),
               "give host memory", Exit::no_device);
}

}  // namespace

Result<std::unique_ptr<GpuMemory>> GpuDriver::adopt(void*, int) { return no_guest(name()); }

Result<void> GpuDriver::enqueue(const GpuModule&, std::span<const GpuLaunch>, void*) {
  return no_guest(name());
}

}  // namespace tang
