// Tokenizer files of llama2.c: the vocabulary of a model.
//
// An int32, the longest token in bytes; then for each token an f32 score, an int32 length and the
// bytes. Nothing counts the tokens: there are as many as the file holds.
//
//   E0701  cannot open or read the file
//   E0702  the file ends within a token
//   E0715  a length or a score that cannot be, or another number of tokens than the model has
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

struct Vocabulary {
  struct Token {
    std::string bytes;
    float score = 0;
  };
  std::vector<Token> tokens;  // by id
};

// `expected` is the size of the model's vocabulary.
Result<Vocabulary> read_tokenizer(const std::string& path, int64_t expected);

}  // namespace tang
