// 5.5 stabilize_softmax: the max of the scores and every sum of exp(score - max) below it are one
// fold of the online-softmax monoid.
//
//   m[i]    = max[j](s(i, j))
//   X[i, c] = sum[j](exp(κ·(s(i, j) - m[i])) * g(i, j, c))        one or more, κ > 0
//   =>  (m, l, o_1, …) = online[j](κ·s, g_1, …),  X = o,  l for g = 1,  m = state.m / κ
//
// Quotients by l read as l's safe reciprocal (algebra.md 3.2), so a masked row is 0.
#include <algorithm>
#include <map>

#include "ir/expand.h"
#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/softmax.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

constexpr int64_t short_row = 256;

// One sum of weighted terms below a max.
struct WeightedSum {
  NodeId node = NodeId::none;
  Weight weight;
  ExprId g = ExprId::none;        // the term without its weight, extra guards included
  std::vector<DimId> max_points;  // this node's coordinates for the max's points
  std::vector<DimId> columns;     // its points that are not among them
  std::optional<Format> operand;  // a float format the weight was given
};

class Stabilization {
 public:
  Stabilization(Rewriting& rw, const MaxFold& max) : rw(rw), g(rw.g), max_(max) {}

  bool run() {
    for (NodeId id : g.order())
      if (id != max_.node)
        if (auto sum = match(id)) sums_.push_back(std::move(*sum));
    drop_dependent();
    if (sums_.empty()) return false;
    if (const auto scores = short_output()) {
      rw.missed("stabilize_softmax", max_.node,
                "its scores `" + *scores + "` are an output with rows of at most 256");
      return false;
    }
    fuse();
    return true;
  }

 private:
  std::optional<WeightedSum> match(NodeId id) {
    const Node n = g[id];
    if (!is_sum_fold(g, n)) return std::nullopt;
    const ExprId argument = n.folds[0].args[0];
    for (ExprId e : g.pool.reachable(argument)) {
      if (g.pool[e].op != Op::exp) continue;
      std::string reason;
      const auto w = match_weight(g, rw.canon, {max_}, g.pool[e].args[0], coordinates(n), &reason);
      if (w)
        if (auto sum = weighted(id, n, argument, e, *w)) return sum;
      if (!reason.empty()) rw.missed("stabilize_softmax", id, reason);
    }
    return std::nullopt;
  }

  static std::vector<DimId> coordinates(const Node& n) {
    std::vector<DimId> all = n.points;
    all.insert(all.end(), n.reduce.begin(), n.reduce.end());
    return all;
  }

  std::optional<WeightedSum> refused(NodeId id, const std::string& reason) {
    rw.missed("stabilize_softmax", id, reason);
    return std::nullopt;
  }

  std::optional<WeightedSum> weighted(NodeId id, const Node& n, ExprId argument, ExprId weight,
                                      const Weight& w) {
    WeightedSum sum;
    sum.node = id;
    sum.weight = w;
    if (std::set(w.over.begin(), w.over.end()) != std::set(n.reduce.begin(), n.reduce.end()))
      return refused(id, "the sum does not run over the coordinates of the max");
    for (const Form& f : w.at) {
      const auto d = f.as_pick();
      if (!d || !contains(n.points, *d) || contains(sum.max_points, *d))
        return refused(id, "`" + g[max_.tensor].name + "` is not read at the sum's own row");
      sum.max_points.push_back(*d);
    }
    for (DimId d : n.points)
      if (!contains(sum.max_points, d)) sum.columns.push_back(d);
    if (!is_factor(rw, argument, weight))
      return refused(id, "the weight is not exactly one factor of each term");
    sum.operand = weight_format(argument, weight);
    sum.g = rw.simplify(replace_factor(g, argument, weight, g.pool.real(1)));
    return with_guards(id, n, std::move(sum));
  }

  std::optional<Format> weight_format(ExprId argument, ExprId weight) {
    for (ExprId id : g.pool.reachable(argument))
      if (g.pool[id].op == Op::cast && g.pool[id].args[0] == weight) return g.pool[id].format;
    return std::nullopt;
  }

