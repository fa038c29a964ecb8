#include "expr/trace.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tang {
namespace {

template <class A, class B>
concept ConvertsTo = requires(A a) {
  static_cast<B>(a);
};

static_assert(!ConvertsTo<Cond, bool>, "a data-dependent `if` does not compile");

class Trace : public ::testing::Test {
 protected:
  ExprPool p;
  Tracer t{p};
  ExprId x = p.var(0, Kind::real), y = p.var(1, Kind::real);
};

TEST_F(Trace, BuildsTheExpressionOfTheLambda) {
  const auto body = [](auto a, auto b) { return a * b * 0.125 - tang::exp(-a); };
  const ExprId want = p.make(Op::sub, p.make(Op::mul, p.make(Op::mul, x, y), p.real(0.125)),
                             p.make(Op::exp, p.make(Op::neg, x)));
  EXPECT_EQ(trace(t, body, x, y), want);
}

TEST_F(Trace, ConditionsAndSelects) {
  const auto body = [](auto a, auto b) {
    return tang::select(a <= b && !(a == b), tang::max(a, 0.0), tang::min(b, 1));
  };
  const ExprId c =
      p.make(Op::logical_and, p.make(Op::le, x, y), p.make(Op::logical_not, p.make(Op::eq, x, y)));
  EXPECT_EQ(trace(t, body, x, y),
            p.make(Op::select, c, p.make(Op::max, x, p.real(0)), p.make(Op::min, y, p.integer(1))));
  EXPECT_EQ(trace(
                t, [](auto a, auto b) { return Expr(a > b); }, x, y),
            p.make(Op::lt, y, x));
  EXPECT_EQ(trace(
                t, [](auto a, auto b) { return Expr(a >= b); }, x, y),
            p.make(Op::le, y, x));
  EXPECT_EQ(trace(
                t, [](auto a, auto b) { return Expr(a != b); }, x, y),
            p.make(Op::logical_not, p.make(Op::eq, x, y)));
}

TEST_F(Trace, ConstantsFold) {
  const Expr six = Expr(2) * Expr(3);
  EXPECT_EQ(six.in(t), p.integer(6));
  EXPECT_EQ((Expr(1) / Expr(4)).in(t), p.real(0.25));
}

TEST_F(Trace, BrokenStaysBroken) {
  EXPECT_TRUE((Expr() + Expr(&t, x)).broken());
  ExprPool other;
  Tracer s(other);
  EXPECT_TRUE((Expr(&s, other.var(0, Kind::real)) * Expr(&t, x)).broken());
}

TEST_F(Trace, RunsOnNumbers) {
  const auto body = [](auto a, auto b) { return tang::exp(a) / b; };
  EXPECT_EQ(body(Number(1.0), Number(3.0)).value().r, std::exp(1.0) * (1.0 / 3.0));
  EXPECT_EQ(body(1.0, 3.0), std::exp(1.0) / 3.0);
  EXPECT_TRUE(Number(1) < Number(2.5));
  EXPECT_EQ((Number(7) * 2).value().i, 14);
}

}  // namespace
}  // namespace tang
