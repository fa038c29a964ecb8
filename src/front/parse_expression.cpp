// Nodes and expressions of the grammar.
#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "front/parser_impl.h"

namespace tang::ast {

namespace {

// Binding strength of the infix operators, weakest first. `not` stands between `and` and relations.
enum Strength { kOr = 1, kAnd, kNot, kRelation, kSum, kTerm };

struct Infix {
  int strength;
  NodeKind kind;
};

std::optional<Infix> infix(Tok kind) {
  switch (kind) {
    case Tok::kw_or:
      return Infix{kOr, NodeKind::disjunction};
    case Tok::kw_and:
      return Infix{kAnd, NodeKind::conjunction};
    case Tok::plus:
      return Infix{kSum, NodeKind::add};
    case Tok::minus:
      return Infix{kSum, NodeKind::subtract};
    case Tok::star:
      return Infix{kTerm, NodeKind::multiply};
    case Tok::slash:
      return Infix{kTerm, NodeKind::divide};
    default:
      return std::nullopt;
  }
}

std::optional<Relation> relation(Tok kind) {
  switch (kind) {
    case Tok::less:
      return Relation::less;
    case Tok::less_equal:
      return Relation::less_equal;
    case Tok::greater:
      return Relation::greater;
    case Tok::greater_equal:
      return Relation::greater_equal;
    case Tok::equal:
      return Relation::equal;
    case Tok::not_equal:
      return Relation::not_equal;
    default:
      return std::nullopt;
  }
}

}  // namespace

NodeId Parser::push(Node node, const std::vector<NodeId>& children) {
  node.first = static_cast<std::uint32_t>(module_.children.size());
  node.count = static_cast<std::uint32_t>(children.size());
  int depth = 0;
  for (NodeId id : children) {
    if (id == kNoNode) return kNoNode;
    depth = std::max<int>(depth, module_[id].depth);
  }
  if (node.kind == NodeKind::read && node.extra != kNoNode) {
    depth = std::max<int>(depth, module_[node.extra].depth);
  }
  if (node.kind == NodeKind::reduce && module_.binders[node.extra].condition != kNoNode) {
    depth = std::max<int>(depth, module_[module_.binders[node.extra].condition].depth);
  }
  if (failed_) return kNoNode;
  if (depth >= kMaxDepth) {
    fail_depth(node.span);
    return kNoNode;
  }
  node.depth = static_cast<std::uint16_t>(depth + 1);
  module_.children.insert(module_.children.end(), children.begin(), children.end());
  module_.nodes.push_back(node);
  return static_cast<NodeId>(module_.nodes.size() - 1);
}

void Parser::fail_depth(Span span) {
  fail({span.begin, std::min(span.end, span.begin + 1)}, "E0107",
       fmt::format("this expression is nested deeper than {}", kMaxDepth),
       "split it over several definitions: they cost nothing");
}

NodeId Parser::leaf(NodeKind kind, const Token& token, std::int64_t integer, double real) {
  Node node;
  node.kind = kind;
  node.span = token.span;
  node.integer = integer;
  node.real = real;
  return push(node, {});
}

NodeId Parser::expression() { return infix_expression(kOr); }

NodeId Parser::infix_expression(int strength) {
  std::uint32_t begin = raw().span.begin;
  NodeId left = strength <= kNot && at(Tok::kw_not) ? not_expression() : unary();
  while (left != kNoNode) {
    if (relation(peek())) {
      if (strength > kRelation) break;
      left = comparison(left, begin);
      continue;
    }
    std::optional<Infix> op = infix(peek());
    if (!op || op->strength < strength) break;
    take();
    NodeId right = infix_expression(op->strength + 1);
    if (right == kNoNode) return kNoNode;
    Node node;
    node.kind = op->kind;
    node.span = span_since(begin);
    left = push(node, {left, right});
  }
  return left;
}

NodeId Parser::not_expression() {
  Token word = take();
  if (!enter(word.span)) return kNoNode;
  NodeId operand = infix_expression(kNot);
  --nesting_;
  Node node;
  node.kind = NodeKind::negation;
  node.span = span_since(word.span.begin);
  return push(node, {operand});
}

NodeId Parser::comparison(NodeId first, std::uint32_t begin) {
  std::vector<NodeId> operands = {first};
  std::vector<Relation> relations;
  while (std::optional<Relation> r = relation(peek())) {
    take();
    relations.push_back(*r);
    operands.push_back(infix_expression(kSum));
    if (operands.back() == kNoNode) return kNoNode;
  }
  Node node;
  node.kind = NodeKind::compare;
  node.span = span_since(begin);
  node.extra = static_cast<std::uint32_t>(module_.relations.size());
  module_.relations.insert(module_.relations.end(), relations.begin(), relations.end());
  return push(node, operands);
}

bool Parser::enter(Span span) {
  if (nesting_ >= kMaxDepth) {
    fail_depth(span);
    return false;
  }
  ++nesting_;
  return true;
}

NodeId Parser::unary() {
  if (at(Tok::minus)) return negate();
  std::uint32_t begin = raw().span.begin;
  NodeId value = atom();
  while (value != kNoNode && at(Tok::dot)) {
    take();
    Node node;
    node.kind = NodeKind::field;
    node.name = name("the name of a field");
    node.span = span_since(begin);
    value = push(node, {value});
  }
  return value;
}

NodeId Parser::negate() {
  Token sign = take();
  if (at(Tok::integer) && raw().integer == std::uint64_t{1} << 63) {
    Token number = take();
    number.span.begin = sign.span.begin;
    return leaf(NodeKind::integer, number, INT64_MIN);
  }
  if (!enter(sign.span)) return kNoNode;
  NodeId operand = unary();
  --nesting_;
  Node node;
  node.kind = NodeKind::negate;
  node.span = span_since(sign.span.begin);
  return push(node, {operand});
}

NodeId Parser::atom() {
  switch (peek()) {
    case Tok::integer:
      return integer();
    case Tok::real:
      return real();
    case Tok::kw_inf:
      return leaf(NodeKind::real, take(), 0, std::numeric_limits<double>::infinity());
    case Tok::kw_nan:
      return leaf(NodeKind::real, take(), 0, std::numeric_limits<double>::quiet_NaN());
    case Tok::kw_true:
      return leaf(NodeKind::boolean, take(), 1);
    case Tok::kw_false:
      return leaf(NodeKind::boolean, take(), 0);
    case Tok::name:
      return named();
    case Tok::lparen:
      return brackets();
    default:
      fail_expected("an expression");
      return kNoNode;
  }
}

NodeId Parser::integer() {
  Token token = take();
  if (token.integer == std::uint64_t{1} << 63) {
    fail(token.span, "E0106", fmt::format("`{}` does not fit in 64 bits", token.text),
         "write it with a point to make it a real number");
    return kNoNode;
  }
  return leaf(NodeKind::integer, token, static_cast<std::int64_t>(token.integer));
}

NodeId Parser::real() {
  Token token = take();
  return leaf(NodeKind::real, token, 0, token.real);
}

NodeId Parser::brackets() {
  Token open = take();
  if (!enter(open.span)) return kNoNode;
  std::vector<NodeId> parts = {expression()};
  while (accept(Tok::comma)) parts.push_back(expression());
  expect_close(Tok::lparen);
  --nesting_;
  if (failed_) return kNoNode;
  if (parts.size() == 1) return parts[0];
  Node node;
  node.kind = NodeKind::tuple;
  node.span = span_since(open.span.begin);
  return push(node, parts);
}

NodeId Parser::named() {
  Node node;
  node.name = name("a name");
  node.kind = NodeKind::name;
  node.span = node.name.span;
  if (at(Tok::question)) {
    take();
    if (!at(Tok::lbracket)) {
      fail_expected("`[` after `?`");
      return kNoNode;
    }
    node.guarded = true;
    return read(node);
  }
  if (at(Tok::lbracket)) return bracketed_is_binder() ? reduce(node) : read(node);
  if (at(Tok::lparen)) {
    node.kind = NodeKind::call;
    std::vector<NodeId> arguments = call_arguments();
    node.span = span_since(node.name.span.begin);
    return failed_ ? kNoNode : push(node, arguments);
  }
  return push(node, {});
}

bool Parser::bracketed_is_binder() {
  if (match_.empty()) match_brackets();
  std::size_t close = match_[pos_];
  if (close == 0 || close + 1 >= tokens_.size()) return false;
  if (tokens_[close + 1].kind != Tok::lparen) return false;
  return !(depth_ == 0 && tokens_[close + 1].newline_before);
}

void Parser::match_brackets() {
  match_.assign(tokens_.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    Tok kind = tokens_[i].kind;
    if (is_statement_word(kind)) open.clear();
    if (kind == Tok::lparen || kind == Tok::lbracket) open.push_back(i);
    if (kind != Tok::rparen && kind != Tok::rbracket) continue;
    Tok opener = kind == Tok::rparen ? Tok::lparen : Tok::lbracket;
    if (!open.empty() && tokens_[open.back()].kind == opener) {
      match_[open.back()] = i;
      open.pop_back();
    }
  }
}

NodeId Parser::read(Node node) {
  node.kind = NodeKind::read;
  Token open = take();
  if (!enter(open.span)) return kNoNode;
  if (at(Tok::rbracket)) {
    fail(cover(open.span, raw().span), "E0101", "a read has at least one position",
         fmt::format("a rank-0 tensor is read as `{}`", node.name.text));
    return kNoNode;
  }
  std::vector<NodeId> positions = {expression()};
  while (accept(Tok::comma)) positions.push_back(expression());
  if (at(Tok::semicolon)) {
    take();
    node.extra = expression();
  }
  expect_close(Tok::lbracket);
  --nesting_;
  node.span = span_since(node.name.span.begin);
  return failed_ ? kNoNode : push(node, positions);
}

NodeId Parser::reduce(Node node) {
  node.kind = NodeKind::reduce;
  Token open = take();
  if (!enter(open.span)) return kNoNode;
  Binder binder;
  binder.indices = names("the index to bind");
  if (accept(Tok::semicolon)) binder.modifiers = names("a monoid, an index or a modifier");
  if (accept(Tok::bar)) binder.condition = expression();
  binder.span = span_since(tokens_[pos_ - 1].span.end);
  if (!failed_) binder.span = {open.span.end, tokens_[pos_ - 1].span.end};
  if (!at(Tok::rbracket) && !failed_) {
    fail_expected("`,`, `;`, `|` or `]`",
                  "between `[` and `](` stand index names; a read is not followed by `(`");
  }
  expect_close(Tok::lbracket);
  --nesting_;
  if (failed_) return kNoNode;
  module_.binders.push_back(binder);
  node.extra = static_cast<std::uint32_t>(module_.binders.size() - 1);
  std::vector<NodeId> arguments = call_arguments();
  node.span = span_since(node.name.span.begin);
  return failed_ ? kNoNode : push(node, arguments);
}

std::vector<NodeId> Parser::call_arguments() {
  Token open = take();
  std::vector<NodeId> arguments;
  if (!enter(open.span)) return arguments;
  if (!at(Tok::rparen)) {
    arguments.push_back(expression());
    while (accept(Tok::comma)) arguments.push_back(expression());
  }
  expect_close(Tok::lparen);
  --nesting_;
  return arguments;
}

}  // namespace tang::ast
