// A driver that runs kernels in Metal's language on the host: g++ compiles them with
// msl/metal_stdlib and the threads of a group are fibers (msl_threads.h).
//
// E0912 beside a driver's errors: a kernel writes past a binding, and what MslThreads finds. Reads
// past a binding give NaN or -1. A group's memory is full of bytes 0xff when the group begins.
#pragma once

#include "run/gpu_driver.h"

namespace tang {

std::unique_ptr<GpuDriver> open_msl();

}  // namespace tang