  // The max's guards must be the sum's; guards the sum has alone gate its g.
  std::optional<WeightedSum> with_guards(NodeId id, const Node& n, WeightedSum sum) {
    std::vector<Guard> extra;
    const std::vector<Guard> shared = max_guards(sum);
    for (const Guard& guard : shared)
      if (std::find(n.guards.begin(), n.guards.end(), guard) == n.guards.end())
        return refused(id, "the conditions of the max and of the sum differ");
    for (const Guard& guard : n.guards)
      if (std::find(shared.begin(), shared.end(), guard) == shared.end()) extra.push_back(guard);
    if (!extra.empty()) sum.g = g.make(Op::select, condition_of(g, extra), sum.g, g.pool.real(0));
    return sum;
  }

  DimMap to_sum(const WeightedSum& sum) const {
    std::vector<DimId> from = max_.points, to = sum.max_points;
    from.insert(from.end(), max_.over.begin(), max_.over.end());
    to.insert(to.end(), sum.weight.over.begin(), sum.weight.over.end());
    return renaming(from, to);
  }

  std::vector<Guard> max_guards(const WeightedSum& sum) {
    std::vector<Guard> guards;
    for (const Guard& guard : g[max_.node].guards)
      guards.push_back(substitute_dims(g, guard, to_sum(sum)));
    normalise_guards(g, guards);
    return guards;
  }

  // A sum whose g reaches the max or another sum of the group cannot join it; nor one whose targets
  // do, unless they read that at their own row.
  void drop_dependent() {
    std::set<TensorId> group = {max_.tensor};
    for (const WeightedSum& s : sums_)
      for (const Target& t : g[s.node].targets) group.insert(t.tensor);
    std::vector<WeightedSum> kept;
    for (const WeightedSum& s : sums_) {
      if (!reaches(g, tensors_in(g, s.g), group) && reads_own_rows(s, group))
        kept.push_back(s);
      else
        rw.missed("stabilize_softmax", s.node,
                  "its values depend on `" + g[max_.tensor].name + "` or on another sum below it");
    }
    sums_ = std::move(kept);
  }

  // Lets the targets of the sum's node read the group directly instead of through maps. False if
  // some read is not at the sum's own row, or still goes through another definition.
  bool reads_own_rows(const WeightedSum& s, const std::set<TensorId>& group) {
    for (size_t k = 0; k < g[s.node].targets.size(); ++k) {
      const ExprId value = g[s.node].targets[k].value;
      if (!reaches(g, tensors_in(g, value), group)) continue;
      const ExprId seen = expand_maps(g, value);
      for (LeafId l : leaves_of(g, seen)) {
        const Leaf& leaf = g.leaf(l);
        if (leaf.what != Leaf::What::read) continue;
        if (group.contains(leaf.tensor) ? !at_own_row(s, leaf) : reaches(g, {leaf.tensor}, group))
          return false;
      }
      g[s.node].targets[k].value = seen;
    }
    return true;
  }

  // True if a read of the max, or of a target of some sum, is at the coordinates that become its
  // own when `s` and that sum are one fold.
  bool at_own_row(const WeightedSum& s, const Leaf& leaf) const {
    if (leaf.guarded) return false;
    const auto is_read_at = [&](const std::vector<DimId>& points, const DimMap& map) {
      for (size_t k = 0; k < points.size(); ++k) {
        const auto here = map(points[k]);
        if (!here || leaf.forms[k] != *here) return false;
      }
      return true;
    };
    if (leaf.tensor == max_.tensor) return is_read_at(max_.points, to_sum(s));
    for (const WeightedSum& other : sums_)
      for (const Target& t : g[other.node].targets)
        if (t.tensor == leaf.tensor)
          return (other.columns.empty() || other.columns.size() == s.columns.size()) &&
                 is_read_at(t.points, to_lead(other, s));
    return false;
  }

