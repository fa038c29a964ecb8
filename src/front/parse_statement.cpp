// Statements of the grammar.
#include <algorithm>

#include <fmt/format.h>

#include "front/parser_impl.h"

namespace tang::ast {

Name Parser::name(std::string_view what) {
  if (at(Tok::name)) {
    Token token = take();
    return {token.text, token.span};
  }
  Tok kind = peek();
  bool next_line = raw().newline_before && is_statement_word(kind);
  if (kind >= Tok::kw_param && !next_line) {
    fail(raw().span, "E0105", fmt::format("`{}` is a reserved word, not a name", raw().text),
         fmt::format("write another name, as in `{}_1`", raw().text));
  } else {
    fail_expected(what);
  }
  return {};
}

std::vector<Name> Parser::names(std::string_view what) {
  std::vector<Name> result = {name(what)};
  while (accept(Tok::comma)) result.push_back(name(what));
  return result;
}

void Parser::finish(Payload payload) {
  if (failed_ || !at_end()) return;
  module_.statements.push_back({span_since(tokens_[start_].span.begin), std::move(payload)});
}

void Parser::statement() {
  switch (peek()) {
    case Tok::kw_param:
      return param();
    case Tok::kw_dim:
      return dim();
    case Tok::kw_input:
      return input();
    case Tok::kw_output:
      return output();
    case Tok::kw_grad:
      return grad();
    case Tok::kw_sorted:
      return sorted();
    case Tok::kw_fn:
      return function();
    case Tok::kw_monoid:
      return monoid();
    case Tok::name:
    case Tok::lparen:
      return definition();
    default:
      fail_expected("a statement",
                    "a line begins with a name, `(` or one of param dim input output grad fn "
                    "monoid sorted");
  }
}

void Parser::param() {
  take();
  Param result;
  do {
    Param::Item item;
    item.name = name("the name of a param");
    if (accept(Tok::assign)) item.value = expression();
    result.items.push_back(item);
  } while (accept(Tok::comma));
  finish(std::move(result));
}

void Parser::dim() {
  take();
  Dim result;
  do {
    Dim::Item item;
    item.name = name("the name of a dim");
    expect(Tok::assign, "`=` and the extent");
    item.extent = expression();
    result.items.push_back(item);
  } while (accept(Tok::comma));
  finish(std::move(result));
}

void Parser::input() {
  take();
  Input result;
  do {
    Input::Item item;
    item.name = name("the name of an input");
    if (at(Tok::lbracket)) {
      take();
      item.extents.push_back(expression());
      while (accept(Tok::comma)) item.extents.push_back(expression());
      expect_close(Tok::lbracket);
    }
    if (accept(Tok::colon)) item.format = name("a format");
    result.items.push_back(std::move(item));
  } while (accept(Tok::comma));
  finish(std::move(result));
}

void Parser::output() {
  take();
  Output result;
  do {
    Output::Item item;
    item.name = name("the name of an output");
    if (accept(Tok::kw_into)) item.into = name("the input whose buffer it takes");
    result.items.push_back(item);
  } while (accept(Tok::comma));
  finish(std::move(result));
}

void Parser::grad() {
  take();
  Grad result;
  do {
    Grad::Seed seed;
    seed.name = name("the tensor to differentiate");
    if (accept(Tok::kw_with)) seed.cotangent = name("the name of its cotangent");
    result.seeds.push_back(seed);
  } while (accept(Tok::comma));
  expect(Tok::arrow, "`->`");
  do {
    Grad::Result part;
    part.name = name("the name of a gradient");
    expect(Tok::colon, "`:` and the tensor it belongs to");
    part.of = name("a tensor");
    result.results.push_back(part);
  } while (accept(Tok::comma));
  finish(std::move(result));
}

void Parser::sorted() {
  take();
  Sorted result;
  result.names = names("the name of a tensor");
  finish(std::move(result));
}

std::vector<Name> Parser::bracketed_names(Tok open, std::string_view what) {
  expect(open, open == Tok::lparen ? "`(`" : "`[`");
  std::vector<Name> result = names(what);
  expect_close(open);
  return result;
}

void Parser::function() {
  take();
  Function result;
  result.name = name("the name of a function");
  if (at(Tok::lbracket)) result.indices = bracketed_names(Tok::lbracket, "an index");
  expect(Tok::lparen, "`(`");
  if (!at(Tok::rparen)) result.parameters = names("a parameter");
  expect_close(Tok::lparen);
  expect(Tok::assign, "`=` and the body");
  result.body = expression();
  finish(std::move(result));
}

void Parser::monoid() {
  take();
  Monoid result;
  result.name = name("the name of a monoid");
  result.fields = bracketed_names(Tok::lparen, "a field");
  expect(Tok::kw_identity, "`identity` and the identity state");
  result.identity = expression();
  if (accept(Tok::kw_lift)) {
    result.lift_parameters = bracketed_names(Tok::lparen, "a parameter");
    expect(Tok::assign, "`=` and the lifted state");
    result.lift = expression();
  }
  expect(Tok::kw_combine,
         result.lift == kNoNode ? "`lift(…)` or `combine(a, b)`" : "`combine(a, b)`");
  expect(Tok::lparen, "`(`");
  result.earlier = name("the name of the earlier state");
  expect(Tok::comma, "`,`: combine takes two states");
  result.later = name("the name of the later state");
  expect_close(Tok::lparen);
  expect(Tok::assign, "`=` and the combined state");
  result.combine = expression();
  result.commutative = accept(Tok::kw_commutative);
  finish(std::move(result));
}

Target Parser::target() {
  Target result;
  result.name = name("the name of a definition");
  if (at(Tok::lbracket)) result.indices = bracketed_names(Tok::lbracket, "an index");
  if (accept(Tok::colon)) result.format = name("a format");
  return result;
}

void Parser::definition() {
  Definition result;
  if (accept(Tok::lparen)) {
    result.tuple = true;
    do {
      result.targets.push_back(target());
    } while (accept(Tok::comma));
    expect_close(Tok::lparen);
  } else {
    result.targets.push_back(target());
  }
  if (!failed_ && !at(Tok::assign)) definition_without_value(result);
  expect(Tok::assign, "`=`");
  result.value = expression();
  if (accept(Tok::kw_where)) state(result);
  finish(std::move(result));
}

void Parser::definition_without_value(const Definition& result) {
  const Target& first = result.targets[0];
  if (!result.tuple && first.indices.empty() && first.format.text.empty()) {
    constexpr std::string_view words[] = {"params", "dims", "inputs", "outputs", "def", "let",
                                          "const",  "func", "return", "for",     "if",  "import"};
    if (std::find(std::begin(words), std::end(words), first.name.text) != std::end(words)) {
      return fail(first.name.span, "E0101",
                  fmt::format("`{}` does not begin a statement", first.name.text),
                  "the statement words are param dim input output grad fn monoid sorted; a "
                  "definition has none");
    }
  }
  fail_expected("`=` and what the definition stands for");
}

void Parser::state(Definition& result) {
  if (at(Tok::lparen)) {
    result.state_tuple = true;
    result.state = bracketed_names(Tok::lparen, "the name of a state");
  } else {
    result.state = {name("the name of the state")};
  }
  expect(Tok::assign, "`=` and the fold");
  result.fold = expression();
}

}  // namespace tang::ast
