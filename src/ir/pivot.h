// The pivot form of a monoid (tile.md section 1): a state (p; x_1 … x_k) whose components x_i are
// sums of terms weighted relative to p,
//
//   p  = p1 (+) p2,   x_i = x_i1 · act(p1, p) + x_i2 · act(p2, p)
//
// so that a chunk of terms folds as: reduce the pivots; map the weights act(p_term, p); contract.
// Recognised from the combine's algebra alone.
#pragma once

#include "ir/graph.h"

namespace tang {

struct Pivot {
  uint32_t component = 0;        // p
  std::vector<uint32_t> linear;  // all others
  ExprId act = ExprId::none;     // over left leaf `component` (p_i) and right leaf (p)
};

// nullopt if the monoid has no such form. Where a term's pivot is the identity, its weight is 0.
std::optional<Pivot> pivot_form(Graph& g, MonoidId m);

// What component `k` of a term is before its weight: the lift, without the case of an identity
// pivot, whose weight is 0 anyway.
ExprId pivot_value(Graph& g, MonoidId m, const Pivot& p, uint32_t k);

}  // namespace tang
