#include "front/parser.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "front/parser_impl.h"

namespace tang::ast {

std::string_view closer_of(Tok open) { return open == Tok::lparen ? ")" : "]"; }

Module Parser::run() {
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

const Token& Parser::raw(std::size_t ahead) const {
  return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
}

bool Parser::boundary(std::size_t at) const {
  return at > start_ && at < tokens_.size() && tokens_[at].newline_before && depth_ == 0 &&
         can_end_statement(tokens_[at - 1].kind) && can_begin_statement(tokens_[at].kind);
}

Tok Parser::peek() const {
  if (failed_ || raw().kind == Tok::end || boundary(pos_)) return Tok::stop;
  return raw().kind;
}

Token Parser::take() {
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

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

Span Parser::span_since(std::uint32_t begin) const {
  return {begin, std::max(begin, tokens_[pos_ > 0 ? pos_ - 1 : 0].span.end)};
}

void Parser::fail(Span span, std::string id, std::string message, std::string hint) {
  if (failed_) return;
  failed_ = true;
  errors_.push_back(diagnose(source_, span, std::move(id), std::move(message), std::move(hint)));
}

std::string Parser::found() const {
  if (raw().kind == Tok::end) return "the end of the file";
  if (boundary(pos_)) return "the end of the line";
  return fmt::format("`{}`", source_.text(raw().span));
}

Span Parser::here() const {
  if (pos_ > 0 && (raw().kind == Tok::end || boundary(pos_))) {
    std::uint32_t end = tokens_[pos_ - 1].span.end;
    return {end, end};
  }
  return raw().span;
}

void Parser::fail_expected(std::string_view what, std::string hint) {
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

std::string Parser::habit() const {
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

std::size_t Parser::line_start() const {
  std::size_t at = pos_;
  while (at > start_ && !tokens_[at].newline_before) --at;
  return at;
}

bool Parser::in_next_definition() const {
  if (raw().kind != Tok::assign && raw().kind != Tok::colon) return false;
  return line_start() > start_ && looks_like_definition(line_start());
}

bool Parser::fail_unclosed() {
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

bool Parser::looks_like_definition(std::size_t at) const {
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

void Parser::recover() {
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

int Parser::depth_after(int depth, Tok kind) {
  if (kind == Tok::lparen || kind == Tok::lbracket) return depth + 1;
  if (kind == Tok::rparen || kind == Tok::rbracket) return std::max(0, depth - 1);
  return depth;
}

bool Parser::resumes(std::size_t at, int depth) const {
  if (!tokens_[at].newline_before) return false;
  if (is_statement_word(tokens_[at].kind)) return true;
  if (looks_like_definition(at)) return true;
  return depth == 0 && at >= pos_ && can_begin_statement(tokens_[at].kind) &&
         (can_end_statement(tokens_[at - 1].kind) || tokens_[at - 1].kind == Tok::bad);
}

void Parser::expect(Tok kind, std::string_view what) {
  if (!accept(kind)) fail_expected(what);
}

void Parser::expect_close(Tok open) {
  Tok close = open == Tok::lparen ? Tok::rparen : Tok::rbracket;
  if (accept(close)) return;
  if (at(Tok::rparen) || at(Tok::rbracket)) {
    return fail(
        raw().span, "E0104",
        fmt::format("`{}` cannot close a `{}`", raw().text, open == Tok::lparen ? "(" : "["),
        fmt::format("write `{}` first", closer_of(open)));
  }
  fail_expected(fmt::format("`,` or `{}`", closer_of(open)));
}

}  // namespace tang::ast

namespace tang {

ast::Module parse_syntax(const Source& source, Diagnostics& errors) {
  return ast::Parser(source, errors).run();
}

void finish_errors(Diagnostics& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.where.line, a.where.col) < std::tie(b.where.line, b.where.col);
  });
  if (errors.size() > kMaxErrors) errors.resize(kMaxErrors);
}

}  // namespace tang
