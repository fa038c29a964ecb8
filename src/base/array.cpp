#include "base/array.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <sys/sysinfo.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang {
namespace {

constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

int64_t machine_memory() {
  struct sysinfo machine = {};
  if (sysinfo(&machine) != 0) return unlimited;
  int64_t bytes = 0;
  const auto pages = static_cast<int64_t>(machine.totalram + machine.totalswap);
  if (__builtin_mul_overflow(pages, static_cast<int64_t>(machine.mem_unit), &bytes)) {
    return unlimited;
  }
  return bytes;
}

// The limit in a control group's file: a number, or "max".
int64_t group_limit(const char* path) {
  std::ifstream file(path);
  int64_t bytes = 0;
  if (!(file >> bytes) || bytes <= 0) return unlimited;
  return bytes;
}

}  // namespace

void Buffer::Free::operator()(void* block) const { std::free(block); }

std::optional<Buffer> Buffer::allocate(size_t size) {
  Buffer buffer;
  if (size > std::numeric_limits<size_t>::max() - alignment) return std::nullopt;
  buffer.block_.reset(std::calloc(size + alignment, 1));
  if (buffer.block_ == nullptr) return std::nullopt;
  const auto address = reinterpret_cast<uintptr_t>(buffer.block_.get());
  const size_t skip = (alignment - address % alignment) % alignment;
  buffer.begin_ = static_cast<std::byte*>(buffer.block_.get()) + skip;
  buffer.size_ = size;
  return buffer;
}

Buffer::Buffer(const Buffer& other) {
  if (other.begin_ == nullptr) return;
  std::optional<Buffer> copy = allocate(other.size_);
  if (!copy) throw std::bad_alloc();
  if (other.size_ > 0) std::memcpy(copy->begin_, other.begin_, other.size_);
  *this = std::move(*copy);
}

Buffer::Buffer(Buffer&& other) noexcept
    : block_(std::move(other.block_)),
      begin_(std::exchange(other.begin_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Buffer& Buffer::operator=(Buffer other) noexcept {
  std::swap(block_, other.block_);
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

int64_t Array::elements() const { return element_count(shape).value_or(0); }

std::optional<int64_t> element_count(std::span<const int64_t> shape) {
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; })) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

int64_t memory_limit() {
  return std::min({machine_memory(), group_limit("/sys/fs/cgroup/memory.max"),
                   group_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

Diagnostic out_of_memory(std::string_view what, std::string_view bytes) {
  Diagnostic d;
  d.id = "E0903";
  d.message = fmt::format("out of memory: {} needs {} bytes", what, bytes);
  d.hint = fmt::format("at most {} bytes can be had here; use smaller extents", memory_limit());
  d.exit = Exit::out_of_memory;
  return d;
}

Result<Array> make_array(Format format, std::vector<int64_t> shape) {
  const std::string what =
      fmt::format("an array of shape {} and format {}", shape_text(shape), name(format));
  if (std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; })) {
    return error("E0706", what + " has a negative extent", "every extent must be at least 0");
  }
  const int block = info(format).block;
  if (block > 1 && (shape.empty() || shape.back() % block != 0)) {
    return error("E0706", what + fmt::format(" has no whole blocks of {} on its last axis", block),
                 fmt::format("make the last extent a multiple of {}", block));
  }
  const std::optional<int64_t> count = element_count(shape);
  const std::optional<int64_t> bytes = count ? bytes_for(format, *count) : std::nullopt;
  if (!bytes) return tl::unexpected(out_of_memory(what, "more than 9223372036854775807"));
  std::optional<Buffer> data;
  if (*bytes <= memory_limit()) data = Buffer::allocate(static_cast<size_t>(*bytes));
  if (!data) return tl::unexpected(out_of_memory(what, fmt::to_string(*bytes)));
  Array array;
  array.format = format;
  array.shape = std::move(shape);
  array.data = std::move(*data);
  return array;
}

}  // namespace tang
