// A device of Vulkan, open: what memory, kernels and sequences of launches share.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "run/vulkan.h"
#include "run/vulkan_library.h"
#include "target/capability.h"

namespace tang::vk {

// A handle of the device, destroyed with its owner. What owns one holds the context, too.
template <class Handle>
class Owned {
 public:
  using Destroy = void (*)(Device, Handle, const void*);
  Owned() = default;
  Owned(Device device, Handle handle, Destroy destroy)
      : device_(device), handle_(handle), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : device_(other.device_),
        handle_(std::exchange(other.handle_, nullptr)),
        destroy_(other.destroy_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (handle_) destroy_(device_, handle_, nullptr);
  }
  Handle get() const { return handle_; }

 private:
  Device device_ = nullptr;
  Handle handle_ = nullptr;
  Destroy destroy_ = nullptr;
};

// What a device has and what of it is asked for.
struct Abilities {
  Capability capability;
  uint32_t required_subgroup = 0;  // the size that pipelines ask for; 0: it is always the same
  bool full_subgroups = false;     // pipelines can ask that no subgroup be partly filled
  double tick_ns = 0;              // of timestamps; 0: there are none
  uint64_t tick_mask = 0;          // the bits of one that count
};

struct Context : std::enable_shared_from_this<Context> {
  Functions vk;
  VulkanOptions options;
  Instance instance = nullptr;
  PhysicalDevice physical = nullptr;
  Device device = nullptr;
  Queue queue = nullptr;
  uint32_t family = 0;
  MemoryProperties memory;
  Abilities abilities;
  Owned<CommandPool> pool;
  CommandBuffer transfer = nullptr;  // of copies
  Owned<Fence> fence;

  ~Context();

  // `create(device, &info, nullptr, &handle)` with its outcome checked.
  template <class Handle, class Info>
  Result<Owned<Handle>> make(Outcome (*create)(Device, const Info*, const void*, Handle*),
                             void (*destroy)(Device, Handle, const void*), const Info& info,
                             std::string_view call) const {
    Handle handle = nullptr;
    if (auto made = checked(create(device, &info, nullptr, &handle), call); !made)
      return tl::unexpected(std::move(made).error());
    return Owned<Handle>(device, handle, destroy);
  }

  Result<Owned<CommandPool>> command_pool() const;
  Result<CommandBuffer> commands(CommandPool from) const;  // freed with the pool
  // Records `body` between begin and end.
  Result<void> record(CommandBuffer commands, uint32_t flags,
                      const std::function<void()>& body) const;
  // All that was written before is seen by all that follows, the host's accesses included.
  void barrier(CommandBuffer commands) const;
  // Runs command buffers in order. `last`: and waits for these and those before.
  Result<void> submit(std::span<const CommandBuffer> commands, bool last) const;
};

Result<std::shared_ptr<Context>> open_context(const VulkanOptions& options);

// The device's features and limits, and the same as the chain of structures that asks for them.
struct FeatureChain {
  Features2 features;
  Storage16Features storage16;
  Storage8Features storage8;
  Float16Int8Features float16;
  SubgroupTypesFeatures subgroup_types;
  SubgroupSizeFeatures subgroup_size;

  // For a device of version 1.3 or later where `sizes`; the chain stays where it is made.
  explicit FeatureChain(bool sizes);
  FeatureChain(const FeatureChain&) = delete;
};
// Reads what `physical` has; `wanted` becomes what the capability tells of.
Abilities abilities_of(const Functions& vk, PhysicalDevice physical, const QueueFamily& family,
                       FeatureChain& wanted);

}  // namespace tang::vk
