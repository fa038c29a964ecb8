#include "rewrite/edit.h"

#include <algorithm>

#include "ir/monoids.h"

namespace tang {

void remove_dead(Graph& g) {
  std::vector<char> needed(g.tensors.size(), 0);
  std::vector<TensorId> stack;
  const auto need = [&](TensorId t) {
    if (needed[index(t)]) return;
    needed[index(t)] = 1;
    stack.push_back(t);
  };
  for (const Output& o : g.outputs) {
    need(o.tensor);
    if (o.into != TensorId::none) need(o.into);
  }
  std::vector<char> live(g.nodes.size(), 0);
  while (!stack.empty()) {
    const NodeId id = g[stack.back()].node;
    stack.pop_back();
    if (id == NodeId::none || live[index(id)]) continue;
    live[index(id)] = 1;
    for (TensorId t : tensors_read(g, g[id])) need(t);
  }
  for (size_t k = 0; k < g.nodes.size(); ++k) {
    Node& n = g.nodes[k];
    n.alive = n.alive && live[k];
    if (n.alive && !n.gradient)
      std::erase_if(n.targets, [&](const Target& t) { return !needed[index(t.tensor)]; });
  }
}

void replace_leaves(Graph& g, Node& n, const std::function<std::optional<ExprId>(LeafId)>& leaf) {
  map_exprs(n, [&](ExprId e) { return substitute_leaves(g, e, leaf); });
}

bool is_state(const Graph& g, ExprId e, uint32_t number) {
  const ExprNode& n = g.pool[e];
  return n.op == Op::var && g.leaf(n.variable()).what == Leaf::What::state &&
         g.leaf(n.variable()).number == number;
}

bool is_sum_fold(Graph& g, const Node& n) {
  return n.folds.size() == 1 && !n.scan && !n.gradient && n.folds[0].args.size() == 1 &&
         g.pool[n.folds[0].args[0]].kind == Kind::real && facts(g, n.folds[0].monoid).sum;
}

ExprId replace_factor(Graph& g, ExprId e, ExprId factor, ExprId by) {
  return rewrite_expr(g, e, [&](ExprId old, const ExprNode& now) {
    const bool cast = now.op == Op::cast && now.kind == Kind::real && now.args[0] == by;
    return old == factor || cast ? std::optional(by) : std::nullopt;
  });
}

bool is_factor(Rewriting& rw, ExprId e, ExprId factor) {
  Graph& g = rw.g;
  Leaf marker;
  marker.what = Leaf::What::argument;
  marker.kind = Kind::real;
  const ExprId w = g.variable(marker);
  for (const CanonTerm& t : rw.canon.sum(replace_factor(g, e, factor, w))) {
    int power = 0;
    for (const auto& [atom, n] : t.factors) {
      const std::vector<ExprId> inside = g.pool.reachable(atom);
      if (atom == w)
        power += n;
      else if (std::binary_search(inside.begin(), inside.end(), w))
        return false;
    }
    if (power != 1) return false;
  }
  return true;
}

std::vector<ExprId> addends(Graph& g, ExprId root) {
  constexpr size_t most = 16;
  std::unordered_map<ExprId, std::vector<ExprId>> parts;
  for (ExprId id : g.pool.reachable(root)) {
    const ExprNode n = g.pool[id];
    std::vector<ExprId>& own = parts[id];
    own = {id};
    if (n.kind != Kind::real || n.arity() == 0) continue;
    const std::vector<ExprId> a = parts.at(n.args[0]);
    const std::vector<ExprId> b = n.arity() > 1 ? parts.at(n.args[1]) : std::vector<ExprId>{};
    std::vector<ExprId> made;
    if (n.op == Op::add || n.op == Op::sub) {
      made = a;
      for (ExprId e : b) made.push_back(n.op == Op::add ? e : g.make(Op::neg, e));
    } else if (n.op == Op::neg) {
      for (ExprId e : a) made.push_back(g.make(Op::neg, e));
    } else if (n.op == Op::mul) {
      for (ExprId x : a)
        for (ExprId y : b) made.push_back(g.make(Op::mul, x, y));
    } else if (n.op == Op::quot) {
      for (ExprId e : a) made.push_back(g.make(Op::quot, e, n.args[1]));
    }
    if (made.size() > 1 && made.size() <= most) own = std::move(made);
  }
  return parts.at(root);
}

std::vector<TensorId> tensors_in(const Graph& g, ExprId e) {
  std::vector<TensorId> result;
  for (LeafId l : leaves_of(g, e))
    if (g.leaf(l).what == Leaf::What::read) result.push_back(g.leaf(l).tensor);
  return result;
}

bool reaches(const Graph& g, const std::vector<TensorId>& from, const std::set<TensorId>& targets) {
  std::set<TensorId> seen;
  std::vector<TensorId> stack = from;
  while (!stack.empty()) {
    const TensorId t = stack.back();
    stack.pop_back();
    if (!seen.insert(t).second) continue;
    if (targets.contains(t)) return true;
    if (const NodeId id = g[t].node; id != NodeId::none)
      for (TensorId operand : tensors_read(g, g[id])) stack.push_back(operand);
  }
  return false;
}

bool is_identity_read(const Leaf& leaf, const std::vector<DimId>& points) {
  if (leaf.what != Leaf::What::read || leaf.guarded || leaf.forms.size() != points.size())
    return false;
  for (size_t k = 0; k < points.size(); ++k)
    if (leaf.forms[k].as_pick() != points[k]) return false;
  return true;
}

bool in_order(const std::vector<DimId>& some, const std::vector<DimId>& all) {
  auto next = all.begin();
  for (DimId d : some) {
    next = std::find(next, all.end(), d);
    if (next == all.end()) return false;
    ++next;
  }
  return true;
}

std::string join_names(const Graph& g, const std::vector<NodeId>& nodes) {
  std::string s;
  for (NodeId id : nodes) s += (s.empty() ? "" : ", ") + g[g[id].targets[0].tensor].name;
  return s;
}

double estimated(const Graph& g, DimId d) {
  const auto value = g.extent(d).constant();
  return value ? static_cast<double>(*value) : 4096.0;
}

DimMap renaming(std::vector<DimId> from, std::vector<DimId> to) {
  return [from = std::move(from), to = std::move(to)](DimId d) -> std::optional<Form> {
    for (size_t k = 0; k < from.size(); ++k)
      if (from[k] == d) return Form::coordinate(to[k]);
    return std::nullopt;
  };
}

}  // namespace tang
