// 5.3 epilogue: a map over a fold's points runs on the reducing thread.
//
//   s[i] = sum[d](x[i, d] * w[d]);  y[i] = relu(s[i] + b[i])   =   y[i] = relu(a + b[i]) where a =
//   sum…
#include <algorithm>

#include "rewrite/edit.h"

namespace tang {

namespace {

class Epilogue {
 public:
  Epilogue(Rewriting& rw, NodeId map) : rw(rw), g(rw.g), map_(map) {}

  bool run() {
    // The last fold the map reads: every other operand is then defined before it.
    std::vector<NodeId> folds;
    for (TensorId t : tensors_read(g, g[map_]))
      if (const NodeId id = g[t].node; id != NodeId::none && !g[id].folds.empty() && !g[id].scan &&
                                       std::find(folds.begin(), folds.end(), id) == folds.end())
        folds.push_back(id);
    if (folds.size() > 1) {
      const std::vector<NodeId> order = g.order();
      std::sort(folds.begin(), folds.end(), [&](NodeId a, NodeId b) {
        return std::find(order.begin(), order.end(), a) > std::find(order.begin(), order.end(), b);
      });
    }
    for (NodeId fold : folds) {
      const std::optional<std::string> reason = refuse(fold);
      if (!reason) {
        apply(fold);
        return true;
      }
      rw.missed("epilogue", map_, *reason);
    }
    return false;
  }

 private:
  // Coordinates of the map as the fold names them, from an identity read up to a permutation.
  bool align(NodeId fold) {
    const Node& m = g[map_];
    from_.clear();
    to_.clear();
    for (LeafId l : leaves_of(g, m)) {
      const Leaf& leaf = g.leaf(l);
      const Target* t = target_read(fold, leaf);
      if (!t || leaf.guarded) continue;
      for (size_t k = 0; k < leaf.forms.size(); ++k) {
        const auto d = leaf.forms[k].as_pick();
        if (!d || !contains(m.points, *d)) return false;
        if (g.extent(*d) != g.extent(t->points[k])) return false;
        const auto at = std::find(from_.begin(), from_.end(), *d);
        if (at == from_.end())
          from_.push_back(*d), to_.push_back(t->points[k]);
        else if (to_[static_cast<size_t>(at - from_.begin())] != t->points[k])
          return false;
      }
    }
    std::vector<DimId> distinct = to_;
    std::sort(distinct.begin(), distinct.end());
    return from_.size() == m.points.size() &&
           std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end();
  }

  const Target* target_read(NodeId fold, const Leaf& leaf) const {
    if (leaf.what != Leaf::What::read) return nullptr;
    for (const Target& t : g[fold].targets)
      if (t.tensor == leaf.tensor) return &t;
    return nullptr;
  }

  std::optional<std::string> refuse(NodeId fold) {
    const std::string name = rw.name(fold);
    for (LeafId l : leaves_of(g, g[map_]))
      if (target_read(fold, g.leaf(l)) && g.leaf(l).guarded)
        return "`" + name + "` is read through a guard";
    for (LeafId l : leaves_of(g, g[map_]))
      for (const Form& f : g.leaf(l).forms)
        for (const Form::Gather& x : f.gathers)
          if (target_read(fold, g.leaf(x.leaf))) return "`" + name + "` is used as an index";
    if (!align(fold)) return "`" + name + "` is not read point for point";
    if (reorders(fold) && !read_here_alone(fold))
      return "its axes are in another order than those of `" + name + "`, which is read elsewhere";
    std::set<TensorId> own;
    for (const Target& t : g[fold].targets) own.insert(t.tensor);
    std::vector<TensorId> others;
    for (TensorId t : tensors_read(g, g[map_]))
      if (!own.contains(t)) others.push_back(t);
    if (reaches(g, others, own)) return "another operand depends on `" + name + "`";
    return std::nullopt;
  }

  // The map's axes as the fold's points.
  std::vector<DimId> moved(const std::vector<DimId>& points) const {
    const DimMap map = renaming(from_, to_);
    std::vector<DimId> result;
    for (DimId d : points) result.push_back(*map(d)->as_pick());
    return result;
  }

  bool reorders(NodeId fold) const {
    return !std::all_of(g[map_].targets.begin(), g[map_].targets.end(),
                        [&](const Target& t) { return in_order(moved(t.points), g[fold].points); });
  }

  // True if the fold's points may be declared anew in the map's order.
  bool read_here_alone(NodeId fold) const {
    const auto readers = g.readers();
    return g[map_].points.size() == g[fold].points.size() &&
           std::all_of(g[fold].targets.begin(), g[fold].targets.end(), [&](const Target& t) {
             return !g.is_output(t.tensor) && readers[index(t.tensor)] == std::vector<NodeId>{map_};
           });
  }

  void apply(NodeId fold) {
    const auto before = rw.texts({fold, map_});
    const DimMap map = renaming(from_, to_);
    Node n = g[fold];
    if (reorders(fold)) n.points = moved(g[map_].points);
    const std::vector<Target> known = n.targets;
    for (const Target& t : Node(g[map_]).targets) {
      Target moved = t;
      for (DimId& d : moved.points) d = *map(d)->as_pick();
      moved.value = substitute_leaves(g, substitute_dims(g, t.value, map),
                                      [&](LeafId l) { return value_of(known, g.leaf(l)); });
      moved.value = rw.simplify(moved.value);
      n.targets.push_back(moved);
      g[t.tensor].node = fold;
    }
    const std::string summary = rw.name(map_) + " into " + rw.name(fold);
    g[map_].alive = false;
    g[fold] = n;
    remove_dead(g);
    rw.fired("epilogue", "epilogue", summary, before, {fold});
  }

  std::optional<ExprId> value_of(const std::vector<Target>& known, const Leaf& leaf) {
    for (const Target& t : known)
      if (t.tensor == leaf.tensor && is_identity_read(leaf, t.points))
        return g[t.tensor].format ? g.pool.cast(*g[t.tensor].format, t.value) : t.value;
    return std::nullopt;
  }

  Rewriting& rw;
  Graph& g;
  NodeId map_;
  std::vector<DimId> from_, to_;
};

}  // namespace

bool fuse_epilogue(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order())
    if (rw.g[id].alive && rw.g[id].is_map()) any |= Epilogue(rw, id).run();
  return any;
}

}  // namespace tang
