// 5.7 hoist_invariant_factors: factors free of the reduced coordinates leave a sum.
//
//   sum[d](q[i, d] * k[j, d] * 0.125)  =  sum[d](q[i, d] * k[j, d]) * 0.125
//
// One rounding instead of one per term (class R). The factor must be finite: an infinite factor
// over an empty sum would be inf * 0.
#include <algorithm>
#include <cmath>

#include "ir/expand.h"
#include "ir/softmax.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

struct Factors {
  std::vector<ExprId> multiply;
  std::vector<ExprId> divide;
  std::string kept;  // why a factor that might leave stays
};

bool is_free(const Graph& g, ExprId e, const std::vector<DimId>& reduce) {
  const std::vector<DimId> dims = dims_of(g, e);
  return std::none_of(dims.begin(), dims.end(), [&](DimId d) { return contains(reduce, d); });
}

// A reduced coordinate the factor depends on, when it is free of others.
std::optional<DimId> partly_free(const Graph& g, ExprId e, const std::vector<DimId>& reduce) {
  const std::vector<DimId> dims = dims_of(g, e);
  std::optional<DimId> used;
  bool free_of_some = false;
  for (DimId d : reduce) {
    if (contains(dims, d))
      used = d;
    else
      free_of_some = true;
  }
  return free_of_some ? used : std::nullopt;
}

// Splits a product into invariant factors and the rest, following mul, quot and neg from the root.
ExprId split(Rewriting& rw, ExprId root, const std::vector<DimId>& reduce, Factors& out) {
  Graph& g = rw.g;
  struct Item {
    ExprId e;
    bool divided;
  };
  std::vector<Item> stack = {{root, false}};
  std::vector<ExprId> multiply, divide;
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const ExprNode n = g.pool[item.e];
    const bool free = n.kind == Kind::real && is_free(g, item.e, reduce);
    if (free && n.op == Op::constant && !std::isfinite(n.value().r)) {
      out.kept = "a factor is not finite";
      (item.divided ? divide : multiply).push_back(item.e);
    } else if (free) {
      (item.divided ? out.divide : out.multiply).push_back(item.e);
    } else if (n.op == Op::mul) {
      stack.push_back({n.args[1], item.divided});
      stack.push_back({n.args[0], item.divided});
    } else if (n.op == Op::quot) {
      stack.push_back({n.args[1], !item.divided});
      stack.push_back({n.args[0], item.divided});
    } else if (n.op == Op::neg) {
      out.multiply.push_back(g.pool.real(-1));
      stack.push_back({n.args[0], item.divided});
    } else {
      if (const auto d = partly_free(g, item.e, reduce))
        out.kept = "a factor depends on the reduced coordinate `" + g[*d].name + "`";
      (item.divided ? divide : multiply).push_back(item.e);
    }
  }
  ExprId rest = g.pool.real(1);
  bool first = true;
  for (ExprId e : multiply) {
    rest = first ? e : g.make(Op::mul, rest, e);
    first = false;
  }
  for (ExprId e : divide) rest = g.make(Op::quot, rest, e);
  return rest;
}

// A weight over equal scores is free of the coordinates that it is normalised over; outside of its
// sum nothing would say that the sum is one of weights (algebra.md 11.1). So are sums of nothing
// but exponentials, `rest` being 1, and exponentials of what a max is subtracted from.
bool holds_weight(const Rewriting& rw, const std::vector<ExprId>& factors, ExprId rest) {
  Graph& g = rw.g;
  const auto exponential = [&](ExprId e) {
    while (g.pool[e].op == Op::cast) e = g.pool[e].args[0];
    return g.pool[e].op == Op::exp ? e : ExprId::none;
  };
  const auto is_exp = [&](ExprId e) { return exponential(e) != ExprId::none; };
  if (std::none_of(factors.begin(), factors.end(), is_exp)) return false;
  if (factors.size() == 1 && g.pool.is_number(rest, 1)) return true;
  const std::vector<MaxFold> maxima = max_folds(g, true);
  const auto is_max = [&](LeafId l) {
    return g.leaf(l).what == Leaf::What::read &&
           std::any_of(maxima.begin(), maxima.end(),
                       [&](const MaxFold& m) { return m.tensor == g.leaf(l).tensor; });
  };
  return std::any_of(factors.begin(), factors.end(), [&](ExprId e) {
    if (!is_exp(e)) return false;
    const std::vector<LeafId> leaves = leaves_of(g, expand_maps(g, g.pool[exponential(e)].args[0]));
    return std::any_of(leaves.begin(), leaves.end(), is_max);
  });
}

bool hoist_from(Rewriting& rw, NodeId id) {
  Graph& g = rw.g;
  const Node old = g[id];
  Factors found;
  const ExprId rest = split(rw, old.folds[0].args[0], old.reduce, found);
  if (holds_weight(rw, found.multiply, rest)) {
    rw.missed("hoist_invariant_factors", id, "a factor is a softmax weight");
    return false;
  }
  std::erase_if(found.multiply, [&](ExprId e) { return g.pool.is_number(e, 1); });
  if (found.multiply.empty() && found.divide.empty()) {
    if (!found.kept.empty()) rw.missed("hoist_invariant_factors", id, found.kept);
    return false;
  }
  if (g.pool[rest].kind != Kind::real) return false;
  const auto before = rw.texts({id});
  Node n = old;
  n.folds[0].args[0] = rw.simplify(rest);
  const ExprId state = g.state(0, Kind::real);
  ExprId scaled = state;
  for (ExprId e : found.multiply) scaled = g.make(Op::mul, scaled, e);
  for (ExprId e : found.divide) scaled = g.make(Op::quot, scaled, e);
  const uint32_t state_leaf = g.pool[state].variable();
  for (Target& t : n.targets)
    t.value = rw.simplify(substitute_leaves(g, t.value, [&](LeafId l) {
      return l == state_leaf ? std::optional(scaled) : std::nullopt;
    }));
  g[id] = n;
  rw.fired("hoist_invariant_factors", "hoist_sum", "out of " + rw.name(id), before, {id});
  return true;
}

}  // namespace

bool hoist_invariant_factors(Rewriting& rw) {
  bool any = false;
  for (NodeId id : rw.g.order()) {
    const Node& n = rw.g[id];
    if (!n.is_map() && is_sum_fold(rw.g, n)) any |= hoist_from(rw, id);
  }
  return any;
}

}  // namespace tang
