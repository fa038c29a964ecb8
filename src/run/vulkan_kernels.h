// Compute pipelines and recorded sequences of their launches.
#pragma once

#include <vector>

#include "run/vulkan_context.h"

namespace tang::vk {

struct Kernel {
  GpuFunction function;  // without its source
  uint32_t bindings = 0;
  Owned<SetLayout> sets;
  Owned<PipelineLayout> layout;
  Owned<Pipeline> pipeline;
};

class Module : public GpuModule {
 public:
  Module(std::shared_ptr<const Context> context, std::vector<Kernel> kernels)
      : context_(std::move(context)), kernels_(std::move(kernels)) {}
  std::span<const Kernel> kernels() const { return kernels_; }

 private:
  std::shared_ptr<const Context> context_;
  std::vector<Kernel> kernels_;
};

// Errors: E0911 E0912 E0913 E0921 E0999.
Result<std::unique_ptr<GpuModule>> build_module(const std::shared_ptr<const Context>& context,
                                                const GpuSource& source);

// Errors: E0912 E0913 E0921 E0998.
Result<std::unique_ptr<GpuSequence>> record_sequence(const std::shared_ptr<const Context>& context,
                                                     const Module& module,
                                                     std::span<const GpuLaunch> launches);

}  // namespace tang::vk
