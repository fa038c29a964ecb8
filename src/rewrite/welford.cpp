// 5.6 welford: a sum and the squared deviations from its mean are one moments fold.
//
//   S = sum[r](x),  V = sum[r]((x - S/N)^2)    =>   (n, mean, m2) = moments[r](x),  V = m2
//
// N must be the number of terms: the product of the extents without conditions, or a counted sum of
// ones under the same conditions. The two-pass form becomes one pass with no cancellation.
#include <algorithm>

#include "ir/expand.h"
#include "ir/monoids.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

class Welford {
 public:
  Welford(Rewriting& rw, NodeId deviations) : rw(rw), g(rw.g), v_(deviations) {}

  bool run() {
    const Node v = g[v_];
    const ExprId argument = expand_maps(g, v.folds[0].args[0]);
    for (TensorId s : tensors_in(g, argument)) {
      const NodeId id = g[s].node;
      if (id == NodeId::none || id == v_ || !g[id].alive || !is_sum_fold(g, g[id])) continue;
      if (g[id].targets.size() != 1 || !is_state(g, g[id].targets[0].value, 0)) continue;
      if (try_pair(id, v, argument)) return true;
    }
    return false;
  }

 private:
  bool try_pair(NodeId s, const Node& v, ExprId argument) {
    const Node sum = g[s];
    if (sum.points.size() != v.points.size() || sum.reduce.size() != v.reduce.size()) return false;
    std::vector<DimId> from = sum.targets[0].points, to = v.targets[0].points;
    if (from.size() != sum.points.size() || to.size() != v.points.size()) return false;
    from.insert(from.end(), sum.reduce.begin(), sum.reduce.end());
    to.insert(to.end(), v.reduce.begin(), v.reduce.end());
    for (size_t k = 0; k < from.size(); ++k)
      if (g.extent(from[k]) != g.extent(to[k])) return false;
    x_ = substitute_dims(g, sum.folds[0].args[0], renaming(from, to));
    std::vector<Form> at;
    for (DimId d : v.targets[0].points) at.push_back(Form::coordinate(d));
    s_read_ = g.read(sum.targets[0].tensor, at);
    if (!is_squared_deviation(argument)) return false;
    if (!same_guards(sum, v, renaming(from, to))) {
      rw.missed("welford", v_, "the mean and the deviations have different conditions");
      return false;
    }
    count_ = number_of_terms(v, argument);
    if (count_ == ExprId::none) {
      rw.missed("welford", v_, "the divisor of the mean is not the number of terms");
      return false;
    }
    apply(s, v);
    return true;
  }

  // (x - c·S·…)^2 for some reciprocal count: linear in S with the square of x present.
  bool is_squared_deviation(ExprId argument) {
    const auto square = rw.canon.multiplied(rw.canon.sum(x_), rw.canon.sum(x_));
    if (!square) return false;  // too long
    const CanonSum whole = rw.canon.sum(argument);
    for (const CanonTerm& t : *square)
      if (std::none_of(whole.begin(), whole.end(), [&](const CanonTerm& w) {
            return w.factors == t.factors && w.coeff == t.coeff;
          }))
        return false;
    return true;
  }

  bool same_guards(const Node& sum, const Node& v, const DimMap& map) {
    std::vector<Guard> moved;
    for (const Guard& guard : sum.guards) moved.push_back(substitute_dims(g, guard, map));
    std::sort(moved.begin(), moved.end());
    std::vector<Guard> own = v.guards;
    std::sort(own.begin(), own.end());
    return moved == own;
  }

  // The expression N for which the argument is (x - S/N)^2, or none.
  ExprId number_of_terms(const Node& v, ExprId argument) {
    std::vector<ExprId> candidates;
    if (v.guards.empty()) {
      Poly n(1);
      for (DimId d : v.reduce) n = n * g.extent(d);
      candidates.push_back(g.iota(Form(n)));
    } else {
      for (TensorId t : tensors_in(g, argument))
        if (counts_terms(g[t].node, v)) {
          std::vector<Form> at;
          for (DimId d : v.targets[0].points) at.push_back(Form::coordinate(d));
          candidates.push_back(g.read(t, at));
        }
    }
    for (ExprId n : candidates)
      for (const bool empty_is_zero : {false, true}) {
        empty_is_zero_ = empty_is_zero;
        const ExprId d = g.make(Op::sub, x_, mean_of(s_read_, n));
        if (almost_equal(rw.canon.sum(g.make(Op::mul, d, d)), rw.canon.sum(argument))) return n;
      }
    return ExprId::none;
  }

