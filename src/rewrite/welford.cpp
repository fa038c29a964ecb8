// 5.6 welford: a sum and the second moment beside it are one moments fold.
//
//   S = sum[r](x),  V = sum[r]((x - S/N)^2)   =>  (n, mean, m2) = moments[r](x),  V = m2
//   S = sum[r](x),  Q = sum[r](x^2)           =>  the same, where Q/N - (S/N)^2 is read: m2/N
//
// N must be the number of terms: the product of the extents without conditions, or a counted sum of
// ones under the same conditions. The two-pass form becomes one pass with no cancellation; the form
// of the squares loses a factor 1 + mean^2/variance and gets it back.
#include <algorithm>

#include "ir/expand.h"
#include "ir/monoids.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

std::vector<Form> at_points(const std::vector<DimId>& points) {
  std::vector<Form> at;
  for (DimId d : points) at.push_back(Form::coordinate(d));
  return at;
}

class Welford {
 public:
  Welford(Rewriting& rw, NodeId second) : rw(rw), g(rw.g), v_(second) {}

  bool run() {
    const ExprId argument = expand_maps(g, g[v_].folds[0].args[0]);
    for (TensorId t : tensors_in(g, argument))
      if (const NodeId s = g[t].node; align(s) && deviations(s, argument)) return true;
    for (TensorId t : read_beside())
      if (const NodeId s = g[t].node; align(s) && squares(s, argument)) return true;
    return false;
  }

 private:
  // Takes `s` as the sum of x, if it is one over index sets like this node's.
  bool align(NodeId s) {
    if (s == NodeId::none || s == v_ || !g[s].alive || !is_sum_fold(g, g[s])) return false;
    const Node &sum = g[s], &v = g[v_];
    if (sum.targets.size() != 1 || !is_state(g, sum.targets[0].value, 0)) return false;
    if (sum.points.size() != v.points.size() || sum.reduce.size() != v.reduce.size()) return false;
    from_ = sum.targets[0].points, to_ = v.targets[0].points;
    if (from_.size() != sum.points.size() || to_.size() != v.points.size()) return false;
    from_.insert(from_.end(), sum.reduce.begin(), sum.reduce.end());
    to_.insert(to_.end(), v.reduce.begin(), v.reduce.end());
    for (size_t k = 0; k < from_.size(); ++k)
      if (g.extent(from_[k]) != g.extent(to_[k])) return false;
    x_ = substitute_dims(g, sum.folds[0].args[0], renaming(from_, to_));
    sum_ = sum.targets[0].tensor;
    return true;
  }

  bool same_guards(NodeId s) {
    std::vector<Guard> moved;
    for (const Guard& guard : g[s].guards)
      moved.push_back(substitute_dims(g, guard, renaming(from_, to_)));
    std::sort(moved.begin(), moved.end());
    std::vector<Guard> own = g[v_].guards;
    std::sort(own.begin(), own.end());
    return moved == own;
  }

  bool missed(const char* condition) {
    rw.missed("welford", v_, condition);
    return false;
  }

  // ---- the mean -------------------------------------------------------------------------------

  // What may be N at this node's points.
  std::vector<ExprId> counts(const std::vector<TensorId>& read) {
    const Node& v = g[v_];
    std::vector<ExprId> result;
    if (v.guards.empty()) {
      Poly n(1);
      for (DimId d : v.reduce) n = n * g.extent(d);
      result.push_back(g.iota(Form(n)));
    }
    for (TensorId t : read)
      if (!v.guards.empty() && counts_terms(g[t].node))
        result.push_back(g.read(t, at_points(g[v_].targets[0].points)));
    return result;
  }

  bool counts_terms(NodeId id) {
    if (id == NodeId::none || g[id].folds.size() != 1 || g[id].guards != g[v_].guards) return false;
    const Node& n = g[id];
    return n.reduce == g[v_].reduce && n.folds[0].args.size() == 1 &&
           g.pool.is_number(n.folds[0].args[0], 1) && facts(g, n.folds[0].monoid).sum;
  }

  // sum/n, or the same with 0 where no term holds.
  ExprId over_count(ExprId sum, ExprId n) {
    if (!empty_is_zero_) return g.make(Op::quot, sum, n);
    const ExprId some = g.make(Op::lt, g.pool.integer(0), n);
    return g.make(Op::mul, sum, g.make(Op::select, some, g.make(Op::recip, n), g.pool.real(0)));
  }

