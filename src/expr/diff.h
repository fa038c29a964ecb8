// Derivatives of scalar expressions (algebra.md 1.7): forward in structure, memoised on
// (node, variable), with selects kept outside so that a branch not taken contributes exactly 0.
//
// The derivative of an expression that does not mention the variable is the constant 0, and no
// product with it is built. Macros have rules of their own, equal over the reals to the derivative
// of their definition. floor, div, mod and casts to integers have derivative 0, a cast to a float
// format has derivative 1. At a kink the derivative follows the branch taken: max(a, b) at a tie
// differentiates to da.
#pragma once

#include <map>

#include "expr/expr.h"

namespace tang {

class Differentiator {
 public:
  // `make` interns new nodes (a Graph passes its own); without it ExprPool::make is used.
  explicit Differentiator(ExprPool& pool, NodeBuilder make = {});

  // The derivative of e by a real variable, of kind real.
  ExprId operator()(ExprId e, uint32_t variable);

 private:
  ExprId derive(const ExprNode& n, ExprId id, uint32_t variable);
  ExprId derive_macro(const ExprNode& n, ExprId id, ExprId da, ExprId db);
  ExprId derive_power(const ExprNode& n, ExprId id, ExprId da, ExprId db);
  ExprId derive_gated(const ExprNode& n, ExprId da, ExprId slope);

  ExprId op(Op o, ExprId a, ExprId b = ExprId::none, ExprId c = ExprId::none);
  ExprId num(double x) { return pool_.real(x); }
  bool zero(ExprId e) const { return pool_.is_number(e, 0); }
  ExprId plus(ExprId a, ExprId b);
  ExprId minus(ExprId a, ExprId b);
  ExprId times(ExprId a, ExprId b);
  ExprId over(ExprId a, ExprId b);
  ExprId negated(ExprId a);
  ExprId choose(ExprId condition, ExprId t, ExprId f);

  ExprPool& pool_;
  NodeBuilder make_;
  std::map<std::pair<ExprId, uint32_t>, ExprId> known_;
};

// One derivative; use a Differentiator to share work between several.
ExprId diff(ExprPool& pool, ExprId e, uint32_t variable);

}  // namespace tang
