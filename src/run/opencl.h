// The driver over OpenCL 1.2: of the devices of all platforms the first GPU, otherwise the first
// processor. Times are the device's, from profiling events.
//
// Kernels are built without contraction of products and sums, and with correctly rounded division
// and square roots where the device has them.
#pragma once

#include "run/gpu_driver.h"

namespace tang {

// Errors: see gpu_driver.h; E0911 where `library` cannot be opened or has no device.
Result<std::unique_ptr<GpuDriver>> open_opencl(const std::string& library);

}  // namespace tang
