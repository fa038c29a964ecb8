#include "front/parser.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "front/lexer.h"

namespace tang {
namespace {

using namespace ast;

// Binding strength of the infix operators, weakest first. `not` stands between `and` and relations.
enum Strength { kOr = 1, kAnd, kNot, kRelation, kSum, kTerm };

struct Infix {
  int strength;
  NodeKind kind;
};

std::optional<Infix> infix(Tok kind) {
  switch (kind) {
    case Tok::kw_or: return Infix{kOr, NodeKind::disjunction};
    case Tok::kw_and: return Infix{kAnd, NodeKind::conjunction};
    case Tok::plus: return Infix{kSum, NodeKind::add};
    case Tok::minus: return Infix{kSum, NodeKind::subtract};
    case Tok::star: return Infix{kTerm, NodeKind::multiply};
    case Tok::slash: return Infix{kTerm, NodeKind::divide};
    default: return std::nullopt;
  }
}

std::optional<Relation> relation(Tok kind) {
  switch (kind) {
    case Tok::less: return Relation::less;
    case Tok::less_equal: return Relation::less_equal;
    case Tok::greater: return Relation::greater;
    case Tok::greater_equal: return Relation::greater_equal;
    case Tok::equal: return Relation::equal;
    case Tok::not_equal: return Relation::not_equal;
    default: return std::nullopt;
  }
}

std::string_view closer_of(Tok open) { return open == Tok::lparen ? ")" : "]"; }

class Parser {
 public:
  Parser(const Source& source, Diagnostics& errors)
      : source_(source), errors_(errors), tokens_(lex(source, errors)) {}

  Module run() {
    while (raw().kind != Tok::end) {
      start_ = pos_;
      depth_ = 0;
      nesting_ = 0;
      failed_ = false;
      statement();
      if (!failed_ && !at_end()) fail_expected("the end of the statement");
      if (failed_) recover();
    }
    return std::move(module_);
  }

 private:
  // ---- tokens -------------------------------------------------------------------------------

  const Token& raw(std::size_t ahead = 0) const {
    return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
  }

  bool boundary(std::size_t at) const {
    return at > start_ && at < tokens_.size() && tokens_[at].newline_before && depth_ == 0 &&
           can_end_statement(tokens_[at - 1].kind) && can_begin_statement(tokens_[at].kind);
  }

  // The kind of the current token, Tok::stop where the statement ends or has failed.
  Tok peek() const {
    if (failed_ || raw().kind == Tok::end || boundary(pos_)) return Tok::stop;
    return raw().kind;
  }

  bool at_end() const { return peek() == Tok::stop; }
  bool at(Tok kind) const { return peek() == kind; }

  Token take() {
    const Token& token = raw();
    if (token.kind == Tok::lparen || token.kind == Tok::lbracket) {
      ++depth_;
      open_.push_back(pos_);
    } else if ((token.kind == Tok::rparen || token.kind == Tok::rbracket) && depth_ > 0) {
      --depth_;
      open_.pop_back();
    }
    ++pos_;
    return token;
  }

  bool accept(Tok kind) {
    if (!at(kind)) return false;
    take();
    return true;
  }

  Span span_since(std::uint32_t begin) const {
    return {begin, std::max(begin, tokens_[pos_ > 0 ? pos_ - 1 : 0].span.end)};
  }

  // ---- errors -------------------------------------------------------------------------------

  void fail(Span span, std::string id, std::string message, std::string hint = {}) {
    if (failed_) return;
    failed_ = true;
    errors_.push_back(
        diagnose(source_, span, std::move(id), std::move(message), std::move(hint)));
  }

  std::string found() const {
    if (raw().kind == Tok::end) return "the end of the file";
    if (boundary(pos_)) return "the end of the line";
    return fmt::format("`{}`", source_.text(raw().span));
  }

  // Where an error about the current token points: the end of the line is shown behind its last
  // character.
  Span here() const {
    if (pos_ > 0 && (raw().kind == Tok::end || boundary(pos_))) {
      std::uint32_t end = tokens_[pos_ - 1].span.end;
      return {end, end};
    }
    return raw().span;
  }

