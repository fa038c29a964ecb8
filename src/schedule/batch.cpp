#include "schedule/batch.h"

#include <algorithm>
#include <map>
#include <set>

namespace tang {

namespace {

// Dims along which a definition sums, scans or counts entries: the others tell rows apart.
std::set<DimId> ordered_dims(const Graph& g) {
  std::set<DimId> found;
  for (const Node& n : g.nodes) {
    if (!n.alive) continue;
    found.insert(n.reduce.begin(), n.reduce.end());
    if (n.scan) found.insert(n.scan->along);
    if (n.scan && n.scan->matrix) found.insert({n.scan->matrix->first, n.scan->matrix->second});
    for (const Fold& f : n.folds)
      if (f.entry) found.insert(*f.entry);
  }
  return found;
}

class Batch {
 public:
  Batch(Graph graph, std::optional<Poly> extent) : g(std::move(graph)), extent_(extent) {}

  Graph run() {
    const std::set<DimId> ordered = ordered_dims(g);
    std::set<DimId> rows;
    for (const Node& n : g.nodes)
      if (n.alive)
        for (DimId d : n.points)
          if (!ordered.contains(d)) rows.insert(d);
    std::map<std::pair<TensorId, size_t>, std::optional<DimId>> axes = axes_of(rows);
    for (DimId d : rows) {
      const Poly old = g.extent(d);
      g.dims[index(d)].extent = changed(old);
    }
    for (const auto& [axis, d] : axes)
      if (d) g[axis.first].shape[axis.second] = g.extent(*d);
    return std::move(g);
  }

 private:
  // The dim among `rows` that an axis is written or read along, everywhere.
  std::map<std::pair<TensorId, size_t>, std::optional<DimId>> axes_of(
      const std::set<DimId>& rows) const {
    std::map<std::pair<TensorId, size_t>, std::optional<DimId>> axes;
    const auto along = [&](TensorId t, size_t a, std::optional<DimId> d) {
      if (d && (!rows.contains(*d) || !(g.extent(*d) == g[t].shape[a]))) d.reset();
      const auto [at, first] = axes.try_emplace({t, a}, d);
      if (!first && at->second && !d) at->second.reset();
    };
    for (const Node& n : g.nodes) {
      if (!n.alive) continue;
      for (const Target& t : n.targets)
        for (size_t a = 0; a < t.points.size(); ++a) along(t.tensor, a, t.points[a]);
      for (LeafId l : leaves_of(g, n)) {
        const Leaf& leaf = g.leaf(l);
        if (leaf.what != Leaf::What::read) continue;
        for (size_t a = 0; a < leaf.forms.size(); ++a)
          along(leaf.tensor, a, leaf.forms[a].as_pick());
      }
    }
    return axes;
  }

  // Equal extents stay equal.
  Poly changed(const Poly& old) {
    if (extent_) return *extent_;
    for (const auto& [before, after] : known_)
      if (before == old) return after;
    known_.emplace_back(old, Poly::param(g.add_param(g.fresh_name("rows"))));
    return known_.back().second;
  }

  Graph g;
  std::optional<Poly> extent_;
  std::vector<std::pair<Poly, Poly>> known_;
};

// What the order of a kernel's sums follows from.
struct Order {
  bool contract = true, pivot = false;
  std::vector<NodeId> inlined;
  std::vector<DimId> reduce;
  std::vector<std::pair<DimId, int64_t>> blocks;
  std::vector<std::tuple<DimId, int64_t, int64_t, int64_t>> tile;
  friend bool operator==(const Order&, const Order&) = default;
};

Order order_of(const Graph& g, const KernelPlan& k) {
  const Node& n = g[k.node];
  Order o{k.contract, k.pivot, k.inlined, {}, {}, {}};
  if (k.nest.reduce.size() > 1) o.reduce = k.nest.reduce;
  for (const BlockLoop& b : k.blocks)
    if (contains(n.reduce, b.dim)) o.blocks.emplace_back(b.dim, b.step);
  for (const TileDim& t : k.nest.tile)
    if (contains(n.reduce, t.dim) && t.size() > 1)
      o.tile.emplace_back(t.dim, t.reg, t.elem, t.threads);
  return o;
}

bool same_order(const Graph& g, const KernelPlan& a, const KernelPlan& b) {
  if (!(order_of(g, a) == order_of(g, b)) || a.rows.size() != b.rows.size()) return false;
  for (size_t k = 0; k < a.rows.size(); ++k)
    if (!same_order(g, a.rows[k], b.rows[k])) return false;
  return true;
}

}  // namespace

Graph without_batch(const Graph& g) { return Batch(g, std::nullopt).run(); }

void mark_batch_invariant(const Graph& g, Schedule& schedule, const PlanOptions& options) {
  for (KernelPlan& k : schedule.kernels) k.batch_invariant = true;
  for (const auto& extent : {std::optional<Poly>(), std::optional(Poly(1))}) {
    const auto other = plan(Batch(g, extent).run(), options);
    for (KernelPlan& k : schedule.kernels)
      k.batch_invariant =
          k.batch_invariant && other &&
          std::any_of(other->kernels.begin(), other->kernels.end(),
                      [&](const KernelPlan& x) { return x.node == k.node && same_order(g, k, x); });
  }
}

}  // namespace tang
