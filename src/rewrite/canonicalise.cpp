// 5.1 canonicalise: bodies are simplified; equal definitions merge. Duplicate arguments merge by
// themselves, since equal reads are one variable of the pool.
#include <algorithm>
#include <map>

#include "ir/guards.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

// A node with its coordinates renamed by position, as a comparable value.
struct Key {
  std::vector<Poly> points, reduce;
  std::vector<Guard> guards;
  std::vector<MonoidId> monoids;
  std::vector<ExprId> exprs;
  std::vector<std::optional<Format>> formats;
  friend auto operator<=>(const Key&, const Key&) = default;
};

class Positional {
 public:
  explicit Positional(Graph& g) : g_(g) {}

  Key key(const Node& n) {
    Key k;
    std::vector<DimId> from = n.points;
    from.insert(from.end(), n.reduce.begin(), n.reduce.end());
    std::vector<DimId> to;
    for (size_t i = 0; i < from.size(); ++i) to.push_back(dim(i, g_.extent(from[i])));
    const DimMap map = renaming(from, to);
    for (DimId d : n.points) k.points.push_back(g_.extent(d));
    for (DimId d : n.reduce) k.reduce.push_back(g_.extent(d));
    for (const Guard& guard : n.guards) k.guards.push_back(substitute_dims(g_, guard, map));
    std::sort(k.guards.begin(), k.guards.end());
    for (const Fold& f : n.folds) {
      k.monoids.push_back(f.monoid);
      for (ExprId e : f.args) k.exprs.push_back(substitute_dims(g_, e, map));
    }
    for (const Target& t : n.targets) {
      k.exprs.push_back(substitute_dims(g_, t.value, map));
      k.formats.push_back(g_[t.tensor].format);
    }
    return k;
  }

 private:
  // The dim that stands for position i with this extent; never part of a program.
  DimId dim(size_t i, const Poly& extent) {
    const auto [it, inserted] = dims_.try_emplace({i, extent}, DimId{});
    if (inserted) it->second = g_.add_dim("", extent);
    return it->second;
  }

  Graph& g_;
  std::map<std::pair<size_t, Poly>, DimId> dims_;
};

bool mergeable(const Node& n) {
  return n.alive && !n.scan && !n.gradient && n.targets.size() == 1 &&
         n.targets[0].points.size() == n.points.size() &&
         std::none_of(n.folds.begin(), n.folds.end(), [](const Fold& f) { return f.entry; });
}

bool simplify_nodes(Rewriting& rw) {
  bool changed = false;
  for (Node& n : rw.g.nodes) {
    if (!n.alive || n.gradient) continue;
    map_exprs(n, [&](ExprId e) {
      const ExprId to = rw.simplify(e);
      changed |= to != e;
      return to;
    });
    normalise_guards(rw.g, n.guards);
  }
  return changed;
}

bool merge_equal(Rewriting& rw) {
  Graph& g = rw.g;
  Positional positional(g);
  std::map<Key, NodeId> seen;
  std::map<TensorId, TensorId> same;
  for (NodeId id : g.order()) {
    if (!same.empty())
      replace_leaves(g, g[id], [&](LeafId l) -> std::optional<ExprId> {
        Leaf leaf = g.leaf(l);
        if (leaf.what != Leaf::What::read || !same.contains(leaf.tensor)) return std::nullopt;
        leaf.tensor = same.at(leaf.tensor);
        return g.variable(leaf);
      });
    if (!mergeable(g[id])) continue;
    const auto [it, fresh] = seen.try_emplace(positional.key(g[id]), id);
    if (fresh) continue;
    if (g.is_output(g[id].targets[0].tensor)) {
      rw.missed("canonicalise", id,
                "it equals `" + rw.name(it->second) + "` but is an output of its own");
      continue;
    }
    const TensorId drop = g[id].targets[0].tensor, keep = g[it->second].targets[0].tensor;
    auto before = rw.texts({it->second, id});
    same[drop] = keep;
    rw.fired("canonicalise", "syntactic", g[drop].name + " is " + g[keep].name, before,
             {it->second});
  }
  return !same.empty();
}

}  // namespace

bool canonicalise(Rewriting& rw) {
  const bool simplified = simplify_nodes(rw);
  const bool merged = merge_equal(rw);
  remove_dead(rw.g);
  return simplified || merged;
}

}  // namespace tang
