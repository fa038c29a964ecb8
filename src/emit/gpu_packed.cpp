#include "emit/gpu_packed.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace tang {

Part part(const std::string& at, int bits,
          const std::function<std::string(const std::string&)>& as_word) {
  const int per = 32 / bits;
  return {as_word(fmt::format("{} / {}", at, per)),
          fmt::format("0x{:x}u", (uint64_t{1} << bits) - 1),
          fmt::format("({} * {}u)", as_word(fmt::format("{} % {}", at, per)), bits)};
}

GpuText pair(int64_t value, std::string_view type) {
  const auto bits = static_cast<uint64_t>(value);
  return {fmt::format("{}({}u, {}u)", type, bits & 0xffffffff, bits >> 32), gpu_atom};
}

GpuText real_by_bits(double value) {
  const auto narrow = static_cast<float>(value);
  const bool plain = std::abs(value) < 1e6 && value == std::floor(value) && !std::signbit(value);
  if (plain) return {fmt::format("{:.1f}f", value), gpu_atom};
  return {fmt::format("tang_float(0x{:08x}u)",
                      std::bit_cast<uint32_t>(std::isnan(value) ? NAN : narrow)),
          gpu_atom};
}

}  // namespace tang
