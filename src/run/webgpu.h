// The webgpu device: kernels in WGSL, run by Dawn on a driver of Vulkan.
//
// Dawn is libwebgpu_wrapper.so of npm bun-webgpu-linux-x64 0.1.7, which scripts/fetch-webgpu
// fetches; another library may have another layout of structures (webgpu_api.h). A kernel's buffers
// are the storage buffers of bind group 0 as its source declares them; its symbols lie in a uniform
// buffer of vec4<i32> at the binding after the last. A buffer that is declared to be only read must
// not share its memory with one that the same launch writes. Time is that of the host, from a
// submission until the device says that it is done: some hundredths of a millisecond are not the
// kernels'. Errors are caught in scopes around every call.
#pragma once

#include "run/gpu_driver.h"