  // The same at another reader's coordinates.
  ExprId over_count_at(ExprId sum, const std::vector<Form>& at) {
    const std::vector<DimId> points = g[v_].targets[0].points;
    const ExprId n = substitute_dims(g, count_, [&](DimId d) -> std::optional<Form> {
      for (size_t k = 0; k < points.size(); ++k)
        if (points[k] == d) return at[k];
      return std::nullopt;
    });
    return over_count(sum, n);
  }

  // Sets count_ to the first of `candidates` for which `holds`, in either form of the mean.
  bool find_count(const std::vector<ExprId>& candidates, const std::function<bool()>& holds) {
    for (ExprId n : candidates)
      for (const bool empty_is_zero : {false, true}) {
        empty_is_zero_ = empty_is_zero;
        count_ = n;
        if (holds()) return true;
      }
    return false;
  }

  // ---- V = sum (x - S/N)^2 --------------------------------------------------------------------

  bool deviations(NodeId s, ExprId argument) {
    if (!has_square(argument)) return false;
    if (!same_guards(s)) return missed("the mean and the deviations have different conditions");
    const ExprId read = g.read(sum_, at_points(g[v_].targets[0].points));
    const bool found = find_count(counts(tensors_in(g, argument)), [&] {
      const ExprId d = g.make(Op::sub, x_, over_count(read, count_));
      return same(g.make(Op::mul, d, d), argument);
    });
    if (!found) return missed("the divisor of the mean is not the number of terms");
    apply(s, [&](ExprId m2, ExprId, ExprId) { return m2; });
    return true;
  }

  // The square of x is among the terms: (x - c·S·…)^2 for some c, unless proved otherwise.
  bool has_square(ExprId argument) {
    const auto square = rw.canon.multiplied(rw.canon.sum(x_), rw.canon.sum(x_));
    if (!square) return false;  // too long
    const CanonSum whole = rw.canon.sum(argument);
    return std::all_of(square->begin(), square->end(), [&](const CanonTerm& t) {
      return std::any_of(whole.begin(), whole.end(), [&](const CanonTerm& w) {
        return w.factors == t.factors && w.coeff == t.coeff;
      });
    });
  }

  bool same(ExprId a, ExprId b) { return almost_equal(rw.canon.sum(a), rw.canon.sum(b)); }

  // ---- Q/N - (S/N)^2 --------------------------------------------------------------------------

  bool squares(NodeId s, ExprId argument) {
    const Node& v = g[v_];
    if (!is_state(g, v.targets[0].value, 0) || !same(g.make(Op::mul, x_, x_), argument))
      return false;
    squares_ = v.targets[0].tensor;
    if (!same_guards(s)) return missed("the sum and the sum of squares have different conditions");
    const bool found = find_count(counts(read_beside()), [&] {
      for (NodeId r : readers()) {
        bool here = false;
        for_each_expr(Node(g[r]), [&](ExprId e) { here |= variances_in(e, sum_) != e; });
        if (here) return true;
      }
      return false;
    });
    if (!found) return missed("no reader takes Q/N - (S/N)^2 with N the number of terms");
    const TensorId m2 = added(squares_, "_m2");
    apply(s, [&](ExprId m2_state, ExprId mean, ExprId count) {
      g[m2].node = v_;
      extra_ = {m2, m2_state};
      return g.make(Op::add, m2_state, g.make(Op::mul, count, g.make(Op::mul, mean, mean)));
    });
    return true;
  }

  std::vector<NodeId> readers() { return g.readers()[index(g[v_].targets[0].tensor)]; }

  // What is read where this node's value is, maps seen through; without repeats.
  std::vector<TensorId> read_beside() {
    std::set<TensorId> read;
    for (NodeId r : readers())
      for_each_expr(Node(g[r]), [&](ExprId e) {
        for (TensorId t : tensors_in(g, expand_maps(g, e))) read.insert(t);
      });
    return {read.begin(), read.end()};
  }

  // e with Q/N - (S/N)^2 replaced by m2/N, `m2` the tensor that holds it; what is added to the
  // difference stays.
  ExprId variances_in(ExprId e, TensorId m2) {
    return rewrite_expr(g, e, [&](ExprId, const ExprNode& now) -> std::optional<ExprId> {
      if (now.op != Op::add && now.op != Op::sub) return std::nullopt;
      const ExprId made = g.rebuild(now), seen = expand_maps(g, made);
      for (LeafId l : leaves_of(g, seen)) {
        const Leaf leaf = g.leaf(l);
        if (leaf.what != Leaf::What::read || leaf.tensor != squares_ || leaf.guarded) continue;
        const ExprId mean = over_count_at(g.read(sum_, leaf.forms), leaf.forms);
        const ExprId variance = g.make(Op::sub, over_count_at(g.variable(leaf), leaf.forms),
                                       g.make(Op::mul, mean, mean));
        const ExprId rest = rw.simplify(without_sums(seen));
        if (!same(seen, g.make(Op::add, variance, rest))) continue;
        const ExprId v = over_count_at(g.read(m2, leaf.forms), leaf.forms);
        return g.pool.is_number(rest, 0) ? v : g.make(Op::add, v, rest);
      }
      return std::nullopt;
    });
  }