  void fail_expected(std::string_view what, std::string hint = {}) {
    if (failed_) return;
    if (raw().kind == Tok::bad) {  // reported by the lexer
      failed_ = true;
      return;
    }
    if (fail_unclosed()) return;
    if (in_next_definition()) {
      std::uint32_t end = tokens_[line_start() - 1].span.end;
      return fail({end, end}, "E0101", "expected an expression, found the end of the line");
    }
    if (hint.empty()) hint = habit();
    fail(here(), "E0101", fmt::format("expected {}, found {}", what, found()), hint);
  }

  // The remedy for spellings that other languages use.
  std::string habit() const {
    Tok kind = raw().kind;
    Tok last = pos_ > start_ ? tokens_[pos_ - 1].kind : Tok::end;
    if (kind == Tok::star && last == Tok::star) return "write pow(x, n) for a power";
    if (kind == Tok::slash && last == Tok::slash) {
      return "write div(a, b) for floor division; a comment starts with #";
    }
    if (kind == Tok::assign) return "write == to compare";
    if (kind == Tok::rparen || kind == Tok::rbracket) {
      if (depth_ == 0) return "remove it, or open it earlier";
    }
    if (kind == Tok::kw_not) return "put brackets around it: (not a)";
    if (is_statement_word(kind) || is_clause_word(kind)) return "this word is reserved";
    return {};
  }

  // The first token of the current line, within the statement.
  std::size_t line_start() const {
    std::size_t at = pos_;
    while (at > start_ && !tokens_[at].newline_before) --at;
    return at;
  }

  // Whether the parser stands at the `=` or `:` of a definition that it took for a continuation.
  bool in_next_definition() const {
    if (raw().kind != Tok::assign && raw().kind != Tok::colon) return false;
    return line_start() > start_ && looks_like_definition(line_start());
  }

  // An open bracket that runs into the next statement is reported where it was opened.
  bool fail_unclosed() {
    if (open_.empty()) return false;
    bool next_statement = raw().kind == Tok::end || is_statement_word(raw().kind) ||
                          (raw().newline_before && looks_like_definition(pos_));
    bool swallowed = in_next_definition() && line_start() > open_.back();
    if (!next_statement && !swallowed) return false;
    const Token& open = tokens_[open_.back()];
    fail(open.span, "E0104", fmt::format("`{}` is never closed", open.text),
         fmt::format("add `{}`", closer_of(open.kind)));
    return true;
  }

  // `name =`, `name : format =` or `name[names] =` at token `at`.
  bool looks_like_definition(std::size_t at) const {
    auto kind = [&](std::size_t i) { return i < tokens_.size() ? tokens_[i].kind : Tok::end; };
    if (kind(at) != Tok::name) return false;
    std::size_t i = at + 1;
    if (kind(i) == Tok::lbracket) {
      ++i;
      while (kind(i) == Tok::name || kind(i) == Tok::comma) ++i;
      if (kind(i) != Tok::rbracket) return false;
      ++i;
    }
    if (kind(i) == Tok::colon && kind(i + 1) == Tok::name) i += 2;
    return kind(i) == Tok::assign;
  }

  // Moves to the start of the next statement and remembers the names of the failed one.
  void recover() {
    std::size_t scan = line_start();
    int depth = 0;
    for (std::size_t i = start_; i < scan; ++i) depth = depth_after(depth, tokens_[i].kind);
    std::size_t next = std::max(scan, start_ + 1);
    if (next > scan) depth = depth_after(depth, tokens_[scan].kind);
    while (tokens_[next].kind != Tok::end && !resumes(next, depth)) {
      depth = depth_after(depth, tokens_[next].kind);
      ++next;
    }
    for (std::size_t i = start_; i < next; ++i) {
      if (tokens_[i].kind == Tok::name) module_.broken_names.push_back(tokens_[i].text);
    }
    pos_ = next;
    depth_ = 0;
    open_.clear();
  }

  static int depth_after(int depth, Tok kind) {
    if (kind == Tok::lparen || kind == Tok::lbracket) return depth + 1;
    if (kind == Tok::rparen || kind == Tok::rbracket) return std::max(0, depth - 1);
    return depth;
  }

