#include "ir/pivot.h"

#include <cmath>
#include <map>

#include "expr/apply.h"

namespace tang {

namespace {

class Matcher {
 public:
  Matcher(Graph& graph, MonoidId id) : g(graph), m(graph[id]) {}

  std::optional<Pivot> run() {
    if (m.kinds.size() < 2) return std::nullopt;
    for (Kind k : m.kinds)
      if (k != Kind::real) return std::nullopt;
    for (uint32_t p = 0; p < m.kinds.size(); ++p)
      if (auto found = with(p)) return found;
    return std::nullopt;
  }

 private:
  bool is_leaf(ExprId e, Leaf::What what, uint32_t number) const {
    if (g.pool[e].op != Op::var) return false;
    const Leaf& l = g.leaf_of(e);
    return l.what == what && l.number == number;
  }

  // p is chosen from the two: its identity is never chosen over another.
  bool selects(uint32_t p) const {
    const ExprNode n = g.pool[m.combine[p]];
    if (n.op != Op::max && n.op != Op::min) return false;
    return (is_leaf(n.args[0], Leaf::What::left, p) && is_leaf(n.args[1], Leaf::What::right, p)) ||
           (is_leaf(n.args[1], Leaf::What::left, p) && is_leaf(n.args[0], Leaf::What::right, p));
  }

  std::optional<Pivot> with(uint32_t p) {
    if (!selects(p)) return std::nullopt;
    Pivot result;
    result.component = p;
    for (uint32_t k = 0; k < m.kinds.size(); ++k) {
      if (k == p) continue;
      result.linear.push_back(k);
      const auto act = weight(p, k);
      if (!act || (result.act != ExprId::none && *act != result.act)) return std::nullopt;
      result.act = *act;
      if (!g.pool.is_number(m.identity[k], 0)) return std::nullopt;
    }
    if (!vanishes(result)) return std::nullopt;
    return result;
  }

  // The common act of component k's two terms.
  std::optional<ExprId> weight(uint32_t p, uint32_t k) {
    const ExprNode sum = g.pool[m.combine[k]];
    if (sum.op != Op::add) return std::nullopt;
    std::optional<ExprId> left, right;
    for (ExprId term : {sum.args[0], sum.args[1]}) {
      const ExprNode product = g.pool[term];
      if (product.op != Op::mul) return std::nullopt;
      for (int side = 0; side < 2; ++side) {
        const ExprId state = product.args[side], factor = product.args[1 - side];
        if (is_leaf(state, Leaf::What::left, k)) left = relative(factor, p, Leaf::What::left);
        if (is_leaf(state, Leaf::What::right, k)) right = relative(factor, p, Leaf::What::right);
      }
    }
    if (!left || !right || *left != *right) return std::nullopt;
    return left;
  }

  // A factor as a function of the term's own pivot (left leaf) and the common one (right leaf);
  // nothing if it depends on anything else.
  std::optional<ExprId> relative(ExprId factor, uint32_t p, Leaf::What own) {
    Leaf left, right;
    left.what = Leaf::What::left, right.what = Leaf::What::right;
    left.number = right.number = p;
    left.kind = right.kind = Kind::real;
    const ExprId own_leaf = g.variable(own == Leaf::What::left ? left : right);
    const ExprId a = g.variable(left), q = g.variable(right);
    std::map<ExprId, ExprId> made;
    for (ExprId id : g.pool.reachable(factor)) {
      const ExprNode n = g.pool[id];
      if (id == m.combine[p]) {
        made[id] = q;
      } else if (n.op == Op::var) {
        made[id] = id == own_leaf ? a : ExprId::none;
      } else if (n.op == Op::constant) {
        made[id] = id;
      } else {
        ExprNode copy = n;
        bool known = true;
        for (size_t x = 0; x < n.operands().size(); ++x) {
          copy.args[x] = made.at(n.args[x]);
          known &= copy.args[x] != ExprId::none;
        }
        made[id] = known ? g.rebuild(copy) : ExprId::none;
      }
    }
    if (made.at(factor) == ExprId::none) return std::nullopt;
    return made.at(factor);
  }

  // act(identity, p) is 0: tried at a few pivots, since act is one closed formula.
  bool vanishes(const Pivot& found) {
    const double identity = g.pool[m.identity[found.component]].value().as_real();
    for (const double q : {identity, -3.25, 0.0, 41.5})
      if (!(value(found, identity, q) == 0)) return false;
    return true;
  }

  double value(const Pivot& found, double own, double common) {
    return evaluate(g.pool, found.act,
                    [&](uint32_t v) {
                      return Value::real(g.leaf(v).what == Leaf::What::left ? own : common);
                    })
        .as_real();
  }

  Graph& g;
  const Monoid m;
};

}  // namespace

std::optional<Pivot> pivot_form(Graph& g, MonoidId m) { return Matcher(g, m).run(); }

ExprId pivot_value(Graph& g, MonoidId id, const Pivot& p, uint32_t k) {
  const Monoid m = g[id];
  const ExprNode n = g.pool[m.lift[k]];
  if (n.op != Op::select || !g.pool.is_number(n.args[1], 0)) return m.lift[k];
  const ExprNode test = g.pool[n.args[0]];
  if (test.op != Op::eq) return m.lift[k];
  const ExprId pivot = m.lift[p.component], identity = m.identity[p.component];
  for (int side = 0; side < 2; ++side)
    if (test.args[side] == pivot && test.args[1 - side] == identity) return n.args[2];
  return m.lift[k];
}

}  // namespace tang