  ExprId without_sums(ExprId e) {
    return substitute_leaves(g, e, [&](LeafId l) -> std::optional<ExprId> {
      const Leaf& leaf = g.leaf(l);
      const bool sum = leaf.what == Leaf::What::read && !leaf.guarded &&
                       (leaf.tensor == sum_ || leaf.tensor == squares_);
      return sum ? std::optional(g.pool.real(0)) : std::nullopt;
    });
  }

  // ---- the fold -------------------------------------------------------------------------------

  TensorId added(TensorId like, const char* suffix) {
    Tensor t = g[like];
    t.name = g.fresh_name(t.name + suffix);
    t.format.reset();
    return g.add_tensor(t);
  }

  // Makes this node the moments fold; `second` gives its own value from m2, mean and n.
  void apply(NodeId s, const std::function<ExprId(ExprId, ExprId, ExprId)>& second) {
    const auto before = rw.texts({s, v_});
    const std::string summary = rw.name(s) + ", " + rw.name(v_);
    Node n = g[v_];
    const Kind real = Kind::real;
    n.folds[0].monoid = *builtin_monoid(g, "moments", std::span(&real, 1));
    n.folds[0].args = {x_};
    const ExprId count = g.state(0, real), mean = g.state(1, real), m2 = g.state(2, real);
    const uint32_t own = g.pool[count].variable();
    const ExprId value = second(m2, mean, count);
    for (Target& t : n.targets)
      t.value = substitute_leaves(
          g, t.value, [&](LeafId l) { return l == own ? std::optional(value) : std::nullopt; });
    const std::vector<DimId> points = n.targets[0].points;
    if (extra_) n.targets.push_back({extra_->first, points, extra_->second});
    const TensorId made = added(sum_, "_mean");
    n.targets.push_back({made, points, mean});
    n.targets.push_back({sum_, points, g.make(Op::mul, mean, count)});
    g[s].alive = false;
    g[v_] = n;
    g[made].node = v_;
    g[sum_].node = v_;
    replace_in_readers(made);
    remove_dead(g);
    rw.fired("welford", "welford_two_pass", summary, before, {v_});
  }

  // Q/N - (S/N)^2 in every reader becomes m2/N, S/N a read of the mean.
  void replace_in_readers(TensorId mean) {
    // Variances first: they are known by the means inside them.
    const auto everywhere = [&](const std::function<ExprId(ExprId)>& replaced) {
      for (NodeId r : g.order()) {
        if (r == v_) continue;
        Node n = g[r];
        map_exprs(n, [&](ExprId e) { return rw.simplify(replaced(e)); });
        g[r] = n;
      }
    };
    if (extra_) everywhere([&](ExprId e) { return variances_in(e, extra_->first); });
    everywhere([&](ExprId e) { return means_in(e, mean); });
  }

  ExprId means_in(ExprId e, TensorId mean) {
    return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) -> std::optional<ExprId> {
      if (now.op != Op::mul && now.op != Op::quot) return std::nullopt;
      for (ExprId operand : g.pool[old].operands()) {
        if (g.pool[operand].op != Op::var) continue;
        // A fill of the sum is not a fill of the mean.
        const Leaf read = g.leaf_of(operand);
        if (read.tensor != sum_ || read.guarded || read.fill_bits != 0) continue;
        if (same(over_count_at(operand, read.forms), old)) return g.read(mean, read.forms);
      }
      return std::nullopt;
    });
  }

  Rewriting& rw;
  Graph& g;
  NodeId v_;                      // of V or Q
  std::vector<DimId> from_, to_;  // S's coordinates, and this node's they stand for
  TensorId sum_ = TensorId::none, squares_ = TensorId::none;
  ExprId x_ = ExprId::none, count_ = ExprId::none;
  bool empty_is_zero_ = false;
  std::optional<std::pair<TensorId, ExprId>> extra_;  // a target of its own for m2
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
