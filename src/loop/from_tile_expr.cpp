// What is computed: maps, products, folds.
#include <algorithm>

#include <fmt/format.h>

#include "loop/from_tile_impl.h"
#include "loop/scalar.h"
#include "tile/text.h"

namespace tang::loop {

namespace {

using Scalar = tang::Op;
constexpr int deepest_tree = 16;  // deeper ones are cut by lets

}  // namespace

Value TileLowering::expression(const ExprPool& pool, ExprId root,
                               const std::function<Value(uint32_t)>& leaf, Type real) {
  std::map<ExprId, Value> made;
  std::map<ExprId, int> depth, uses;
  const std::vector<ExprId> order = pool.reachable(root);
  for (ExprId id : order)
    for (ExprId o : pool[id].operands()) uses[o] += pool[id].op == Scalar::pow ? 2 : 1;
  for (ExprId id : order) {
    const ExprNode& n = pool[id];
    int deep = 1;
    for (ExprId o : n.operands()) deep = std::max(deep, depth[o] + 1);
    if (n.op == Scalar::var) {
      made[id] = leaf(n.variable());
    } else {
      made[id] = scalar(b, pool, n, made, real);
      if (n.op != Scalar::constant && (uses[id] > 1 || deep > deepest_tree)) {
        made[id] = b.let("t", made[id]);
        deep = 1;
      }
    }
    depth[id] = deep;
  }
  return made.at(root);
}

void TileLowering::map(const tile::Op& op) {
  const tile::Type& type = k_[op.results[0]].type;
  const tile::NamedPlacement& to = k_[type.placement];
  const int n = lanes(type.placement);
  Type real = compute_type(type.format);
  if (!is_real(real)) {
    real = Type::f32;
    for (tile::ValueId v : op.args)
      if (k_[v].type.format == Format::f64) real = Type::f64;
  }
  std::vector<Value> all;
  for (size_t r = 0; r < registers(type.placement); ++r)
    all.push_back(expression(
        k_.pool, op.body,
        [&](uint32_t v) {
          const tile::Leaf& l = op.leaves[v];
          if (l.argument) return at(op.args[*l.argument], to, r);
          const Lane x = lane(l.form, to, r);
          if (n == 1 || x.step_poly.is_zero()) return x.base;
          if (x.step == 1) return b.ramp(x.base, n);
          return b.add(b.spread(x.base, n), b.mul(b.ramp(b.integer(0), n), b.poly(x.step_poly)));
        },
        real));
  define(op.results[0], std::move(all));
}

// Products of registers: what is summed inside an instruction has no form here.
void TileLowering::contract(const tile::Op& op) {
  const bool plain = op.over.empty() && op.args.size() == 3 && !op.negate;
  if (!plain) return fail(fmt::format("no product like `{}`", print_op(p_, k_, op)));
  const tile::PlacementId id = k_[op.results[0]].type.placement;
  // What a scalar multiplies stands together, so that it is needed in every lane only for so long.
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t r = 0; r < registers(id); ++r) {
    const Value x = at(op.args[0], k_[id], r), y = at(op.args[1], k_[id], r);
    order.emplace_back(b.lanes(x) < b.lanes(y) ? x.id : y.id, r);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& p, const auto& q) { return p.first < q.first; });
  std::vector<Value> all(order.size());
  for (const auto& [first, r] : order)
    all[r] = b.let(
        k_[op.results[0]].name,
        b.fma(at(op.args[0], k_[id], r), at(op.args[1], k_[id], r), at(op.args[2], k_[id], r)));
  values_[op.results[0]] = {id, std::move(all)};
}

std::vector<Value> TileLowering::combined(const tile::Monoid& m, const std::vector<Value>& left,
                                          const std::vector<Value>& right) {
  std::vector<Value> next;
  for (ExprId e : m.combine) {
    const Value v = expression(
        k_.pool, e, [&](uint32_t x) { return (x % 2 == 0 ? left : right)[x / 2]; },
        is_real(b.type(left[0])) ? b.type(left[0]) : Type::f32);
    next.push_back(b.let("next", b.cast(b.type(left[next.size()]), v)));
  }
  return next;
}

