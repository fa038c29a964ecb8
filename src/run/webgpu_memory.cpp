#include "run/webgpu_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "run/gpu_checks.h"

namespace tang::wgpu {

namespace {

constexpr int64_t word = 4;
constexpr size_t part_bytes = 16 << 20;

int64_t words_below(int64_t bytes) { return bytes / word * word; }
int64_t words_above(int64_t bytes) { return words_below(bytes + word - 1); }

auto no_room(int64_t bytes, std::string why) {
  return error("E0913",
               fmt::format("out of memory of the device: {} bytes are asked for, {}", bytes, why),
               "a smaller problem, or one in parts, needs less memory", Exit::out_of_memory);
}

}  // namespace

Result<std::unique_ptr<Block>> make_block(const std::shared_ptr<Context>& context, int64_t bytes,
                                          uint64_t usage) {
  Context& c = *context;
  if (bytes <= 0) return error("E0998", "memory of no bytes is asked for");
  if (static_cast<uint64_t>(bytes) > c.limits.max_buffer_bytes ||
      static_cast<uint64_t>(allocated_bytes(bytes)) > c.limits.max_buffer_bytes)
    return no_room(bytes, fmt::format("and a buffer has {} at most", c.limits.max_buffer_bytes));
  BufferDescriptor descriptor;
  descriptor.usage = usage;
  descriptor.size = static_cast<uint64_t>(allocated_bytes(bytes));
  Owned<Buffer> buffer;
  auto made = c.checked("wgpuDeviceCreateBuffer", [&] {
    buffer = Owned(c.api.create_buffer(c.device.get(), &descriptor), c.api.release_buffer);
  });
  if (!made && made.error().id == "E0913") return no_room(bytes, made.error().message);
  if (!made) return tl::unexpected(std::move(made).error());
  if (!buffer.get()) return no_room(bytes, "wgpuDeviceCreateBuffer gives none");
  return std::make_unique<Block>(context, std::move(buffer), bytes);
}

Result<void> Transfer::write_words(const Block& to, int64_t offset,
                                   std::span<const std::byte> from) {
  Context& c = *context_;
  for (size_t at = 0; at < from.size(); at += part_bytes) {
    const auto part = from.subspan(at, std::min(part_bytes, from.size() - at));
    auto written = c.checked("wgpuQueueWriteBuffer", [&] {
      c.api.write_buffer(c.queue.get(), to.buffer(), static_cast<uint64_t>(offset) + at,
                         part.data(), part.size());
    });
    if (!written) return written;
    if (at + part.size() < from.size())
      if (auto ok = c.finish(); !ok) return ok;
  }
  return {};
}

// Bytes of one word.
Result<void> Transfer::write_bytes(const Block& to, int64_t offset,
                                   std::span<const std::byte> from) {
  std::byte whole[word];
  const int64_t place = words_below(offset);
  if (auto ok = read_words(to, place, whole); !ok) return ok;
  std::copy(from.begin(), from.end(), whole + (offset - place));
  return write_words(to, place, whole);
}

Result<void> Transfer::write(const Block& to, int64_t offset, std::span<const std::byte> from) {
  if (auto ok = check_range(to.bytes(), offset, from.size()); !ok) return ok;
  const auto first = [&](int64_t n) {
    const auto part = from.first(std::min(static_cast<size_t>(n), from.size()));
    from = from.subspan(part.size());
    const int64_t place = offset;
    offset += static_cast<int64_t>(part.size());
    return std::pair(place, part);
  };
  if (offset % word != 0 && !from.empty()) {
    const auto [place, part] = first(words_above(offset) - offset);
    if (auto ok = write_bytes(to, place, part); !ok) return ok;
  }
  if (static_cast<int64_t>(from.size()) >= word) {
    const auto [place, part] = first(words_below(static_cast<int64_t>(from.size())));
    if (auto ok = write_words(to, place, part); !ok) return ok;
  }
  if (from.empty()) return {};
  return write_bytes(to, offset, from);
}

// At most as many as the staging block holds.
Result<void> Transfer::read_words(const Block& from, int64_t offset, std::span<std::byte> to) {
  Context& c = *context_;
  if (!staging_) {
    auto made = make_block(context_, part_bytes, usage_map_read | usage_copy_target);
    if (!made) return tl::unexpected(std::move(made).error());
    staging_ = std::move(*made);
  }
  auto copied = c.checked("wgpuCommandEncoderCopyBufferToBuffer", [&] {
    const Owned encoder(c.api.create_encoder(c.device.get(), nullptr), c.api.release_encoder);
    c.api.copy_buffer(encoder.get(), from.buffer(), static_cast<uint64_t>(offset),
                      staging_->buffer(), 0, to.size());
    const Owned commands(c.api.finish_encoder(encoder.get(), nullptr), c.api.release_commands);
    const Commands one = commands.get();
    c.api.submit(c.queue.get(), 1, &one);
  });
  if (!copied) return copied;
  uint32_t status = 0;
  Callback<StatusFunction> callback;
  callback.function = [](uint32_t given, Text, void* at, void*) {
    *static_cast<uint32_t*>(at) = given;
  };
  callback.first = &status;
  auto waited = c.wait(c.api.map_buffer(staging_->buffer(), map_read, 0, to.size(), callback));
  if (!waited) return waited;
  const void* const place =
      status == status_success ? c.api.mapped_range(staging_->buffer(), 0, to.size()) : nullptr;
  if (!place)
    return error("E0912", fmt::format("wgpuBufferMapAsync gives status {}", status), {},
                 Exit::no_device);
  std::memcpy(to.data(), place, to.size());
  c.api.unmap_buffer(staging_->buffer());
  return {};
}

Result<void> Transfer::read(const Block& from, int64_t offset, std::span<std::byte> to) {
  if (auto ok = check_range(from.bytes(), offset, to.size()); !ok) return ok;
  if (to.empty()) return {};
  const int64_t begin = words_below(offset);
  const int64_t end = words_above(offset + static_cast<int64_t>(to.size()));
  std::vector<std::byte> edge;
  for (int64_t at = begin; at < end; at += static_cast<int64_t>(part_bytes)) {
    const int64_t stop = std::min(end, at + static_cast<int64_t>(part_bytes));
    const int64_t first = std::max(at, offset);
    const int64_t last = std::min(stop, offset + static_cast<int64_t>(to.size()));
    const auto part =
        to.subspan(static_cast<size_t>(first - offset), static_cast<size_t>(last - first));
    if (first == at && last == stop) {
      if (auto ok = read_words(from, at, part); !ok) return ok;
      continue;
    }
    edge.resize(static_cast<size_t>(stop - at));
    if (auto ok = read_words(from, at, edge); !ok) return ok;
    std::memcpy(part.data(), edge.data() + (first - at), part.size());
  }
  return {};
}

}  // namespace tang::wgpu
