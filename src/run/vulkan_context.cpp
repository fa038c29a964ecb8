#include "run/vulkan_context.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace tang::vk {

namespace {

constexpr uint32_t least_version = version(1, 2);

auto none(std::string what) {
  return error("E0911", "no Vulkan device: " + std::move(what),
               "On Debian: apt-get install mesa-vulkan-drivers, or the driver of the GPU's maker",
               Exit::no_device);
}

Result<void> make_instance(Context& c) {
  uint32_t offered = 0;
  if (auto ok = checked(c.vk.instance_version(&offered), "vkEnumerateInstanceVersion"); !ok)
    return ok;
  ApplicationInfo application;
  application.application = application.engine = "tang";
  application.api_version = std::min(offered, version(1, 3));
  InstanceCreateInfo info;
  info.application = &application;
  const Outcome made = c.vk.create_instance(&info, nullptr, &c.instance);
  // The loader's word for having found no driver at all.
  if (made == incompatible_driver) return none("the loader finds no driver");
  if (auto ok = checked(made, "vkCreateInstance"); !ok) return ok;
  return load_instance(c.vk, c.instance);
}

int rank(DeviceKind kind) {
  switch (kind) {
    case discrete:
      return 0;
    case integrated:
      return 1;
    case virtual_gpu:
      return 2;
    case other:
      return 3;
    case cpu:
      return 4;
  }
  return 5;
}

Result<std::vector<PhysicalDevice>> devices_of(const Context& c) {
  uint32_t count = 0;
  if (auto ok =
          checked(c.vk.physical_devices(c.instance, &count, nullptr), "vkEnumeratePhysicalDevices");
      !ok)
    return tl::unexpected(std::move(ok).error());
  std::vector<PhysicalDevice> devices(count);
  const Outcome got = c.vk.physical_devices(c.instance, &count, devices.data());
  if (auto ok = checked(got == incomplete ? success : got, "vkEnumeratePhysicalDevices"); !ok)
    return tl::unexpected(std::move(ok).error());
  devices.resize(count);
  return devices;
}

// The family of queues that compute; one that does nothing else is no better.
std::optional<std::pair<uint32_t, QueueFamily>> queue_family(const Context& c,
                                                             PhysicalDevice device) {
  uint32_t count = 0;
  c.vk.queue_families(device, &count, nullptr);
  std::vector<QueueFamily> families(count);
  c.vk.queue_families(device, &count, families.data());
  for (uint32_t k = 0; k < count; ++k)
    if ((families[k].flags & queue_compute) && families[k].count > 0)
      return std::pair(k, families[k]);
  return std::nullopt;
}

Result<void> choose(Context& c) {
  auto devices = devices_of(c);
  if (!devices) return tl::unexpected(std::move(devices).error());
  std::string refused;
  int best = 6;
  for (PhysicalDevice device : *devices) {
    Properties p{};
    c.vk.properties(device, &p);
    const auto family = queue_family(c, device);
    if (p.api_version < least_version || !family) {
      refused += fmt::format("; {} {}", p.name,
                             family ? "has a driver older than Vulkan 1.2" : "does not compute");
      continue;
    }
    if (rank(p.kind) >= best) continue;
    best = rank(p.kind);
    c.physical = device;
    c.family = family->first;
  }
  if (!c.physical)
    return none(fmt::format("the drivers have {} devices{}", devices->size(), refused));
  return {};
}

Result<void> make_device(Context& c) {
  Properties p{};
  c.vk.properties(c.physical, &p);
  const auto family = queue_family(c, c.physical);
  FeatureChain wanted(p.api_version >= version(1, 3));
  c.abilities = abilities_of(c.vk, c.physical, family->second, wanted);
  c.vk.memory_properties(c.physical, &c.memory);

  const float priority = 1;
  QueueCreateInfo queue;
  queue.family = c.family;
  queue.count = 1;
  queue.priorities = &priority;
  DeviceCreateInfo info;
  info.next = &wanted.features;
  info.queue_count = 1;
  info.queues = &queue;
  const Outcome made = c.vk.create_device(c.physical, &info, nullptr, &c.device);
  if (auto ok = checked(made, "vkCreateDevice"); !ok) return ok;
  if (auto ok = load_device(c.vk, c.device); !ok) return ok;
  c.vk.device_queue(c.device, c.family, 0, &c.queue);
  return {};
}

Result<void> make_commands(Context& c) {
  auto pool = c.command_pool();
  if (!pool) return tl::unexpected(std::move(pool).error());
  c.pool = std::move(*pool);
  auto transfer = c.commands(c.pool.get());
  if (!transfer) return tl::unexpected(std::move(transfer).error());
  c.transfer = *transfer;
  auto fence = c.make(c.vk.create_fence, c.vk.destroy_fence, FenceCreateInfo{}, "vkCreateFence");
  if (!fence) return tl::unexpected(std::move(fence).error());
  c.fence = std::move(*fence);
  return {};
}

}  // namespace

