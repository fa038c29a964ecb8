// Tokens of the kernel texts: loop programs, tile programs, tables of instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

enum class TokenKind : uint8_t { name, number, mark, comment, newline, finish, bad };

struct Token {
  TokenKind kind = TokenKind::finish;
  std::string_view text;    // of a number: without its suffix; of a comment: without "# "
  std::string_view suffix;  // of a number, `inf` or `nan`: the type after "'"
  int line = 1, col = 1;
};

// The tokens of `text`, which must outlive them; the last is `finish`. Tabs and carriage returns
// are spaces. A character that begins no token becomes a `bad` token.
std::vector<Token> tokenize(std::string_view text);

}  // namespace tang
