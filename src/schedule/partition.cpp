#include "schedule/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/bind.h"
#include "ir/guards.h"
#include "ir/variance.h"

namespace tang {

namespace {

constexpr double unknown_extent = 4096;

using Tensors = std::set<TensorId>;

class Partition {
 public:
  Partition(Graph& graph, int64_t most) : g(graph), most_(most) {}

  void run() {
    for (NodeId id : g.order()) fit(id);
  }

 private:
  void fit(NodeId id) {
    if (g[id].gradient) return;
    while (excess(g[id]) > 0)
      if (!store_part(id, false) && !part_targets(id) && !store_states(id) && !store_part(id, true))
        return;
  }

  int64_t excess(const Node& n) const {
    Tensors all;
    for (TensorId t : tensors_read(g, n)) all.insert(t);
    for (const Target& t : n.targets) all.insert(t.tensor);
    return static_cast<int64_t>(all.size()) - most_;
  }

  // ---- a part of an expression ------------------------------------------------------------------

  struct Part {
    ExprId expr = ExprId::none;
    std::vector<DimId> points;
    double volume = 0;
    int64_t saves = 0;
  };

  // What saves something comes first, then what is small.
  static std::tuple<bool, double, int64_t> key(const Part& p) {
    return {p.saves <= 0, p.volume, -p.saves};
  }

  // Stores the smallest part of those that read several tensors which nothing else of the
  // definition reads; of equal ones the part that reads most. `terms`: one of terms too. What saves
  // nothing by itself, a read through indices that others take too, leaves less for them to share.
  bool store_part(NodeId id, bool terms) {
    Part best;
    std::set<ExprId> seen;
    for_each_expr(g[id], [&](ExprId root) {
      for (ExprId e : g.pool.reachable(root)) {
        if (!seen.insert(e).second) continue;
        const auto part = part_of(g[id], e);
        if (!part || (!terms && is_of_terms(g[id], *part))) continue;
        if (best.expr == ExprId::none || key(*part) < key(best)) best = *part;
      }
    });
    if (best.expr == ExprId::none) return false;
    const TensorId stored = store(id, best);
    std::vector<Form> at;
    for (DimId d : best.points) at.push_back(Form::coordinate(d));
    const ExprId read = g.read(stored, at);
    Node n = g[id];
    map_exprs(n, [&](ExprId root) {
      return rewrite_expr(g, root, [&](ExprId old, const ExprNode&) {
        return old == best.expr ? std::optional(read) : std::nullopt;
      });
    });
    g[id] = std::move(n);
    return true;
  }

  std::optional<Part> part_of(const Node& n, ExprId e) const {
    Tensors inside;
    for (LeafId l : leaves_of(g, e)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what == Leaf::What::read)
        inside.insert(leaf.tensor);
      else if (leaf.what != Leaf::What::iota)
        return std::nullopt;
    }
    const auto reads = static_cast<int64_t>(inside.size());
    if (reads < 2 || reads >= most_) return std::nullopt;
    Part part{e, {}, 1, -1};
    const std::vector<DimId> dims = dims_of(g, e);
    for (const auto* from : {&n.points, &n.reduce})
      for (DimId d : *from)
        if (contains(dims, d)) part.points.push_back(d);
    if (part.points.size() != dims.size()) return std::nullopt;
    for (DimId d : part.points)
      part.volume *= static_cast<double>(
          bound_value(g, g.extent(d)).value_or(static_cast<int64_t>(unknown_extent)));
    const Tensors outside = read_outside(n, e);
    for (TensorId t : inside) part.saves += !outside.contains(t);
    return part.saves >= 0 ? std::optional(part) : std::nullopt;
  }

  static bool is_of_terms(const Node& n, const Part& part) {
    return std::any_of(part.points.begin(), part.points.end(),
                       [&](DimId d) { return contains(n.reduce, d); });
  }

