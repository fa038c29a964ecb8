#include "verify/reduce_edits.h"

#include <algorithm>

#include "ir/bind.h"
#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/print.h"

namespace tang {

namespace {

// The tensors a node defines become inputs of their shapes.
void make_inputs(Graph& g, NodeId id) {
  for (const Target& t : g[id].targets) {
    Tensor& tensor = g[t.tensor];
    tensor.format = tensor.storage();
    tensor.role = Role::input;
    tensor.node = NodeId::none;
    tensor.axes.clear();
    for (DimId d : t.points) tensor.axes.push_back(g[d].name);
    tensor.axis_dims = t.points;
  }
  g[id].alive = false;
}

void output_node(Graph& g, NodeId id) {
  g.outputs.clear();
  for (const Target& t : g[id].targets) g.outputs.push_back({t.tensor, TensorId::none});
}

// Values below the present one, the smallest first.
std::vector<int64_t> smaller(int64_t value) {
  std::vector<int64_t> values;
  for (int64_t v : {int64_t{1}, int64_t{2}, value / 2, value - 1})
    if (v >= 1 && v < value && std::find(values.begin(), values.end(), v) == values.end())
      values.push_back(v);
  return values;
}

// The states of fold `fold`: the first, and how many.
std::pair<uint32_t, uint32_t> states_of(const Graph& g, const Node& n, size_t fold) {
  uint32_t first = 0, count = 0, number = 0;
  for (const auto& [f, output] : g.state_outputs(n)) {
    if (f == fold && count++ == 0) first = number;
    ++number;
  }
  return {first, count};
}

// Replaces states `first` … by `image(number)`; later states move down by `count`.
void replace_states(Graph& g, Node& n, uint32_t first, uint32_t count,
                    const std::function<ExprId(uint32_t, Kind)>& image) {
  for (Target& t : n.targets)
    t.value = substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
      const Leaf leaf = g.leaf(l);
      if (leaf.what != Leaf::What::state || leaf.number < first) return std::nullopt;
      if (leaf.number >= first + count) return g.state(leaf.number - count, leaf.kind);
      return image(leaf.number, leaf.kind);
    });
}

ExprId one(Graph& g, Kind kind) { return g.pool.constant(Value::integer(1).to(kind)); }

void drop_fold(Graph& g, NodeId id, size_t fold) {
  Node n = g[id];
  const auto [first, count] = states_of(g, n, fold);
  replace_states(g, n, first, count, [&](uint32_t, Kind kind) { return one(g, kind); });
  n.folds.erase(n.folds.begin() + static_cast<std::ptrdiff_t>(fold));
  if (n.folds.empty()) n.reduce.clear(), n.guards.clear();
  g[id] = n;
}

// The term at the first place of the index in the place of its fold.
void drop_reduction(Graph& g, NodeId id) {
  Node n = g[id];
  const std::vector<DimId> reduce = n.reduce;
  const DimMap first = [&](DimId d) -> std::optional<Form> {
    return std::find(reduce.begin(), reduce.end(), d) == reduce.end() ? std::nullopt
                                                                      : std::optional(Form(0));
  };
  const ExprId term = substitute_dims(g, n.folds[0].args[0], first);
  replace_states(g, n, 0, 1, [&](uint32_t, Kind) { return term; });
  n.folds.clear();
  n.reduce.clear();
  n.guards.clear();
  g[id] = n;
}

void drop_reduce_dim(Graph& g, NodeId id, DimId dim) {
  Node n = g[id];
  const DimMap first = [&](DimId d) -> std::optional<Form> {
    return d == dim ? std::optional(Form(0)) : std::nullopt;
  };
  for (Fold& f : n.folds)
    for (ExprId& arg : f.args) arg = substitute_dims(g, arg, first);
  for (Guard& guard : n.guards) guard = substitute_dims(g, guard, first);
  std::erase(n.reduce, dim);
  g[id] = n;
}

void fold_edits(const Graph& g, NodeId id, std::vector<Edit>& edits) {
  const Node& n = g[id];
  const bool plain = n.folds.size() == 1 && n.folds[0].args.size() == 1 && !n.scan &&
                     !n.folds[0].entry && states_of(g, n, 0).second == 1;
  if (plain) edits.push_back([id](Graph& c) { drop_reduction(c, id); });
  for (size_t f = 0; f < n.folds.size() && n.folds.size() > 1; ++f)
    edits.push_back([id, f](Graph& c) { drop_fold(c, id, f); });
  for (DimId d : n.reduce)
    if (n.reduce.size() > 1 && !n.scan)
      edits.push_back([id, d](Graph& c) { drop_reduce_dim(c, id, d); });
}

void scan_edits(const Node& n, NodeId id, std::vector<Edit>& edits) {
  if (!n.scan) return;
  if (!n.scan->initial.empty()) edits.push_back([id](Graph& c) { c[id].scan->initial.clear(); });
  if (n.scan->exclusive) edits.push_back([id](Graph& c) { c[id].scan->exclusive = false; });
  if (n.scan->reverse) edits.push_back([id](Graph& c) { c[id].scan->reverse = false; });
}

