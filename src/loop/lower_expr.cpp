#include "loop/lower_expr.h"

#include <algorithm>

#include "ir/guards.h"
#include "ir/variance.h"
#include "loop/scalar.h"

namespace tang::loop {

namespace {

using SOp = tang::Op;

constexpr int deepest_tree = 24;
constexpr int largest_tree = 200;

}  // namespace

Type Expressions::type_of(Kind k) const {
  return k == Kind::real ? real_ : k == Kind::integer ? Type::i64 : Type::boolean;
}

Value Expressions::convert(Value v, Kind to) { return b.cast(type_of(to), v); }

void Expressions::close() {
  for (uint32_t e : scopes_.back()) memo_.erase(e);
  scopes_.pop_back();
}

bool Expressions::trivial(ExprId e) const {
  const ExprNode& n = g.pool[e];
  if (n.op == SOp::constant) return true;
  if (n.op != SOp::var) return false;
  const Leaf& l = g.leaf(n.variable());
  if (l.what == Leaf::What::iota) return l.form().gathers.empty();
  return l.what == Leaf::What::left || l.what == Leaf::What::right;
}

std::vector<ExprId> Expressions::tests(LeafId id, bool hoisted) {
  const Leaf l = g.leaf(id);
  std::vector<ExprId> result;
  for (size_t axis = 0; axis < l.forms.size(); ++axis) {
    const Form& f = l.forms[axis];
    const Form last = Form(g[l.tensor].shape[axis]) - Form(1) - f;
    const bool needed = l.guarded || !f.is_affine() || hoisted;
    if (!needed) continue;
    const ExprId at = g.iota(f), zero = g.pool.integer(0);
    if (!proved_nonnegative(g, f)) result.push_back(g.pool.make(SOp::le, zero, at));
    if (!proved_nonnegative(g, last))
      result.push_back(g.pool.make(SOp::lt, at, g.iota(Form(g[l.tensor].shape[axis]))));
  }
  return result;
}

std::vector<ExprId> Expressions::operands(ExprId e, bool hoisted) {
  const ExprNode n = g.pool[e];
  if (n.op != SOp::var) {
    const auto args = n.operands();
    return {args.begin(), args.end()};
  }
  const Leaf l = g.leaf(n.variable());
  std::vector<ExprId> result;
  if (l.what == Leaf::What::read && is_inlined(l.tensor)) return result;
  for (const Form& f : l.forms)
    for (const Form::Gather& x : f.gathers) result.push_back(g.pool.var(x.leaf, Kind::integer));
  if (l.what == Leaf::What::read)
    for (ExprId t : tests(n.variable(), hoisted)) result.push_back(t);
  return result;
}

int Expressions::leaf_level(const Leaf& l, const Region& r) const {
  int level = 0;
  for (const Form& f : l.forms)
    for (DimId d : dims_of(g, f)) {
      const auto at = level_of.find(d);
      if (at != level_of.end()) level = std::max(level, at->second);
    }
  if (l.what == Leaf::What::left || l.what == Leaf::What::right) {
    level = r.state;
    if (l.number < slots.size())
      for (DimId d : slots[l.number].inner) {
        const auto at = level_of.find(d);
        if (at != level_of.end()) level = std::max(level, at->second);
      }
  }
  return level;
}

Region Expressions::region(const std::vector<ExprId>& roots, int body, int state) {
  Region r;
  r.body = body;
  r.state = state;
  struct Frame {
    ExprId e;
    std::vector<ExprId> operands;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](ExprId e) {
    if (!r.items.try_emplace(index(e)).second) return;
    bool hoisted = false;
    const ExprNode n = g.pool[e];
    if (n.op == SOp::var) {
      const Leaf l = g.leaf(n.variable());
      r.items[index(e)].level = leaf_level(l, r);
      hoisted = l.what == Leaf::What::read && r.items[index(e)].level < body;
    }
    r.items[index(e)].tested = hoisted;
    stack.push_back({e, operands(e, hoisted)});
  };
  for (ExprId root : roots) {
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.operands.size()) {
        enter(top.operands[top.next++]);
        continue;
      }
      Region::Item& item = r.items[index(top.e)];
      for (ExprId o : top.operands) item.level = std::max(item.level, r.items[index(o)].level);
      r.order.push_back(top.e);
      stack.pop_back();
    }
  }
  for (ExprId root : roots) {
    Region::Item& item = r.items[index(root)];
    ++item.uses;
    item.user_level = std::max(item.user_level, state);
  }
  measure(r);
  return r;
}

