// Buffers in a Vulkan device's memory, and how values get there and back.
#pragma once

#include <span>

#include "run/vulkan_context.h"

namespace tang::vk {

// A buffer with memory of its own.
class Block : public GpuMemory {
 public:
  Buffer buffer() const { return buffer_.get(); }
  int64_t bytes() const { return bytes_; }       // as asked for
  std::byte* mapped() const { return mapped_; }  // where the host sees it; null: it does not

 private:
  friend Result<std::unique_ptr<Block>> make_block(const std::shared_ptr<const Context>&, int64_t,
                                                   bool);
  std::shared_ptr<const Context> context_;
  Owned<Memory> memory_;
  Owned<Buffer> buffer_;
  int64_t bytes_ = 0;
  std::byte* mapped_ = nullptr;
};

// `host`: memory that the host reads and writes; otherwise the device's, which it may see, too.
// E0913 with the bytes asked for and those of the heap.
Result<std::unique_ptr<Block>> make_block(const std::shared_ptr<const Context>& context,
                                          int64_t bytes, bool host);

// Copies values from and to blocks, through a block of the host where they are not mapped.
class Transfer {
 public:
  explicit Transfer(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Result<void> write(const Block& to, int64_t offset, std::span<const std::byte> from);
  Result<void> read(const Block& from, int64_t offset, std::span<std::byte> to);

 private:
  Result<void> prepare();
  Result<void> copy(Buffer from, int64_t from_offset, Buffer to, int64_t to_offset, int64_t bytes);

  std::shared_ptr<const Context> context_;
  std::unique_ptr<Block> staging_;
};

// Bytes of the device's largest heap.
int64_t heap_bytes(const MemoryProperties& memory);

}  // namespace tang::vk
