// 2.3 and 11.8, promotion: a term whose select takes its other arm contributes the identity, so the
// condition is a term guard and a schedule may skip the term; so is a read outside of its tensor
// that yields its fill.
//
//   sum[j](select(c, x, 0) * v)  =  sum[j | c](x * v)
//   max[j](select(c, s, -inf))   =  max[j | c](s)
//   sum[j](x?[i - j] * w[j])     =  sum[j | j <= i](x[i - j] * w[j])
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
  return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
    if (now.arity() == 0) return old;
    return tang::simplify(g.pool, build(now), MathMode::real, build);
  });
}

// e with every select on `condition` replaced by its first (holds) or second arm.
ExprId with_condition(Graph& g, ExprId e, ExprId condition, bool holds) {
  return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
    if (now.op != Op::select || g.pool[old].args[0] != condition) return std::nullopt;
    return now.args[holds ? 1 : 2];
  });
}

// An argument of a fold as it is where a term would not count.
using Elsewhere = std::function<ExprId(ExprId)>;

// True if this fold's lifted arguments are then its identity.
bool contributes_identity(Rewriting& rw, const Fold& f, const Elsewhere& elsewhere) {
  Graph& g = rw.g;
  const Monoid m = g[f.monoid];
  if (m.combine.empty()) return false;
  std::vector<ExprId> args;
  for (ExprId e : f.args) args.push_back(simplify_masked(rw, elsewhere(e)));
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

bool all_contribute_identity(Rewriting& rw, const Node& n, const Elsewhere& elsewhere) {
  return std::all_of(n.folds.begin(), n.folds.end(),
                     [&](const Fold& f) { return contributes_identity(rw, f, elsewhere); });
}

// The node with `guards` added and each argument as `there` gives it.
void promote(Rewriting& rw, NodeId id, std::vector<Guard> guards, const Elsewhere& there) {
  const auto before = rw.texts({id});
  Node n = rw.g[id];
  for (Fold& f : n.folds)
    for (ExprId& e : f.args) e = rw.simplify(there(e));
  for (Guard& guard : guards) n.guards.push_back(std::move(guard));
  normalise_guards(rw.g, n.guards);
  rw.g[id] = n;
  rw.fired("promote_guards", "guard_promote", "in " + rw.name(id), before, {id});
}

// The conditions of selects in the arguments.
std::vector<ExprId> conditions(const Graph& g, const Node& n) {
  std::set<ExprId> found;
  for (const Fold& f : n.folds)
    for (ExprId e : f.args)
      for (ExprId id : g.pool.reachable(e))
        if (g.pool[id].op == Op::select) found.insert(g.pool[id].args[0]);
  return {found.begin(), found.end()};
}

bool promote_condition(Rewriting& rw, NodeId id) {
  Graph& g = rw.g;
  for (ExprId condition : conditions(g, g[id])) {
    const Node n = g[id];
    for (const bool holds : {true, false}) {
      const auto other = [&](ExprId e) { return with_condition(g, e, condition, !holds); };
      if (!all_contribute_identity(rw, n, other)) continue;
      const ExprId guard = holds ? condition : g.make(Op::logical_not, condition);
      promote(rw, id, guards_from(g, guard),
              [&](ExprId e) { return with_condition(g, e, condition, holds); });
      return true;
    }
    rw.missed("promote_guards", id,
              "with the condition false the term is not the monoid's identity");
  }
  return false;
}

// The guarded reads in the arguments.
std::vector<LeafId> guarded_reads(const Graph& g, const Node& n) {
  std::set<LeafId> found;
  for (const Fold& f : n.folds)
    for (ExprId e : f.args)
      for (LeafId l : g.pool.variables(e))
        if (g.leaf(l).what == Leaf::What::read && g.leaf(l).guarded) found.insert(l);
  return {found.begin(), found.end()};
}

bool promote_read(Rewriting& rw, NodeId id) {
  Graph& g = rw.g;
  for (LeafId l : guarded_reads(g, g[id])) {
    const Node n = g[id];
    const Leaf leaf = g.leaf(l);
    const auto replaced_by = [&](ExprId by) -> Elsewhere {
      return [&g, l, by](ExprId e) {
        return substitute_leaves(
            g, e, [l, by](LeafId x) { return x == l ? std::optional(by) : std::nullopt; });
      };
    };
    if (!all_contribute_identity(rw, n, replaced_by(g.pool.constant(leaf.fill())))) {
      rw.missed("promote_guards", id,
                "a term whose read yields its fill is not the monoid's identity");
      continue;
    }
    promote(rw, id, inside_bounds(g, leaf.tensor, leaf.forms),
            replaced_by(g.read(leaf.tensor, leaf.forms)));
    return true;
  }
  return false;
}

bool promote_all(Rewriting& rw, bool (*one)(Rewriting&, NodeId)) {
  bool any = false;
  for (NodeId id : rw.g.order()) {
    const Node& n = rw.g[id];
    if (n.folds.empty() || n.scan) continue;
    while (one(rw, id)) any = true;
  }
  return any;
}

}  // namespace

bool promote_guards(Rewriting& rw) { return promote_all(rw, promote_condition); }
bool promote_read_guards(Rewriting& rw) { return promote_all(rw, promote_read); }

}  // namespace tang
