#include "run/vulkan_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "run/gpu_checks.h"

namespace tang::vk {

namespace {

constexpr int64_t staging_bytes = 16 << 20;
constexpr uint32_t mappable = memory_host_visible | memory_host_coherent;

// The first kind of memory among `allowed` with all of these properties.
std::optional<uint32_t> find_kind(const MemoryProperties& memory, uint32_t allowed,
                                  uint32_t properties) {
  for (uint32_t k = 0; k < memory.kind_count; ++k)
    if ((allowed >> k & 1) && (memory.kinds[k].flags & properties) == properties) return k;
  return std::nullopt;
}

// What is best to have comes first. Memory of the device that the host sees is read by it at the
// speed of its own only if the host caches it.
std::optional<uint32_t> choose_kind(const MemoryProperties& memory, uint32_t allowed, bool host,
                                    bool copies) {
  constexpr uint32_t fast = mappable | memory_host_cached;
  constexpr uint32_t orders[2][3] = {
      {memory_device_local | fast, memory_device_local, 0},
      {fast, mappable, mappable},
  };
  for (const uint32_t properties : orders[host ? 1 : 0]) {
    if (copies && !host && properties == (memory_device_local | fast)) continue;
    if (auto kind = find_kind(memory, allowed, properties)) return kind;
  }
  return std::nullopt;
}

auto no_room(int64_t bytes, int64_t of) {
  return error("E0913",
               fmt::format("out of memory of the device: {} bytes are asked for, and its heap has "
                           "{} in all",
                           bytes, of),
               "a smaller problem, or one in parts, needs less memory", Exit::out_of_memory);
}

// Where the host sees all of a memory; null if it is of another kind.
Result<std::byte*> map(const Context& c, uint32_t kind, Memory memory, bool host) {
  constexpr uint32_t fast = mappable | memory_host_cached;
  const uint32_t flags = c.memory.kinds[kind].flags, needed = host ? mappable : fast;
  if ((flags & needed) != needed || (c.options.copies && !host)) return nullptr;
  void* place = nullptr;
  if (auto ok = checked(c.vk.map_memory(c.device, memory, 0, UINT64_MAX, 0, &place), "vkMapMemory");
      !ok)
    return tl::unexpected(std::move(ok).error());
  return static_cast<std::byte*>(place);
}

}  // namespace

int64_t heap_bytes(const MemoryProperties& memory) {
  uint64_t most = 0;
  for (uint32_t k = 0; k < memory.kind_count; ++k)
    if (memory.kinds[k].flags & memory_device_local)
      most = std::max(most, memory.heaps[memory.kinds[k].heap].size);
  return static_cast<int64_t>(most);
}

Result<std::unique_ptr<Block>> make_block(const std::shared_ptr<const Context>& context,
                                          int64_t bytes, bool host) {
  const Context& c = *context;
  if (bytes <= 0) return error("E0998", "memory of no bytes is asked for");
  const int64_t most = heap_bytes(c.memory);
  if (bytes > most) return no_room(bytes, most);
  BufferCreateInfo info;
  info.size = static_cast<uint64_t>(allocated_bytes(bytes));
  info.usage = usage_storage | usage_transfer_source | usage_transfer_target;
  auto buffer = c.make(c.vk.create_buffer, c.vk.destroy_buffer, info, "vkCreateBuffer");
  if (!buffer) return tl::unexpected(std::move(buffer).error());

  MemoryRequirements needs;
  c.vk.buffer_requirements(c.device, buffer->get(), &needs);
  const auto kind = choose_kind(c.memory, needs.kinds, host, c.options.copies);
  if (!kind)
    return error("E0912", "the Vulkan device has no memory for buffers", {}, Exit::no_device);
  const auto heap = static_cast<int64_t>(c.memory.heaps[c.memory.kinds[*kind].heap].size);
  MemoryAllocateInfo allocation;
  allocation.size = needs.size;
  allocation.kind = *kind;
  auto memory = c.make(c.vk.allocate_memory, c.vk.free_memory, allocation, "vkAllocateMemory");
  if (!memory) {
    if (memory.error().id == "E0913") return no_room(bytes, heap);
    return tl::unexpected(std::move(memory).error());
  }
  if (auto ok = checked(c.vk.bind_buffer(c.device, buffer->get(), memory->get(), 0),
                        "vkBindBufferMemory");
      !ok)
    return tl::unexpected(std::move(ok).error());
  auto mapped = map(c, *kind, memory->get(), host);
  if (!mapped) return tl::unexpected(std::move(mapped).error());

  auto block = std::make_unique<Block>();
  block->context_ = context;
  block->memory_ = std::move(*memory);
  block->buffer_ = std::move(*buffer);
  block->bytes_ = bytes;
  block->mapped_ = *mapped;
  return block;
}

Result<void> Transfer::prepare() {
  if (staging_) return {};
  auto block = make_block(context_, staging_bytes, true);
  if (!block) return tl::unexpected(std::move(block).error());
  staging_ = std::move(*block);
  return {};
}

Result<void> Transfer::copy(Buffer from, int64_t from_offset, Buffer to, int64_t to_offset,
                            int64_t bytes) {
  const Context& c = *context_;
  const BufferCopy part{static_cast<uint64_t>(from_offset), static_cast<uint64_t>(to_offset),
                        static_cast<uint64_t>(bytes)};
  auto recorded = c.record(c.transfer, 0, [&] {
    c.barrier(c.transfer);
    c.vk.copy_buffer(c.transfer, from, to, 1, &part);
    c.barrier(c.transfer);
  });
  if (!recorded) return recorded;
  return c.submit(std::span(&c.transfer, 1), true);
}

Result<void> Transfer::write(const Block& to, int64_t offset, std::span<const std::byte> from) {
  if (auto ok = check_range(to.bytes(), offset, from.size()); !ok) return ok;
  if (to.mapped()) {
    if (!from.empty()) std::memcpy(to.mapped() + offset, from.data(), from.size());
    return {};
  }
  if (auto ok = prepare(); !ok) return ok;
  for (size_t at = 0; at < from.size(); at += staging_bytes) {
    const size_t n = std::min<size_t>(staging_bytes, from.size() - at);
    std::memcpy(staging_->mapped(), from.data() + at, n);
    auto copied = copy(staging_->buffer(), 0, to.buffer(), offset + static_cast<int64_t>(at),
                       static_cast<int64_t>(n));
    if (!copied) return copied;
  }
  return {};
}

Result<void> Transfer::read(const Block& from, int64_t offset, std::span<std::byte> to) {
  if (auto ok = check_range(from.bytes(), offset, to.size()); !ok) return ok;
  if (from.mapped()) {
    if (!to.empty()) std::memcpy(to.data(), from.mapped() + offset, to.size());
    return {};
  }
  if (auto ok = prepare(); !ok) return ok;
  for (size_t at = 0; at < to.size(); at += staging_bytes) {
    const size_t n = std::min<size_t>(staging_bytes, to.size() - at);
    auto copied = copy(from.buffer(), offset + static_cast<int64_t>(at), staging_->buffer(), 0,
                       static_cast<int64_t>(n));
    if (!copied) return copied;
    std::memcpy(to.data() + at, staging_->mapped(), n);
  }
  return {};
}

}  // namespace tang::vk
