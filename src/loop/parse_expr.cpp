#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "loop/parser.h"

namespace tang::loop {

// --- expressions: recursion is bounded by max_nesting ---

bool Parser::enter(const Token& at) {
  if (++nesting_ > max_nesting) fail("E0110", "the text is nested too deeply", at);
  return !error_;
}

bool Parser::expect_type(Value v, Shape shape, const Token& at) {
  if (error_) return false;
  const Shape found = kernel_[v].shape();
  if (found == shape) return true;
  fail("E0310", fmt::format("expected a value of type {}, not {}", text(shape), text(found)), at);
  return false;
}

Value Parser::add(Node node, const Token& at) {
  const Value v = append(kernel_, node);
  if (kernel_[v].depth > max_depth || kernel_[v].size > max_tree) {
    fail("E0110", "the expression is too large; name its parts with `let`", at);
  }
  return v;
}

Value Parser::combine(Op op, std::vector<Value> args, const Token& at) {
  Node node;
  node.op = op;
  if (error_) return add(Node{}, at);
  std::vector<Shape> shapes;
  for (Value v : args) shapes.push_back(kernel_[v].shape());
  const auto shape = result_shape(op, shapes);
  if (!shape) {
    fail("E0310", type_complaint(op, shapes), at);
    return add(Node{}, at);
  }
  node.type = shape->type;
  node.lanes = shape->lanes;
  std::copy(args.begin(), args.end(), node.args);
  return add(node, at);
}

Value Parser::logical_or() {
  Value left = logical_and();
  while (is("or")) {
    const Token at = take();
    left = combine(Op::logical_or, {left, logical_and()}, at);
  }
  return left;
}

Value Parser::logical_and() {
  Value left = logical_not();
  while (is("and")) {
    const Token at = take();
    left = combine(Op::logical_and, {left, logical_not()}, at);
  }
  return left;
}

Value Parser::logical_not() {
  if (!is("not")) return compare();
  const Token at = take();
  if (!enter(at)) return add(Node{}, at);
  const Value inner = logical_not();
  --nesting_;
  return combine(Op::logical_not, {inner}, at);
}

Value Parser::compare() {
  const Value left = sum();
  static constexpr std::pair<std::string_view, Op> marks[] = {
      {"<", Op::lt}, {"<=", Op::le}, {"==", Op::eq}, {"!=", Op::ne}};
  for (const auto& [mark, op] : marks) {
    if (!is(mark)) continue;
    const Token at = take();
    return combine(op, {left, sum()}, at);
  }
  return left;
}

Value Parser::sum() {
  Value left = product();
  while (is("+") || is("-")) {
    const Token at = take();
    left = combine(at.text == "+" ? Op::add : Op::sub, {left, product()}, at);
  }
  return left;
}

Value Parser::product() {
  Value left = unary();
  while (is("*") || is("/")) {
    const Token at = take();
    left = combine(at.text == "*" ? Op::mul : Op::quot, {left, unary()}, at);
  }
  return left;
}

Value Parser::unary() {
  if (!is("-")) return atom();
  const Token at = take();
  const Token next = peek();
  const bool is_special = next.kind == TokenKind::name && next.text == "inf";
  if (next.kind == TokenKind::number || is_special) {
    take();
    return literal(next, true);
  }
  return combine(Op::neg, {atom()}, at);
}

Value Parser::atom() {
  const Token token = take();
  if (token.kind == TokenKind::number) return literal(token, false);
  if (token.kind == TokenKind::name) return named(token);
  if (token.kind == TokenKind::mark && token.text == "(" && enter(token)) {
    const Value inner = expr();
    expect(")");
    --nesting_;
    return inner;
  }
  fail("E0110", "expected an expression", token);
  return add(Node{}, token);
}

Value Parser::named(const Token& token) {
  if (token.text == "inf" || token.text == "nan") return literal(token, false);
  if (token.text == "true" || token.text == "false") {
    Node node;
    node.type = Type::boolean;
    node.bits = token.text == "true";
    return add(node, token);
  }
  if (is("(")) return call(token);
  if (is("[")) return indexed(token);
  Node node;
  if (const auto found = visible_.find(std::string(token.text)); found != visible_.end()) {
    const Local& local = kernel_[found->second];
    if (local.kind == LocalKind::array) fail("E0310", "an array is read by element", token);
    node.op = Op::local;
    node.type = local.type;
    node.lanes = local.lanes;
    node.id = index(found->second);
    return add(node, token);
  }
  if (token.text == "thread") {
    node.op = Op::thread;
    node.type = Type::i64;
    return add(node, token);
  }
  for (size_t k = 0; k < program_.symbols.size(); ++k) {
    if (program_.symbols[k] != token.text) continue;
    node.op = Op::symbol;
    node.type = Type::i64;
    node.id = static_cast<uint32_t>(k);
    return add(node, token);
  }
  fail("E0210", fmt::format("`{}` is not defined here", token.text), token);
  return add(node, token);
}

Value Parser::indexed(const Token& token) {
  Node node;
  const std::string wanted(token.text);
  if (const auto found = visible_.find(wanted); found != visible_.end()) {
    node.op = Op::element;
    node.type = kernel_[found->second].type;
    node.id = index(found->second);
    if (kernel_[found->second].kind != LocalKind::array) {
      fail("E0310", fmt::format("`{}` is not an array", wanted), token);
    }
  } else if (const auto buffer = program_.find_buffer(wanted)) {
    node.op = Op::load;
    node.type = compute_type(program_[*buffer].format);
    node.id = index(*buffer);
  } else {
    fail("E0210", fmt::format("there is no buffer or array `{}` here", wanted), token);
  }
  expect("[");
  if (!enter(token)) return add(Node{}, token);
  const Address from = address();
  expect("]");
  --nesting_;
  if (error_) return add(Node{}, token);
  const bool gathers = node.op == Op::load && kernel_[from.index].lanes > 1 && from.lanes == 1;
  const int lanes = gathers ? kernel_[from.index].lanes : from.lanes;
  check_address(from, lanes, node.op == Op::load, token);
  node.args[0] = from.index;
  node.args[1] = from.stride;
  node.args[2] = from.first;
  node.lanes = static_cast<uint8_t>(lanes);
  return error_ ? add(Node{}, token) : add(node, token);
}

// `i : 8 by s first n`
Parser::Address Parser::address() {
  Address a;
  a.index = expr();
  if (!accept(":") || error_) return a;
  const Token at = peek();
  if (kernel_[a.index].lanes > 1)
    fail("E0310", "a vector of indices says itself how many there are", at);
  const int64_t lanes = integer();
  if (lanes == 1 || !is_lanes(lanes))
    fail("E0410", fmt::format("a vector has 2, 4, 8 or 16 lanes, not {}", lanes), at);
  a.lanes = static_cast<int>(lanes);
  if (accept("by")) a.stride = expr();
  if (accept("first")) a.first = expr();
  return a;
}

void Parser::check_address(const Address& a, int lanes, bool gathers, const Token& at) {
  if (error_) return;
  if (a.lanes != lanes && a.lanes > 1 && !gathers)
    fail("E0310", fmt::format("the value has {} lanes, not {}", lanes, a.lanes), at);
  if (a.lanes == 1 && lanes > 1 && kernel_[a.index].lanes == 1)
    fail("E0310", fmt::format("a vector goes to `[i : {}]`", lanes), at);
  const std::string fault = address_fault(kernel_, a.index, a.stride, a.first, lanes, gathers);
  if (!fault.empty()) fail("E0310", fault, at);
}

Value Parser::call(const Token& token) {
  expect("(");
  if (!enter(token)) return add(Node{}, token);
  std::vector<Value> args;
  do {
    args.push_back(expr());
  } while (accept(","));
  expect(")");
  --nesting_;
  if (error_) return add(Node{}, token);
  if (const auto op = parse_call(token.text)) return combine(*op, args, token);
  if (const auto vector = vector_call(token, args)) return *vector;
  Node node;
  node.args[0] = args[0];
  node.lanes = kernel_[args[0]].lanes;
  const Type from = kernel_[args[0]].type;
  if (const auto type = parse_type(token.text)) {
    node.op = Op::cast;
    node.type = *type;
    if (!castable(from, *type)) fail("E0310", "a cast to the type the value has", token);
  } else if (token.text.starts_with("round_")) {
    const auto format = parse_format(token.text.substr(6));
    node.op = Op::round;
    node.type = from;
    node.format = format.value_or(Format::f32);
    if (!format || !roundable(*format, from)) {
      fail("E0310", fmt::format("`{}` does not take {}", token.text, loop::name(from)), token);
    }
  } else {
    fail("E0210", fmt::format("there is no operation `{}`", token.text), token);
  }
  if (args.size() != 1) fail("E0310", fmt::format("`{}` takes 1 operand", token.text), token);
  return add(node, token);
}

// `spread8(x)`, `lane(v, 3)` and their like.
std::optional<Value> Parser::vector_call(const Token& token, const std::vector<Value>& args) {
  static constexpr Op ops[] = {Op::spread, Op::ramp, Op::low,  Op::high,
                               Op::join,   Op::lane, Op::even, Op::odd};
  for (const Op op : ops) {
    const std::string_view word = info(op).name;
    if (!token.text.starts_with(word)) continue;
    const std::string count(token.text.substr(word.size()));
    const bool counted = op == Op::spread || op == Op::ramp;
    int64_t lanes = 1, k = 0;
    for (const int64_t n : {2, 4, 8, 16})
      if (count == std::to_string(n)) lanes = n;
    if (counted ? lanes == 1 : !count.empty()) continue;
    std::vector<Value> operands = args;
    const bool pair = op == Op::even || op == Op::odd;
    if (op == Op::lane || pair) {
      if (args.size() != (pair ? 3U : 2U)) {
        fail("E0310",
             fmt::format("`{}` takes {} and a number", word, pair ? "two vectors" : "a vector"),
             token);
        return add(Node{}, token);
      }
      const Node& number = kernel_[args.back()];
      k = number.op == Op::constant && number.shape() == Shape{Type::i64} ? integer_value(number)
                                                                          : -1;
      operands.pop_back();
    }
    const auto node = vector_node(kernel_, op, operands, lanes, k);
    if (node) return add(*node, token);
    fail("E0310", fmt::format("`{}` does not take these operands", token.text), token);
    return add(Node{}, token);
  }
  return std::nullopt;
}

Value Parser::literal(const Token& token, bool negative) {
  const bool is_word = token.kind == TokenKind::name;
  const bool real = is_word || token.text.find_first_of(".eE") != std::string_view::npos;
  const auto type =
      token.suffix.empty() ? std::optional(real ? Type::f32 : Type::i64) : parse_type(token.suffix);
  if (!type || is_real(*type) != real || *type == Type::boolean) {
    fail("E0110", "this literal cannot have this type", token);
    return add(Node{}, token);
  }
  if (is_word) return special(token, negative);
  if (real) return real_literal(token, *type, negative);
  Node node;
  node.type = *type;
  uint64_t magnitude = 0;
  const char* last = token.text.data() + token.text.size();
  const auto [end, code] = std::from_chars(token.text.data(), last, magnitude);
  const uint64_t limit = (*type == Type::i64 ? uint64_t{1} << 63 : uint64_t{1} << 31) - !negative;
  if (end != last || code != std::errc{} || magnitude > limit) {
    fail("E0110", "this integer does not fit its type", token);
  }
  node.bits = negative ? 0 - magnitude : magnitude;
  return add(node, token);
}

Value Parser::special(const Token& token, bool negative) {
  Node node;
  node.type = token.suffix == "f64" ? Type::f64 : Type::f32;
  const double infinity = std::numeric_limits<double>::infinity();
  const double value = token.text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                           : (negative ? -infinity : infinity);
  node.bits = real_bits(node.type, value);
  return add(node, token);
}

namespace {

template <class T>
bool read_real(std::string_view text, double& value) {
  T narrow = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, narrow);
  value = narrow;
  return end == last && code == std::errc{};
}

}  // namespace

Value Parser::real_literal(const Token& token, Type type, bool negative) {
  double value = 0;
  const bool ok = type == Type::f32 ? read_real<float>(token.text, value)
                                    : read_real<double>(token.text, value);
  if (!ok) fail("E0110", "this number cannot be represented", token);
  Node node;
  node.type = type;
  node.bits = real_bits(type, negative ? -value : value);
  return add(node, token);
}

}  // namespace tang::loop
