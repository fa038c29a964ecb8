#include <charconv>

#include <fmt/format.h>

#include "loop/parser.h"

namespace tang::loop {

void Parser::fail(std::string id, std::string message, const Token& at) {
  if (!kernel_.name.empty()) message = fmt::format("kernel `{}`: {}", kernel_.name, message);
  TokenReader::fail(std::move(id), std::move(message), at);
}

std::string Parser::name(std::string_view what) {
  const Token token = peek();
  if (token.kind != TokenKind::name || !valid_name(token.text)) {
    fail("E0110", fmt::format("expected the name of {}", what), token);
    return {};
  }
  return std::string(take().text);
}

void Parser::newline() {
  if (peek().kind != TokenKind::newline) {
    fail("E0110", "expected the end of the line", peek());
    return;
  }
  skip_newlines();
}

void Parser::skip_newlines() {
  while (peek().kind == TokenKind::newline) take();
}

// --- header ---

void Parser::program() {
  skip_newlines();
  while (!error_ && peek().kind != TokenKind::finish) {
    if (is("kernel")) {
      program_.kernels.push_back(kernel());
    } else if (is("prepare")) {
      program_.prepares.push_back(kernel("prepare"));
    } else {
      header_line();
    }
    skip_newlines();
  }
}

void Parser::header_line() {
  const Token word = take();
  if (word.kind == TokenKind::comment) {
    newline();
  } else if (word.text == "symbol") {
    const Token at = peek();
    const std::string symbol = name("a symbol");
    declare(symbol, at);
    program_.symbols.push_back(symbol);
    newline();
  } else if (word.text == "buffer") {
    buffer();
    newline();
  } else if (word.text == "require") {
    program_.nonnegative.push_back(poly());
    newline();
  } else {
    fail("E0110", "expected `symbol`, `buffer`, `require`, `prepare` or `kernel`", word);
  }
}

void Parser::declare(const std::string& name, const Token& at) {
  for (const std::string& s : program_.symbols) {
    if (s == name) fail("E0210", fmt::format("`{}` is declared twice", name), at);
  }
  if (program_.find_buffer(name)) fail("E0210", fmt::format("`{}` is declared twice", name), at);
}

BufferId Parser::buffer_name() {
  const Token at = peek();
  const std::string wanted = name("a buffer");
  const auto id = program_.find_buffer(wanted);
  if (!id) fail("E0210", fmt::format("there is no buffer `{}`", wanted), at);
  return id.value_or(BufferId{});
}

void Parser::buffer() {
  Buffer row;
  const Token at = peek();
  row.name = name("a buffer");
  declare(row.name, at);
  expect(":");
  const Token format = take();
  const auto parsed = parse_format(format.text);
  if (!parsed) fail("E0310", "expected a format", format);
  row.format = parsed.value_or(Format::f32);
  expect("[");
  row.count = poly();
  expect("]");
  if (accept("input")) {
    row.role = Role::input;
  } else if (accept("output")) {
    row.role = Role::output;
    if (accept("into")) row.into = buffer_name();
  } else if (accept("prepared")) {
    row.role = Role::prepared;
  } else {
    expect("workspace");
  }
  program_.buffers.push_back(std::move(row));
}

Poly Parser::poly() {
  Poly total = accept("-") ? Poly(0) - poly_term() : poly_term();
  while (!error_) {
    if (accept("+")) {
      total = total + poly_term();
    } else if (accept("-")) {
      total = total - poly_term();
    } else {
      break;
    }
  }
  return total;
}

Poly Parser::poly_term() {
  Poly product(1);
  do {
    if (peek().kind == TokenKind::number) {
      product = product * Poly(integer());
      continue;
    }
    const Token at = peek();
    const std::string wanted = name("a symbol");
    size_t k = 0;
    while (k < program_.symbols.size() && program_.symbols[k] != wanted) ++k;
    if (k == program_.symbols.size()) {
      fail("E0210", fmt::format("there is no symbol `{}`", wanted), at);
    } else {
      product = product * Poly::param(static_cast<ParamId>(k));
    }
  } while (accept("*"));
  return product;
}

// --- statements ---

Kernel Parser::kernel(std::string_view word) {
  skip_newlines();
  while (peek().kind == TokenKind::comment) {
    take();
    skip_newlines();
  }
  kernel_ = Kernel{};
  expect(word);
  kernel_.name = name("a kernel");
  if (accept("threads")) {
    const Token at = peek();
    kernel_.threads = integer();
    if (kernel_.threads < 1) fail("E0410", "a group has at least one thread", at);
  }
  const auto list = [&](std::string_view keyword, std::vector<BufferId>& ids) {
    if (!accept(keyword)) return;
    do {
      ids.push_back(buffer_name());
    } while (accept(","));
  };
  list("reads", kernel_.reads);
  list("writes", kernel_.writes);
  visible_.clear();
  block();
  Kernel done = std::move(kernel_);
  kernel_ = Kernel{};
  return done;
}

void Parser::block() {
  if (!enter(peek())) return;
  expect("{");
  newline();
  scopes_.emplace_back();
  while (!error_ && !is("}")) {
    statement();
    newline();
  }
  expect("}");
  leave_scope();
  --nesting_;
}

void Parser::leave_scope() {
  for (const std::string& gone : scopes_.back()) visible_.erase(gone);
  scopes_.pop_back();
}

Stmt& Parser::push(StmtKind kind) {
  kernel_.body.emplace_back();
  kernel_.body.back().kind = kind;
  kernel_.body.back().line = peek().line;
  return kernel_.body.back();
}

LocalId Parser::define(const std::string& name, LocalKind kind, Shape shape, const Token& at) {
  for (const Local& local : kernel_.locals) {
    if (local.name == name) fail("E0210", fmt::format("`{}` is defined twice", name), at);
  }
  const LocalId id = static_cast<LocalId>(kernel_.locals.size());
  kernel_.locals.push_back({name, kind, shape.type, 0, shape.lanes});
  visible_[name] = id;
  if (!scopes_.empty()) scopes_.back().push_back(name);
  return id;
}

void Parser::statement() {
  const bool named = peek(1).kind == TokenKind::name;
  if (peek().kind == TokenKind::comment) {
    push(StmtKind::comment).text = static_cast<uint32_t>(kernel_.comments.size());
    kernel_.comments.emplace_back(take().text);
  } else if (is("for") && named) {
    loop();
  } else if (is("if") && !is("=", 1) && !is("[", 1)) {
    Stmt& stmt = push(StmtKind::if_);
    take();
    const Token at = peek();
    const size_t where = static_cast<size_t>(&stmt - kernel_.body.data());
    const Value condition = expr();
    expect_type(condition, {Type::boolean}, at);
    kernel_.body[where].a = condition;
    block();
    push(StmtKind::end);
  } else if (is("let") && named) {
    definition(StmtKind::let);
  } else if (is("var") && named) {
    definition(StmtKind::var);
  } else if ((is("array") || is("shared")) && named) {
    array();
  } else if (is("exchange") && named) {
    exchange();
  } else if (is("barrier") && !is("=", 1) && !is("[", 1)) {
    take();
    push(StmtKind::barrier);
  } else if ((is("store") || is("stream")) && named) {
    store();
  } else if (is("prefetch") && named) {
    prefetch();
  } else {
    assignment();
  }
}

void Parser::loop() {
  Stmt stmt;
  stmt.kind = StmtKind::for_;
  stmt.line = take().line;
  const Token at = peek();
  const std::string variable = name("a loop variable");
  expect("in");
  const Token lo = peek();
  stmt.a = expr();
  expect_type(stmt.a, {Type::i64}, lo);
  expect("..");
  const Token hi = peek();
  stmt.b = expr();
  expect_type(stmt.b, {Type::i64}, hi);
  if (accept("step")) {
    const Token step = peek();
    stmt.step = integer();
    if (stmt.step <= 0) fail("E0410", "a loop step is positive", step);
  }
  if (accept("vector")) {
    stmt.hint = Hint::vector;
  } else if (accept("unroll")) {
    stmt.hint = Hint::unroll;
  } else if (accept("parallel")) {
    stmt.hint = Hint::parallel;
  }
  scopes_.emplace_back();
  stmt.local = define(variable, LocalKind::loop, {Type::i64}, at);
  kernel_.body.push_back(stmt);
  block();
  leave_scope();
  push(StmtKind::end);
}

Shape Parser::shape() {
  const Token word = take();
  const auto parsed = parse_shape(word.text);
  if (!parsed) fail("E0310", "expected a type: f64, f32, i64, i32, bool or a vector, f32x8", word);
  return parsed.value_or(Shape{});
}

void Parser::definition(StmtKind kind) {
  Stmt stmt;
  stmt.kind = kind;
  stmt.line = take().line;
  const Token at = peek();
  const std::string variable = name("a value");
  expect(":");
  const Shape wanted = shape();
  expect("=");
  const Token first = peek();
  stmt.a = expr();
  expect_type(stmt.a, wanted, first);
  const LocalKind local = kind == StmtKind::let ? LocalKind::let : LocalKind::var;
  stmt.local = define(variable, local, wanted, at);
  kernel_.body.push_back(stmt);
}

void Parser::array() {
  Stmt stmt;
  stmt.kind = StmtKind::array;
  const bool shared = is("shared");
  stmt.line = take().line;
  const Token at = peek();
  const std::string variable = name("an array");
  expect("[");
  const Token size = peek();
  const int64_t count = integer();
  if (count <= 0) fail("E0410", "an array has at least one element", size);
  expect("]");
  expect(":");
  const Token word = peek();
  const Shape element = shape();
  if (element.lanes > 1) fail("E0310", "the elements of an array are scalars", word);
  stmt.local = define(variable, LocalKind::array, element, at);
  kernel_.locals.back().count = count;
  kernel_.locals.back().shared = shared;
  kernel_.body.push_back(stmt);
}

void Parser::exchange() {
  Stmt stmt;
  stmt.kind = StmtKind::exchange;
  stmt.line = take().line;
  const Token at = peek();
  const std::string variable = name("a name");
  expect("=");
  stmt.a = expr();
  expect("by");
  const Token mask = peek();
  stmt.step = integer();
  if (error_) return;
  if (stmt.step < 1 || stmt.step >= kernel_.threads)
    fail("E0410", "an exchange is between threads of the group", mask);
  stmt.local = define(variable, LocalKind::let, kernel_[stmt.a].shape(), at);
  kernel_.body.push_back(stmt);
}

void Parser::assignment() {
  Stmt stmt;
  stmt.line = peek().line;
  const Token at = peek();
  const std::string target = name("a statement, a `var` or an array");
  const auto found = visible_.find(target);
  if (!error_ && found == visible_.end()) {
    fail("E0210", fmt::format("`{}` is not defined here", target), at);
  }
  if (error_) return;
  stmt.local = found->second;
  const Local local = kernel_[stmt.local];
  const bool element = accept("[");
  if (element != (local.kind == LocalKind::array) || (!element && local.kind != LocalKind::var)) {
    fail("E0210",
         fmt::format("`{}` cannot be assigned: only a `var` or an array element can", target), at);
  }
  stmt.kind = element ? StmtKind::set : StmtKind::assign;
  Address to;
  if (element) {
    to = address();
    expect("]");
  }
  expect("=");
  const Token first = peek();
  const Value value = expr();
  if (error_) return;
  const uint8_t lanes = element ? kernel_[value].lanes : local.lanes;
  expect_type(value, {local.type, lanes}, first);
  if (element) check_address(to, lanes, false, at);
  stmt.a = element ? to.index : value;
  if (element) stmt.b = value;
  stmt.stride = to.stride;
  stmt.first = to.first;
  kernel_.body.push_back(stmt);
}

void Parser::store() {
  Stmt stmt;
  stmt.kind = StmtKind::store;
  if (is("stream")) stmt.hint = Hint::stream;
  stmt.line = take().line;
  const Token at = peek();
  stmt.buffer = buffer_name();
  expect("[");
  const Address to = address();
  expect("]");
  expect("=");
  stmt.b = expr();
  if (error_) return;
  check_address(to, kernel_[stmt.b].lanes, false, at);
  stmt.a = to.index;
  stmt.stride = to.stride;
  stmt.first = to.first;
  kernel_.body.push_back(stmt);
}

void Parser::prefetch() {
  Stmt stmt;
  stmt.kind = StmtKind::prefetch;
  stmt.line = take().line;
  const Token at = peek();
  stmt.buffer = buffer_name();
  expect("[");
  const Address to = address();
  expect("]");
  if (error_) return;
  check_address(to, 1, false, at);
  stmt.a = to.index;
  kernel_.body.push_back(stmt);
}

Result<Program> parse_program(std::string_view text, const std::string& file) {
  Program program;
  Parser parser(text, file, program);
  parser.program();
  parser.end_of_text();
  if (parser.error()) return tl::unexpected(*parser.error());
  return program;
}

Result<Kernel> parse_kernel(std::string_view text, const Program& program,
                            const std::string& file) {
  Program header{program.symbols, program.buffers, {}, {}};
  Parser parser(text, file, header);
  Kernel kernel = parser.kernel();
  parser.end_of_text();
  if (parser.error()) return tl::unexpected(*parser.error());
  return kernel;
}

}  // namespace tang::loop
