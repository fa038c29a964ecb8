// Buffers of WebGPU, and how values get there and back.
#pragma once

#include <span>

#include "run/gpu_driver.h"
#include "run/webgpu_context.h"

namespace tang::wgpu {

class Block : public GpuMemory {
 public:
  Block(std::shared_ptr<Context> context, Owned<Buffer> buffer, int64_t bytes)
      : context_(std::move(context)), buffer_(std::move(buffer)), bytes_(bytes) {}
  Buffer buffer() const { return buffer_.get(); }
  int64_t bytes() const { return bytes_; }  // as asked for

 private:
  std::shared_ptr<Context> context_;
  Owned<Buffer> buffer_;
  int64_t bytes_;
};

// E0913 with the bytes asked for, and those that one buffer has at most.
Result<std::unique_ptr<Block>> make_block(const std::shared_ptr<Context>& context, int64_t bytes,
                                          uint64_t usage);

// Copies values from and to blocks. WebGPU moves words of 32 bits: bytes beside them are read
// before they are written.
class Transfer {
 public:
  explicit Transfer(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Result<void> write(const Block& to, int64_t offset, std::span<const std::byte> from);
  Result<void> read(const Block& from, int64_t offset, std::span<std::byte> to);

 private:
  Result<void> write_words(const Block& to, int64_t offset, std::span<const std::byte> from);
  Result<void> write_bytes(const Block& to, int64_t offset, std::span<const std::byte> from);
  Result<void> read_words(const Block& from, int64_t offset, std::span<std::byte> to);

  std::shared_ptr<Context> context_;
  std::unique_ptr<Block> staging_;
};

}  // namespace tang::wgpu
