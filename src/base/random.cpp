#include "base/random.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "base/blocks.h"
#include "base/hash.h"

namespace tang {
namespace {

uint32_t high_half(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
uint32_t low_half(uint64_t x) { return static_cast<uint32_t>(x); }

void fill_blocks(Array& array, const RandomStream& stream) {
  const FormatInfo& f = info(array.format);
  std::vector<double> values(static_cast<size_t>(f.block));
  std::byte* block = array.data.data();
  for (int64_t i = 0; i < array.elements(); block += f.block_bytes) {
    for (double& x : values) x = stream.normal(static_cast<uint64_t>(i++));
    store_block(array.format, block, values);
  }
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {high_half(p1) ^ c[1] ^ key[0], low_half(p1), high_half(p0) ^ c[3] ^ key[1], low_half(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view name) {
  const Hash128 hash = hash_text(name, seed);
  key_ = hash.low;
  high_counter_ = hash.high;
}

std::array<uint64_t, 2> RandomStream::block(uint64_t number) const {
  const auto w = philox4x32(
      {low_half(number), high_half(number), low_half(high_counter_), high_half(high_counter_)},
      {low_half(key_), high_half(key_)});
  return {uint64_t{w[1]} << 32 | w[0], uint64_t{w[3]} << 32 | w[2]};
}

uint64_t RandomStream::bits(uint64_t index) const { return block(index / 2)[index % 2]; }

double RandomStream::uniform(uint64_t index) const {
  return static_cast<double>(bits(index) >> 11) * 0x1p-53;
}

double RandomStream::normal(uint64_t index) const {
  const auto [first, second] = block(index / 2);
  const double u = static_cast<double>((first >> 11) + 1) * 0x1p-53;  // (0, 1]
  const double angle = static_cast<double>(second >> 11) * 0x1p-53 * 2 * std::numbers::pi;
  const double radius = std::sqrt(-2 * std::log(u));
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

int64_t RandomStream::integer(uint64_t index, int64_t low, int64_t high) const {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t draw = bits(index);
  if (range == 0) return static_cast<int64_t>(draw);  // all of int64_t
  __extension__ using Wide = unsigned __int128;
  const auto scaled = static_cast<uint64_t>((static_cast<Wide>(draw) * range) >> 64);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + scaled);
}

void fill_normal(Array& array, const RandomStream& stream) {
  const int64_t n = array.elements();
  if (is_block(array.format)) return fill_blocks(array, stream);
  for (int64_t i = 0; i < n; ++i) array.set(i, stream.normal(static_cast<uint64_t>(i)));
}

void fill_integers(Array& array, const RandomStream& stream, int64_t low, int64_t high) {
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) {
    array.set_integer(i, stream.integer(static_cast<uint64_t>(i), low, high));
  }
}

void fill_bools(Array& array, const RandomStream& stream) {
  const int64_t n = array.elements();
  for (int64_t i = 0; i < n; ++i) {
    array.set_integer(i, static_cast<int64_t>(stream.bits(static_cast<uint64_t>(i)) >> 63));
  }
}

}  // namespace tang
