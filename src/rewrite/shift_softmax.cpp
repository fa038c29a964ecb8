// 5.6 shift_softmax: sums of exponentials below any shift, or none, get the max of their scores.
//
//   X[i, c] = sum[j](exp(s(i, j) + h(i)) * g(i, j, c))
//           = exp(m[i] + h(i)) * sum[j](exp(s(i, j) - m[i]) * g(i, j, c)),   m[i] = max[j](s(i, j))
//
// which stabilize_softmax then folds in one pass. When every reader takes only quotients of such
// sums the factor cancels and is left out: a softmax written without a max, or with a tensor's
// temperature outside of it. Otherwise it stays, where the shift holds that very max: a sink beside
// the scores.
#include <algorithm>
#include <cmath>

#include "ir/expand.h"
#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/softmax.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

struct ShiftedSum {
  NodeId node = NodeId::none;
  ExprId term = ExprId::none;    // the fold's argument, maps seen through
  ExprId weight = ExprId::none;  // the exponential
  ExprId score = ExprId::none;   // s
  ExprId shift = ExprId::none;   // h; 0 if there is none
  std::vector<DimId> rows;       // points that s and h depend on, in the node's order
};

class ShiftSoftmax {
 public:
  explicit ShiftSoftmax(Rewriting& rw) : rw(rw), g(rw.g), maxima_(max_folds(g, true)) {}

  bool run() {
    std::vector<ShiftedSum> sums;
    for (NodeId id : g.order())
      if (is_sum_fold(g, g[id]))
        if (auto sum = match(id)) sums.push_back(std::move(*sum));
    bool any = false;
    while (!sums.empty()) {
      std::vector<ShiftedSum> group, rest;
      for (const ShiftedSum& s : sums) (same_softmax(s, sums[0]) ? group : rest).push_back(s);
      sums = std::move(rest);
      any |= apply(group);
    }
    return any;
  }

 private:
  std::optional<ShiftedSum> match(NodeId id) {
    const Node n = g[id];
    std::vector<DimId> coordinates = n.points;
    coordinates.insert(coordinates.end(), n.reduce.begin(), n.reduce.end());
    const ExprId term = expand_maps(g, n.folds[0].args[0]);
    for (ExprId e : g.pool.reachable(term)) {
      if (g.pool[e].op != Op::exp) continue;
      const ExprId exponent = g.pool[e].args[0];
      if (match_weight(g, rw.canon, maxima_, exponent, coordinates, nullptr, true))
        return std::nullopt;  // it has its max
      if (auto sum = split_exponent(id, term, e)) return sum;
    }
    return std::nullopt;
  }

  std::optional<ShiftedSum> split_exponent(NodeId id, ExprId term, ExprId weight) {
    const Node n = g[id];
    ShiftedSum sum{id, term, weight, ExprId::none, g.pool.real(0), {}};
    for (ExprId e : addends(g, g.pool[weight].args[0])) {
      const std::vector<DimId> dims = dims_of(g, e);
      const bool reduced =
          std::any_of(n.reduce.begin(), n.reduce.end(), [&](DimId d) { return contains(dims, d); });
      // What masks whole rows is no shift: -inf does not cancel.
      ExprId& part = reduced || may_mask(e) ? sum.score : sum.shift;
      part = part == ExprId::none ? e : g.make(Op::add, part, e);
    }
    if (sum.score == ExprId::none || g.pool[sum.score].kind != Kind::real) return std::nullopt;
    sum.score = rw.simplify(sum.score);
    sum.shift = rw.simplify(sum.shift);
    if (!is_factor(rw, term, weight)) return std::nullopt;
    const std::vector<DimId> used = dims_of(g, sum.score), shifted = dims_of(g, sum.shift);
    for (DimId d : n.points)
      if (contains(used, d) || contains(shifted, d)) sum.rows.push_back(d);
    for (DimId d : n.reduce)
      if (!contains(used, d)) return std::nullopt;  // not a softmax over this index
    for (const Guard& guard : n.guards) {
      std::vector<DimId> dims;
      if (guard.what == Guard::What::data)
        dims = dims_of(g, guard.condition);
      else
        dims = dims_of(g, g.iota(guard.form));
      for (DimId d : dims)
        if (contains(n.points, d) && !contains(sum.rows, d)) return std::nullopt;
    }
    return sum;
  }

  bool may_mask(ExprId e) const {
    const auto nodes = g.pool.reachable(e);
    return std::any_of(nodes.begin(), nodes.end(), [&](ExprId x) {
      return g.pool.is_constant(x) && !std::isfinite(g.pool[x].value().as_real());
    });
  }

  bool same(ExprId a, ExprId b) { return almost_equal(rw.canon.sum(a), rw.canon.sum(b)); }

  bool same_softmax(const ShiftedSum& a, const ShiftedSum& b) {
    const Node &x = g[a.node], &y = g[b.node];
    return a.rows == b.rows && x.reduce == y.reduce && x.guards == y.guards &&
           same(a.score, b.score) && same(a.shift, b.shift);
  }

  // ---- readers --------------------------------------------------------------------------------

  const ShiftedSum* sum_of(const std::vector<ShiftedSum>& group, TensorId t) const {
    for (const ShiftedSum& s : group)
      if (g[s.node].targets[0].tensor == t) return &s;
    return nullptr;
  }

  // Where the sum's row is read, one form a row coordinate.
  std::vector<Form> row_of(const ShiftedSum& s, const Leaf& read) const {
    const std::vector<DimId>& points = g[s.node].targets[0].points;
    std::vector<Form> row;
    for (size_t k = 0; k < points.size(); ++k)
      if (contains(s.rows, points[k])) row.push_back(read.forms[k]);
    return row;
  }

