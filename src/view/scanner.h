// Reading of small notations: names, integers, marks and integer expressions over names, with the
// column of each.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/diagnostic.h"

namespace tang {

// The value of a name inside an expression; empty if it has none.
using Names = std::function<std::optional<int64_t>(std::string_view)>;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end();
  int column();                        // 1-based, of what comes next
  bool accept(std::string_view mark);  // takes a mark, such as `->`, if it comes next
  bool accept_word(std::string_view word);
  std::string_view word();  // takes letters, digits and `_`, from a letter on; may be empty
  std::string_view peek_word();
  std::optional<int64_t> integer();  // takes digits; empty if there are none or too many

  // The text from one column to before another, and all that is not taken yet.
  std::string_view between(int column, int end) const;
  std::string_view rest();

  // An error at what comes next, or at a column seen before.
  tl::unexpected<Diagnostic> fail(std::string message, std::string hint = {});
  static tl::unexpected<Diagnostic> fail_at(int column, std::string message, std::string hint = {});

  // integer | name | ( sum )
  Result<int64_t> primary(const Names& names);
  // primary { / primary }, each division exact
  Result<int64_t> quotient(const Names& names);
  // Sums of products of quotients and remainders: + - * / %, division exact.
  Result<int64_t> sum(const Names& names);

 private:
  void skip_spaces();
  Result<int64_t> product(const Names& names);
  Result<int64_t> divide(int64_t a, int64_t b, int column);

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;  // of parentheses, at most 16
};

}  // namespace tang
