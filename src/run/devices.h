// Devices by name, as `--device` and tang::compile take them: `c`, and the drivers of GPUs.
#pragma once

#include <string>
#include <vector>

#include "run/gpu_driver.h"

namespace tang {

// "cuda", "opencl", "vulkan", "webgpu".
const std::vector<std::string>& driver_names();

// Opens a driver of driver_names(). `webgpu_library`: see open_webgpu.
Result<std::unique_ptr<GpuDriver>> open_driver(const std::string& name,
                                               const std::string& webgpu_library);

// The machine that schedules are chosen by for a device like this: its record, with its limits.
Result<std::string> machine_for(const Capability& capability);

}  // namespace tang
