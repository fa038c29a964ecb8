// Host tensors: a format, a shape, and row-major packed storage. Arrays carry the inputs and
// outputs of programs between files, the evaluator and the devices; they do no arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/format.h"

namespace tang {

// Owned bytes, zeroed, aligned to 64. Large buffers are zero pages that cost nothing until written.
// Copying throws std::bad_alloc as standard containers do; `allocate` reports failure as a value.
class Buffer {
 public:
  static constexpr size_t alignment = 64;

  Buffer() = default;
  Buffer(const Buffer& other);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer other) noexcept;
  ~Buffer() = default;

  // Empty if the memory cannot be had.
  static std::optional<Buffer> allocate(size_t size);

  std::byte* data() { return begin_; }
  const std::byte* data() const { return begin_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {begin_, size_}; }
  std::span<const std::byte> bytes() const { return {begin_, size_}; }

 private:
  struct Free {
    void operator()(void* block) const;
  };

  std::unique_ptr<void, Free> block_;
  std::byte* begin_ = nullptr;
  size_t size_ = 0;
};

struct Array {
  Format format = Format::f32;
  std::vector<int64_t> shape;
  Buffer data;

  // Product of the shape; 1 for rank 0.
  int64_t elements() const;

  // Element at a flat row-major index, which the caller keeps in range; see format.h.
  double at(int64_t flat) const { return load_element(format, data.data(), flat); }
  void set(int64_t flat, double value) { store_element(format, data.data(), flat, value); }
  int64_t integer_at(int64_t flat) const { return load_integer(format, data.data(), flat); }
  void set_integer(int64_t flat, int64_t value) { store_integer(format, data.data(), flat, value); }
};

// Product of the extents, 0 if one is 0; empty if one is negative or the product overflows.
std::optional<int64_t> element_count(std::span<const int64_t> shape);

// "[2, 0, 3]"; "[]" for rank 0.
std::string shape_text(std::span<const int64_t> shape);

// Bytes this process may hope for: physical memory and swap, or the control group's limit if less.
int64_t memory_limit();

// A zeroed array. Errors: E0706 for a negative extent or a last axis that is not whole blocks;
// E0903 (exit 5) naming the bytes when the size overflows, exceeds memory_limit() or cannot be
// allocated. Nothing is touched before these checks.
Result<Array> make_array(Format format, std::vector<int64_t> shape);

// The E0903 of make_array for other owners of large memory: `what` is "the workspace", "q".
Diagnostic out_of_memory(std::string_view what, std::string_view bytes);

}  // namespace tang