  // What the definition reads elsewhere than in `part`.
  Tensors read_outside(const Node& n, ExprId part) const {
    Tensors found;
    std::set<ExprId> seen = {part};
    std::vector<ExprId> stack;
    const auto push = [&](ExprId e) {
      if (e != ExprId::none && seen.insert(e).second) stack.push_back(e);
    };
    for_each_expr(n, push);
    while (!stack.empty()) {
      const ExprId e = stack.back();
      stack.pop_back();
      if (g.pool[e].op == Op::var)
        for (LeafId l : leaves_of(g, e)) note(l, found);
      else
        for (ExprId a : g.pool[e].operands()) push(a);
    }
    Node guards;
    guards.guards = n.guards;
    for (Guard& guard : guards.guards) guard.condition = ExprId::none;
    for (LeafId l : leaves_of(g, guards)) note(l, found);
    return found;
  }

  void note(LeafId l, Tensors& found) const {
    if (g.leaf(l).what == Leaf::What::read) found.insert(g.leaf(l).tensor);
  }

  // The part at all points of its coordinates, those too at which the definition's conditions do
  // not hold: reads that these keep inside of a tensor get a fill.
  TensorId store(NodeId id, const Part& part) {
    const Node whole = g[id];
    const ExprId value = whole.guards.empty() ? part.expr : inside(part.expr);
    Node n;
    n.where = whole.where;
    n.points = part.points;
    n.targets.push_back(
        {add_tensor(whole, g.pool[part.expr].kind, part.points, value), part.points, value});
    const TensorId t = n.targets[0].tensor;
    g.add_node(std::move(n));
    return t;
  }

  ExprId inside(ExprId e) {
    return substitute_leaves(g, e, [&](LeafId l) -> std::optional<ExprId> {
      Leaf leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read) return std::nullopt;
      return g.variable(inside(leaf));
    });
  }

  Leaf inside(Leaf read) {
    for (Form& f : read.forms)
      for (Form::Gather& x : f.gathers) x.leaf = g.intern(inside(g.leaf(x.leaf)));
    if (read.guarded || inside_bounds(g, read.tensor, read.forms).empty()) return read;
    read.guarded = true;
    read.set_fill(Value::integer(0).to(g[read.tensor].kind));
    return read;
  }

  // A definition whose values are rounded no more than they are in registers: reals are f64 where
  // the whole has such an operand.
  TensorId add_tensor(const Node& whole, Kind kind, const std::vector<DimId>& points,
                      ExprId value) {
    Tensor t;
    t.name = g.fresh_name(g[whole.targets[0].tensor].name);
    t.kind = kind;
    t.wide = kind == Kind::integer;
    t.where = whole.where;
    const auto is_double = [&](TensorId x) { return g[x].storage() == Format::f64; };
    bool wide = std::any_of(whole.targets.begin(), whole.targets.end(),
                            [&](const Target& x) { return is_double(x.tensor); });
    for (LeafId l : leaves_of(g, value))
      wide |= g.leaf(l).what == Leaf::What::read && is_double(g.leaf(l).tensor);
    if (kind == Kind::real && wide) t.format = Format::f64;
    for (DimId d : points) t.shape.push_back(g.extent(d));
    return g.add_tensor(std::move(t));
  }

  // ---- targets apart ----------------------------------------------------------------------------

  bool part_targets(NodeId id) {
    const Node whole = g[id];
    if (whole.targets.size() < 2 || is_whole(whole)) return false;
    size_t count = 1;
    while (count + 1 < whole.targets.size() && excess(some(whole, 0, count + 1)) <= 0) ++count;
    Node rest = some(whole, count, whole.targets.size());
    g[id] = some(whole, 0, count);
    const NodeId other = g.add_node(std::move(rest));
    fit(other);
    return true;
  }

  // Whose targets belong together.
  static bool is_whole(const Node& n) {
    return n.scan || std::any_of(n.folds.begin(), n.folds.end(),
                                 [](const Fold& f) { return f.entry.has_value(); });
  }