  // Scores that are stored for a reader anyway, in short rows, need no online fold.
  std::optional<std::string> short_output() {
    int64_t terms = 1;
    for (DimId d : max_.over) {
      const auto n = g.extent(d).constant();
      if (!n) return std::nullopt;
      terms *= *n;
    }
    if (terms > short_row) return std::nullopt;
    const CanonSum scores = rw.canon.sum(expand_maps(g, max_.score));
    for (const Output& o : g.outputs) {
      const Tensor& t = g[o.tensor];
      if (t.node == NodeId::none) continue;
      const Node n = g[t.node];
      for (const Target& target : n.targets) {
        if (target.tensor != o.tensor) continue;
        std::vector<Form> forms;
        for (DimId d : target.points) forms.push_back(Form::coordinate(d));
        const ExprId read = g.read(o.tensor, forms);
        if (almost_equal(rw.canon.sum(expand_maps(g, read)), scores)) return t.name;
      }
    }
    return std::nullopt;
  }

  // ---- building the fold ---------------------------------------------------------------------

  void fuse() {
    std::vector<NodeId> touched = {max_.node};
    for (const WeightedSum& s : sums_) touched.push_back(s.node);
    const auto before = rw.texts(touched);
    const std::string summary = join_names(g, touched);
    // With κ other than 1 the running max is that of κ·x, and M = m/κ would be rounded: a weight
    // that is left, exp(κ(x - M)), needs the max of x itself (dead otherwise).
    bool kept = false;
    std::vector<NodeId> made;
    while (!sums_.empty()) {
      const std::vector<WeightedSum> group = take_class();
      const bool keeps_max = !kept && group[0].weight.scale == 1;
      made.push_back(fuse_class(group, keeps_max));
      kept = kept || keeps_max;
    }
    for (NodeId id : touched)
      if (std::find(made.begin(), made.end(), id) == made.end() && (kept || id != max_.node))
        g[id].alive = false;
    for (NodeId id : made) make_quotients_safe(id);
    remove_dead(g);
    rw.fired("stabilize_softmax", "os_two_pass, os_masked", summary, before, made);
  }

  // Sums with one κ and the same columns (a sum without columns joins any); the one with the most
  // points leads.
  std::vector<WeightedSum> take_class() {
    const auto lead = std::max_element(
        sums_.begin(), sums_.end(),
        [](const auto& a, const auto& b) { return a.columns.size() < b.columns.size(); });
    std::vector<WeightedSum> group = {*lead}, rest;
    for (const WeightedSum& s : sums_) {
      if (s.node == lead->node) continue;
      const bool joins =
          s.weight.scale == lead->weight.scale &&
          (s.columns.empty() || s.columns == lead->columns || same_extents(s, *lead));
      (joins ? group : rest).push_back(s);
    }
    sums_ = std::move(rest);
    return group;
  }

  bool same_extents(const WeightedSum& a, const WeightedSum& b) const {
    if (a.columns.size() != b.columns.size()) return false;
    for (size_t k = 0; k < a.columns.size(); ++k)
      if (g.extent(a.columns[k]) != g.extent(b.columns[k])) return false;
    return true;
  }

  NodeId fuse_class(const std::vector<WeightedSum>& group, bool keeps_max) {
    const WeightedSum& lead = group[0];
    Node n = g[lead.node];
    const double scale = lead.weight.scale;
    const ExprId score = substitute_dims(g, max_.score, to_sum(lead));
    Fold fold;
    fold.args = {rw.simplify(g.make(Op::mul, score, g.pool.real(scale)))};
    if (scale == 1) fold.args[0] = score;
    n.guards = max_guards(lead);
    n.operand = lead.operand;

    std::vector<uint32_t> state_of;  // per sum: 1 is l, 2… are the o
    std::map<ExprId, uint32_t> known;
    for (const WeightedSum& s : group) {
      const ExprId value = substitute_dims(g, s.g, to_lead(s, lead));
      if (g.pool.is_number(value, 1)) {
        state_of.push_back(1);
        continue;
      }
      const auto [it, fresh] =
          known.try_emplace(value, static_cast<uint32_t>(fold.args.size() + 1));
      if (fresh) fold.args.push_back(value);
      state_of.push_back(it->second);
    }
    const std::vector<Kind> kinds(fold.args.size(), Kind::real);
    fold.monoid = *builtin_monoid(g, "online", kinds);
    n.folds = {fold};
    n.targets = targets(group, lead, state_of, keeps_max);
    resolve_own_reads(n);
    g[lead.node] = n;
    for (const Target& t : n.targets) g[t.tensor].node = lead.node;
    return lead.node;
  }

