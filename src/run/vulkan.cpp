#include "run/vulkan.h"

#include "run/spirv.h"
#include "run/vulkan_kernels.h"
#include "run/vulkan_memory.h"

namespace tang {

namespace {

class VulkanDriver : public GpuDriver {
 public:
  explicit VulkanDriver(std::shared_ptr<vk::Context> context)
      : context_(std::move(context)), transfer_(context_) {}

  std::string_view name() const override { return "vulkan"; }
  const Capability& capability() const override { return context_->abilities.capability; }
  int64_t memory_bytes() const override { return vk::heap_bytes(context_->memory); }

  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    return vk::build_module(context_, source);
  }
  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    return vk::make_block(context_, bytes, false);
  }
  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    return transfer_.write(static_cast<vk::Block&>(to), offset, from);
  }
  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    return transfer_.read(static_cast<const vk::Block&>(from), offset, to);
  }
  Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                              std::span<const GpuLaunch> launches) override {
    return vk::record_sequence(context_, static_cast<const vk::Module&>(module), launches);
  }

 private:
  std::shared_ptr<vk::Context> context_;
  vk::Transfer transfer_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_vulkan(const VulkanOptions& options) {
  if (!has_glslang()) return tl::unexpected(spirv_of_glsl({}, {}).error());
  auto context = vk::open_context(options);
  if (!context) return tl::unexpected(std::move(context).error());
  return std::make_unique<VulkanDriver>(std::move(*context));
}

Result<std::unique_ptr<GpuDriver>> open_vulkan() { return open_vulkan(VulkanOptions{}); }

}  // namespace tang