Context::~Context() {
  if (device && vk.destroy_device) {
    if (vk.device_wait_idle) vk.device_wait_idle(device);
    fence = {};
    pool = {};
    vk.destroy_device(device, nullptr);
  }
  if (instance && vk.destroy_instance) vk.destroy_instance(instance, nullptr);
}

Result<std::shared_ptr<Context>> open_context(const VulkanOptions& options) {
  auto context = std::make_shared<Context>();
  context->options = options;
  Result<void> ok = load_global(context->vk, options.library);
  for (const auto step : {make_instance, choose, make_device, make_commands})
    if (ok) ok = step(*context);
  if (!ok) return tl::unexpected(std::move(ok).error());
  return context;
}

Result<Owned<CommandPool>> Context::command_pool() const {
  CommandPoolCreateInfo info;
  info.flags = pool_resettable;
  info.family = family;
  return make(vk.create_command_pool, vk.destroy_command_pool, info, "vkCreateCommandPool");
}

Result<CommandBuffer> Context::commands(CommandPool from) const {
  CommandBufferAllocateInfo info;
  info.pool = from;
  info.count = 1;
  CommandBuffer made = nullptr;
  const Outcome outcome = vk.allocate_commands(device, &info, &made);
  if (auto ok = checked(outcome, "vkAllocateCommandBuffers"); !ok)
    return tl::unexpected(std::move(ok).error());
  return made;
}

Result<void> Context::record(CommandBuffer commands, uint32_t flags,
                             const std::function<void()>& body) const {
  CommandBufferBeginInfo begin;
  begin.flags = flags;
  if (auto ok = checked(vk.begin_commands(commands, &begin), "vkBeginCommandBuffer"); !ok)
    return ok;
  body();
  return checked(vk.end_commands(commands), "vkEndCommandBuffer");
}

void Context::barrier(CommandBuffer commands) const {
  MemoryBarrier all;
  all.source_access = access_memory_write;
  all.target_access = access_memory_read | access_memory_write;
  vk.barrier(commands, pipe_all | pipe_host, pipe_all | pipe_host, 0, 1, &all, 0, nullptr, 0,
             nullptr);
}

Result<void> Context::submit(std::span<const CommandBuffer> commands, bool last) const {
  SubmitInfo info;
  info.command_count = static_cast<uint32_t>(commands.size());
  info.commands = commands.data();
  if (!last) return checked(vk.submit(queue, 1, &info, nullptr), "vkQueueSubmit");
  const Fence done = fence.get();
  if (auto ok = checked(vk.submit(queue, 1, &info, done), "vkQueueSubmit"); !ok) return ok;
  if (auto ok = checked(vk.wait_fences(device, 1, &done, 1, UINT64_MAX), "vkWaitForFences"); !ok)
    return ok;
  return checked(vk.reset_fences(device, 1, &done), "vkResetFences");
}

}  // namespace tang::vk
