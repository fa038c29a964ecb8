// Random scalar expressions and values for the laws of src/expr.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include <rapidcheck/gtest.h>

#include "expr/apply.h"
#include "expr/expr.h"

namespace tang::law {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Zeros, ties, tiny, huge and infinite values as well as plain ones.
inline double wild_value(std::mt19937_64& random) {
  static constexpr double special[] = {0.0,     -0.0,   1.0,    -1.0,   2.0,      0.5,
                                       1e300,   -1e300, 1e-300, 5e-324, infinity, -infinity,
                                       -1024.5, 709.0,  3.0,    1e17};
  if (random() % 3 != 0) return std::normal_distribution<double>(0, 2)(random);
  return special[random() % std::size(special)];
}

// A random DAG over `reals` real variables, of depth at most `depth`.
class ExprGenerator {
 public:
  ExprGenerator(ExprPool& pool, uint64_t seed, int reals = 3, bool smooth = false)
      : p(pool), random(seed), reals_(reals), smooth_(smooth) {}

  ExprId real(int depth) {
    if (depth <= 1 || pick(8) == 0) return leaf();
    if (!made_.empty() && pick(6) == 0) return made_[pick(made_.size())];
    const ExprId e = operation(depth - 1);
    made_.push_back(e);
    return e;
  }

  ExprId condition(int depth) {
    static constexpr Op comparisons[] = {Op::lt, Op::le, Op::eq};
    if (depth > 1 && pick(4) == 0) {
      const ExprId a = condition(depth - 1);
      if (pick(3) == 0) return p.make(Op::logical_not, a);
      return p.make(pick(2) ? Op::logical_and : Op::logical_or, a, condition(depth - 1));
    }
    return p.make(comparisons[pick(3)], real(depth - 1), real(depth - 1));
  }

  std::mt19937_64& engine() { return random; }

 private:
  size_t pick(size_t n) { return random() % n; }

  ExprId leaf() {
    if (pick(3) != 0)
      return p.var(static_cast<uint32_t>(pick(static_cast<size_t>(reals_))), Kind::real);
    static constexpr double constants[] = {0, 1, -1, 2, 0.5, -0.125, 3, -0.0};
    if (smooth_) return p.real(0.25 * static_cast<double>(1 + pick(8)));
    return p.real(constants[pick(std::size(constants))]);
  }

  ExprId operation(int depth) {
    static constexpr Op unary[] = {Op::neg,  Op::recip, Op::sqrt,      Op::sin,      Op::exp,
                                   Op::log,  Op::abs,   Op::relu,      Op::cos,      Op::sigmoid,
                                   Op::tanh, Op::silu,  Op::log1p,     Op::softplus, Op::erf,
                                   Op::erfc, Op::gelu,  Op::gelu_tanh, Op::rsqrt,    Op::floor};
    static constexpr Op binary[] = {Op::add, Op::mul, Op::sub,  Op::quot,
                                    Op::max, Op::min, Op::atan2};
    const size_t kind = pick(10);
    if (kind < 4) {
      const Op op = unary[pick(std::size(unary) - (smooth_ ? 1 : 0))];
      const ExprId a = real(depth);
      return p.make(op, op == Op::log1p ? p.make(Op::abs, a) : a);  // log1p is for x >= 0
    }
    if (kind == 4) return p.make(Op::select, condition(depth), real(depth), real(depth));
    if (kind == 5)
      return p.make(Op::pow, real(depth), p.integer(static_cast<int64_t>(pick(7)) - 2));
    if (kind == 6 && !smooth_) return p.cast(pick(2) ? Format::f32 : Format::f64, real(depth));
    const Op op = binary[pick(std::size(binary))];
    // Named, so that the order of the two draws is fixed.
    const ExprId a = real(depth), b = real(depth);
    return p.make(op, a, b);
  }

  ExprPool& p;
  std::mt19937_64 random;
  int reals_;
  bool smooth_;
  std::vector<ExprId> made_;
};

inline double evaluate_at(const ExprPool& p, ExprId e, const std::vector<double>& x) {
  return evaluate(p, e, [&](uint32_t v) { return Value::real(x[v]); }).as_real();
}

}  // namespace tang::law