  bool resumes(std::size_t at, int depth) const {
    if (!tokens_[at].newline_before) return false;
    if (is_statement_word(tokens_[at].kind)) return true;
    if (looks_like_definition(at)) return true;
    return depth == 0 && at >= pos_ && can_begin_statement(tokens_[at].kind) &&
           (can_end_statement(tokens_[at - 1].kind) || tokens_[at - 1].kind == Tok::bad);
  }

  void expect(Tok kind, std::string_view what) {
    if (!accept(kind)) fail_expected(what);
  }

  void expect_close(Tok open) {
    Tok close = open == Tok::lparen ? Tok::rparen : Tok::rbracket;
    if (accept(close)) return;
    if (at(Tok::rparen) || at(Tok::rbracket)) {
      return fail(raw().span, "E0104",
                  fmt::format("`{}` cannot close a `{}`", raw().text,
                              open == Tok::lparen ? "(" : "["),
                  fmt::format("write `{}` first", closer_of(open)));
    }
    fail_expected(fmt::format("`,` or `{}`", closer_of(open)));
  }

  // ---- nodes --------------------------------------------------------------------------------

  NodeId push(Node node, const std::vector<NodeId>& children) {
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

  void fail_depth(Span span) {
    fail({span.begin, std::min(span.end, span.begin + 1)}, "E0107",
         fmt::format("this expression is nested deeper than {}", kMaxDepth),
         "split it over several definitions: they cost nothing");
  }

  NodeId leaf(NodeKind kind, const Token& token, std::int64_t integer, double real = 0) {
    Node node;
    node.kind = kind;
    node.span = token.span;
    node.integer = integer;
    node.real = real;
    return push(node, {});
  }

  // ---- expressions --------------------------------------------------------------------------

  NodeId expression() { return infix_expression(kOr); }

  // Operators of at least `strength`; left-associative chains are read in the loop.
  NodeId infix_expression(int strength) {
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

  NodeId not_expression() {
    Token word = take();
    if (!enter(word.span)) return kNoNode;
    NodeId operand = infix_expression(kNot);
    --nesting_;
    Node node;
    node.kind = NodeKind::negation;
    node.span = span_since(word.span.begin);
    return push(node, {operand});
  }

  NodeId comparison(NodeId first, std::uint32_t begin) {
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

  // Counts one level of nesting; false (and an error) beyond the limit.
  bool enter(Span span) {
    if (nesting_ >= kMaxDepth) {
      fail_depth(span);
      return false;
    }
    ++nesting_;
    return true;
  }

  NodeId unary() {
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

  NodeId negate() {
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

  NodeId atom() {
    switch (peek()) {
      case Tok::integer: return integer();
      case Tok::real: return real();
      case Tok::kw_inf: return leaf(NodeKind::real, take(), 0, std::numeric_limits<double>::infinity());
      case Tok::kw_nan: return leaf(NodeKind::real, take(), 0, std::numeric_limits<double>::quiet_NaN());
      case Tok::kw_true: return leaf(NodeKind::boolean, take(), 1);
      case Tok::kw_false: return leaf(NodeKind::boolean, take(), 0);
      case Tok::name: return named();
      case Tok::lparen: return brackets();
      default: fail_expected("an expression"); return kNoNode;
    }
  }

  NodeId integer() {
    Token token = take();
    if (token.integer == std::uint64_t{1} << 63) {
      fail(token.span, "E0106", fmt::format("`{}` does not fit in 64 bits", token.text),
           "write it with a point to make it a real number");
      return kNoNode;
    }
    return leaf(NodeKind::integer, token, static_cast<std::int64_t>(token.integer));
  }

  NodeId real() {
    Token token = take();
    return leaf(NodeKind::real, token, 0, token.real);
  }

  NodeId brackets() {
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

  NodeId named() {
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

  // Whether the bracket that opens here is followed by `(`: an operation, otherwise a read.
  bool bracketed_is_binder() {
    if (match_.empty()) match_brackets();
    std::size_t close = match_[pos_];
    if (close == 0 || close + 1 >= tokens_.size()) return false;
    if (tokens_[close + 1].kind != Tok::lparen) return false;
    return !(depth_ == 0 && tokens_[close + 1].newline_before);
  }

  // For each `[` the position of its `]`, 0 without one.
  void match_brackets() {
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

  NodeId read(Node node) {
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
      if (!node.guarded) {
        fail(raw().span, "E0101", "only a guarded read states a fill",
             fmt::format("write `{}?[…; fill]`", node.name.text));
        return kNoNode;
      }
      take();
      node.extra = expression();
    }
    expect_close(Tok::lbracket);
    --nesting_;
    node.span = span_since(node.name.span.begin);
    return failed_ ? kNoNode : push(node, positions);
  }

  NodeId reduce(Node node) {
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

  std::vector<NodeId> call_arguments() {
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

  // ---- statements ---------------------------------------------------------------------------

  Name name(std::string_view what) {
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

  std::vector<Name> names(std::string_view what) {
    std::vector<Name> result = {name(what)};
    while (accept(Tok::comma)) result.push_back(name(what));
    return result;
  }

  void finish(Payload payload) {
    if (failed_ || !at_end()) return;
    module_.statements.push_back({span_since(tokens_[start_].span.begin), std::move(payload)});
  }

  void statement() {
    switch (peek()) {
      case Tok::kw_param: return param();
      case Tok::kw_dim: return dim();
      case Tok::kw_input: return input();
      case Tok::kw_output: return output();
      case Tok::kw_grad: return grad();
      case Tok::kw_sorted: return sorted();
      case Tok::kw_fn: return function();
      case Tok::kw_monoid: return monoid();
      case Tok::name:
      case Tok::lparen: return definition();
      default:
        fail_expected("a statement",
                      "a line begins with a name, `(` or one of param dim input output grad fn "
                      "monoid sorted");
    }
  }

  void param() {
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

  void dim() {
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

  void input() {
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

  void output() {
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

  void grad() {
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

  void sorted() {
    take();
    Sorted result;
    result.names = names("the name of a tensor");
    finish(std::move(result));
  }

  std::vector<Name> bracketed_names(Tok open, std::string_view what) {
    expect(open, open == Tok::lparen ? "`(`" : "`[`");
    std::vector<Name> result = names(what);
    expect_close(open);
    return result;
  }

  void function() {
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

  void monoid() {
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
    expect(Tok::kw_combine, result.lift == kNoNode ? "`lift(…)` or `combine(a, b)`"
                                                   : "`combine(a, b)`");
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

  Target target() {
    Target result;
    result.name = name("the name of a definition");
    if (at(Tok::lbracket)) result.indices = bracketed_names(Tok::lbracket, "an index");
    if (accept(Tok::colon)) result.format = name("a format");
    return result;
  }

  void definition() {
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

  void definition_without_value(const Definition& result) {
    const Target& first = result.targets[0];
    if (!result.tuple && first.indices.empty() && first.format.text.empty()) {
      constexpr std::string_view words[] = {"params", "dims", "inputs", "outputs", "def",  "let",
                                            "const",  "func", "return", "for",     "if",   "import"};
      if (std::find(std::begin(words), std::end(words), first.name.text) != std::end(words)) {
        return fail(first.name.span, "E0101",
                    fmt::format("`{}` does not begin a statement", first.name.text),
                    "the statement words are param dim input output grad fn monoid sorted; a "
                    "definition has none");
      }
    }
    fail_expected("`=` and what the definition stands for");
  }

  void state(Definition& result) {
    if (at(Tok::lparen)) {
      result.state_tuple = true;
      result.state = bracketed_names(Tok::lparen, "the name of a state");
    } else {
      result.state = {name("the name of the state")};
    }
    expect(Tok::assign, "`=` and the fold");
    result.fold = expression();
  }

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

}  // namespace

Module parse_syntax(const Source& source, Diagnostics& errors) {
  Module module = Parser(source, errors).run();
  return module;
}

void finish_errors(Diagnostics& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.col) < std::tie(b.where.line, b.where.col);
  });
  if (errors.size() > kMaxErrors) errors.resize(kMaxErrors);
}

}  // namespace tang
