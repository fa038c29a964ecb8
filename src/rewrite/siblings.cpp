// 5.4 merge_siblings: folds over one index set are one fold of the product monoid, so what they
// share is read once and a common reader becomes their epilogue.
#include <algorithm>
#include <map>

#include "ir/guards.h"
#include "rewrite/ancestry.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

constexpr size_t accumulator_budget = 32;

size_t state_size(const Graph& g, const Node& n) {
  size_t size = 0;
  for (const Fold& f : n.folds) size += g[f.monoid].kinds.size();
  return size;
}

bool is_candidate(const Graph& g, const Node& n) {
  return n.alive && !n.folds.empty() && !n.scan && !n.gradient &&
         std::none_of(n.folds.begin(), n.folds.end(),
                      [&](const Fold& f) { return f.entry || g[f.monoid].flat_index; });
}

std::vector<Poly> extents(const Graph& g, const std::vector<DimId>& dims) {
  std::vector<Poly> result;
  for (DimId d : dims) result.push_back(g.extent(d));
  return result;
}

class Siblings {
 public:
  Siblings(Rewriting& rw, NodeId a, NodeId b) : rw(rw), g(rw.g), a_(a), b_(b) {}

  // Merges b into a if every condition holds.
  bool run(const Ancestry& ancestry) {
    if (!align()) return false;
    if (g[a_].operand != g[b_].operand) return false;
    const bool reader = overlap(ancestry.readers(a_), ancestry.readers(b_));
    if (!reader && !overlap(ancestry.reads(a_), ancestry.reads(b_)))
      return miss("they share no argument and no reader");
    moved_ = renamed(g[b_]);
    if (moved_.guards != g[a_].guards) return miss("their conditions differ");
    for (const Target& t : moved_.targets)
      if (!in_order(t.points, g[a_].points)) return miss("their axes stand in another order");
    if (!reader && !shares_read()) return miss("they share no argument and no reader");
    if (state_size(g, g[a_]) + state_size(g, g[b_]) > accumulator_budget)
      return miss("the state would exceed 32 scalars");
    if (ancestry.depends(a_, b_) || ancestry.depends(b_, a_))
      return miss("one depends on the other");
    apply();
    return true;
  }

 private:
  bool miss(const std::string& why) {
    rw.missed("merge_siblings", b_, "with `" + rw.name(a_) + "`: " + why);
    return false;
  }

  // Pairs b's coordinates with a's: the same names where both have them, otherwise by position.
  bool align() {
    const Node &a = g[a_], &b = g[b_];
    return align(b.points, a.points) && align(b.reduce, a.reduce);
  }

  bool align(const std::vector<DimId>& from, const std::vector<DimId>& to) {
    if (from.size() != to.size()) return false;
    const bool same_names = std::is_permutation(from.begin(), from.end(), to.begin());
    if (!same_names && extents(g, from) != extents(g, to)) return false;
    from_.insert(from_.end(), from.begin(), from.end());
    const std::vector<DimId>& image = same_names ? from : to;
    to_.insert(to_.end(), image.begin(), image.end());
    return true;
  }

  Node renamed(Node n) {
    const DimMap map = renaming(from_, to_);
    map_exprs(n, [&](ExprId e) { return substitute_dims(g, e, map); });
    for (Guard& guard : n.guards)
      if (guard.what != Guard::What::data) guard.form = substitute_dims(g, guard.form, map);
    normalise_guards(g, n.guards);
    for (Target& t : n.targets)
      for (DimId& d : t.points) d = *map(d)->as_pick();
    return n;
  }

  bool shares_read() {
    const std::vector<LeafId> a = leaves_of(g, g[a_]), b = leaves_of(g, moved_);
    return std::any_of(a.begin(), a.end(), [&](LeafId l) {
      return g.leaf(l).what == Leaf::What::read && std::binary_search(b.begin(), b.end(), l);
    });
  }

  // Of two ascending lists.
  template <class T>
  static bool overlap(const std::vector<T>& a, const std::vector<T>& b) {
    return std::any_of(a.begin(), a.end(),
                       [&](T x) { return std::binary_search(b.begin(), b.end(), x); });
  }

  void apply() {
    const auto before = rw.texts({a_, b_});
    Node n = g[a_];
    const auto offset = static_cast<uint32_t>(g.state_outputs(n).size());
    n.folds.insert(n.folds.end(), moved_.folds.begin(), moved_.folds.end());
    for (Target t : moved_.targets) {
      t.value = substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
        const Leaf leaf = g.leaf(l);
        if (leaf.what != Leaf::What::state) return std::nullopt;
        return g.state(leaf.number + offset, leaf.kind);
      });
      n.targets.push_back(t);
      g[t.tensor].node = a_;
    }
    const std::string summary = rw.name(a_) + " with " + rw.name(b_);
    g[a_] = n;
    g[b_].alive = false;
    rw.fired("merge_siblings", "fold_prod", summary, before, {a_});
  }

  Rewriting& rw;
  Graph& g;
  NodeId a_, b_;
  Node moved_;
  std::vector<DimId> from_, to_;
};

}  // namespace

bool merge_siblings(Rewriting& rw) {
  Graph& g = rw.g;
  bool any = false;
  std::map<std::pair<std::vector<Poly>, std::vector<Poly>>, std::vector<NodeId>> groups;
  for (NodeId id : g.order())
    if (is_candidate(g, g[id])) {
      std::vector<Poly> points = extents(g, g[id].points), reduce = extents(g, g[id].reduce);
      std::sort(points.begin(), points.end());
      groups[{points, reduce}].push_back(id);
    }
  Ancestry ancestry(g);
  for (const auto& [key, nodes] : groups)
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t j = i + 1; j < nodes.size(); ++j) {
        if (!g[nodes[i]].alive || !g[nodes[j]].alive) continue;
        if (!Siblings(rw, nodes[i], nodes[j]).run(ancestry)) continue;
        any = true;
        ancestry.merged(nodes[i], nodes[j]);
      }
  return any;
}

}  // namespace tang
