// The parser of the tile text: recursive descent, one pass.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tokens.h"
#include "tile/program.h"

namespace tang::tile {

inline constexpr int max_nesting = 100;  // of parentheses and blocks in the text

class Parser : private TokenReader {
 public:
  Parser(std::string_view text, const std::string& file) : TokenReader(text, file) {}
  using TokenReader::error;

  Program program();

 private:
  // Tokens.
  std::string name(std::string_view what);
  std::string dotted(std::string_view what);
  int64_t integer();  // a sign may stand before it
  double number();
  void newline();
  void skip_newlines();
  std::string_view rest_of_line();
  template <class Item>
  void list(const Item& item);  // items separated by commas

  // Names.
  DimId dim(Index::What what);
  DimId add_index(const std::string& name, Index::What what);
  MemoryId memory_name();
  ValueId value();
  std::vector<ValueId> values();
  ValueId define(const std::string& name, const Token& at);
  RoleSet roles();
  MonoidId monoid();
  void claim(const std::string& name, const Token& at);

  // Declarations.
  void kernel();
  bool declaration();
  void axes();
  void argument(Memory::Role role);
  void memory();
  void layout(Memory& m);
  std::vector<Poly> shape(Memory& m);
  void tensor_map();
  void role();
  void channel();
  Signal signal(int64_t phase);
  void turn();
  void placement();
  void monoid_declaration();
  void order();

  // Forms and expressions.
  Poly poly();
  Form form();
  Form form_term();
  Form form_atom();
  std::vector<Form> forms(std::string_view limit);
  std::vector<Form> conditions(std::string_view separator);
  ExprId expr() { return logical_or(); }
  ExprId logical_or();
  ExprId logical_and();
  ExprId logical_not();
  ExprId compare();
  ExprId sum();
  ExprId product();
  ExprId unary();
  ExprId atom();
  ExprId call(const Token& name);
  ExprId variable(const Token& name);
  ExprId variable(Leaf leaf);
  bool at_form() const;
  ExprId literal(const Token& token);
  bool enter(const Token& at);
  bool is_param(std::string_view name) const;

  // Statements.
  RegionId block(RoleSet within);
  void statement(RegionId region, RoleSet within);
  bool has_roles() const;
  void data(Op& op);
  void contract(Op& op);
  void control(Op& op, RoleSet within);
  void loop(Op& op, RoleSet within);
  void type_carried(const Op& op);
  void type_branch(const Op& op);
  Ref ref();
  bool at_ref() const;
  void extents(Op& op);
  void result_type(const Op& op);
  void clauses(Op& op);
  void results(Op& op, const std::vector<std::pair<std::string, Token>>& names);

  Program program_;
  Kernel k_;
  std::map<std::string, DimId> dims_;
  std::map<std::string, ValueId> values_;
  std::map<std::string, Token> claimed_;
  std::map<std::string, Token> expected_;  // values read by a later stage before their definition
  bool staged_ = false;                    // the statement being read has a later stage
  std::vector<Leaf>* leaves_ = nullptr;    // of the expression being read
  std::vector<ValueId>* arguments_ = nullptr;
  const Monoid* combining_ = nullptr;  // the monoid whose combine is being read
  std::vector<Type> result_;           // that the statement being read states; the last repeats
  int nesting_ = 0;
};

template <class Item>
void Parser::list(const Item& item) {
  do item();
  while (accept(","));
}

}  // namespace tang::tile
