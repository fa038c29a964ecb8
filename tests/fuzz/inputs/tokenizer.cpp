// Tokenizer files of llama2.c, and texts they encode. The first byte of an input is the size of the
// vocabulary, less 3; the second is the length of the text, which follows; the rest is the file.
#include "models/tokenizer.h"

#include "fuzz/inputs/target.h"
#include "support/llama_files.h"

namespace tang::fuzz {

namespace {

std::string input_of(const std::vector<TestToken>& tokens, const std::string& text) {
  return std::string() + static_cast<char>(tokens.size() - 3) + static_cast<char>(text.size()) +
         text + tokenizer_file(tokens);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::vector<TestToken> few = {{"<unk>", 0}, {"<s>", 0}, {"</s>", 0}, {" ", 0},
                                      {"a", 0},     {"b", 0},   {"ab", 1},   {"\xc3\xa9", 0.5f}};
  std::vector<TestToken> bytes = test_tokens({{" ", -1}});
  bytes.resize(3 + 120);
  return {input_of(few, "ab a"), input_of(few, ""), input_of(few, "\xc3\xa9 b"),
          input_of(bytes, "a\n")};
}

void run(std::string_view input) {
  if (input.size() < 2) return;
  const int64_t size = 3 + static_cast<unsigned char>(input[0]);
  const auto length = std::min<size_t>(static_cast<unsigned char>(input[1]), input.size() - 2);
  const MemoryFile file(input.substr(2 + length));
  auto vocabulary = read_tokenizer(file.path(), size);
  if (!vocabulary) return;
  const Tokenizer tokenizer(std::move(*vocabulary));
  const auto tokens = tokenizer.encode(input.substr(2, length));
  if (!tokens) return;
  int32_t previous = Tokenizer::bos;
  for (const int32_t token : *tokens) {
    require(token >= 0 && token < size, "a token is one of the vocabulary");
    tokenizer.piece(previous, token);
    previous = token;
  }
}

}  // namespace tang::fuzz
