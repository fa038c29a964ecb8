#include "tile/folds.h"

#include "ir/variance.h"

namespace tang::tile {

using What = tang::Leaf::What;

ExprId state_leaf(Graph& g, What what, uint32_t number, Kind kind) {
  tang::Leaf l;
  l.what = what;
  l.number = number;
  l.kind = kind;
  return g.variable(l);
}

namespace {

// combine(left, lift(args)) if `lifted`, otherwise combine(left, right), parts from `base` on.
ExprId step_of(Graph& g, const Fold& f, size_t k, uint32_t base, bool lifted) {
  const tang::Monoid m = g[f.monoid];
  std::vector<ExprId> lift;
  for (ExprId e : m.lift)
    lift.push_back(substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
      const tang::Leaf l = g.leaf(id);
      if (l.what == What::argument) return f.args[l.number];
      return std::nullopt;
    }));
  return substitute_leaves(g, m.combine[k], [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what != What::left && l.what != What::right) return std::nullopt;
    if (lifted && l.what == What::right) return lift[l.number];
    return state_leaf(g, l.what, base + l.number, l.kind);
  });
}

// Of the component's kind: literals and lifts may be of a lesser one.
ExprId as(Graph& g, ExprId e, Kind kind) {
  const ExprNode n = g.pool[e];
  if (n.kind == kind) return e;
  if (n.op == tang::Op::constant) return g.pool.constant(n.value().to(kind));
  return g.make(tang::Op::add, e, g.pool.constant(tang::Value::integer(0).to(kind)));
}

}  // namespace

Folds folds_of(Graph& g, const Node& n) {
  Folds result;
  uint32_t base = 0;
  const std::vector<Component> all = components(g, n);
  for (size_t f = 0; f < n.folds.size(); ++f) {
    const tang::Monoid m = g[n.folds[f].monoid];
    result.monoids.push_back(n.folds[f].monoid);
    for (uint32_t k = 0; k < m.kinds.size(); ++k) {
      Part p;
      p.kind = m.kinds[k];
      p.identity = as(g, m.identity[k], p.kind);
      p.step = as(g, step_of(g, n.folds[f], k, base, true), p.kind);
      p.combine = as(g, step_of(g, n.folds[f], k, base, false), p.kind);
      p.fold = f;
      p.component = k;
      p.varies = all[base + k].varies;
      result.parts.push_back(std::move(p));
    }
    base += static_cast<uint32_t>(m.kinds.size());
  }
  return result;
}

ExprId finished(Graph& g, const Node& n, ExprId value) {
  const auto outputs = g.state_outputs(n);
  std::vector<uint32_t> first;
  uint32_t next = 0;
  for (const Fold& f : n.folds) {
    first.push_back(next);
    next += static_cast<uint32_t>(g[f.monoid].kinds.size());
  }
  return substitute_leaves(g, value, [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what != What::state) return std::nullopt;
    const auto [fold, output] = outputs[l.number];
    return substitute_leaves(g, g[n.folds[fold].monoid].fin[output],
                             [&, at = first[fold]](LeafId s) -> std::optional<ExprId> {
                               const tang::Leaf inner = g.leaf(s);
                               if (inner.what != What::left) return std::nullopt;
                               return state_leaf(g, What::left, at + inner.number, inner.kind);
                             });
  });
}

}  // namespace tang::tile
