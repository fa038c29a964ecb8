// Content hashes: XXH3 with 128 bits. Not cryptographic; they key caches and random streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tang {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;

  // 32 lower-case hexadecimal digits, the high half first.
  std::string hex() const;
};

Hash128 hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);
Hash128 hash_text(std::string_view text, uint64_t seed = 0);

// Hashes a sequence of fields. Each field enters with its length, so ("ab", "c") and ("a", "bc")
// differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& add(std::string_view field);
  Hasher& add(std::span<const std::byte> field);
  Hasher& add(int64_t number);
  Hash128 finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tang
