// The class behind parse_syntax; private to the front end. A statement ends where the newline rule
// says so or where an error is found: peek() then answers Tok::stop, so every loop and every
// descent ends by itself, and only the first error of a statement is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "front/ast.h"
#include "front/lexer.h"

namespace tang::ast {

class Parser {
 public:
  Parser(const Source& source, Diagnostics& errors)
      : source_(source), errors_(errors), tokens_(lex(source, errors)) {}
  Module run();

 private:
  // ---- tokens -------------------------------------------------------------------------------
  const Token& raw(std::size_t ahead = 0) const;
  bool boundary(std::size_t at) const;
  // The kind of the current token, Tok::stop where the statement ends or has failed.
  Tok peek() const;
  bool at_end() const { return peek() == Tok::stop; }
  bool at(Tok kind) const { return peek() == kind; }
  Token take();
  bool accept(Tok kind);
  Span span_since(std::uint32_t begin) const;

  // ---- errors -------------------------------------------------------------------------------
  void fail(Span span, std::string id, std::string message, std::string hint = {});
  std::string found() const;
  // Where an error about the current token points: the end of the line is shown behind its last
  // character.
  Span here() const;
  void fail_expected(std::string_view what, std::string hint = {});
  // The remedy for spellings that other languages use.
  std::string habit() const;
  // The first token of the current line, within the statement.
  std::size_t line_start() const;
  // Whether the parser stands at the `=` or `:` of a definition that it took for a continuation.
  bool in_next_definition() const;
  // An open bracket that runs into the next statement is reported where it was opened.
  bool fail_unclosed();
  // `name =`, `name : format =` or `name[names] =` at token `at`.
  bool looks_like_definition(std::size_t at) const;
  // Moves to the start of the next statement and remembers the names of the failed one.
  void recover();
  static int depth_after(int depth, Tok kind);
  bool resumes(std::size_t at, int depth) const;
  void expect(Tok kind, std::string_view what);
  void expect_close(Tok open);

  // ---- nodes --------------------------------------------------------------------------------
  NodeId push(Node node, const std::vector<NodeId>& children);
  void fail_depth(Span span);
  NodeId leaf(NodeKind kind, const Token& token, std::int64_t integer, double real = 0);

  // ---- expressions --------------------------------------------------------------------------
  NodeId expression();
  // Operators of at least `strength`; left-associative chains are read in the loop.
  NodeId infix_expression(int strength);
  NodeId not_expression();
  NodeId comparison(NodeId first, std::uint32_t begin);
  // Counts one level of nesting; false (and an error) beyond the limit.
  bool enter(Span span);
  NodeId unary();
  NodeId negate();
  NodeId atom();
  NodeId integer();
  NodeId real();
  NodeId brackets();
  NodeId named();
  // Whether the bracket that opens here is followed by `(`: an operation, otherwise a read.
  bool bracketed_is_binder();
  // For each `[` the position of its `]`, 0 without one.
  void match_brackets();
  NodeId read(Node node);
  NodeId reduce(Node node);
  std::vector<NodeId> call_arguments();

  // ---- statements ---------------------------------------------------------------------------
  Name name(std::string_view what);
  std::vector<Name> names(std::string_view what);
  void finish(Payload payload);
  void statement();
  void param();
  void dim();
  void input();
  void output();
  void grad();
  void sorted();
  std::vector<Name> bracketed_names(Tok open, std::string_view what);
  void function();
  void monoid();
  Target target();
  void definition();
  void definition_without_value(const Definition& result);
  void state(Definition& result);
  const Source& source_;
  Diagnostics& errors_;
  std::vector<Token> tokens_;
  Module module_;
  std::vector<std::size_t> open_;   // open brackets of the statement
  std::vector<std::size_t> match_;  // see match_brackets
  std::size_t pos_ = 0;
  std::size_t start_ = 0;
  int depth_ = 0;
  int nesting_ = 0;
  bool failed_ = false;
};

// The bracket that closes `open`.
std::string_view closer_of(Tok open);

}  // namespace tang::ast
