// 5.11 denest: the order of two nested contractions, by their multiplications.
//
//   t[i, k] = sum[j](a[i, j] * b[j, k]);  y[i] = sum[k](t[i, k] * v[k])
//     =  s[j] = sum[k](b[j, k] * v[k]);   y[i] = sum[j](a[i, j] * s[j])
//
// By distributivity both are one sum over (j, k) of a product; the inner sum may take any of the
// factors that hold its coordinate. (A·B)·v becomes A·(B·v), and attention without a softmax the
// linear form whose cost grows with the length alone.
#include <algorithm>

#include "ir/monoids.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

struct Factor {
  ExprId e = ExprId::none;
  bool divides = false;
};

class Denest {
 public:
  Denest(Rewriting& rw, NodeId outer) : rw(rw), g(rw.g), outer_(outer) {}

  bool run(const std::vector<std::vector<NodeId>>& readers) {
    const Node n = g[outer_];
    if (!n.guards.empty()) return false;
    const std::vector<Factor> factors = factors_of(n.folds[0].args[0]);
    for (size_t k = 0; k < factors.size(); ++k) {
      if (factors[k].divides || g.pool[factors[k].e].op != Op::var) continue;
      const Leaf leaf = g.leaf_of(factors[k].e);
      if (leaf.what != Leaf::What::read || leaf.guarded) continue;
      const NodeId inner = g[leaf.tensor].node;
      if (inner == NodeId::none || readers[index(leaf.tensor)] != std::vector<NodeId>{outer_})
        continue;
      std::vector<Factor> rest = factors;
      rest.erase(rest.begin() + static_cast<long>(k));
      if (try_inner(inner, leaf, std::move(rest))) return true;
    }
    return false;
  }

 private:
  // The factors of a product, following mul, quot and neg.
  std::vector<Factor> factors_of(ExprId root) {
    std::vector<Factor> result, stack = {{root, false}};
    while (!stack.empty()) {
      const Factor f = stack.back();
      stack.pop_back();
      const ExprNode n = g.pool[f.e];
      if (n.kind == Kind::real && (n.op == Op::mul || n.op == Op::quot)) {
        stack.push_back({n.args[1], f.divides != (n.op == Op::quot)});
        stack.push_back({n.args[0], f.divides});
      } else if (n.kind == Kind::real && n.op == Op::neg) {
        result.push_back({g.pool.real(-1), false});
        stack.push_back({n.args[0], f.divides});
      } else {
        result.push_back(f);
      }
    }
    return result;
  }

  bool mentions(const Factor& f, const std::vector<DimId>& dims) const {
    const std::vector<DimId> used = dims_of(g, f.e);
    return std::any_of(used.begin(), used.end(), [&](DimId d) { return contains(dims, d); });
  }

  bool try_inner(NodeId inner, const Leaf& read, std::vector<Factor> factors) {
    const Node t = g[inner], n = g[outer_];
    if (!is_sum_fold(g, t) || !t.guards.empty() || t.targets.size() != 1) return false;
    const Target& target = t.targets[0];
    const ExprId state = g.state(0, Kind::real);
    if (g.is_output(target.tensor) || g[target.tensor].format || target.points != t.points ||
        !is_factor(rw, target.value, state))
      return false;
    for (const Form& f : read.forms)
      if (!f.as_pick()) return false;
    // The inner sum's factors in the outer's coordinates, its own apart from those.
    std::vector<DimId> own;
    std::vector<std::pair<DimId, Form>> image;
    for (DimId d : t.reduce) {
      own.push_back(contains(n.points, d) || contains(n.reduce, d) ? g.fresh_dim(d) : d);
      image.emplace_back(d, Form::coordinate(own.back()));
    }
    for (size_t k = 0; k < read.forms.size(); ++k)
      image.emplace_back(target.points[k], read.forms[k]);
    const DimMap map = [&](DimId d) -> std::optional<Form> {
      for (const auto& [from, to] : image)
        if (from == d) return to;
      return std::nullopt;
    };
    const uint32_t own_state = g.pool[state].variable();
    const ExprId scale = substitute_leaves(g, target.value, [&](LeafId l) {
      return l == own_state ? std::optional(g.pool.real(1)) : std::nullopt;
    });
    for (ExprId e : {t.folds[0].args[0], scale})
      for (const Factor& f : factors_of(substitute_dims(g, e, map))) factors.push_back(f);
    return reorder(inner, own, factors);
  }

  // Sums over the outer's reduced coordinates first, where that takes fewer multiplications.
  bool reorder(NodeId inner, const std::vector<DimId>& own, const std::vector<Factor>& factors) {
    const Node t = g[inner], n = g[outer_];
    std::vector<Factor> first, last;
    for (const Factor& f : factors) (mentions(f, n.reduce) ? first : last).push_back(f);
    std::vector<DimId> points;  // of the new inner sum
    for (const auto* dims : {&n.points, &own})
      for (DimId d : *dims)
        if (std::any_of(first.begin(), first.end(),
                        [&](const Factor& f) { return mentions(f, {d}); }))
          points.push_back(d);
    const double now = cost(t.points, t.reduce) + cost(n.points, n.reduce);
    const double then = cost(points, n.reduce) + cost(n.points, own);
    if (!(then < now)) {
      rw.missed(
          "denest", outer_,
          "the other order of `" + rw.name(inner) + "` takes as many multiplications or more");
      return false;
    }
    const auto before = rw.texts({inner, outer_});
    const std::string summary = rw.name(inner) + ", " + rw.name(outer_);
    Tensor made = g[t.targets[0].tensor];
    made.name = g.fresh_name(rw.name(outer_) + "_1");
    made.shape.clear();
    std::vector<Form> at;
    for (DimId d : points) {
      made.shape.push_back(g.extent(d));
      at.push_back(Form::coordinate(d));
    }
    const TensorId sum = g.add_tensor(made);
    Node s = t;
    s.points = points;
    s.reduce = n.reduce;
    s.folds[0].args[0] = rw.simplify(product(first));
    s.targets = {{sum, points, g.state(0, Kind::real)}};
    const NodeId id = g.add_node(s);
    last.push_back({g.read(sum, at), false});
    Node outer = n;
    outer.reduce = own;
    outer.folds[0].args[0] = rw.simplify(product(last));
    g[outer_] = outer;
    g[inner].alive = false;
    rw.fired("denest", "denest", summary, before, {id, outer_});
    return true;
  }

  ExprId product(const std::vector<Factor>& factors) {
    ExprId e = g.pool.real(1);
    for (const Factor& f : factors)
      if (!f.divides) e = g.make(Op::mul, e, f.e);
    for (const Factor& f : factors)
      if (f.divides) e = g.make(Op::quot, e, f.e);
    return e;
  }

  double cost(const std::vector<DimId>& points, const std::vector<DimId>& reduce) const {
    double terms = 1;
    for (const auto* dims : {&points, &reduce})
      for (DimId d : *dims) terms *= estimated(g, d);
    return terms;
  }

  Rewriting& rw;
  Graph& g;
  NodeId outer_;
};

}  // namespace

bool denest_contractions(Rewriting& rw) {
  bool any = false;
  std::vector<std::vector<NodeId>> readers = rw.g.readers();
  for (NodeId id : rw.g.order()) {
    if (!rw.g[id].alive || rw.g[id].is_map() || !is_sum_fold(rw.g, rw.g[id])) continue;
    if (!Denest(rw, id).run(readers)) continue;
    any = true;
    readers = rw.g.readers();
  }
  return any;
}

}  // namespace tang