  DimMap to_lead(const WeightedSum& s, const WeightedSum& lead) const {
    std::vector<DimId> from = s.max_points, to = lead.max_points;
    const auto append = [](std::vector<DimId>& into, const std::vector<DimId>& what) {
      into.insert(into.end(), what.begin(), what.end());
    };
    append(from, s.weight.over), append(to, lead.weight.over);
    append(from, s.columns), append(to, lead.columns);
    to.resize(from.size(), DimId{});
    return renaming(from, to);
  }

  std::vector<Target> targets(const std::vector<WeightedSum>& group, const WeightedSum& lead,
                              const std::vector<uint32_t>& state_of, bool keeps_max) {
    std::vector<Target> result;
    if (keeps_max) result.push_back({max_.tensor, lead.max_points, g.state(0, Kind::real)});
    const uint32_t own = g.pool[g.state(0, Kind::real)].variable();
    for (size_t k = 0; k < group.size(); ++k) {
      const DimMap map = to_lead(group[k], lead);
      const ExprId state = g.state(state_of[k], Kind::real);
      for (const Target& t : Node(g[group[k].node]).targets) {
        Target moved = t;
        for (DimId& d : moved.points)
          if (const auto to = map(d)) d = *to->as_pick();
        moved.value = substitute_leaves(g, substitute_dims(g, t.value, map), [&](LeafId l) {
          return l == own ? std::optional(state) : std::nullopt;
        });
        result.push_back(moved);
      }
    }
    return result;
  }

  // A target that read another member of the group at the same row uses its value instead.
  void resolve_own_reads(Node& n) {
    const std::vector<Target> known = n.targets;
    for (Target& t : n.targets)
      for (size_t depth = 0; depth <= known.size(); ++depth)
        t.value = substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
          for (const Target& other : known)
            if (other.tensor == g.leaf(l).tensor && is_identity_read(g.leaf(l), other.points))
              return other.value;
          return std::nullopt;
        });
  }

  // Quotients by l, inside the fold's own targets and in every reader of l's tensor.
  void make_quotients_safe(NodeId id) {
    const uint32_t l_state = g.pool[g.state(1, Kind::real)].variable();
    std::set<TensorId> l_tensors;
    for (Target& t : g[id].targets) {
      if (is_state(g, t.value, 1)) l_tensors.insert(t.tensor);
      t.value = rw.simplify(safe_quotients(g, t.value, [&](ExprId e) {
        return g.pool[e].op == Op::var && g.pool[e].variable() == l_state;
      }));
    }
    if (l_tensors.empty()) return;
    for (NodeId reader : g.order()) {
      Node n = g[reader];
      if (reader == id) continue;
      map_exprs(n, [&](ExprId e) {
        return safe_quotients(g, e, [&](ExprId x) {
          return g.pool[x].op == Op::var && l_tensors.contains(g.leaf_of(x).tensor);
        });
      });
      g[reader] = n;
    }
  }

  Rewriting& rw;
  Graph& g;
  const MaxFold max_;
  std::vector<WeightedSum> sums_;
};

}  // namespace

bool stabilize_softmax(Rewriting& rw) {
  bool any = false;
  for (const MaxFold& max : max_folds(rw.g))
    if (rw.g[max.node].alive) any |= Stabilization(rw, max).run();
  return any;
}

}  // namespace tang
