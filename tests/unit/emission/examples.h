// The examples as programs of kernels for groups of threads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/gpu_source.h"
#include "verify/variant.h"

namespace tang {

// The programs of examples/, by name.
std::vector<std::filesystem::path> example_files();

// How programs for the device are planned.
PlanOptions plan_options(const Capability& device);

struct ExampleKernels {
  std::string name;  // "softmax naive"
  LoopProgram program;
  GpuSource source;
};

// Every example with its default sizes, planned and written for the device, as derived and, if
// asked, as written. What cannot be lowered or written is a failure of the test.
std::vector<ExampleKernels> example_kernels(const Capability& device, bool naive);

}  // namespace tang
