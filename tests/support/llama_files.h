// Small checkpoints and tokenizers of llama2.c, written byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace tang {

template <class T>
void append_bytes(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

using LlamaHeader = std::array<int32_t, 7>;  // dim hidden layers heads kv_heads vocab context
inline constexpr LlamaHeader small_llama = {16, 20, 2, 4, 2, 300, 12};

// Values that the header of a checkpoint implies; all fields positive and small.
inline int64_t llama_values(const LlamaHeader& h) {
  const int64_t dim = h[0], hidden = h[1], layers = h[2], head = dim / h[3], kv = head * h[4];
  const int64_t layer = 2 * dim + 2 * dim * dim + 2 * kv * dim + 3 * hidden * dim;
  return h[5] * dim + layers * layer + dim + h[6] * head;
}

// Weights drawn from a seed, about as large as trained ones.
inline std::string llama_file(const LlamaHeader& header, uint64_t seed = 1) {
  std::string bytes;
  for (const int32_t field : header) append_bytes(bytes, field);
  const RandomStream stream(seed, "weights");
  for (int64_t k = 0; k < llama_values(header); ++k)
    append_bytes(bytes, static_cast<float>(0.3 * stream.normal(static_cast<uint64_t>(k))));
  return bytes;
}

struct TestToken {
  std::string bytes;
  float score;
};

// <unk>, BOS, EOS, the 256 bytes, then `more`.
inline std::vector<TestToken> test_tokens(const std::vector<TestToken>& more) {
  std::vector<TestToken> all = {{"<unk>", 0}, {"\n<s>\n", 0}, {"\n</s>\n", 0}};
  const char* digits = "0123456789ABCDEF";
  for (int k = 0; k < 256; ++k)
    all.push_back({std::string("<0x") + digits[k / 16] + digits[k % 16] + ">", 0});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::string tokenizer_file(const std::vector<TestToken>& tokens) {
  size_t longest = 0;
  for (const TestToken& t : tokens) longest = std::max(longest, t.bytes.size());
  std::string bytes;
  append_bytes(bytes, static_cast<int32_t>(longest));
  for (const TestToken& t : tokens) {
    append_bytes(bytes, t.score);
    append_bytes(bytes, static_cast<int32_t>(t.bytes.size()));
    bytes += t.bytes;
  }
  return bytes;
}

}  // namespace tang
