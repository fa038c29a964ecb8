// Compiling CUDA sources with NVRTC, which is opened when first asked for; no GPU is needed.
//
// Kernels are compiled without contraction of products and sums, with IEEE division and square
// roots, denormals kept.
//
// Errors: E0911 (exit 3) NVRTC is missing, or too old for the architecture; E0999 it refused the
// source, with its log.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/gpu_driver.h"

namespace tang {

struct Cubin {
  std::string image;  // what cuModuleLoadData takes
  GpuModule::Usage usage;
  std::string log;  // of the assembler, one source
};

// `architecture` is "sm_90a"; `name` stands for the source in messages.
Result<Cubin> nvrtc_compile(const std::string& source, const std::string& architecture,
                            const std::string& name = "kernel");

// The sources of all functions, in parallel.
Result<std::vector<Cubin>> nvrtc_compile(std::span<const GpuFunction> functions,
                                         const std::string& architecture);

// Architectures that it compiles for, as 10 major + minor, ascending.
Result<std::vector<int>> nvrtc_architectures();

}  // namespace tang
