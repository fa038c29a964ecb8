#include "run/devices.h"

#include <algorithm>

#include "target/machine.h"

namespace tang {

const std::vector<std::string>& driver_names() {
  static const std::vector<std::string> names = {"cuda", "opencl", "vulkan", "webgpu"};
  return names;
}

Result<std::unique_ptr<GpuDriver>> open_driver(const std::string& name,
                                               const std::string& webgpu_library) {
  if (name == "cuda") return open_cuda();
  if (name == "opencl") return open_opencl();
  if (name == "vulkan") return open_vulkan();
  return open_webgpu(webgpu_library);
}

Result<std::string> machine_for(const Capability& c) {
  const auto record = find_machine(c.machine);
  if (!record) return tl::unexpected(record.error());
  return limited(**record, c.threads, c.shared_bytes, std::max<int64_t>(c.subgroup, 1), c.buffers);
}

}  // namespace tang
