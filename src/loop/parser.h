// The parser of the loop text: recursive descent, one pass, types checked on the way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "loop/nodes.h"
#include "loop/text.h"

namespace tang::loop {

inline constexpr int max_nesting = 200;  // of parentheses and blocks in the text

class Parser : private TokenReader {
 public:
  Parser(std::string_view text, const std::string& file, Program& program)
      : TokenReader(text, file), program_(program) {}
  using TokenReader::error;

  void program();
  Kernel kernel(std::string_view word = "kernel");
  void end_of_text() {
    skip_newlines();
    if (peek().kind != TokenKind::finish) fail("E0110", "expected the end of the text", peek());
  }

 private:
  // Tokens.
  std::string name(std::string_view what);
  void newline();
  void skip_newlines();
  // Names the kernel being read.
  void fail(std::string id, std::string message, const Token& at) override;

  // Header.
  void header_line();
  void buffer();
  Poly poly();
  Poly poly_term();
  void declare(const std::string& name, const Token& at);
  BufferId buffer_name();

  // Statements.
  void block();
  void statement();
  void loop();
  void definition(StmtKind kind);
  void array();
  void exchange();
  void assignment();
  void store();
  void prefetch();
  Stmt& push(StmtKind kind);
  LocalId define(const std::string& name, LocalKind kind, Shape shape, const Token& at);
  Shape shape();
  void leave_scope();

  // Expressions.
  Value expr() { return logical_or(); }
  Value logical_or();
  Value logical_and();
  Value logical_not();
  Value compare();
  Value sum();
  Value product();
  Value unary();
  Value atom();
  Value named(const Token& token);
  Value indexed(const Token& token);
  Value call(const Token& token);
  Value literal(const Token& token, bool negative);
  Value real_literal(const Token& token, Type type, bool negative);
  Value special(const Token& token, bool negative);
  // What stands between brackets after a buffer or an array.
  struct Address {
    Value index, stride, first;
    int lanes = 1;
  };
  Address address();
  void check_address(const Address& a, int lanes, bool gathers, const Token& at);
  std::optional<Value> vector_call(const Token& token, const std::vector<Value>& args);
  Value combine(Op op, std::vector<Value> args, const Token& at);
  Value add(Node node, const Token& at);
  bool expect_type(Value v, Shape shape, const Token& at);
  bool enter(const Token& at);

  Program& program_;
  Kernel kernel_;
  std::map<std::string, LocalId> visible_;
  std::vector<std::vector<std::string>> scopes_;
  int nesting_ = 0;
};

}  // namespace tang::loop
