#include "base/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tang {

struct Hasher::State {
  XXH3_state_t xxh;
};

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash_bytes(std::span<const std::byte> bytes, uint64_t seed) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {h.low64, h.high64};
}

Hash128 hash_text(std::string_view text, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())), seed);
}

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(std::span<const std::byte> field) {
  add(static_cast<int64_t>(field.size()));
  XXH3_128bits_update(&state_->xxh, field.data(), field.size());
  return *this;
}

Hasher& Hasher::add(std::string_view field) {
  return add(std::as_bytes(std::span(field.data(), field.size())));
}

Hasher& Hasher::add(int64_t number) {
  XXH3_128bits_update(&state_->xxh, &number, sizeof number);
  return *this;
}

Hash128 Hasher::finish() const {
  const XXH128_hash_t h = XXH3_128bits_digest(&state_->xxh);
  return {h.low64, h.high64};
}

}  // namespace tang