std::vector<ExprId> slots(const Node& n) {
  std::vector<ExprId> list;
  for_each_expr(n, [&](ExprId e) { list.push_back(e); });
  return list;
}

// Puts `part` in the place of `whole` in the expression of one slot.
Edit replacing(NodeId id, size_t slot, ExprId whole, const std::function<ExprId(Graph&)>& part) {
  return [=](Graph& c) {
    Node n = c[id];
    size_t at = 0;
    map_exprs(n, [&](ExprId e) {
      if (at++ != slot) return e;
      return rewrite_expr(c, e, [&](ExprId old, const ExprNode&) -> std::optional<ExprId> {
        return old == whole ? std::optional(part(c)) : std::nullopt;
      });
    });
    c[id] = n;
  };
}

void expression_edits_of(const Graph& g, NodeId id, size_t slot, ExprId root,
                         std::vector<Edit>& edits) {
  std::vector<ExprId> parts = g.pool.reachable(root);
  std::reverse(parts.begin(), parts.end());  // the largest first
  for (ExprId e : parts) {
    const ExprNode& n = g.pool[e];
    if (n.op == Op::constant) continue;
    edits.push_back(replacing(id, slot, e, [kind = n.kind](Graph& c) { return one(c, kind); }));
    for (ExprId operand : n.operands())
      edits.push_back(replacing(id, slot, e, [operand, kind = n.kind](Graph& c) {
        return c.constant_as(operand, kind);
      }));
  }
}

}  // namespace

std::vector<Edit> isolating_edits(const Graph& g) {
  std::vector<Edit> edits;
  const std::vector<NodeId> order = g.order();
  for (NodeId id : order)
    edits.push_back([id](Graph& c) {
      output_node(c, id);
      for (TensorId t : tensors_read(c, c[id]))
        if (c[t].node != NodeId::none && c[t].node != id) make_inputs(c, c[t].node);
    });
  for (NodeId id : order) edits.push_back([id](Graph& c) { output_node(c, id); });
  return edits;
}

std::vector<Edit> cutting_edits(const Graph& g) {
  std::vector<Edit> edits;
  for (size_t k = 0; k < g.outputs.size() && g.outputs.size() > 1; ++k)
    edits.push_back(
        [k](Graph& c) { c.outputs.erase(c.outputs.begin() + static_cast<std::ptrdiff_t>(k)); });
  std::vector<NodeId> order = g.order();
  std::reverse(order.begin(), order.end());
  for (NodeId id : order) edits.push_back([id](Graph& c) { make_inputs(c, id); });
  return edits;
}

std::vector<Edit> size_edits(const Graph& g) {
  std::vector<Edit> edits;
  if (!g.params.empty()) edits.push_back([](Graph& c) { c = with_bound_params(c); });
  for (size_t k = 0; k < g.params.size(); ++k)
    for (int64_t v : smaller(g.params[k].bound.value_or(0)))
      edits.push_back([k, v](Graph& c) { c.params[k].value = c.pool.integer(v); });
  for (size_t k = 0; k < g.dims.size(); ++k) {
    const auto extent = bound_value(g, g.dims[k].extent);
    for (int64_t v : smaller(extent.value_or(0)))
      edits.push_back([k, v](Graph& c) { c.dims[k].extent = Poly(v); });
  }
  for (size_t k = 0; k < g.tensors.size(); ++k)
    for (size_t axis = 0; axis < g.tensors[k].axes.size(); ++axis) {
      const std::string& text = g.tensors[k].axes[axis];
      if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9) continue;
      for (int64_t v : smaller(std::stoll(text)))
        edits.push_back([=](Graph& c) { c.tensors[k].axes[axis] = std::to_string(v); });
    }
  return edits;
}

std::vector<Edit> statement_edits(const Graph& g) {
  std::vector<Edit> edits;
  for (NodeId id : g.order()) {
    for (size_t k = 0; k < g[id].guards.size(); ++k)
      edits.push_back([id, k](Graph& c) {
        c[id].guards.erase(c[id].guards.begin() + static_cast<std::ptrdiff_t>(k));
      });
    fold_edits(g, id, edits);
    scan_edits(g[id], id, edits);
  }
  for (size_t k = 0; k < g.tensors.size(); ++k) {
    const Tensor& t = g.tensors[k];
    if (t.sorted) edits.push_back([k](Graph& c) { c.tensors[k].sorted = false; });
    if (t.role == Role::definition && t.format)
      edits.push_back([k](Graph& c) { c.tensors[k].format.reset(); });
    if (t.role == Role::input && t.kind == Kind::real && t.format != Format::f32)
      edits.push_back([k](Graph& c) { c.tensors[k].format = Format::f32; });
  }
  for (size_t k = 0; k < g.outputs.size(); ++k)
    if (g.outputs[k].into != TensorId::none)
      edits.push_back([k](Graph& c) { c.outputs[k].into = TensorId::none; });
  return edits;
}

std::vector<Edit> expression_edits(const Graph& g) {
  std::vector<Edit> edits;
  for (NodeId id : g.order()) {
    const std::vector<ExprId> list = slots(g[id]);
    for (size_t slot = 0; slot < list.size(); ++slot)
      expression_edits_of(g, id, slot, list[slot], edits);
  }
  return edits;
}

}  // namespace tang
