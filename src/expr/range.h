// Range analysis of scalars (algebra.md 1.6): which finite numbers a value may be, whether it may
// be -inf or +inf, and whether it may be undefined (NaN in IEEE).
//
// Program inputs are finite unless declared a mask. Bounds are rounded outwards, so they hold for
// the binary64 evaluation too, except that a finite value beyond the largest double evaluates to
// inf. Conditions are ranges within [0, 1]; a select whose condition is decided takes one branch.
#pragma once

#include <functional>
#include <limits>

#include "expr/expr.h"

namespace tang {

struct ScalarRange {
  // The finite values lie in [lo, hi]; lo > hi when there are none. An infinite bound is no bound.
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool minus_infinity = false;
  bool plus_infinity = false;
  bool undefined = false;

  static ScalarRange between(double lo, double hi) { return {lo, hi}; }
  static ScalarRange exactly(double x);
  // Finite values or -inf: an additive mask.
  static ScalarRange mask();
  static ScalarRange none();

  bool finite() const { return !minus_infinity && !plus_infinity && !undefined; }
  bool empty() const { return lo > hi; }
  bool contains(double x) const;
  double lowest() const;  // least value, -inf included
  double highest() const;
};

// The range of e; `variable` gives those of its variables. Macros without a rule of their own are
// expanded into the pool.
ScalarRange scalar_range(ExprPool& pool, ExprId e,
                         const std::function<ScalarRange(uint32_t variable)>& variable);

}  // namespace tang
