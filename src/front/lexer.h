// Tokens of the text form (language.md 1.1). The lexer never stops at an error: it reports it and
// goes on with the token that was most likely meant (`λ` becomes the name lambda), so that one run
// finds all errors of a file. Newlines are not tokens; a token knows whether a newline stands
// before it, and the parser decides by the newline rule whether that ends the statement.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "front/source.h"

namespace tang {

enum class Tok : std::uint8_t {
  end,   // end of the file
  stop,  // never produced by the lexer: the parser's view of the end of a statement
  bad,   // a character that was reported already
  name,
  integer,
  real,
  lparen,
  rparen,
  lbracket,
  rbracket,
  comma,
  semicolon,
  colon,
  dot,
  question,
  bar,
  arrow,
  assign,
  plus,
  minus,
  star,
  slash,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  kw_param,  // statement words, kw_param … kw_sorted
  kw_dim,
  kw_input,
  kw_output,
  kw_grad,
  kw_fn,
  kw_monoid,
  kw_sorted,
  kw_into,  // clause words, kw_into … kw_commutative
  kw_with,
  kw_where,
  kw_identity,
  kw_lift,
  kw_combine,
  kw_commutative,
  kw_and,
  kw_or,
  kw_not,
  kw_inf,
  kw_nan,
  kw_true,
  kw_false,
};

struct Token {
  Tok kind = Tok::end;
  bool newline_before = false;
  Span span;
  std::string_view text;      // into the Source, or static storage for a replaced character
  std::uint64_t integer = 0;  // Tok::integer: at most 2^63 (2^63 only below a unary minus)
  double real = 0;            // Tok::real: the nearest f64
};

// The reserved word spelt `text`, or Tok::name.
Tok keyword(std::string_view text);
bool is_statement_word(Tok kind);
bool is_clause_word(Tok kind);
// The two halves of the newline rule.
bool can_end_statement(Tok kind);
bool can_begin_statement(Tok kind);

// All tokens of `source`, the last one Tok::end. Errors E0102, E0103, E0106 and E0108 are appended
// to `errors`; `source` must outlive the tokens.
std::vector<Token> lex(const Source& source, Diagnostics& errors);

// The error that every part of the front end reports at a span of the source.
Diagnostic diagnose(const Source& source, Span span, std::string id, std::string message,
                    std::string hint = {}, std::string label = {});

}  // namespace tang