// The fold of the registers at one place of the result, as a tree.
std::vector<Value> TileLowering::folded(const tile::Op& op, const Point& x) {
  const tile::NamedPlacement& from = k_[values_.at(op.args[0]).placement];
  const tile::NamedPlacement& to = k_[k_[op.results[0]].type.placement];
  std::vector<std::vector<Value>> terms;
  for (size_t k = 0; k < values_.at(op.args[0]).registers.size(); ++k) {
    const Point y = point(from, k);
    bool same = true;
    for (size_t a = 0; a < to.axes.size(); ++a) {
      const auto axis = std::find(from.axes.begin(), from.axes.end(), to.axes[a]);
      same = same && axis != from.axes.end() &&
             y[static_cast<size_t>(axis - from.axes.begin())] == x[a];
    }
    if (!same) continue;
    std::vector<Value> term;
    for (tile::ValueId v : op.args) term.push_back(values_.at(v).registers[k]);
    terms.push_back(std::move(term));
  }
  return tree(k_[op.monoid], std::move(terms));
}

std::vector<Value> TileLowering::tree(const tile::Monoid& m,
                                      std::vector<std::vector<Value>> terms) {
  while (terms.size() > 1) {
    const size_t half = (terms.size() + 1) / 2;
    for (size_t k = 0; k + half < terms.size(); ++k)
      terms[k] = combined(m, terms[k], terms[k + half]);
    terms.resize(half);
  }
  return terms[0];
}

// The folds of as many vectors as one of them has lanes, as the lanes of one: pairs of vectors are
// combined, half of the lanes of each at a time.
std::vector<Value> TileLowering::across(const tile::Monoid& m,
                                        std::vector<std::vector<Value>> rows) {
  for (size_t run = rows.size() / 2; run > 0; run /= 2) {
    for (size_t k = 0; k < run; ++k) {
      std::vector<Value> even, odd;
      for (size_t c = 0; c < rows[k].size(); ++c) {
        const Value x = rows[k][c], y = rows[k + run][c];
        even.push_back(b.let("even", b.even(x, y, static_cast<int64_t>(run))));
        odd.push_back(b.let("odd", b.odd(x, y, static_cast<int64_t>(run))));
      }
      rows[k] = combined(m, even, odd);
    }
    rows.resize(run);
  }
  return rows[0];
}

// Registers of one element of the result as a tree, then the lanes of a vector in halves, until as
// many are left as the result has.
void TileLowering::reduce(const tile::Op& op) {
  const tile::Monoid& m = k_[op.monoid];
  const tile::PlacementId id = k_[op.results[0]].type.placement;
  const tile::NamedPlacement& from = k_[values_.at(op.args[0]).placement];
  const tile::NamedPlacement& to = k_[id];
  bool rows = lanes(id) > 1;  // what registers were becomes the lanes
  for (const Digit& d : from.placement.digits)
    for (const AxisTerm& t : d.terms)
      rows &= d.level != Level::elem ||
              std::find(to.axes.begin(), to.axes.end(), from.axes[t.axis]) == to.axes.end();
  std::vector<std::vector<Value>> results(op.args.size());
  for (size_t r = 0; r < registers(id); ++r) {
    std::vector<std::vector<Value>> all;
    for (int e = 0; e < (rows ? lanes(id) : 1); ++e) {
      std::vector<Value> term = folded(op, point(to, r, e));
      while (b.lanes(term[0]) > lanes(id)) {
        std::vector<Value> low, high;
        for (Value v : term) {
          low.push_back(b.let("low", b.low(v)));
          high.push_back(b.let("high", b.high(v)));
        }
        term = combined(m, low, high);
      }
      all.push_back(std::move(term));
    }
    const std::vector<Value> one = rows ? across(m, std::move(all)) : all[0];
    for (size_t c = 0; c < results.size(); ++c) results[c].push_back(one[c]);
  }
  across_threads(op, results);
  for (size_t c = 0; c < results.size(); ++c) define(op.results[c], std::move(results[c]));
}

}  // namespace tang::loop
