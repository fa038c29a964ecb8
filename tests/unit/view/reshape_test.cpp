#include "view/reshape.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

std::vector<Poly> shape(std::initializer_list<int64_t> n) { return {n.begin(), n.end()}; }

TEST(Refine, CommonAtoms) {
  const auto r = refine(shape({4, 6}), shape({2, 12}));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->atoms, shape({2, 2, 6}));
  EXPECT_EQ(r->from, (std::vector<std::vector<size_t>>{{0, 1}, {2}}));
  EXPECT_EQ(r->to, (std::vector<std::vector<size_t>>{{0}, {1, 2}}));
}

TEST(Refine, NoChainNoRefinement) {
  EXPECT_FALSE(refine(shape({4, 6}), shape({3, 8})));
  EXPECT_FALSE(refine(shape({4, 6}), shape({4, 7})));
}

TEST(Refine, UnitAxesHaveNoAtoms) {
  const auto r = refine(shape({1, 6, 1}), shape({2, 1, 3}));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->atoms, shape({2, 3}));
  EXPECT_EQ(r->from, (std::vector<std::vector<size_t>>{{}, {0, 1}, {}}));
  EXPECT_TRUE(refine({}, shape({1, 1})));
}

TEST(Refine, SymbolicExtents) {
  const Poly n = Poly::param(static_cast<ParamId>(0));
  const std::vector<Poly> from = {n, 64}, to = {n, 8, 8}, merged = {Poly(64) * n};
  EXPECT_TRUE(refine(from, to));
  ASSERT_TRUE(refine(merged, to));
  EXPECT_EQ(refine(merged, to)->atoms, to);
  const std::vector<Poly> inner = {8, n}, flat_inner = {Poly(8) * n};
  EXPECT_EQ(refine(flat_inner, inner)->atoms, inner);  // a symbolic coefficient
  const std::vector<Poly> sum = {n + Poly(1), 4};
  EXPECT_TRUE(refine(sum, sum));
  EXPECT_FALSE(refine(sum, from));
}

TEST(Refine, EmptyTensors) {
  EXPECT_TRUE(refine(shape({0}), shape({0, 3})));
  EXPECT_FALSE(refine(shape({0, 2}), shape({5, 0})));
}

TEST(SplitView, ReadsThroughOneForm) {
  const DimId a{0}, b{1};
  const std::vector<Form> at = {Form::coordinate(a), Form::coordinate(b)};
  const auto view = split_view(shape({12}), shape({3, 4}), at);
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)[0], Poly(4) * Form::coordinate(a) + Form::coordinate(b));
  const std::vector<Form> q = {Form::coordinate(a)};
  EXPECT_FALSE(split_view(shape({3, 4}), shape({12}), q));
}

}  // namespace
}  // namespace tang
