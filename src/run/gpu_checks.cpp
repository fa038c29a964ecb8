#include "run/gpu_checks.h"

#include <algorithm>

#include <fmt/format.h>

namespace tang {

namespace {

constexpr int64_t granule = 16;

auto exceeds(const std::string& kernel, const std::string& what, int64_t is, int64_t limit) {
  return error(
      "E0921",
      fmt::format("kernel {}: {} {}, and the device has {} at most", kernel, what, is, limit), {},
      Exit::target_limit);
}

auto defect(const GpuLaunch& launch, const char* what) {
  return error("E0998", fmt::format("launch of kernel {}: {}", launch.kernel, what));
}

std::string of_launch(const GpuLaunch& launch, const GpuFunction& function, const char* what) {
  return fmt::format("{} groups of {} threads: {}", launch.groups, function.threads, what);
}

}  // namespace

Result<void> check_function(const Capability& device, const GpuFunction& function) {
  if (function.threads > device.threads)
    return exceeds(function.entry, "threads of a group:", function.threads, device.threads);
  if (function.shared_bytes > device.shared_bytes)
    return exceeds(function.entry, "shared bytes of a group:", function.shared_bytes,
                   device.shared_bytes);
  return {};
}

Result<void> check_buffers(const Capability& device, const GpuFunction& function, int64_t buffers) {
  if (buffers > device.buffers) return exceeds(function.entry, "buffers:", buffers, device.buffers);
  return {};
}

Result<void> check_range(int64_t bytes, int64_t offset, size_t size) {
  if (offset >= 0 && offset <= bytes && size <= static_cast<size_t>(bytes - offset)) return {};
  return error("E0998",
               fmt::format("{} bytes at {} are outside of memory of {}", size, offset, bytes));
}

Result<void> check_launch(const Capability& device, const GpuFunction& function,
                          const GpuLaunch& launch) {
  const auto over = [&](const char* what, int64_t is, int64_t limit) {
    return exceeds(launch.kernel, of_launch(launch, function, what), is, limit);
  };
  const auto buffers = static_cast<int64_t>(launch.bindings.size());
  if (launch.groups < 0) return defect(launch, "fewer than 0 groups");
  if (launch.symbols.size() != function.symbols.size())
    return defect(launch, "symbols are not those of the function");
  if (launch.groups > device.groups) return over("groups:", launch.groups, device.groups);
  if (buffers > device.buffers) return over("buffers:", buffers, device.buffers);
  for (const GpuBinding& b : launch.bindings) {
    if (!b.memory || b.offset < 0 || b.bytes < 0 || b.offset % 256 != 0)
      return defect(launch, "a binding without memory, or whose place is no multiple of 256");
    if (b.bytes > device.binding_bytes)
      return over("bytes of a buffer:", b.bytes, device.binding_bytes);
  }
  for (const int64_t symbol : launch.symbols)
    if (symbol > INT32_MAX || symbol < INT32_MIN) return over("a size:", symbol, INT32_MAX);
  return {};
}

std::vector<int32_t> symbols_of(const GpuLaunch& launch) {
  std::vector<int32_t> values;
  for (const int64_t symbol : launch.symbols) values.push_back(static_cast<int32_t>(symbol));
  return values;
}

uint64_t uniform_bytes(const GpuFunction& function) {
  return 16 * std::max<uint64_t>(1, (function.symbols.size() + 3) / 4);
}

std::string machine_of(std::string_view device) {
  const auto has = [&](std::string_view word) { return device.find(word) != device.npos; };
  if (has("H100") || has("H200")) return "nvidia.sm90a";
  if (has("A100")) return "nvidia.sm80";
  if (has("B200")) return "nvidia.sm100";
  return "gpu.portable";
}

int64_t bound_bytes(int64_t bytes) {
  return std::max(granule, (bytes + granule - 1) / granule * granule);
}

int64_t whole(int64_t bytes) { return bytes / granule * granule; }

int64_t allocated_bytes(int64_t bytes) { return bound_bytes(bytes) + granule; }

}  // namespace tang