void Expressions::measure(Region& r) {
  for (size_t k = r.order.size(); k-- > 0;) {
    const ExprId e = r.order[k];
    const Region::Item item = r.items[index(e)];
    const ExprNode n = g.pool[e];
    const int weight = n.op == SOp::pow ? 2 : 1;  // a power repeats its base
    for (ExprId o : operands(e, item.tested)) {
      Region::Item& used = r.items[index(o)];
      used.uses += weight;
      used.user_level = std::max(used.user_level, item.level);
    }
  }
  for (ExprId e : r.order) {
    Region::Item& item = r.items[index(e)];
    item.depth = item.size = 1;
    for (ExprId o : operands(e, item.tested)) {
      const Region::Item& used = r.items[index(o)];
      item.depth = std::max(item.depth, (used.bind ? 1 : used.depth) + 1);
      item.size += used.bind ? 1 : used.size;
    }
    if (trivial(e)) continue;
    const ExprNode n = g.pool[e];
    const bool nested = n.op == SOp::var && g.leaf(n.variable()).what == Leaf::What::read &&
                        is_inlined(g.leaf(n.variable()).tensor);
    // No loop lies between the innermost reduce level and that of the states.
    const auto loop = [&](int level) { return level == r.state ? r.state - 1 : level; };
    item.bind = nested || item.uses > 1 || loop(item.user_level) > loop(item.level) ||
                item.depth > deepest_tree || item.size > largest_tree;
  }
}

void Expressions::prepare(Region& r, int level) {
  for (ExprId e : r.order) {
    const Region::Item& item = r.items[index(e)];
    if (!item.bind || item.level > level || memo_.contains(index(e))) continue;
    const ExprNode n = g.pool[e];
    const bool nested = n.op == SOp::var && g.leaf(n.variable()).what == Leaf::What::read &&
                        is_inlined(g.leaf(n.variable()).tensor);
    const Value v = nested ? inline_read(n.variable(), level) : b.let("t", build(r, e));
    memo_[index(e)] = v;
    scopes_.back().push_back(index(e));
  }
}

Value Expressions::value(Region& r, ExprId e) {
  const auto known = memo_.find(index(e));
  return known != memo_.end() ? known->second : build(r, e);
}

Value Expressions::eval(ExprId e, int level) {
  Region r = region({e}, level, level);
  prepare(r, level);
  return value(r, e);
}

Value Expressions::step(Region& r, ExprId e, bool contract) {
  const ExprNode n = g.pool[e];
  if (!contract || n.op != SOp::add || n.kind != Kind::real || memo_.contains(index(e)))
    return value(r, e);
  const auto is_state = [&](ExprId x) {
    const ExprNode& m = g.pool[x];
    return m.op == SOp::var && g.leaf(m.variable()).what == Leaf::What::left;
  };
  for (int side = 0; side < 2; ++side) {
    const ExprId product = n.args[side], other = n.args[1 - side];
    const ExprNode p = g.pool[product];
    if (p.op != SOp::mul || p.kind != Kind::real || memo_.contains(index(product))) continue;
    if (!is_state(other) && !is_state(p.args[0]) && !is_state(p.args[1])) continue;
    return b.fma(convert(value(r, p.args[0]), Kind::real), convert(value(r, p.args[1]), Kind::real),
                 convert(value(r, other), Kind::real));
  }
  return value(r, e);
}

