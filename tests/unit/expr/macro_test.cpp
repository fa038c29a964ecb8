// The numeric vectors of algebra.md 1.3, 1.7 and 1.8, and macros against their definitions.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "expr/apply.h"
#include "expr/diff.h"
#include "expr/expr.h"

namespace tang {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

double value(Op op, double a, double b = 0) {
  return apply(op, Format::f64, Value::real(a), Value::real(b), {}, Kind::real).r;
}

double at(ExprPool& p, ExprId e, std::vector<double> x) {
  return evaluate(p, e, [&](uint32_t v) { return Value::real(x.at(v)); }).as_real();
}

void expect_close(double got, double want, double relative = 1e-12) {
  EXPECT_NEAR(got, want, relative * std::abs(want)) << got << " for " << want;
}

TEST(Macro, VectorsOfTheAlgebra) {
  expect_close(value(Op::tanh, 0.5), 0.4621171572600098);
  expect_close(value(Op::softplus, -45), 2.8625185805493937e-20);
  expect_close(value(Op::gelu, 1), 0.8413447460685429, 2e-12);
  expect_close(value(Op::gelu, -5), -1.43325786e-6, 1e-8);
  expect_close(value(Op::gelu_tanh, 1), 0.8411919906082768);
}

TEST(Macro, ErfcIsAccurateRelatively) {
  double worst = 0;
  for (double x = -6; x <= 23; x += 0.001) {
    const double want = std::erfc(x);
    worst = std::max(worst, std::abs(erfc_chebyshev(x) - want) / want);
  }
  EXPECT_LE(worst, 2e-13);
  EXPECT_EQ(erfc_chebyshev(infinity), 0);
  EXPECT_EQ(erfc_chebyshev(-infinity), 2);
}

TEST(Macro, GeluTanhIsNearGelu) {
  for (double x = -8; x <= 8; x += 0.01)
    EXPECT_NEAR(value(Op::gelu_tanh, x), value(Op::gelu, x), 4.8e-4) << x;
}

TEST(Macro, LimitsAtInfinity) {
  EXPECT_EQ(value(Op::silu, -infinity), 0);
  EXPECT_EQ(value(Op::gelu, -infinity), 0);
  EXPECT_EQ(value(Op::gelu_tanh, -infinity), 0);
  EXPECT_EQ(value(Op::sigmoid, -infinity), 0);
  EXPECT_EQ(value(Op::sigmoid, infinity), 1);
  EXPECT_EQ(value(Op::tanh, infinity), 1);
  EXPECT_EQ(value(Op::tanh, -infinity), -1);
}

TEST(Macro, NanPropagates) {
  for (Op op : {Op::max, Op::min}) {
    EXPECT_TRUE(std::isnan(value(op, nan_value, 3)));
    EXPECT_TRUE(std::isnan(value(op, 3, nan_value)));
  }
  for (Op op : {Op::abs, Op::relu, Op::silu, Op::softplus, Op::erf, Op::gelu, Op::tanh})
    EXPECT_TRUE(std::isnan(value(op, nan_value))) << info(op).name;
  EXPECT_TRUE(std::signbit(value(Op::abs, -0.0)));
}

TEST(Macro, Costs) {
  ExprPool p;
  const ExprId x = p.var(0, Kind::real), y = p.var(1, Kind::real);
  EXPECT_EQ(cost(p, p.make(Op::silu, x)), 11);
  EXPECT_EQ(cost(p, p.make(Op::gelu_tanh, x)), 15);
  EXPECT_EQ(cost(p, p.make(Op::tanh, x)), 8);
  EXPECT_EQ(cost(p, p.make(Op::erfc, x)), 8);
  EXPECT_EQ(cost(p, p.make(Op::neg, x)), 0);
  EXPECT_EQ(cost(p, p.make(Op::add, p.make(Op::mul, x, y), y)), 1);  // one fma
  EXPECT_EQ(cost(p, p.make(Op::atan2, x, y)), 20);
  // silu over primitives: 4 + 4 + 1 + 1 + 1 and the neg for nothing.
  EXPECT_EQ(cost(p, expand_macros(p, p.make(Op::silu, x))), 12);  // its comparison counts too
}

// Every macro at awkward points has the bits of its definition.
TEST(Macro, DefinitionsGiveTheSameBits) {
  const std::vector<double> points = {
      0.0,     -0.0,    1.0,   -1.0,   0.5,    -0.25,  3.75,     -7.5,      30.0,      -45.0, 709.0,
      -1023.0, -1025.0, 1e300, -1e300, 1e-300, 5e-324, infinity, -infinity, nan_value, 2.0,   1e-9};
  ExprPool p;
  const ExprId x = p.var(0, Kind::real), y = p.var(1, Kind::real);
  for (int k = 0; k <= static_cast<int>(Op::pow); ++k) {
    const Op op = static_cast<Op>(k);
    if (!is_macro(op)) continue;
    const ExprId e = info(op).arity == 1 ? p.make(op, x) : p.make(op, x, y);
    const ExprId one = expand_macro(p, e), all = expand_macros(p, e);
    ASSERT_NE(one, ExprId::none) << info(op).name;
    EXPECT_NE(one, e) << info(op).name;
    for (ExprId n : p.reachable(all)) EXPECT_FALSE(is_macro(p[n].op));
    for (double a : points)
      for (double b : points) {
        const auto want = Value::real(at(p, e, {a, b}));
        EXPECT_TRUE(same_bits(Value::real(at(p, one, {a, b})), want))
            << info(op).name << " " << a << " " << b;
        EXPECT_TRUE(same_bits(Value::real(at(p, all, {a, b})), want))
            << info(op).name << " " << a << " " << b;
      }
  }
}

TEST(Macro, IntegerMacrosStayIntegers) {
  ExprPool p;
  const ExprId x = p.var(0, Kind::integer), y = p.var(1, Kind::integer);
  for (Op op : {Op::sub, Op::max, Op::min, Op::abs, Op::relu}) {
    const ExprId e = info(op).arity == 1 ? p.make(op, x) : p.make(op, x, y);
    const ExprId all = expand_macros(p, e);
    EXPECT_EQ(p[all].kind, Kind::integer);
    for (int64_t a : {-3, 0, 4})
      for (int64_t b : {-4, 0, 4}) {
        const auto var = [&](uint32_t v) { return Value::integer(v == 0 ? a : b); };
        EXPECT_EQ(evaluate(p, e, var).i, evaluate(p, all, var).i) << info(op).name;
      }
  }
}

TEST(Macro, PowersMultiply) {
  ExprPool p;
  const ExprId x = p.var(0, Kind::real);
  for (int64_t n = -5; n <= 9; ++n) {
    const ExprId e = p.make(Op::pow, x, p.integer(n));
    for (double v : {1.5, -2.0, 0.1}) {
      EXPECT_EQ(at(p, expand_macro(p, e), {v}), at(p, e, {v}));
      expect_close(at(p, e, {v}), std::pow(v, static_cast<double>(n)));
    }
  }
  EXPECT_EQ(at(p, p.make(Op::pow, x, p.integer(std::numeric_limits<int64_t>::min())), {1}), 1);
  // An exponent that is no literal takes the logarithm, whatever its kind.
  const ExprId y = p.var(1, Kind::integer);
  EXPECT_TRUE(std::isnan(at(p, p.make(Op::pow, x, y), {-2, 3})));
  expect_close(at(p, p.make(Op::pow, x, y), {2, 3}), 8);
}

TEST(Diff, Atan2Vector) {
  ExprPool p;
  const ExprId y = p.var(0, Kind::real), x = p.var(1, Kind::real);
  const ExprId e = p.make(Op::atan2, y, x);
  EXPECT_NEAR(at(p, diff(p, e, 0), {1.2, -0.7}), -0.36269430, 1e-8);
  EXPECT_NEAR(at(p, diff(p, e, 1), {1.2, -0.7}), -0.62176166, 1e-8);
}

TEST(Diff, StructuralZerosAndKinks) {
  ExprPool p;
  const ExprId x = p.var(0, Kind::real), y = p.var(1, Kind::real);
  EXPECT_EQ(diff(p, p.make(Op::log, y), 0), p.real(0));
  EXPECT_EQ(diff(p, p.make(Op::floor, x), 0), p.real(0));
  EXPECT_EQ(diff(p, p.make(Op::add, x, y), 0), p.real(1));
  EXPECT_EQ(diff(p, p.cast(Format::f16, x), 0), p.real(1));
  EXPECT_EQ(diff(p, p.cast(Format::i32, x), 0), p.real(0));
  // max at a tie sends the derivative to its first operand.
  EXPECT_EQ(at(p, diff(p, p.make(Op::max, x, y), 0), {2, 2}), 1);
  EXPECT_EQ(at(p, diff(p, p.make(Op::max, x, y), 1), {2, 2}), 0);
  // A branch not taken contributes exactly 0, even when its derivative is not a number.
  const ExprId gated =
      p.make(Op::select, p.make(Op::lt, p.real(0), x), p.make(Op::log, x), p.real(0));
  EXPECT_EQ(at(p, diff(p, gated, 0), {-1, 0}), 0);
  EXPECT_EQ(at(p, diff(p, gated, 0), {0, 0}), 0);
  EXPECT_EQ(at(p, diff(p, p.make(Op::silu, x), 0), {-infinity, 0}), 0);
  EXPECT_EQ(at(p, diff(p, p.make(Op::gelu, x), 0), {-infinity, 0}), 0);
  EXPECT_EQ(at(p, diff(p, p.make(Op::gelu_tanh, x), 0), {-infinity, 0}), 0);
}

}  // namespace
}  // namespace tang
