#include "view/scanner.h"

#include <fmt/format.h>

namespace tang {

namespace {

constexpr int most_depth = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void Scanner::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

bool Scanner::at_end() {
  skip_spaces();
  return at_ == text_.size();
}

int Scanner::column() {
  skip_spaces();
  return static_cast<int>(at_) + 1;
}

std::string_view Scanner::between(int column, int end) const {
  std::string_view part =
      text_.substr(static_cast<size_t>(column) - 1, static_cast<size_t>(end - column));
  while (part.ends_with(' ')) part.remove_suffix(1);
  return part;
}

std::string_view Scanner::rest() {
  skip_spaces();
  return text_.substr(at_);
}

bool Scanner::accept(std::string_view mark) {
  skip_spaces();
  const std::string_view rest = text_.substr(at_);
  if (!rest.starts_with(mark) || (mark == "-" && rest.starts_with("->"))) return false;
  at_ += mark.size();
  return true;
}

std::string_view Scanner::peek_word() {
  skip_spaces();
  size_t end = at_;
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
  const std::string_view w = peek_word();
  at_ += w.size();
  return w;
}

bool Scanner::accept_word(std::string_view wanted) {
  if (peek_word() != wanted) return false;
  word();
  return true;
}

std::optional<int64_t> Scanner::integer() {
  skip_spaces();
  size_t end = at_;
  int64_t value = 0;
  while (end < text_.size() && is_digit(text_[end])) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text_[end] - '0', &value))
      return std::nullopt;
    ++end;
  }
  if (end == at_) return std::nullopt;
  at_ = end;
  return value;
}

tl::unexpected<Diagnostic> Scanner::fail_at(int column, std::string message, std::string hint) {
  auto e = error("E0111", std::move(message), std::move(hint));
  e.value().where.line = 1;
  e.value().where.col = column;
  return e;
}

tl::unexpected<Diagnostic> Scanner::fail(std::string message, std::string hint) {
  return fail_at(column(), std::move(message), std::move(hint));
}

Result<int64_t> Scanner::primary(const Names& names) {
  const int start = column();
  if (accept("(")) {
    if (++depth_ > most_depth)
      return fail_at(start, fmt::format("parentheses nest more than {} deep", most_depth));
    auto value = sum(names);
    if (!value) return value;
    if (!accept(")")) return fail("a parenthesis is not closed", "write `)`");
    --depth_;
    return value;
  }
  if (const std::string_view name = word(); !name.empty()) {
    const auto value = names ? names(name) : std::nullopt;
    if (!value)
      return fail_at(start, fmt::format("`{}` has no value here", name), "write a number");
    return *value;
  }
  if (const auto value = integer()) return *value;
  return fail("a number is expected", "write an integer such as `8`, or `(n/8)`");
}

Result<int64_t> Scanner::divide(int64_t a, int64_t b, int column) {
  if (b <= 0) return fail_at(column, fmt::format("{} divided by {}", a, b));
  if (a % b != 0) return fail_at(column, fmt::format("{} is not a multiple of {}", a, b));
  return a / b;
}

Result<int64_t> Scanner::quotient(const Names& names) {
  const int start = column();
  auto value = primary(names);
  while (value && accept("/")) {
    const auto by = primary(names);
    value = by ? divide(*value, *by, start) : by;
  }
  return value;
}

Result<int64_t> Scanner::product(const Names& names) {
  const int start = column();
  auto value = quotient(names);
  while (value) {
    const bool times = accept("*"), rest = !times && accept("%");
    if (!times && !rest && !accept("/")) break;
    auto by = primary(names);
    if (!by) return by;
    int64_t wide = 0;
    if (times && __builtin_mul_overflow(*value, *by, &wide))
      return fail_at(start, "a number is too large");
    if (rest && *by <= 0) return fail_at(start, fmt::format("{} divided by {}", *value, *by));
    value = times ? Result<int64_t>(wide) : rest ? *value % *by : divide(*value, *by, start);
  }
  return value;
}

// Recursion through the parentheses of primary(), at most 16 deep.
Result<int64_t> Scanner::sum(const Names& names) {
  const int start = column();
  Result<int64_t> value = accept("-") ? Result<int64_t>(0) : product(names);
  bool minus = text_.substr(static_cast<size_t>(start) - 1).starts_with('-');
  while (value) {
    if (!minus && !accept("+") && !(minus = accept("-"))) break;
    auto by = product(names);
    if (!by) return by;
    int64_t wide = 0;
    if (minus ? __builtin_sub_overflow(*value, *by, &wide)
              : __builtin_add_overflow(*value, *by, &wide))
      return fail_at(start, "a number is too large");
    value = wide;
    minus = false;
  }
  return value;
}

}  // namespace tang
