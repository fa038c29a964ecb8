#include "expr/range.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class RangeOf : public ::testing::Test {
 protected:
  ExprPool p;
  std::vector<ScalarRange> inputs = {ScalarRange{}, ScalarRange::between(-2, 3),
                                     ScalarRange::mask()};
  ExprId any = p.var(0, Kind::real), box = p.var(1, Kind::real), mask = p.var(2, Kind::real);

  ScalarRange of(ExprId e) {
    return scalar_range(p, e, [this](uint32_t v) { return inputs.at(v); });
  }
};

TEST_F(RangeOf, FiniteInputsStayFinite) {
  EXPECT_TRUE(of(any).finite());
  EXPECT_TRUE(of(p.make(Op::exp, any)).finite());
  EXPECT_TRUE(of(p.make(Op::sin, any)).finite());
  EXPECT_TRUE(of(p.make(Op::mul, any, any)).finite());
  EXPECT_GE(of(p.make(Op::mul, any, any)).lo, 0);
}

TEST_F(RangeOf, UndefinedIsFlagged) {
  EXPECT_TRUE(of(p.make(Op::recip, box)).undefined);
  EXPECT_TRUE(of(p.make(Op::sqrt, box)).undefined);
  EXPECT_TRUE(of(p.make(Op::log, box)).undefined);
  EXPECT_FALSE(of(p.make(Op::log, p.make(Op::exp, box))).undefined);
  EXPECT_TRUE(of(p.make(Op::mul, mask, box)).undefined);   // 0 * -inf
  EXPECT_TRUE(of(p.make(Op::sub, mask, mask)).undefined);  // -inf - -inf
  EXPECT_TRUE(of(p.make(Op::sin, mask)).undefined);
}

TEST_F(RangeOf, MasksBecomeWeights) {
  const ScalarRange w = of(p.make(Op::exp, mask));
  EXPECT_TRUE(w.finite());
  EXPECT_LE(w.lo, 0);
  EXPECT_TRUE(of(p.make(Op::add, mask, box)).minus_infinity);
  EXPECT_FALSE(of(p.make(Op::add, mask, box)).undefined);
}

TEST_F(RangeOf, DecidedSelectsTakeOneBranch) {
  const ExprId low = p.make(Op::lt, box, p.real(5));
  EXPECT_TRUE(of(p.make(Op::select, low, box, p.make(Op::recip, box))).finite());
  const ExprId open = p.make(Op::lt, p.real(-infinity), mask);
  EXPECT_TRUE(of(p.make(Op::select, open, mask, p.real(0))).minus_infinity);
  const ExprId sure = p.make(Op::lt, p.real(-infinity), any);
  EXPECT_EQ(of(sure).lo, 1);
  EXPECT_EQ(of(p.make(Op::lt, box, p.real(-2))).hi, 0);
}

TEST_F(RangeOf, MacrosAreTight) {
  EXPECT_GE(of(p.make(Op::sigmoid, any)).lo, 0);
  EXPECT_LE(of(p.make(Op::sigmoid, any)).hi, 1);
  EXPECT_TRUE(of(p.make(Op::softplus, any)).finite());
  EXPECT_GE(of(p.make(Op::softplus, any)).lo, 0);
  EXPECT_GE(of(p.make(Op::abs, box)).lo, 0);
  EXPECT_EQ(of(p.make(Op::abs, box)).hi, 3);
  EXPECT_EQ(of(p.make(Op::max, box, p.real(1))).lo, 1);
  EXPECT_EQ(of(p.make(Op::relu, box)).lo, 0);
  EXPECT_TRUE(of(p.make(Op::gelu, mask)).finite());
  EXPECT_TRUE(of(p.make(Op::quot, box, p.real(4))).finite());
  EXPECT_TRUE(
      of(p.make(Op::rsqrt, p.make(Op::add, p.make(Op::mul, box, box), p.real(1e-5)))).finite());
}

}  // namespace
}  // namespace tang