Value Expressions::build(Region& r, ExprId e) {
  const ExprNode n = g.pool[e];
  if (n.op == SOp::var) return build_leaf(r, e);
  std::map<ExprId, Value> operands;
  for (ExprId o : n.operands()) operands[o] = value(r, o);
  return scalar(b, g.pool, n, operands, real_);
}

Value Expressions::form(const Form& f, Region& r) {
  Value sum = b.integer(0);
  for (const Form::Term& t : f.terms) {
    const auto at = value_of.find(t.dim);
    if (at == value_of.end()) {
      failed_ = true;
      continue;
    }
    sum = b.add(sum, b.mul(b.poly(t.coeff), at->second));
  }
  for (const Form::Gather& x : f.gathers)
    sum = b.add(sum, b.mul(b.poly(x.coeff),
                           convert(value(r, g.pool.var(x.leaf, Kind::integer)), Kind::integer)));
  if (f.base.is_constant()) {
    const int64_t c = f.base.constant_term();
    return c < 0 && c != INT64_MIN ? b.sub(sum, b.integer(-c)) : b.add(sum, b.integer(c));
  }
  return b.add(sum, b.poly(f.base));
}

Value Expressions::address(TensorId t, const std::vector<Form>& forms, Region& r) {
  return form(tang::address(g[t].shape, forms), r);
}

Value Expressions::build_leaf(Region& r, ExprId e) {
  const LeafId id = g.pool[e].variable();
  const Leaf l = g.leaf(id);
  switch (l.what) {
    case Leaf::What::iota:
      return form(l.form(), r);
    case Leaf::What::left:
      return left.empty() ? load_slot(slots[l.number], lane) : left[l.number];
    case Leaf::What::right:
      return right.empty() ? load_slot(slots[l.number], right_lane) : right[l.number];
    case Leaf::What::read:
      break;
    case Leaf::What::state:
    case Leaf::What::argument:
      failed_ = true;
      return b.integer(0);
  }
  const auto buffer = buffers_[index(l.tensor)];
  if (!buffer) {
    failed_ = true;
    return b.integer(0);
  }
  const Value loaded = convert(b.load(*buffer, address(l.tensor, l.forms, r)), l.kind);
  const auto item = r.items.find(index(e));
  const std::vector<ExprId> conditions = tests(id, item == r.items.end() || item->second.tested);
  if (conditions.empty()) return loaded;
  Value inside = value(r, conditions[0]);
  for (size_t k = 1; k < conditions.size(); ++k)
    inside = b.logical_and(inside, value(r, conditions[k]));
  const tang::Value fill = l.fill().to(l.kind);
  const Value otherwise = l.kind == Kind::real      ? b.real(real_, fill.r)
                          : l.kind == Kind::integer ? b.integer(fill.i)
                                                    : b.boolean(fill.i != 0);
  return b.select(inside, loaded, otherwise);
}

Value Expressions::slot_index(const Slot& s) {
  Value at = b.integer(0);
  for (DimId d : s.inner) {
    const auto& [position, extent] = inner_index[d];
    at = b.add(b.mul(at, extent), position);
  }
  return at;
}

Value Expressions::load_slot(const Slot& s, Value lane_index) {
  switch (s.where) {
    case Slot::Where::var:
      return s.var;
    case Slot::Where::lane:
      return b.at(s.array, lane_index);
    case Slot::Where::array:
      return b.at(s.array, slot_index(s));
    case Slot::Where::buffer:
      return b.load(s.buffer, slot_index(s));
  }
  return s.var;
}

void Expressions::store_slot(const Slot& s, Value v) {
  const Value x = convert(v, s.kind);
  switch (s.where) {
    case Slot::Where::var:
      b.assign(s.var, x);
      break;
    case Slot::Where::lane:
      b.set(s.array, lane, x);
      break;
    case Slot::Where::array:
      b.set(s.array, slot_index(s), x);
      break;
    case Slot::Where::buffer:
      b.store(s.buffer, slot_index(s), x);
      break;
  }
}

}  // namespace tang::loop
