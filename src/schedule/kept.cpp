#include "schedule/kept.h"

#include <algorithm>
#include <set>

#include "ir/pivot.h"

namespace tang {

namespace {

// The target that is the pivot itself.
TensorId pivot_target(const Graph& g, const Node& row, uint32_t component) {
  const auto outputs = g.state_outputs(row);
  for (const Target& t : row.targets) {
    const ExprNode e = g.pool[t.value];
    if (e.op != Op::var || g.leaf(e.variable()).what != Leaf::What::state) continue;
    const auto [fold, output] = outputs[g.leaf(e.variable()).number];
    const ExprNode fin = g.pool[g[row.folds[fold].monoid].fin[output]];
    if (fin.op != Op::var || g.leaf(fin.variable()).what != Leaf::What::left) continue;
    if (g.leaf(fin.variable()).number == component && !g[t.tensor].format) return t.tensor;
  }
  return TensorId::none;
}

// The reader's points that it reads the tensor at.
std::optional<std::vector<DimId>> points_of_read(const Graph& g, const Node& reader, TensorId t) {
  for (LeafId l : leaves_of(g, reader)) {
    const Leaf& leaf = g.leaf(l);
    if (leaf.what != Leaf::What::read || leaf.tensor != t) continue;
    std::vector<DimId> points;
    for (const Form& f : leaf.forms) {
      const auto d = f.as_pick();
      if (!d) return std::nullopt;
      points.push_back(*d);
    }
    return points;
  }
  return std::nullopt;
}

bool has(const Graph& g, const Node& reader, ExprId part) {
  std::set<ExprId> seen;
  std::vector<ExprId> work;
  for (const Target& t : reader.targets) work.push_back(t.value);
  while (!work.empty()) {
    const ExprId e = work.back();
    work.pop_back();
    if (e == part) return true;
    if (!seen.insert(e).second) continue;
    const ExprNode n = g.pool[e];
    for (int k = 0; k < n.arity(); ++k) work.push_back(n.args[k]);
  }
  return false;
}

// The weight of a term: the fold's act on the term's own pivot and the final one.
ExprId weight(Graph& g, const Node& row, const Pivot& pivot, ExprId common) {
  const Fold& f = row.folds[0];
  const ExprId own = substitute_leaves(g, g[f.monoid].lift[pivot.component],
                                       [&](LeafId id) -> std::optional<ExprId> {
                                         const Leaf l = g.leaf(id);
                                         if (l.what == Leaf::What::argument)
                                           return f.args[l.number];
                                         return std::nullopt;
                                       });
  return substitute_leaves(g, pivot.act, [&](LeafId id) -> std::optional<ExprId> {
    return g.leaf(id).what == Leaf::What::left ? own : common;
  });
}

}  // namespace

std::optional<Kept> kept_weights(Graph& g, const Node& reader, const Node& row) {
  if (row.scan || row.folds.size() != 1 || row.reduce.size() != 1 || !row.guards.empty())
    return std::nullopt;
  const auto pivot = pivot_form(g, row.folds[0].monoid);
  if (!pivot) return std::nullopt;
  const TensorId common = pivot_target(g, row, pivot->component);
  const auto points = points_of_read(g, reader, common);
  if (common == TensorId::none || !points || points->size() != row.points.size())
    return std::nullopt;
  std::vector<Form> at;
  for (DimId d : row.points) at.push_back(Form::coordinate(d));
  const ExprId here = weight(g, row, *pivot, g.read(common, at));
  for (DimId term : reader.points) {
    if (contains(*points, term) || !(g.extent(term) == g.extent(row.reduce[0]))) continue;
    const ExprId there = substitute_dims(g, here, [&](DimId d) -> std::optional<Form> {
      if (d == row.reduce[0]) return Form::coordinate(term);
      for (size_t a = 0; a < row.points.size(); ++a)
        if (d == row.points[a]) return Form::coordinate((*points)[a]);
      return std::nullopt;
    });
    if (has(g, reader, there)) return Kept{there, *points, {term}};
  }
  return std::nullopt;
}

std::string keeping_fault(Graph& g, const KernelPlan& k, const KernelPlan& row) {
  const Node n = g[row.node];
  if (!row.pivot) return "only a pivot form has weights";
  for (const BlockLoop& b : row.blocks)
    if (contains(n.reduce, b.dim) && g.extent(b.dim).constant().value_or(b.step + 1) > b.step)
      return "weights of a block of terms are not yet those of the row";
  if (!kept_weights(g, g[k.node], n)) return "nothing reads them again";
  return {};
}

bool keeps_weights(Graph& g, const KernelPlan& k, const KernelPlan& row, const Machine& machine) {
  const Node& n = g[row.node];
  if (!row.pivot || n.reduce.size() != 1) return false;
  const int64_t terms = g.extent(n.reduce[0]).constant().value_or(machine.l1_bytes);
  return terms <= machine.l1_bytes / 2 / 4 && keeping_fault(g, k, row).empty();
}

}  // namespace tang
