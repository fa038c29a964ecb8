// The meaning of each scalar operation in binary64 (algebra.md 1.2, 1.3): one rounding per
// primitive, no contraction; macros follow their definition. The oracle and constant folding
// evaluate with this.
#pragma once

#include <functional>

#include "expr/expr.h"

namespace tang {

// op applied to values of any kinds; unused operands are ignored. `format` is a cast's target. An
// integer exponent of pow multiplies: pass one that is no literal as a real.
Value apply(Op op, Format format, const Value& a, const Value& b, const Value& c, Kind result);

// Evaluates root with the given values of variables. For tests and constant folding.
Value evaluate(const ExprPool& pool, ExprId root,
               const std::function<Value(uint32_t variable)>& variable);

// Complementary error function by the Chebyshev form of algebra.md 1.3; relative error 2e-13 for x
// <= 23.
double erfc_chebyshev(double x);

// Floor division and its non-negative remainder; b = 0 gives 0 (language.md 1.4).
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);

}  // namespace tang
