// What NVIDIA's compiler says about a kernel, and the machine record of its devices.
#pragma once

#include <string>
#include <string_view>

#include "run/gpu_driver.h"

namespace tang {

// Registers and spilled bytes from the lines of `ptxas -v`; the most of several functions.
GpuModule::Usage parse_ptxas_log(std::string_view log);

// "nvidia.sm90a": the record of machines.def that fits devices of a compute capability best.
std::string nvidia_machine(int major, int minor);

// "sm_90a": what kernels are compiled for.
std::string nvidia_architecture(int major, int minor);

}  // namespace tang
