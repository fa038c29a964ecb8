// A case split on a running max: the common term leaves the max as it is.
//
// A step that uses max(a, x), a the state and x free of the state, is written twice: under x <= a
// and -inf < a the max is a, so differences from it cancel (exp(a - a) = 1) and the rescaling of
// the other components disappears; otherwise the step stands as it is. A NaN fails x <= a and takes
// the general step. Nothing here knows which monoid it is; a step that gets no cheaper by an
// exponential is left.
#include <algorithm>
#include <limits>

#include "expr/simplify.h"
#include "loop/lower_kernel.h"

namespace tang::loop {

namespace {

constexpr int worthwhile = 4;  // operations saved: an exponential

bool reads_state(const Graph& g, ExprId e) {
  const std::vector<uint32_t> leaves = g.pool.variables(e);
  return std::any_of(leaves.begin(), leaves.end(),
                     [&](uint32_t l) { return g.leaf(l).what == Leaf::What::left; });
}

bool is_left(const Graph& g, ExprId e) {
  return g.pool[e].op == tang::Op::var && g.leaf_of(e).what == Leaf::What::left;
}

// The expression where `maximum` is `state`, which is above -inf.
ExprId unchanged(Graph& g, ExprId e, ExprId maximum, ExprId state) {
  const ExprId lowest = g.pool.real(-std::numeric_limits<double>::infinity());
  const ExprId there =
      rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
        if (old == maximum) return state;
        if (now.op == tang::Op::lt && now.args[0] == lowest && now.args[1] == state)
          return g.pool.boolean(true);
        return std::nullopt;
      });
  return simplify(g.pool, there, MathMode::real, [&g](const ExprNode& n) { return g.rebuild(n); });
}

int total_cost(const Graph& g, const std::vector<ExprId>& steps) {
  int total = 0;
  for (ExprId e : steps) total += cost(g.pool, e);
  return total;
}

}  // namespace

void KernelLowering::split_cases(FoldNest& f) {
  std::vector<ExprId> steps;
  for (const FoldNest::Part& p : f.parts) steps.push_back(p.step);
  for (ExprId id : g.pool.reachable(steps)) {
    const ExprNode n = g.pool[id];
    if (n.op != tang::Op::max || n.kind != tang::Kind::real) continue;
    const ExprId state = n.args[0], x = n.args[1];
    if (!is_left(g, state) || reads_state(g, x)) continue;
    if (!f.parts[g.leaf_of(state).number - f.base].inner.empty()) continue;  // a max for each point
    std::vector<ExprId> simpler;
    for (ExprId e : steps) simpler.push_back(unchanged(g, e, id, state));
    if (total_cost(g, steps) - total_cost(g, simpler) < worthwhile) continue;
    const ExprId lowest = g.pool.real(-std::numeric_limits<double>::infinity());
    f.unchanged = g.make(tang::Op::logical_and, g.make(tang::Op::le, x, state),
                         g.make(tang::Op::lt, lowest, state));
    f.unchanged_steps = simpler;
    return;
  }
}

}  // namespace tang::loop
