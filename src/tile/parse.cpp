// Tokens, names and declarations.
#include <charconv>

#include <fmt/format.h>

#include "tile/names.h"
#include "tile/parser.h"
#include "tile/text.h"
#include "view/placement_text.h"

namespace tang::tile {

// ---- tokens ------------------------------------------------------------------------------------

std::string Parser::name(std::string_view what) {
  if (peek().kind != TokenKind::name) {
    fail("E0110", fmt::format("expected {}", what), peek());
    return {};
  }
  return std::string(take().text);
}

std::string Parser::dotted(std::string_view what) {
  std::string s = name(what);
  while (accept(".")) s += "." + name(what);
  return s;
}

int64_t Parser::integer() {
  const bool negative = accept("-");
  const int64_t value = TokenReader::integer();
  return negative ? -value : value;
}

double Parser::number() {
  const bool negative = accept("-");
  const Token t = take();
  double value = 0;
  if (t.text == "inf" || t.text == "nan") {
    value = t.text == "inf" ? HUGE_VAL : NAN;
  } else {
    const auto end = t.text.data() + t.text.size();
    const auto read = std::from_chars(t.text.data(), end, value);
    if (t.kind != TokenKind::number || read.ec != std::errc() || read.ptr != end)
      fail("E0110", "expected a number", t);
  }
  return negative ? -value : value;
}

void Parser::newline() {
  if (peek().kind == TokenKind::comment) take();
  if (peek().kind != TokenKind::newline) fail("E0110", "expected the end of the line", peek());
  skip_newlines();
}

void Parser::skip_newlines() {
  while (peek().kind == TokenKind::newline || peek().kind == TokenKind::comment) take();
}

// What is left of the line, for notations with a parser of their own.
std::string_view Parser::rest_of_line() {
  if (error_) return {};
  const char* begin = peek().text.data();
  const char* end = begin;
  while (peek().kind != TokenKind::newline && peek().kind != TokenKind::comment &&
         peek().kind != TokenKind::finish)
    end = take().text.data() + tokens_[at_ - 1].text.size();
  return {begin, static_cast<size_t>(end - begin)};
}

// ---- names -------------------------------------------------------------------------------------

void Parser::claim(const std::string& name, const Token& at) {
  if (name == "none") fail("E0201", "`none` is no name", at);
  if (const auto [old, fresh] = claimed_.emplace(name, at); !fresh)
    fail("E0201", fmt::format("`{}` is defined on line {} already", name, old->second.line), at);
}

DimId Parser::add_index(const std::string& name, Index::What what) {
  const auto id = static_cast<DimId>(k_.indices.size());
  k_.indices.push_back({name, what});
  dims_[name] = id;
  return id;
}

DimId Parser::dim(Index::What what) {
  const Token at = peek();
  const auto found = dims_.find(name("an axis"));
  if (found == dims_.end() || k_[found->second].what != what) {
    fail("E0201", fmt::format("there is no axis `{}`", at.text), at);
    return DimId{};
  }
  return found->second;
}

MemoryId Parser::memory_name() {
  const Token at = peek();
  const std::string wanted = name("a memory");
  for (size_t m = 0; m < k_.memories.size(); ++m)
    if (k_.memories[m].name == wanted) return static_cast<MemoryId>(m);
  fail("E0201", fmt::format("there is no memory `{}`", wanted), at);
  return MemoryId::none;
}

ValueId Parser::value() {
  const Token at = peek();
  const std::string wanted = name("a value");
  if (wanted == "none") return ValueId::none;
  const auto found = values_.find(wanted);
  if (found != values_.end()) return found->second;
  if (!staged_) {
    fail("E0201", fmt::format("there is no value `{}` here", wanted), at);
    return ValueId::none;
  }
  // A later stage reads what the trip before it defined, further down in the text.
  const auto id = static_cast<ValueId>(k_.values.size());
  k_.values.push_back({wanted, {}});
  values_[wanted] = id;
  expected_.emplace(wanted, at);
  return id;
}

std::vector<ValueId> Parser::values() {
  std::vector<ValueId> result;
  list([&] { result.push_back(value()); });
  return result;
}

ValueId Parser::define(const std::string& name, const Token& at) {
  claim(name, at);
  if (expected_.erase(name) > 0) return values_[name];
  const auto id = static_cast<ValueId>(k_.values.size());
  k_.values.push_back({name, {}});
  values_[name] = id;
  return id;
}

RoleSet Parser::roles() {
  RoleSet set = 0;
  list([&] {
    const Token at = peek();
    const std::string wanted = name("a role");
    for (size_t r = 0; r < k_.roles.size(); ++r)
      if (k_.roles[r].name == wanted) {
        set |= RoleSet{1} << r;
        return;
      }
    fail("E0201", fmt::format("there is no role `{}`", wanted), at);
  });
  return set;
}

MonoidId Parser::monoid() {
  const Token at = peek();
  const std::string wanted = name("a monoid");
  for (size_t m = 0; m < k_.monoids.size(); ++m)
    if (k_.monoids[m].name == wanted) return static_cast<MonoidId>(m);
  const MonoidId made = builtin_monoid(k_, wanted);
  if (made == MonoidId::none) fail("E0201", fmt::format("there is no monoid `{}`", wanted), at);
  return made;
}

// ---- declarations ------------------------------------------------------------------------------

Program Parser::program() {
  skip_newlines();
  if (accept("param")) {
    list([&] { program_.params.push_back(name("a param")); });
    newline();
  }
  while (is("kernel")) kernel();
  if (peek().kind != TokenKind::finish) fail("E0110", "expected `kernel` or the end", peek());
  return std::move(program_);
}

void Parser::kernel() {
  k_ = {};
  dims_.clear();
  values_.clear();
  claimed_.clear();
  expect("kernel");
  k_.name = name("a name");
  expect("on");
  k_.target = dotted("a target");
  expect("{");
  newline();
  while (!error_ && declaration()) newline();
  if (k_.roles.empty()) k_.roles.push_back({"all", 0, 1, 0, std::nullopt, 1});
  k_.regions.emplace_back();
  while (!error_ && !is("}")) {
    statement(static_cast<RegionId>(0), every_role(k_));
    newline();
  }
  expect("}");
  skip_newlines();
  program_.kernels.push_back(std::move(k_));
}

bool Parser::declaration() {
  if (is("axis")) return axes(), true;
  if (is("arg")) return argument(Memory::Role::input), true;
  if (is("out")) return argument(Memory::Role::output), true;
  if (is("work")) return argument(Memory::Role::work), true;
  if (is("memory")) return memory(), true;
  if (is("map") && is("=", 2)) return tensor_map(), true;
  if (is("role")) return role(), true;
  if (is("channel")) return channel(), true;
  if (is("turn")) return turn(), true;
  if (is("place")) return placement(), true;
  if (is("monoid")) return monoid_declaration(), true;
  if (is("order")) return order(), true;
  return false;
}

void Parser::axes() {
  take();
  list([&] {
    const Token at = peek();
    const std::string axis = name("an axis");
    claim(axis, at);
    add_index(axis, Index::What::axis);
  });
}

std::vector<Poly> Parser::shape(Memory& m) {
  const Token at = peek();
  m.name = name("a name");
  claim(m.name, at);
  std::vector<Poly> extents;
  expect("[");
  if (!is("]"))
    list([&] {
      m.axes.push_back(dim(Index::What::axis));
      expect(":");
      extents.push_back(poly());
    });
  expect("]");
  expect(":");
  return extents;
}

void Parser::argument(Memory::Role role) {
  take();
  Memory m;
  m.role = role;
  m.extents = shape(m);
  const Token at = peek();
  if (const auto format = parse_format(name("a format")))
    m.format = *format;
  else
    fail("E0110", "expected a format", at);
  if (const auto life = parse_life(peek().text)) m.life = *life, take();
  if (accept("=")) layout(m);
  k_.memories.push_back(std::move(m));
}

void Parser::layout(Memory& m) {
  std::vector<std::string> axes;
  for (DimId d : m.axes) axes.push_back(k_[d].name);
  const Token here = peek();
  auto layout = parse_storage(rest_of_line(), axes);
  if (!layout) return fail("E0110", layout.error().message, here);
  m.layout = std::move(*layout);
}

void Parser::memory() {
  take();
  Memory m;
  m.extents = shape(m);
  const Token at = peek();
  const auto space = parse_space(name("a space"));
  const auto format = parse_format(name("a format"));
  if (!space || !format) return fail("E0110", "expected a space and a format", at);
  m.space = *space;
  m.format = *format;
  if (const auto life = parse_life(peek().text)) m.life = *life, take();
  expect("=");
  layout(m);
  k_.memories.push_back(std::move(m));
}

void Parser::tensor_map() {
  take();
  TensorMap m;
  const Token at = peek();
  m.name = name("a name");
  claim(m.name, at);
  expect("=");
  const Token use = peek();
  if (const auto u = parse_use(name("load, store or add")))
    m.use = *u;
  else
    fail("E0110", "expected load, store or add", use);
  m.of = memory_name();
  expect("box");
  list([&] { m.box.push_back(integer()); });
  if (accept("sw")) m.swizzle = integer();
  k_.maps.push_back(std::move(m));
}

void Parser::role() {
  take();
  Role r;
  const Token at = peek();
  r.name = name("a name");
  claim(r.name, at);
  expect("warps");
  r.first_warp = integer();
  expect("..");
  r.warps = integer() - r.first_warp + 1;
  if (accept("regs")) r.registers = integer();
  if (accept("copies")) {
    const Token here = peek();
    const std::string index = name("an index");
    claim(index, here);
    r.copy = add_index(index, Index::What::copy);
    r.copies = integer();
  }
  if (k_.roles.size() == 64) fail("E0110", "at most 64 roles", at);
  k_.roles.push_back(std::move(r));
}

Signal Parser::signal(int64_t phase) {
  Signal s;
  s.phase = phase;
  const Token at = peek();
  if (const auto by = parse_by(name("a signal")))
    s.by = *by;
  else
    fail("E0110", "expected transaction, arrival, named or bulk_read", at);
  expect("from");
  s.from = roles();
  if (accept("bytes")) s.bytes = integer();
  if (accept("each")) s.each = integer();
  if (accept("phase")) s.phase = integer();
  return s;
}

void Parser::channel() {
  take();
  Channel c;
  const Token at = peek();
  c.name = name("a name");
  claim(c.name, at);
  expect("depth");
  c.depth = integer();
  if (accept("each")) {
    expect("copy");
    c.per_copy = true;
  }
  expect("{");
  if (!is("}")) list([&] { c.members.push_back(memory_name()); });
  expect("}");
  expect("full");
  c.full = signal(0);
  expect("empty");
  c.empty = signal(1);
  k_.channels.push_back(std::move(c));
}

void Parser::turn() {
  take();
  Turn t;
  const Token at = peek();
  t.name = name("a name");
  claim(t.name, at);
  expect("of");
  const RoleSet set = roles();
  while (t.role < 63 && (set >> t.role & 1) == 0) ++t.role;
  expect("first");
  t.first = integer();
  k_.turns.push_back(std::move(t));
}

void Parser::placement() {
  take();
  NamedPlacement n;
  const Token at = peek();
  n.name = name("a name");
  claim(n.name, at);
  expect("(");
  if (!is(")")) list([&] { n.axes.push_back(dim(Index::What::axis)); });
  expect(")");
  expect("=");
  std::vector<std::string> axes;
  for (DimId d : n.axes) axes.push_back(k_[d].name);
  const Token here = peek();
  auto placement = parse_placement(rest_of_line(), axes);
  if (!placement) return fail("E0110", placement.error().message, here);
  n.placement = std::move(*placement);
  k_.placements.push_back(std::move(n));
}

void Parser::monoid_declaration() {
  take();
  Monoid m;
  const Token at = peek();
  m.name = name("a name");
  claim(m.name, at);
  expect("(");
  list([&] {
    m.fields.push_back(name("a field"));
    m.kinds.push_back(Kind::real);
    if (!accept(":")) return;
    const Token here = peek();
    const std::string kind = name("a kind");
    for (const Kind k : {Kind::real, Kind::integer, Kind::boolean})
      if (tang::name(k) == kind) m.kinds.back() = k;
    if (tang::name(m.kinds.back()) != kind)
      fail("E0110", fmt::format("there is no kind `{}`", kind), here);
  });
  expect(")");
  expect("identity");
  expect("(");
  list([&] { m.identity.push_back(number()); });
  expect(")");
  expect("combine");
  expect("(");
  combining_ = &m;
  list([&] { m.combine.push_back(expr()); });
  combining_ = nullptr;
  expect(")");
  m.commutative = accept("commutative");
  if (m.identity.size() != m.fields.size() || m.combine.size() != m.fields.size())
    fail("E0110", fmt::format("`{}` has {} fields", m.name, m.fields.size()), at);
  k_.monoids.push_back(std::move(m));
}

void Parser::order() {
  take();
  TileOrder o;
  list([&] {
    o.axes.push_back(dim(Index::What::axis));
    expect(":");
    o.extents.push_back(poly());
    expect("tile");
    o.tile.push_back(integer());
  });
  if (accept("digits"))
    list([&] {
      TileOrder::Digit d;
      const Token at = peek();
      const DimId axis = dim(Index::What::axis);
      const auto found = std::find(o.axes.begin(), o.axes.end(), axis);
      if (found == o.axes.end()) fail("E0201", "the order has no such axis", at);
      d.of.axis = static_cast<uint32_t>(found - o.axes.begin());
      d.of.extent = 0;
      if (accept("/")) d.of.stride = integer();
      if (accept("%")) d.of.extent = integer();
      d.reversed = accept("reversed");
      o.digits.push_back(d);
    });
  if (accept("workers")) o.workers = integer();
  k_.order = std::move(o);
}

Result<Program> parse_program(std::string_view text, const std::string& file) {
  Parser parser(text, file);
  Program p = parser.program();
  if (parser.error()) return tl::unexpected(*parser.error());
  return p;
}

}  // namespace tang::tile
