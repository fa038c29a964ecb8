// Statements. Blocks nest at most max_nesting deep.
#include <algorithm>

#include <fmt/format.h>

#include "tile/names.h"
#include "tile/parser.h"

namespace tang::tile {

// A statement begins with roles when a colon follows a list of names.
bool Parser::has_roles() const {
  size_t k = 0;
  while (peek(k).kind == TokenKind::name && is(",", k + 1)) k += 2;
  return peek(k).kind == TokenKind::name && is(":", k + 1);
}

RegionId Parser::block(RoleSet within) {
  const auto id = static_cast<RegionId>(k_.regions.size());
  k_.regions.emplace_back();
  const Token at = peek();
  expect("{");
  newline();
  if (!enter(at)) return id;
  const auto values = values_;
  const auto dims = dims_;
  while (!error_ && !is("}")) {
    if (peek().kind == TokenKind::finish) fail("E0110", "expected `}`", peek());
    statement(id, within);
    newline();
  }
  if (!expected_.empty())
    fail("E0201", fmt::format("there is no value `{}` here", expected_.begin()->first),
         expected_.begin()->second);
  values_ = values;  // what the block defined is not visible after it
  dims_ = dims;
  --nesting_;
  expect("}");
  return id;
}

void Parser::statement(RegionId region, RoleSet within) {
  Op op;
  const Token start = peek();
  op.where = {file_, start.line, start.col, 1};
  op.roles = within;
  if (has_roles()) {
    op.roles = roles();
    expect(":");
  }
  if (accept("@")) op.stage = static_cast<uint8_t>(integer());
  staged_ = op.stage > 0;
  std::vector<std::pair<std::string, Token>> names;
  size_t k = 0;
  while (peek(k).kind == TokenKind::name && is(",", k + 1)) k += 2;
  if (peek(k).kind == TokenKind::name && is("=", k + 1)) {
    list([&] {
      const Token at = peek();
      names.emplace_back(name("a value"), at);
    });
    expect("=");
  }
  const Token at = peek();
  const auto kind = parse_op(name("an operation"));
  if (!kind) return fail("E0110", fmt::format("there is no operation `{}`", at.text), at);
  op.kind = *kind;
  // Operations stand in the order of their text, an outer one before those it holds.
  const auto id = static_cast<uint32_t>(k_.ops.size());
  k_.ops.push_back({});
  k_.regions[index_of(region)].ops.push_back(id);
  switch (info(op.kind).group) {
    case OpGroup::data:
      data(op);
      break;
    case OpGroup::channel: {
      const Token here = peek();
      const std::string wanted = name("a channel");
      for (size_t c = 0; c < k_.channels.size(); ++c)
        if (k_.channels[c].name == wanted) op.channel = static_cast<ChannelId>(c);
      if (op.channel == ChannelId::none)
        fail("E0201", fmt::format("there is no channel `{}`", wanted), here);
      if (op.kind == OpKind::commit || op.kind == OpKind::release) op.args = {value()};
      break;
    }
    case OpGroup::order:
      if (op.kind == OpKind::wait) {
        op.args = values();
      } else if (op.kind == OpKind::fence) {
        if (accept("async"))
          op.fence = Fence::async;
        else
          expect("registers");
      } else if (op.kind != OpKind::barrier) {
        const Token here = peek();
        const std::string wanted = name("a turn");
        while (op.turn < k_.turns.size() && k_.turns[op.turn].name != wanted) ++op.turn;
        if (op.turn == k_.turns.size())
          fail("E0201", fmt::format("there is no turn `{}`", wanted), here);
      }
      break;
    case OpGroup::control:
      control(op, op.roles);
      break;
  }
  results(op, names);
  k_.ops[id] = std::move(op);
}

// Defines what the operation yields. Its last result may be a token.
void Parser::results(Op& op, const std::vector<std::pair<std::string, Token>>& names) {
  for (size_t k = 0; k < names.size(); ++k) {
    const ValueId v = define(names[k].first, names[k].second);
    Type& type = k_.values[index_of(v)].type;
    op.results.push_back(v);
    const bool slot = op.kind == OpKind::acquire || op.kind == OpKind::receive;
    const bool token = op.kind == OpKind::copy || (op.kind == OpKind::contract && k == 1);
    if (slot) {
      type.what = Type::What::slot;
      type.channel = op.channel;
    } else if (token) {
      type.what = Type::What::token;
    } else if (op.kind == OpKind::loop) {
      if (k < op.carried.size()) type = k_[op.carried[k]].type;
    } else if (op.kind != OpKind::branch && !result_.empty()) {
      type = result_[std::min(k, result_.size() - 1)];
    }
  }
  if (op.kind == OpKind::branch) type_branch(op);
}

void Parser::extents(Op& op) {
  expect("(");
  if (!is(")"))
    list([&] {
      op.over.push_back(dim(Index::What::axis));
      op.box.push_back(integer());
    });
  expect(")");
}

Ref Parser::ref() {
  Ref r;
  const Token at = peek();
  const std::string first = name("a memory, a map or a slot");
  if (is(".")) {
    take();
    r.what = Ref::What::member;
    const auto found = values_.find(first);
    if (found == values_.end()) fail("E0201", fmt::format("there is no slot `{}`", first), at);
    if (found != values_.end()) r.slot = found->second;
    r.memory = memory_name();
  } else {
    for (size_t m = 0; m < k_.maps.size(); ++m)
      if (k_.maps[m].name == first) {
        r.what = Ref::What::map;
        r.map = static_cast<MapId>(m);
        r.memory = k_.maps[m].of;
      }
    for (size_t m = 0; m < k_.memories.size(); ++m)
      if (k_.memories[m].name == first) {
        r.what = Ref::What::memory;
        r.memory = static_cast<MemoryId>(m);
      }
    if (r.what == Ref::What::none)
      fail("E0201", fmt::format("there is no memory or map `{}`", first), at);
  }
  expect("[");
  if (!is("]")) list([&] { r.at.push_back(form()); });
  expect("]");
  return r;
}

bool Parser::at_ref() const { return is("[", 1) || is(".", 1); }

// `-> PLACEMENT : FORMATS [partial MONOID]`, kept for `results`.
void Parser::result_type(const Op&) {
  result_.clear();
  Type type;
  expect("->");
  const Token at = peek();
  const std::string wanted = name("a placement");
  for (size_t p = 0; p < k_.placements.size(); ++p)
    if (k_.placements[p].name == wanted) type.placement = static_cast<PlacementId>(p);
  if (type.placement == PlacementId::none)
    return fail("E0201", fmt::format("there is no placement `{}`", wanted), at);
  expect(":");
  list([&] {
    const Token here = peek();
    if (const auto format = parse_format(name("a format")))
      type.format = *format;
    else
      fail("E0110", "expected a format", here);
    result_.push_back(type);
  });
  if (!accept("partial")) return;
  const MonoidId partial = monoid();
  for (Type& t : result_) t.partial = partial;
}

void Parser::clauses(Op& op) {
  if (accept("valid")) {
    op.valid = conditions(",");
    if (accept("fill")) op.fill = number();
  }
  if (accept("row")) op.row = dotted("a row");
  if (accept("by")) {
    expect("one_thread");
    op.one_thread = true;
  }
}

void Parser::data(Op& op) {
  switch (op.kind) {
    case OpKind::load:
      op.refs = {ref()};
      result_type(op);
      break;
    case OpKind::store:
      op.args = {value()};
      expect("->");
      op.refs = {ref()};
      break;
    case OpKind::copy: {
      if (is("(")) extents(op);
      op.refs = {ref()};
      expect("->");
      op.refs.push_back(ref());
      break;
    }
    case OpKind::map:
      leaves_ = &op.leaves;
      arguments_ = &op.args;
      op.body = expr();
      result_type(op);
      break;
    case OpKind::solve:
      list([&] { op.over.push_back(dim(Index::What::axis)); });
      expect(":");
      op.refs = {ref()};
      result_type(op);
      break;
    case OpKind::scan:
    case OpKind::reduce:
      op.monoid = monoid();
      if (!is(":")) list([&] { op.over.push_back(dim(Index::What::axis)); });
      expect(":");
      op.args = values();
      result_type(op);
      break;
    case OpKind::fold:
      op.monoid = monoid();
      expect(":");
      op.args = values();
      result_type(op);
      break;
    case OpKind::contract:
      contract(op);
      break;
    case OpKind::convert:
      op.args = {value()};
      result_type(op);
      break;
    case OpKind::slice:
      op.args = {value()};
      expect("at");
      expect("(");
      list([&] { op.from.push_back(form()); });
      expect(")");
      result_type(op);
      break;
    default:
      op.refs = {ref()};
  }
  clauses(op);
}

void Parser::contract(Op& op) {
  extents(op);
  expect(":");
  op.negate = accept("-");
  for (int side = 0; side < 2; ++side) {
    if (side == 1) expect("*");
    if (at_ref()) {
      op.refs.push_back(ref());
    } else {
      op.refs.emplace_back();
      op.args.push_back(value());
    }
  }
  if (accept("+")) op.args.push_back(value());
  result_type(op);
}

void Parser::control(Op& op, RoleSet within) {
  if (op.kind == OpKind::next) {
    if (peek().kind == TokenKind::name) op.args = values();
    return;
  }
  if (op.kind == OpKind::loop) return loop(op, within);
  op.holds = conditions("and");
  op.body_region = block(within);
  if (accept("else")) op.other_region = block(within);
}

void Parser::loop(Op& op, RoleSet within) {
  const auto values = values_;
  const auto dims = dims_;
  const auto index = [&](Index::What what) {
    const Token at = peek();
    const std::string n = name("an index");
    claim(n, at);
    return add_index(n, what);
  };
  if (accept("tiles")) {
    op.range.tiles = true;
    expect("(");
    list([&] { op.range.indices.push_back(index(Index::What::tile)); });
    expect(")");
  } else {
    // The limits do not see the index.
    const Token at = peek();
    const std::string n = name("an index");
    claim(n, at);
    expect("from");
    op.range.lo = forms("max");
    expect("to");
    op.range.hi = forms("min");
    op.range.indices = {add_index(n, Index::What::loop)};
    if (accept("step")) op.range.step = integer();
    op.range.down = accept("down");
    op.range.parallel = !op.range.down && accept("parallel");
  }
  if (accept("carry")) {
    std::vector<std::pair<std::string, Token>> names;
    list([&] {
      const Token at = peek();
      names.emplace_back(name("a value"), at);
      expect("=");
      op.args.push_back(value());
    });
    for (size_t c = 0; c < names.size(); ++c) {
      const ValueId v = define(names[c].first, names[c].second);
      if (op.args[c] != ValueId::none) k_.values[index_of(v)].type = k_[op.args[c]].type;
      op.carried.push_back(v);
    }
  }
  op.body_region = block(within);
  type_carried(op);
  values_ = values;
  dims_ = dims;
}

// What starts as `none` has the type of what the body passes on.
void Parser::type_carried(const Op& op) {
  const Region& body = k_[op.body_region];
  if (body.ops.empty() || k_.ops[body.ops.back()].kind != OpKind::next) return;
  const std::vector<ValueId> next = k_.ops[body.ops.back()].args;
  for (size_t c = 0; c < op.carried.size() && c < next.size(); ++c)
    if (op.args[c] == ValueId::none && next[c] != ValueId::none)
      k_.values[index_of(op.carried[c])].type = k_[next[c]].type;
}

// A branch yields what its first block does.
void Parser::type_branch(const Op& op) {
  const Region& body = k_[op.body_region];
  if (body.ops.empty() || k_.ops[body.ops.back()].kind != OpKind::next) return;
  const std::vector<ValueId>& next = k_.ops[body.ops.back()].args;
  for (size_t k = 0; k < op.results.size() && k < next.size(); ++k)
    if (next[k] != ValueId::none) k_.values[index_of(op.results[k])].type = k_[next[k]].type;
}

}  // namespace tang::tile
