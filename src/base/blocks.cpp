#include "base/blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tang {
namespace {

constexpr double e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

uint32_t byte_at(const std::byte* p, int64_t k) { return std::to_integer<uint32_t>(p[k]); }

int signed_byte(const std::byte* p, int64_t k) {
  return static_cast<int>(byte_at(p, k) ^ 128U) - 128;
}

double half_at(const std::byte* p) { return load_element(Format::f16, p, 0); }

// The nibble of element k (of 32) among 16 bytes, or of 64 among 32: low halves first.
uint32_t split_nibble(const std::byte* p, int64_t k, int64_t bytes) {
  return k < bytes ? byte_at(p, k) & 15 : byte_at(p, k - bytes) >> 4;
}

double q8_0_element(const std::byte* p, int64_t k) { return half_at(p) * signed_byte(p + 2, k); }

double q4_0_element(const std::byte* p, int64_t k) {
  return half_at(p) * (static_cast<int>(split_nibble(p + 2, k, 16)) - 8);
}

double mxfp4_element(const std::byte* p, int64_t k) {
  const uint32_t scale = byte_at(p, 0), code = split_nibble(p + 1, k, 16);
  if (scale == 255) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = std::ldexp(e2m1[code & 7], static_cast<int>(scale) - 127);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

struct SixBits {
  uint32_t scale, offset;
};

SixBits q4_k_scales(const std::byte* p, int64_t run) {
  if (run < 4) return {byte_at(p, run) & 63, byte_at(p, run + 4) & 63};
  const uint32_t low = byte_at(p, run + 4);
  return {(low & 15) | (byte_at(p, run - 4) >> 6 << 4), (low >> 4) | (byte_at(p, run) >> 6 << 4)};
}

double q4_k_element(const std::byte* p, int64_t k) {
  const SixBits six = q4_k_scales(p + 4, k / 32);
  const uint32_t q = split_nibble(p + 16 + k / 64 * 32, k % 64, 32);
  return half_at(p) * six.scale * q - half_at(p + 2) * six.offset;
}

double q6_k_element(const std::byte* p, int64_t k) {
  const int64_t half = k / 128, quarter = k % 128 / 32, lane = k % 32;
  const uint32_t nibbles = byte_at(p, half * 64 + quarter % 2 * 32 + lane);
  const uint32_t low = nibbles >> (quarter / 2 * 4) & 15;
  const uint32_t high = byte_at(p + 128, half * 32 + lane) >> (quarter * 2) & 3;
  const int q = static_cast<int>(low | high << 4) - 32;
  return half_at(p + 208) * signed_byte(p + 192, k / 16) * q;
}

// --- Quantising ---

// x / unit to the nearest integer in low … high; 0 if the unit is.
int quotient(double x, double unit, int low, int high) {
  if (unit == 0) return std::clamp(0, low, high);
  return static_cast<int>(std::clamp(std::nearbyint(x / unit), double(low), double(high)));
}

// Stores an f16 and gives it back as stored, at most the largest finite one.
double store_half(std::byte* p, double x) {
  const double largest = info(Format::f16).max_finite;
  store_element(Format::f16, p, 0, std::clamp(x, -largest, largest));
  return half_at(p);
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double x : values)
    if (std::fabs(x) > std::fabs(most)) most = x;
  return most;
}

void store_split_nibble(std::byte* p, int64_t k, int64_t bytes, uint32_t nibble) {
  store_integer(Format::u4, p, k < bytes ? 2 * k : 2 * (k - bytes) + 1, nibble);
}

void store_q8_0(std::byte* p, std::span<const double> x) {
  const double d = store_half(p, std::fabs(largest(x)) / 127);
  for (size_t k = 0; k < x.size(); ++k) {
    store_integer(Format::i8, p + 2, static_cast<int64_t>(k), quotient(x[k], d, -127, 127));
  }
}

void store_q4_0(std::byte* p, std::span<const double> x) {
  const double d = store_half(p, largest(x) / -8);
  for (size_t k = 0; k < x.size(); ++k) {
    const int q = quotient(x[k], d, -8, 7) + 8;
    store_split_nibble(p + 2, static_cast<int64_t>(k), 16, static_cast<uint32_t>(q));
  }
}

void store_mxfp4(std::byte* p, std::span<const double> x) {
  const double most = std::fabs(largest(x));
  const int scale = most > 0 ? std::clamp(std::ilogb(most) - 2 + 127, 0, 254) : 0;
  p[0] = static_cast<std::byte>(scale);
  for (size_t k = 0; k < x.size(); ++k) {
    const double magnitude = std::ldexp(std::fabs(x[k]), 127 - scale);
    const auto distance = [&](uint32_t code) { return std::fabs(e2m1[code] - magnitude); };
    uint32_t best = 0;
    for (uint32_t code = 1; code < 8; ++code) {
      const double gain = distance(best) - distance(code);
      if (gain > 0 || (gain == 0 && code % 2 == 0)) best = code;
    }
    store_split_nibble(p + 1, static_cast<int64_t>(k), 16, best | (std::signbit(x[k]) ? 8U : 0U));
  }
}

void store_q4_k_scales(std::byte* p, int64_t run, SixBits six) {
  const auto add = [&](int64_t k, uint32_t bits) { p[k] |= static_cast<std::byte>(bits); };
  if (run < 4) {
    add(run, six.scale);
    add(run + 4, six.offset);
    return;
  }
  add(run + 4, (six.scale & 15) | (six.offset & 15) << 4);
  add(run - 4, six.scale >> 4 << 6);
  add(run, six.offset >> 4 << 6);
}

void store_q4_k(std::byte* p, std::span<const double> x) {
  std::array<double, 8> scale{}, offset{};
  for (size_t run = 0; run < 8; ++run) {
    const auto [low, high] = std::minmax_element(x.begin() + 32 * run, x.begin() + 32 * run + 32);
    offset[run] = std::max(0.0, -*low);
    scale[run] = std::max(0.0, *high + offset[run]) / 15;
  }
  const double d = store_half(p, largest(scale) / 63), m = store_half(p + 2, largest(offset) / 63);
  std::fill_n(p + 4, 12, std::byte{0});
  for (size_t run = 0; run < 8; ++run) {
    const SixBits six{static_cast<uint32_t>(quotient(scale[run], d, 0, 63)),
                      static_cast<uint32_t>(quotient(offset[run], m, 0, 63))};
    store_q4_k_scales(p + 4, static_cast<int64_t>(run), six);
    for (size_t k = 32 * run; k < 32 * run + 32; ++k) {
      const int q = quotient(x[k] + m * six.offset, d * six.scale, 0, 15);
      store_split_nibble(p + 16 + k / 64 * 32, static_cast<int64_t>(k % 64), 32,
                         static_cast<uint32_t>(q));
    }
  }
}

void store_q6_k(std::byte* p, std::span<const double> x) {
  std::array<double, 16> scale{};
  for (size_t run = 0; run < 16; ++run) scale[run] = largest(x.subspan(16 * run, 16)) / -32;
  const double d = store_half(p + 208, std::fabs(largest(scale)) / 127);
  std::fill_n(p, 192, std::byte{0});
  for (size_t k = 0; k < x.size(); ++k) {
    const int s = quotient(scale[k / 16], d, -127, 127);
    store_integer(Format::i8, p + 192, static_cast<int64_t>(k / 16), s);
    const auto q = static_cast<uint32_t>(quotient(x[k], d * s, -32, 31) + 32);
    const size_t half = k / 128, quarter = k % 128 / 32, lane = k % 32;
    p[half * 64 + quarter % 2 * 32 + lane] |= static_cast<std::byte>((q & 15) << quarter / 2 * 4);
    p[128 + half * 32 + lane] |= static_cast<std::byte>(q >> 4 << quarter * 2);
  }
}

}  // namespace

double load_block_element(Format format, const std::byte* data, int64_t index) {
  const FormatInfo& f = info(format);
  const std::byte* block = data + index / f.block * f.block_bytes;
  const int64_t k = index % f.block;
  switch (format) {
    case Format::q8_0:
      return q8_0_element(block, k);
    case Format::q4_0:
      return q4_0_element(block, k);
    case Format::mxfp4:
      return mxfp4_element(block, k);
    case Format::q4_k:
      return q4_k_element(block, k);
    case Format::q6_k:
      return q6_k_element(block, k);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void store_block(Format format, std::byte* block, std::span<const double> values) {
  switch (format) {
    case Format::q8_0:
      return store_q8_0(block, values);
    case Format::q4_0:
      return store_q4_0(block, values);
    case Format::mxfp4:
      return store_mxfp4(block, values);
    case Format::q4_k:
      return store_q4_k(block, values);
    case Format::q6_k:
      return store_q6_k(block, values);
    default:
      return;
  }
}

}  // namespace tang
