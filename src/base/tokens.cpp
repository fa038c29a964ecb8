#include "base/tokens.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace tang {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) next();
    tokens_.push_back({TokenKind::newline, "", "", line_, column()});
    tokens_.push_back({TokenKind::finish, "", "", line_, column()});
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  int column() const { return static_cast<int>(at_ - line_start_) + 1; }

  Token& push(TokenKind kind, size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), "", line_, column()});
    at_ += length;
    return tokens_.back();
  }

  size_t count_names(size_t from) const {
    size_t end = from;
    while (end < text_.size() && is_name(text_[end])) ++end;
    return end - from;
  }

  void suffix(Token& token) {
    if (peek() != '\'') return;
    const size_t length = count_names(at_ + 1);
    token.suffix = text_.substr(at_ + 1, length);
    if (length == 0) token.kind = TokenKind::bad;
    at_ += length + 1;
  }

  size_t number_length() const {
    size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) ++end;
    };
    digits();
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t after = end + 1;
      if (after < text_.size() && (text_[after] == '+' || text_[after] == '-')) ++after;
      if (after < text_.size() && is_digit(text_[after])) {
        end = after;
        digits();
      }
    }
    return end - at_;
  }

  void next() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '\n') {
      push(TokenKind::newline, 1);
      ++line_;
      line_start_ = at_;
    } else if (c == '#') {
      comment();
    } else if (is_digit(c)) {
      suffix(push(TokenKind::number, number_length()));
    } else if (is_name(c)) {
      Token& token = push(TokenKind::name, count_names(at_));
      if (token.text == "inf" || token.text == "nan") suffix(token);
    } else {
      mark();
    }
  }

  void comment() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    Token& token = push(TokenKind::comment, end - at_);
    token.text.remove_prefix(token.text.starts_with("# ") ? 2 : 1);
    while (token.text.ends_with('\r')) token.text.remove_suffix(1);
  }

  void mark() {
    static constexpr std::array<std::string_view, 6> two = {"..", "<=", ">=", "==", "!=", "->"};
    for (std::string_view m : two) {
      if (text_.substr(at_, 2) == m) {
        push(TokenKind::mark, 2);
        return;
      }
    }
    const bool one = std::string_view("()[]{},:;=+-*/%<>.@").find(peek()) != std::string_view::npos;
    push(one ? TokenKind::mark : TokenKind::bad, 1);
  }

  std::string_view text_;
  size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

Token TokenReader::take() {
  const Token token = peek();
  if (!error_ && at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenReader::is(std::string_view text, size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == TokenKind::mark || token.kind == TokenKind::name) && token.text == text;
}

bool TokenReader::accept(std::string_view text) {
  if (!is(text)) return false;
  take();
  return true;
}

void TokenReader::expect(std::string_view text) {
  if (!accept(text)) fail("E0110", fmt::format("expected `{}`", text), peek());
}

int64_t TokenReader::integer() {
  const Token token = take();
  int64_t value = 0;
  const char* last = token.text.data() + token.text.size();
  const bool ok = token.kind == TokenKind::number && token.suffix.empty();
  const auto [end, code] = std::from_chars(token.text.data(), last, value);
  if (!ok || end != last || code != std::errc{}) fail("E0110", "expected an integer", token);
  return value;
}

void TokenReader::fail(std::string id, std::string message, const Token& at) {
  if (error_) return;
  Diagnostic d;
  d.id = std::move(id);
  d.message = std::move(message);
  d.where = {file_, at.line, at.col, std::max<int>(1, static_cast<int>(at.text.size()))};
  error_ = std::move(d);
}

}  // namespace tang
