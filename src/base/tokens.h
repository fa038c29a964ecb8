// Tokens of the kernel texts: loop programs, tile programs, tables of instructions.
#pragma once

#include <algorithm>
#include <optional>
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

// What parsers of such texts have in common. The first error is kept; after it every step does
// nothing, because the current token becomes `finish`.
class TokenReader {
 public:
  TokenReader(std::string_view text, std::string file)
      : tokens_(tokenize(text)), file_(std::move(file)) {}
  virtual ~TokenReader() = default;

  const std::optional<Diagnostic>& error() const { return error_; }

 protected:
  const Token& peek(size_t ahead = 0) const {
    return error_ ? tokens_.back() : tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take();
  bool is(std::string_view text, size_t ahead = 0) const;  // of a name or mark
  bool accept(std::string_view text);
  void expect(std::string_view text);
  int64_t integer();  // digits alone
  virtual void fail(std::string id, std::string message, const Token& at);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string file_;
  std::optional<Diagnostic> error_;
};

}  // namespace tang
