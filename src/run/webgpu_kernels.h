// Compute pipelines and sequences of their launches.
#pragma once

#include <span>
#include <vector>

#include "run/gpu_driver.h"
#include "run/webgpu_context.h"

namespace tang::wgpu {

struct Kernel {
  GpuFunction function;            // without its source
  std::vector<uint32_t> bindings;  // the kind of each; 0: not declared
  Owned<GroupLayout> group;
  Owned<Pipeline> pipeline;
};

class Module : public GpuModule {
 public:
  Module(std::shared_ptr<Context> context, std::vector<Kernel> kernels)
      : context_(std::move(context)), kernels_(std::move(kernels)) {}
  std::span<const Kernel> kernels() const { return kernels_; }

 private:
  std::shared_ptr<Context> context_;
  std::vector<Kernel> kernels_;
};

// What a WGSL source declares of group 0, by binding: binding_storage, binding_read_only or
// binding_uniform, 0 where there is none.
std::vector<uint32_t> declared_bindings(std::string_view source);

// Errors: E0912 E0913 E0921 E0999.
Result<std::unique_ptr<GpuModule>> build_module(const std::shared_ptr<Context>& context,
                                                const GpuSource& source);

// Errors: E0912 E0913 E0921 E0998.
Result<std::unique_ptr<GpuSequence>> record_sequence(const std::shared_ptr<Context>& context,
                                                     const Module& module,
                                                     std::span<const GpuLaunch> launches);

}  // namespace tang::wgpu
