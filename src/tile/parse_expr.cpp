// Forms and scalar expressions; recursion is bounded by max_nesting.
#include <charconv>

#include <fmt/format.h>

#include "tile/parser.h"

namespace tang::tile {

using Scalar = tang::Op;

bool Parser::enter(const Token& at) {
  if (++nesting_ > max_nesting) fail("E0110", "the text is nested too deeply", at);
  return !error_;
}

// ---- forms -------------------------------------------------------------------------------------

Poly Parser::poly() {
  const Token at = peek();
  const Form f = form();
  if (!f.is_constant()) fail("E0110", "expected an expression of params", at);
  return f.base;
}

Form Parser::form() {
  const bool negative = accept("-");
  Form f = form_term();
  if (negative) f = Poly(-1) * f;
  while (is("+") || is("-")) {
    const bool minus = take().text == "-";
    f = minus ? f - form_term() : f + form_term();
  }
  return f;
}

Form Parser::form_term() {
  Form f = form_atom();
  while (is("*")) {
    const Token at = take();
    const Form by = form_atom();
    if (f.is_constant())
      f = f.base * by;
    else if (by.is_constant())
      f = by.base * f;
    else
      fail("E0110", "a product of two indices is not affine", at);
  }
  return f;
}

Form Parser::form_atom() {
  if (peek().kind == TokenKind::number) return Form(integer());
  if (accept("(")) {
    if (!enter(peek())) return {};
    Form f = form();
    --nesting_;
    expect(")");
    return f;
  }
  const Token at = peek();
  const std::string wanted = name("an index, a param or a number");
  if (const auto found = dims_.find(wanted); found != dims_.end())
    return Form::coordinate(found->second);
  for (size_t p = 0; p < program_.params.size(); ++p)
    if (program_.params[p] == wanted) return Form(Poly::param(static_cast<ParamId>(p)));
  if (const auto found = values_.find(wanted); found != values_.end())
    return Form::gathered(index_of(found->second));
  fail("E0201", fmt::format("there is no index, param or value `{}`", wanted), at);
  return {};
}

// At a parenthesis: what it holds is an affine form, one variable of a map.
bool Parser::at_form() const {
  if (combining_) return false;
  bool names = false;
  int depth = 0;
  for (size_t k = 0;; ++k) {
    const Token& t = peek(k);
    if (t.kind == TokenKind::name) {
      const bool known = dims_.contains(std::string(t.text)) || is_param(t.text);
      if (!known || is("(", k + 1)) return false;
      names = true;
    } else if (t.text == "(") {
      ++depth;
    } else if (t.text == ")") {
      if (--depth == 0) return names;
    } else if (t.kind != TokenKind::number && t.text != "+" && t.text != "-" && t.text != "*") {
      return false;
    }
  }
}

// `max(a, b)` for a lower limit, `min(a, b)` for an upper one, or one form.
std::vector<Form> Parser::forms(std::string_view limit) {
  std::vector<Form> result;
  if (!is(limit) || !is("(", 1)) return {form()};
  take();
  expect("(");
  list([&] { result.push_back(form()); });
  expect(")");
  return result;
}

// `form >= 0`, one or more.
std::vector<Form> Parser::conditions(std::string_view separator) {
  std::vector<Form> result;
  do {
    const Form left = form();
    expect(">=");
    result.push_back(left - form());
  } while (accept(separator));
  return result;
}

// ---- expressions -------------------------------------------------------------------------------

ExprId Parser::logical_or() {
  ExprId left = logical_and();
  while (accept("or")) left = k_.pool.make(Scalar::logical_or, left, logical_and());
  return left;
}

ExprId Parser::logical_and() {
  ExprId left = logical_not();
  while (accept("and")) left = k_.pool.make(Scalar::logical_and, left, logical_not());
  return left;
}

ExprId Parser::logical_not() {
  if (!is("not")) return compare();
  if (!enter(take())) return k_.pool.boolean(false);
  const ExprId inner = logical_not();
  --nesting_;
  return k_.pool.make(Scalar::logical_not, inner);
}

ExprId Parser::compare() {
  const ExprId left = sum();
  if (accept("<")) return k_.pool.make(Scalar::lt, left, sum());
  if (accept("<=")) return k_.pool.make(Scalar::le, left, sum());
  if (accept("==")) return k_.pool.make(Scalar::eq, left, sum());
  return left;
}

ExprId Parser::sum() {
  ExprId left = product();
  while (is("+") || is("-")) {
    const bool minus = take().text == "-";
    left = k_.pool.make(minus ? Scalar::sub : Scalar::add, left, product());
  }
  return left;
}

ExprId Parser::product() {
  ExprId left = unary();
  while (is("*") || is("/")) {
    const bool divides = take().text == "/";
    left = k_.pool.make(divides ? Scalar::quot : Scalar::mul, left, unary());
  }
  return left;
}

ExprId Parser::unary() {
  if (!is("-")) return atom();
  const Token at = take();
  if (peek().text == "9223372036854775808") return take(), k_.pool.integer(INT64_MIN);
  if (peek().kind == TokenKind::number || is("inf")) {
    const ExprId e = atom();
    const tang::Value v = k_.pool[e].value();
    return v.kind == Kind::integer ? k_.pool.integer(-v.i) : k_.pool.real(-v.r);
  }
  if (!enter(at)) return k_.pool.boolean(false);
  const ExprId inner = unary();
  --nesting_;
  return k_.pool.make(Scalar::neg, inner);
}

ExprId Parser::literal(const Token& token) {
  int64_t whole = 0;
  const auto end = token.text.data() + token.text.size();
  if (const auto read = std::from_chars(token.text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return k_.pool.integer(whole);
  double real = 0;
  if (const auto read = std::from_chars(token.text.data(), end, real);
      read.ec != std::errc() || read.ptr != end)
    fail("E0110", "expected a number", token);
  return k_.pool.real(real);
}

ExprId Parser::atom() {
  if (is("(") && at_form()) {
    Leaf leaf;
    leaf.form = form_atom();
    return variable(std::move(leaf));
  }
  const Token token = take();
  if (token.kind == TokenKind::number) return literal(token);
  if (token.text == "(") {
    if (!enter(token)) return k_.pool.boolean(false);
    const ExprId e = expr();
    --nesting_;
    expect(")");
    return e;
  }
  if (token.kind != TokenKind::name) {
    fail("E0110", "expected an expression", token);
    return k_.pool.boolean(false);
  }
  if (token.text == "true" || token.text == "false") return k_.pool.boolean(token.text == "true");
  if (token.text == "inf") return k_.pool.real(HUGE_VAL);
  if (token.text == "nan") return k_.pool.real(NAN);
  return is("(") ? call(token) : variable(token);
}

ExprId Parser::call(const Token& token) {
  expect("(");
  std::vector<ExprId> args;
  if (!enter(token)) return k_.pool.boolean(false);
  list([&] { args.push_back(expr()); });
  --nesting_;
  expect(")");
  if (const auto format = parse_format(token.text); format && args.size() == 1)
    return k_.pool.cast(*format, args[0]);
  const auto op = function_named(token.text);
  if (!op || static_cast<size_t>(info(*op).arity) != args.size()) {
    fail("E0201", fmt::format("there is no function `{}` of {}", token.text, args.size()), token);
    return k_.pool.boolean(false);
  }
  args.resize(3, ExprId::none);
  return k_.pool.make(*op, args[0], args[1], args[2]);
}

bool Parser::is_param(std::string_view name) const {
  return std::find(program_.params.begin(), program_.params.end(), name) != program_.params.end();
}

// A field of a state in a monoid's combine; a value or an index in the body of a map.
ExprId Parser::variable(const Token& token) {
  if (combining_) {
    expect(".");
    const Token at = peek();
    const std::string wanted = name("a field");
    for (size_t f = 0; f < combining_->fields.size(); ++f)
      if (combining_->fields[f] == wanted && (token.text == "a" || token.text == "b"))
        return k_.pool.var(static_cast<uint32_t>(2 * f + (token.text == "b")),
                           combining_->kinds[f]);
    fail("E0201", fmt::format("`{}` has no field `{}`", combining_->name, wanted), at);
    return k_.pool.boolean(false);
  }
  Leaf leaf;
  --at_;  // read again as what it is
  if (dims_.contains(std::string(token.text)) || is_param(token.text)) {
    leaf.form = form_atom();
  } else {
    const ValueId v = value();
    const auto known = std::find(arguments_->begin(), arguments_->end(), v);
    leaf.argument = static_cast<uint32_t>(known - arguments_->begin());
    if (known == arguments_->end()) arguments_->push_back(v);
  }
  return variable(std::move(leaf));
}

ExprId Parser::variable(Leaf leaf) {
  const auto same = std::find_if(leaves_->begin(), leaves_->end(), [&](const Leaf& l) {
    return l.argument == leaf.argument && l.form == leaf.form;
  });
  const auto number = static_cast<uint32_t>(same - leaves_->begin());
  Kind kind = Kind::integer;
  if (leaf.argument) {
    const ValueId v = (*arguments_)[*leaf.argument];
    kind = v == ValueId::none ? Kind::real : tang::kind(k_[v].type.format);
  }
  if (same == leaves_->end()) leaves_->push_back(std::move(leaf));
  return k_.pool.var(number, kind);
}

}  // namespace tang::tile
