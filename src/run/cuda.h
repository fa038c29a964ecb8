// The driver over CUDA: NVRTC compiles (nvrtc.h), the driver of the GPU runs. A sequence is one
// CUDA graph, many rounds of it a graph of several; times are from events around its launches.
//
// The calling thread's context is used where it has one, otherwise the primary context of the
// first device. Static shared memory ends at 48 KiB (E0921).
#pragma once

#include "run/cuda_api.h"
#include "run/gpu_driver.h"

namespace tang {

// Errors: see gpu_driver.h; E0911 where there is no device.
Result<std::unique_ptr<GpuDriver>> open_cuda(const cuda::Api& api);

}  // namespace tang