  // The node with these targets alone, and the folds that they need.
  Node some(const Node& whole, size_t first, size_t last) {
    Node n = whole;
    n.targets.assign(whole.targets.begin() + static_cast<long>(first),
                     whole.targets.begin() + static_cast<long>(last));
    const auto outputs = g.state_outputs(whole);
    std::set<size_t> used;
    for (const Target& t : n.targets)
      for (uint32_t s : states_in(t.value)) used.insert(outputs[s].first);
    n.folds.clear();
    std::vector<uint32_t> number(outputs.size());
    uint32_t next = 0;
    for (size_t s = 0; s < outputs.size(); ++s)
      if (used.contains(outputs[s].first)) number[s] = next++;
    for (size_t f : used) n.folds.push_back(whole.folds[f]);
    for (Target& t : n.targets)
      t.value =
          with_states(t.value, [&](const Leaf& s) { return g.state(number[s.number], s.kind); });
    if (n.folds.empty()) n.reduce.clear(), n.guards.clear();
    const auto needed = [&](DimId d) {
      for (const Target& t : n.targets)
        if (contains(t.points, d)) return true;
      for (const Fold& f : n.folds)
        for (ExprId e : f.args)
          if (contains(dims_of(g, e), d)) return true;
      return std::any_of(n.guards.begin(), n.guards.end(),
                         [&](const Guard& x) { return contains(dims_of(g, x), d); });
    };
    std::erase_if(n.points, [&](DimId d) { return !needed(d); });
    return n;
  }

  std::set<uint32_t> states_in(ExprId e) const {
    std::set<uint32_t> found;
    for (LeafId l : leaves_of(g, e))
      if (g.leaf(l).what == Leaf::What::state) found.insert(g.leaf(l).number);
    return found;
  }

  template <class Replace>
  ExprId with_states(ExprId e, Replace replace) {
    return substitute_leaves(g, e, [&](LeafId l) -> std::optional<ExprId> {
      const Leaf leaf = g.leaf(l);
      if (leaf.what != Leaf::What::state) return std::nullopt;
      return replace(leaf);
    });
  }

  // ---- what follows a fold ----------------------------------------------------------------------

  bool is_bare(const Target& t) const {
    return g.pool[t.value].op == Op::var && g.leaf_of(t.value).what == Leaf::What::state;
  }

  bool reads_tensors(ExprId e) const {
    const std::vector<LeafId> leaves = leaves_of(g, e);
    return std::any_of(leaves.begin(), leaves.end(),
                       [&](LeafId l) { return g.leaf(l).what == Leaf::What::read; });
  }

  // The states that targets compute with are targets themselves, and those targets maps of them.
  bool store_states(NodeId id) {
    const Node whole = g[id];
    if (whole.folds.empty() || is_whole(whole)) return false;
    Node fold = whole;
    std::map<uint32_t, Target> stored;
    std::vector<Target> others;
    fold.targets.clear();
    for (const Target& t : whole.targets)
      if (is_bare(t)) {
        stored.emplace(g.leaf_of(t.value).number, t);
        fold.targets.push_back(t);
      } else {
        others.push_back(t);
      }
    const auto reads = [&](const Target& t) { return reads_tensors(t.value); };
    if (std::none_of(others.begin(), others.end(), reads)) return false;
    // The fewest points first: a state varies along no others.
    std::sort(others.begin(), others.end(),
              [](const Target& a, const Target& b) { return a.points.size() < b.points.size(); });
    for (const Target& t : others)
      for (LeafId l : leaves_of(g, t.value)) {
        const Leaf leaf = g.leaf(l);
        if (leaf.what != Leaf::What::state || stored.contains(leaf.number)) continue;
        const ExprId value = g.state(leaf.number, leaf.kind);
        const Target state{add_tensor(whole, leaf.kind, t.points, value), t.points, value};
        stored.emplace(leaf.number, state);
        fold.targets.push_back(state);
      }
    for (const Target& t : fold.targets) g[t.tensor].node = id;
    g[id] = std::move(fold);
    for (Target t : others) {
      t.value = with_states(t.value, [&](const Leaf& s) {
        const Target& state = stored.at(s.number);
        std::vector<Form> at;
        for (DimId d : state.points) at.push_back(Form::coordinate(d));
        return g.read(state.tensor, at);
      });
      Node map;
      map.where = whole.where;
      map.points = t.points;
      map.targets = {t};
      fit(g.add_node(std::move(map)));
    }
    return true;
  }

  Graph& g;
  const int64_t most_;
};

}  // namespace

void fit_buffers(Graph& g, int64_t most) { Partition(g, most).run(); }

}  // namespace tang
