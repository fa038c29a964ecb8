#include "run/ptxas_log.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace tang {

namespace {

// The most of the numbers that stand between `before` and `after`; -1 if there is none.
int64_t largest(std::string_view text, std::string_view before, std::string_view after) {
  int64_t most = -1;
  for (size_t at = text.find(before); at != std::string_view::npos;
       at = text.find(before, at + 1)) {
    int64_t value = 0;
    const char* begin = text.data() + at + before.size();
    const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), value);
    const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
    if (failed == std::errc() && rest.starts_with(after)) most = std::max(most, value);
  }
  return most;
}

}  // namespace

GpuModule::Usage parse_ptxas_log(std::string_view log) {
  return {largest(log, "Used ", " registers"), largest(log, ", ", " bytes spill stores")};
}

std::string nvidia_machine(int major, int) {
  if (major >= 10) return "nvidia.sm100";
  if (major == 9) return "nvidia.sm90a";
  return major == 8 ? "nvidia.sm80" : "gpu.portable";
}

std::string nvidia_architecture(int major, int minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

}  // namespace tang
