// 2.3 and 11.8, promotion: a term whose select takes its other arm contributes the identity, so the
// condition is a term guard and a schedule may skip the term.
//
//   sum[j](select(c, x, 0) * v)  =  sum[j | c](x * v)        max[j](select(c, s, -inf)) = max[j |
//   c](s)
#include <limits>

#include "ir/guards.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

// The simplifier with the extended arithmetic promotion may use: x + -inf = -inf.
ExprId simplify_masked(Rewriting& rw, ExprId e) {
  Graph& g = rw.g;
  const double lowest = -std::numeric_limits<double>::infinity();
  const NodeBuilder build = [&](const ExprNode& n) -> ExprId {
    const auto is_lowest = [&](ExprId x) { return g.pool.is_number(x, lowest); };
    if (n.op == Op::add && (is_lowest(n.args[0]) || is_lowest(n.args[1])))
      return g.pool.real(lowest);
    if (n.op == Op::sub && is_lowest(n.args[0])) return g.pool.real(lowest);
    return g.rebuild(n);
  };
  // Rebuilding every node lets the builder see operands that were constants from the start.
  std::unordered_map<ExprId, ExprId> image;
  for (ExprId id : g.pool.reachable(e)) {
    ExprNode n = g.pool[id];
    for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) n.args[k] = image.at(n.args[k]);
    image[id] = n.arity() == 0 ? id : tang::simplify(g.pool, build(n), MathMode::real, build);
  }
  return image.at(e);
}

// e with every select on `condition` replaced by its first (holds) or second arm.
ExprId with_condition(Graph& g, ExprId e, ExprId condition, bool holds) {
  std::unordered_map<ExprId, ExprId> image;
  for (ExprId id : g.pool.reachable(e)) {
    ExprNode n = g.pool[id];
    const ExprNode old = n;
    for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) n.args[k] = image.at(n.args[k]);
    if (n.op == Op::select && g.pool[id].args[0] == condition)
      image[id] = n.args[holds ? 1 : 2];
    else
      image[id] = n == old ? id : g.rebuild(n);
  }
  return image.at(e);
}

// True if this fold's lifted arguments are its identity when `condition` is `value`.
bool contributes_identity(Rewriting& rw, const Fold& f, ExprId condition, bool value) {
  Graph& g = rw.g;
  const Monoid m = g[f.monoid];
  if (m.combine.empty()) return false;
  std::vector<ExprId> args;
  for (ExprId e : f.args)
    args.push_back(simplify_masked(rw, with_condition(g, e, condition, value)));
  for (size_t k = 0; k < m.lift.size(); ++k) {
    const ExprId lifted = substitute_leaves(g, m.lift[k], [&](LeafId l) -> std::optional<ExprId> {
      if (g.leaf(l).what != Leaf::What::argument) return std::nullopt;
      return args[g.leaf(l).number];
    });
    const ExprId value_there = simplify_masked(rw, lifted);
    if (!g.pool.is_constant(value_there) || !g.pool.is_constant(m.identity[k])) return false;
    const Value a = g.pool[value_there].value(), b = g.pool[m.identity[k]].value();
    if (a.as_real() != b.as_real()) return false;
  }
  return true;
}

std::vector<ExprId> conditions(const Graph& g, const Node& n) {
  std::set<ExprId> found;
  for (const Fold& f : n.folds)
    for (ExprId e : f.args)
      for (ExprId id : g.pool.reachable(e))
        if (g.pool[id].op == Op::select) found.insert(g.pool[id].args[0]);
  return {found.begin(), found.end()};
}

bool promote_one(Rewriting& rw, NodeId id) {
  Graph& g = rw.g;
  for (ExprId condition : conditions(g, g[id])) {
    const Node old = g[id];
    for (const bool holds : {true, false}) {
      bool identity = true;
      for (const Fold& f : old.folds)
        identity = identity && contributes_identity(rw, f, condition, !holds);
      if (!identity) continue;
      const auto before = rw.texts({id});
      Node n = old;
      for (Fold& f : n.folds)
        for (ExprId& e : f.args) e = rw.simplify(with_condition(g, e, condition, holds));
      const ExprId guard = holds ? condition : g.make(Op::logical_not, condition);
      for (Guard& extra : guards_from(g, guard)) n.guards.push_back(std::move(extra));
      normalise_guards(g, n.guards);
      g[id] = n;
      rw.fired("promote_guards", "guard_promote", "in " + rw.name(id), before, {id});
      return true;
    }
    rw.missed("promote_guards", id,
              "with the condition false the term is not the monoid's identity");
  }
  return false;
}

}  // namespace

bool promote_guards(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order()) {
    const Node& n = rw.g[id];
    if (n.folds.empty() || n.scan) continue;
    while (promote_one(rw, id)) any = true;
  }
  return any;
}

}  // namespace tang
