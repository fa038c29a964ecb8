// Text to tokens and back: byte-pair encoding by score, as sentencepiece and llama2.c do it.
//
// A text begins with the token BOS and, unless it is empty, a space. Each character is a token, or
// the tokens of its bytes, <0xNN>; then the two neighbours whose join is the token of highest score
// merge (the leftmost of equals), until no join is a token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/diagnostic.h"
#include "front/tokenizer_file.h"

namespace tang {

class Tokenizer {
 public:
  static constexpr int32_t bos = 1, eos = 2;

  explicit Tokenizer(Vocabulary vocabulary);

  // E0716 names the first byte that is not UTF-8, or that no token stands for.
  Result<std::vector<int32_t>> encode(std::string_view text) const;

  // What `token` prints after `previous`: the byte of a token <0xNN>, and no leading space at the
  // beginning of a text. Control characters that are not white space print as nothing.
  std::string piece(int32_t previous, int32_t token) const;

 private:
  int32_t find(const std::string& bytes) const;  // -1 if there is none
  Result<std::vector<int32_t>> characters(std::string_view text) const;
  void merge(std::vector<int32_t>& tokens) const;

  Vocabulary vocabulary_;
  std::unordered_map<std::string, int32_t> ids_;  // the lowest id of equal tokens
};

}  // namespace tang
