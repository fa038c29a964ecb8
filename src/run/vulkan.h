// The vulkan device: kernels in GLSL on any driver of Vulkan 1.2 or later.
//
// GLSL becomes SPIR-V in process (run/spirv.h). A kernel is a compute pipeline whose buffers are
// the storage buffers of descriptor set 0 and whose symbols are push constants of 32 bits, at most
// 32 of them. A sequence is one command buffer, with a barrier after each launch. Buffers lie in
// the memory of the device; where the host does not see that memory as fast as its own, values
// travel through a buffer of the host. Time is that of the device's timestamps, or of the host's
// clock around the submission where it has none.
#pragma once

#include <memory>
#include <string>

#include "run/gpu_driver.h"

namespace tang {

struct VulkanOptions {
  std::string library = "libvulkan.so.1";
  bool copies = false;  // values travel through a buffer of the host in any case
};

// Of the devices the first discrete GPU, else an integrated one, a virtual one, a processor.
Result<std::unique_ptr<GpuDriver>> open_vulkan(const VulkanOptions& options);

}  // namespace tang