  // Each term of e has as many of the sums above the line as below it, all of one row; `own` is
  // the sum whose target e is, if it is one.
  bool quotients_only(const std::vector<ShiftedSum>& group, ExprId e, const ShiftedSum* own) {
    for (const CanonTerm& t : rw.canon.sum(expand_maps(g, e))) {
      int degree = 0;
      std::optional<std::vector<Form>> row;
      for (const auto& [atom, power] : t.factors) {
        const bool plain = g.pool[atom].op == Op::var;
        for (LeafId l : leaves_of(g, atom)) {
          const Leaf leaf = g.leaf(l);
          const bool state = leaf.what == Leaf::What::state;
          const bool read = leaf.what == Leaf::What::read;
          const ShiftedSum* s = state ? own : read ? sum_of(group, leaf.tensor) : nullptr;
          if (!s) continue;
          if (!plain || leaf.guarded) return false;
          const std::vector<Form> at = state ? at_rows(*s) : row_of(*s, leaf);
          if (row && *row != at) return false;
          row = at;
          degree += power;
        }
      }
      if (degree != 0) return false;
    }
    return true;
  }

  static std::vector<Form> at_rows(const ShiftedSum& s) {
    std::vector<Form> row;
    for (DimId d : s.rows) row.push_back(Form::coordinate(d));
    return row;
  }

  // The factor exp(m + h) of the sums cancels everywhere.
  bool cancels(const std::vector<ShiftedSum>& group) {
    const auto readers = g.readers();
    for (const ShiftedSum& s : group) {
      const Node n = g[s.node];
      if (n.targets.size() != 1) return false;
      if (quotients_only(group, n.targets[0].value, &s)) continue;
      if (!is_state(g, n.targets[0].value, 0)) return false;
      const TensorId t = n.targets[0].tensor;
      if (g.is_output(t) || readers[index(t)].empty()) return false;
      for (NodeId r : readers[index(t)]) {
        bool all = true;
        const Node reader = g[r];
        const auto own = std::find_if(group.begin(), group.end(),
                                      [r](const ShiftedSum& x) { return x.node == r; });
        for_each_expr(reader, [&](ExprId e) {
          all = all && quotients_only(group, e, own == group.end() ? nullptr : &*own);
        });
        if (!all) return false;
      }
    }
    return true;
  }

  // The max of exactly these scores, if there is one.
  std::optional<TensorId> own_max(const ShiftedSum& s) {
    const Node n = g[s.node];
    for (const MaxFold& m : max_folds(g))
      if (m.over == n.reduce && m.points == s.rows && m.guards == n.guards &&
          same(m.score, s.score))
        return m.tensor;
    return std::nullopt;
  }

  bool subtracts_its_max(const ShiftedSum& s) {
    const auto max = own_max(s);
    const std::vector<TensorId> read = tensors_in(g, s.shift);
    return max && std::find(read.begin(), read.end(), *max) != read.end();
  }

  // ---- rewriting ------------------------------------------------------------------------------

  bool apply(const std::vector<ShiftedSum>& group) {
    const bool drop = cancels(group);
    if (!drop && !subtracts_its_max(group[0])) {
      if (group.size() > 1)
        rw.missed("shift_softmax", group[0].node,
                  "no max is subtracted, and a sum is read outside of a quotient of such sums");
      return false;
    }
    std::vector<NodeId> touched;
    for (const ShiftedSum& s : group) touched.push_back(s.node);
    const auto before = rw.texts(touched);
    const TensorId max = max_of(group[0]);
    for (const ShiftedSum& s : group) {
      const ExprId m = g.read(max, at_rows(s));
      Node n = g[s.node];
      const ExprId weight = g.make(Op::exp, g.make(Op::sub, s.score, m));
      n.folds[0].args[0] = rw.simplify(replace_factor(g, s.term, s.weight, weight));
      if (!drop) {
        const ExprId state = g.state(0, Kind::real);
        const ExprId scaled =
            g.make(Op::mul, state, g.make(Op::exp, rw.simplify(g.make(Op::add, m, s.shift))));
        for (Target& t : n.targets)
          t.value = substitute_leaves(g, t.value, [&](LeafId l) {
            return l == g.pool[state].variable() ? std::optional(scaled) : std::nullopt;
          });
      }
      g[s.node] = n;
    }
    touched.push_back(g[max].node);
    const std::string summary = join_names(g, touched);
    rw.fired("shift_softmax", "softmax_shift", summary, before, touched);
    return true;
  }

  // The max of the scores, the one there is or a new one.
  TensorId max_of(const ShiftedSum& s) {
    const Node n = g[s.node];
    if (const auto known = own_max(s)) return *known;
    Tensor t;
    t.name = g.fresh_name(rw.name(s.node) + "_max");
    for (DimId d : s.rows) t.shape.push_back(g.extent(d));
    const TensorId made = g.add_tensor(t);
    Node max;
    max.points = s.rows;
    max.reduce = n.reduce;
    max.guards = n.guards;
    max.where = n.where;
    Fold fold;
    const Kind real = Kind::real;
    fold.monoid = *builtin_monoid(g, "max", std::span(&real, 1));
    fold.args = {s.score};
    max.folds = {fold};
    max.targets = {{made, s.rows, g.state(0, Kind::real)}};
    g.add_node(max);
    return made;
  }

  Rewriting& rw;
  Graph& g;
  std::vector<MaxFold> maxima_;
};

}  // namespace

bool shift_softmax(Rewriting& rw) { return ShiftSoftmax(rw).run(); }

}  // namespace tang
