#include "ir/expand.h"

namespace tang {

namespace {

// True when replacing points by these forms would read an index tensor through a gathered form.
bool nests_gathers(const Graph& g, ExprId body, const std::vector<DimId>& points,
                   const std::vector<Form>& forms) {
  std::vector<DimId> gathered;
  for (size_t k = 0; k < points.size(); ++k)
    if (!forms[k].is_affine()) gathered.push_back(points[k]);
  if (gathered.empty()) return false;
  for (LeafId l : leaves_of(g, body))
    for (const Form& f : g.leaf(l).forms)
      for (const Form::Gather& inner : f.gathers)
        for (const Form& index_form : g.leaf(inner.leaf).forms)
          for (DimId d : gathered)
            if (index_form.mentions(d)) return true;
  return false;
}

}  // namespace

std::optional<ExprId> map_body_at(Graph& g, TensorId t, const std::vector<Form>& forms) {
  const NodeId id = g[t].node;
  if (id == NodeId::none || !g[id].alive || !g[id].is_map()) return std::nullopt;
  for (const Target& target : g[id].targets) {
    if (target.tensor != t) continue;
    const std::vector<DimId> points = target.points;
    if (nests_gathers(g, target.value, points, forms)) return std::nullopt;
    const ExprId body = substitute_dims(g, target.value, [&](DimId d) -> std::optional<Form> {
      for (size_t k = 0; k < points.size(); ++k)
        if (points[k] == d) return forms[k];
      return std::nullopt;
    });
    return g[t].format ? g.pool.cast(*g[t].format, body) : body;
  }
  return std::nullopt;
}

ExprId expand_maps(Graph& g, ExprId e, int limit) {
  for (;;) {
    bool changed = false;
    const ExprId next = substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
      const Leaf leaf = g.leaf(id);
      if (leaf.what != Leaf::What::read || leaf.guarded) return std::nullopt;
      const auto body = map_body_at(g, leaf.tensor, leaf.forms);
      changed |= body.has_value();
      return body;
    });
    if (!changed || operation_count(g.pool, next) > limit) return e;
    e = next;
  }
}

}  // namespace tang