  // S/N, or the same with 0 where no term holds.
  ExprId mean_of(ExprId sum, ExprId n) {
    if (!empty_is_zero_) return g.make(Op::quot, sum, n);
    const ExprId some = g.make(Op::lt, g.pool.integer(0), n);
    return g.make(Op::mul, sum, g.make(Op::select, some, g.make(Op::recip, n), g.pool.real(0)));
  }

  bool counts_terms(NodeId id, const Node& v) {
    if (id == NodeId::none || g[id].folds.size() != 1 || g[id].guards != v.guards) return false;
    const Node& n = g[id];
    return n.reduce == v.reduce && n.folds[0].args.size() == 1 &&
           g.pool.is_number(n.folds[0].args[0], 1) && facts(g, n.folds[0].monoid).sum;
  }

  void apply(NodeId s, const Node& v) {
    const auto before = rw.texts({s, v_});
    const std::string summary = rw.name(s) + ", " + rw.name(v_);
    Node n = v;
    const Kind real = Kind::real;
    n.folds[0].monoid = *builtin_monoid(g, "moments", std::span(&real, 1));
    n.folds[0].args = {x_};
    const ExprId count = g.state(0, real), mean = g.state(1, real), m2 = g.state(2, real);
    const uint32_t own = g.pool[g.state(0, real)].variable();
    for (Target& t : n.targets)
      t.value = substitute_leaves(
          g, t.value, [&](LeafId l) { return l == own ? std::optional(m2) : std::nullopt; });
    const TensorId sum = g[s].targets[0].tensor;
    Tensor mean_tensor = g[sum];
    mean_tensor.name = g.fresh_name(mean_tensor.name + "_mean");
    mean_tensor.format.reset();
    const TensorId made = g.add_tensor(mean_tensor);
    const std::vector<DimId> points = v.targets[0].points;
    n.targets.push_back({made, points, mean});
    n.targets.push_back({sum, points, g.make(Op::mul, mean, count)});
    g[s].alive = false;
    g[v_] = n;
    g[made].node = v_;
    g[sum].node = v_;
    means_replaced(sum, made);
    remove_dead(g);
    rw.fired("welford", "welford_two_pass", summary, before, {v_});
  }

  // S/N in every reader becomes a read of the mean.
  void means_replaced(TensorId sum, TensorId mean) {
    for (NodeId r : g.order()) {
      if (r == v_) continue;
      Node n = g[r];
      map_exprs(n, [&](ExprId e) { return rw.simplify(mean_in(e, sum, mean)); });
      g[r] = n;
    }
  }

  ExprId mean_in(ExprId e, TensorId sum, TensorId mean) {
    std::unordered_map<ExprId, ExprId> image;
    for (ExprId id : g.pool.reachable(e)) {
      ExprNode n = g.pool[id];
      const ExprNode old = n;
      for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) n.args[k] = image.at(n.args[k]);
      image[id] = n == old ? id : g.rebuild(n);
      if (old.op != Op::mul && old.op != Op::quot) continue;
      for (ExprId operand : old.operands()) {
        if (g.pool[operand].op != Op::var) continue;
        // A fill of the sum is not a fill of the mean.
        const Leaf& read = g.leaf_of(operand);
        if (read.tensor != sum || read.guarded || read.fill_bits != 0) continue;
        const std::vector<Form> at = read.forms;
        const ExprId expected = mean_of(operand, count_at(at));
        if (almost_equal(rw.canon.sum(expected), rw.canon.sum(id))) image[id] = g.read(mean, at);
      }
    }
    return image.at(e);
  }

  // N at another reader's coordinates.
  ExprId count_at(const std::vector<Form>& at) {
    const std::vector<DimId> points = g[v_].targets[0].points;
    return substitute_dims(g, count_, [&](DimId d) -> std::optional<Form> {
      for (size_t k = 0; k < points.size(); ++k)
        if (points[k] == d) return at[k];
      return std::nullopt;
    });
  }

  Rewriting& rw;
  Graph& g;
  NodeId v_;
  ExprId x_ = ExprId::none, s_read_ = ExprId::none, count_ = ExprId::none;
  bool empty_is_zero_ = false;
};

}  // namespace

bool recognise_welford(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order())
    if (rw.g[id].alive && is_sum_fold(rw.g, rw.g[id]) && rw.g[id].targets.size() == 1)
      any |= Welford(rw, id).run();
  return any;
}

}  // namespace tang
