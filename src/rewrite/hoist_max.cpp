// 5.7 hoist_invariant_factors, for max and min: what is added and a positive constant factor leave.
//
//   max[j](f[i] + x[i, j]) = f[i] + max[j](x[i, j])        max[j](2 * x[i, j]) = 2 * max[j](x[i,
//   j])
//
// Only when no softmax weight is left below the max: its scores must stay those of the weights
// (algebra.md 11.1, 11.9).
#include <algorithm>
#include <cmath>

#include "ir/expand.h"
#include "ir/monoids.h"
#include "ir/softmax.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

// An argument with what leaves its fold taken off.
struct Hoisted {
  ExprId rest = ExprId::none;
  std::vector<std::pair<ExprId, bool>> terms;  // (f, subtracted)
  double scale = 1;
  std::string kept;  // why something that might leave stays

  bool nothing() const { return terms.empty() && scale == 1; }
};

class HoistMax {
 public:
  HoistMax(Rewriting& rw, NodeId id) : rw(rw), g(rw.g), id_(id) {}

  bool run() {
    bool any = false;
    uint32_t state = 0;
    for (size_t k = 0; k < g[id_].folds.size(); ++k) {
      const Fold fold = g[id_].folds[k];
      const MonoidFacts known = facts(g, fold.monoid);
      if ((known.max || known.min) && fold.args.size() == 1 &&
          g.pool[fold.args[0]].kind == Kind::real)
        any |= hoist(k, state);
      state += static_cast<uint32_t>(g[fold.monoid].fin.size());
    }
    return any;
  }

 private:
  bool hoist(size_t fold, uint32_t state_number) {
    Hoisted h = without_terms(g[id_].folds[fold].args[0]);
    without_scale(h);
    if (h.nothing()) {
      if (!h.kept.empty()) rw.missed("hoist_invariant_factors", id_, h.kept);
      return false;
    }
    if (weights_below()) {
      rw.missed("hoist_invariant_factors", id_, "a softmax weight is taken below it");
      return false;
    }
    const auto before = rw.texts({id_});
    Node n = g[id_];
    n.folds[fold].args[0] = rw.simplify(h.rest);
    const ExprId state = g.state(state_number, Kind::real);
    ExprId value = h.scale == 1 ? state : g.make(Op::mul, state, g.pool.real(h.scale));
    for (const auto& [term, subtracted] : h.terms)
      value = g.make(subtracted ? Op::sub : Op::add, value, term);
    const uint32_t own = g.pool[state].variable();
    for (Target& t : n.targets)
      t.value = rw.simplify(substitute_leaves(
          g, t.value, [&](LeafId l) { return l == own ? std::optional(value) : std::nullopt; }));
    g[id_] = n;
    rw.fired("hoist_invariant_factors", "hoist_max", "out of " + rw.name(id_), before, {id_});
    return true;
  }

  bool is_free(ExprId e) const {
    const std::vector<DimId> dims = dims_of(g, e);
    return std::none_of(dims.begin(), dims.end(),
                        [&](DimId d) { return contains(g[id_].reduce, d); });
  }

  // Takes off the terms of a sum that are free of the reduced coordinates.
  Hoisted without_terms(ExprId root) {
    Hoisted h;
    std::vector<std::pair<ExprId, bool>> stack = {{root, false}}, kept;
    while (!stack.empty()) {
      const auto [e, negated] = stack.back();
      stack.pop_back();
      const ExprNode n = g.pool[e];
      const bool finite = n.op != Op::constant || std::isfinite(n.value().as_real());
      if (n.kind != Kind::boolean && is_free(e) && finite) {
        h.terms.emplace_back(e, negated);
      } else if (n.kind == Kind::real && (n.op == Op::add || n.op == Op::sub)) {
        stack.emplace_back(n.args[1], negated != (n.op == Op::sub));
        stack.emplace_back(n.args[0], negated);
      } else {
        kept.emplace_back(e, negated);
      }
    }
    // A fold of nothing but invariant terms is no max of anything: it stays.
    if (h.terms.empty() || kept.empty()) return {root, {}, 1, {}};
    h.rest = kept[0].second ? g.make(Op::neg, kept[0].first) : kept[0].first;
    for (size_t k = 1; k < kept.size(); ++k)
      h.rest = g.make(kept[k].second ? Op::sub : Op::add, h.rest, kept[k].first);
    return h;
  }

  // Takes off the positive constant factors of a product.
  void without_scale(Hoisted& h) {
    const auto constant = [&](ExprId e) { return g.pool.is_constant(e); };
    while (g.pool[h.rest].op == Op::mul || g.pool[h.rest].op == Op::quot) {
      const ExprNode n = g.pool[h.rest];
      const size_t at = constant(n.args[1]) ? 1 : 0;
      if (!constant(n.args[at])) {
        if (is_free(n.args[0]) || is_free(n.args[1])) h.kept = "a factor is not a constant";
        return;
      }
      const double c = g.pool[n.args[at]].value().as_real();
      if (n.op == Op::quot && at == 0) return;  // c/x is no factor of x
      if (!(c > 0) || !std::isfinite(c)) {
        h.kept = "a constant factor is not positive";
        return;
      }
      h.scale = n.op == Op::quot ? h.scale / c : h.scale * c;
      h.rest = n.args[1 - at];
    }
  }

  // True if this max stands in the exponent of some exponential: a weight, perhaps with a
  // temperature of its row, which the reading of masked rows has to recognise.
  bool weights_below() {
    std::vector<MaxFold> own = max_folds(g, true);
    std::erase_if(own, [&](const MaxFold& m) { return m.node != id_; });
    if (own.empty()) return false;
    const auto reads_max = [&](LeafId l) {
      return g.leaf(l).what == Leaf::What::read &&
             std::any_of(own.begin(), own.end(),
                         [&](const MaxFold& m) { return m.tensor == g.leaf(l).tensor; });
    };
    for (NodeId id : g.order()) {
      bool found = false;
      for_each_expr(Node(g[id]), [&](ExprId e) {
        for (ExprId x : g.pool.reachable(e)) {
          if (found || g.pool[x].op != Op::exp) continue;
          const std::vector<LeafId> leaves = leaves_of(g, expand_maps(g, g.pool[x].args[0]));
          found = std::any_of(leaves.begin(), leaves.end(), reads_max);
        }
      });
      if (found) return true;
    }
    return false;
  }

  Rewriting& rw;
  Graph& g;
  NodeId id_;
};

}  // namespace

bool hoist_out_of_maxima(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order())
    if (!rw.g[id].folds.empty() && !rw.g[id].scan && !rw.g[id].gradient)
      any |= HoistMax(rw, id).run();
  return any;
}

}  // namespace tang
