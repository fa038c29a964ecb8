// The numeric vectors of algebra.md section 3, and the facts passes ask for.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ir/monoids.h"
#include "law/ir/monoid_run.h"

namespace tang {
namespace {

using law::MonoidRun;
using law::reals;
using law::State;

constexpr double infinity = std::numeric_limits<double>::infinity();

void expect(const State& got, std::initializer_list<double> want) {
  ASSERT_EQ(got.size(), want.size());
  size_t k = 0;
  for (double w : want) {
    if (std::isinf(w))
      EXPECT_EQ(got[k].as_real(), w);
    else
      EXPECT_NEAR(got[k].as_real(), w, 1e-12 * std::max(1.0, std::abs(w)));
    ++k;
  }
}

TEST(MonoidVector, OnlineSoftmax) {
  const MonoidRun m("online", {Kind::real, Kind::real});
  const auto s = m.lifted({reals({1, 10}), reals({3, 20}), reals({-infinity, 30}), reals({2, 40})});
  State x = m.combine(m.identity(), s[0]);
  expect(x, {1, 1, 10});
  x = m.combine(x, s[1]);
  expect(x, {3, 1.1353352832366128, 21.353352832366127});
  expect(m.combine(x, s[2]), {3, 1.1353352832366128, 21.353352832366127});
  x = m.combine(m.combine(x, s[2]), s[3]);
  expect(x, {3, 1.5032147244080551, 36.068530479223824});
  EXPECT_NEAR(x[2].r / x[1].r, 23.99426368939215, 1e-12);
  const State halves = m.combine(m.combine(s[0], s[1]), m.combine(s[2], s[3]));
  expect(halves, {3, 1.5032147244080551, 36.068530479223824});
  expect(m.combine(s[2], s[3]), {2, 1, 40});
}

TEST(MonoidVector, Logsumexp) {
  const MonoidRun m("logsumexp", {Kind::real});
  expect(m.fin(m.fold(m.lifted({reals({1}), reals({3}), reals({-infinity}), reals({2})}))),
         {3.4076059644443806});
}

TEST(MonoidVector, Welford) {
  const MonoidRun m("moments", {Kind::real});
  const State a = m.fold(m.lifted({reals({1}), reals({2})})),
              b = m.fold(m.lifted({reals({4}), reals({7})}));
  expect(a, {2, 1.5, 0.5});
  expect(b, {2, 5.5, 4.5});
  expect(m.combine(a, b), {4, 3.5, 21});
  // The identity stays one when the squares overflow.
  expect(m.combine(m.identity(), m.lift(reals({1e200}))), {1, 1e200, 0});
}

TEST(MonoidVector, Affine) {
  const MonoidRun m("affine", {Kind::real, Kind::real});
  const auto s = m.lifted({reals({0.5, 1}), reals({2, -1}), reals({-1, 3}), reals({0.25, 0.5})});
  const std::vector<std::vector<double>> prefixes = {{0.5, 1}, {1, 1}, {-1, 2}, {-0.25, 1}};
  const double h[] = {3, 5, -2, 0};
  State x = m.identity();
  for (size_t k = 0; k < 4; ++k) {
    x = m.combine(x, s[k]);
    expect(x, {prefixes[k][0], prefixes[k][1]});
    EXPECT_EQ(x[0].r * 4 + x[1].r, h[k]);
  }
  expect(m.combine(s[1], s[0]), {1, 0.5});
}

TEST(MonoidFacts, AskTheAlgebraNotTheName) {
  Graph g;
  const Kind real = Kind::real;
  const MonoidId sum = *builtin_monoid(g, "sum", std::span(&real, 1));
  EXPECT_TRUE(facts(g, sum).sum);
  EXPECT_FALSE(facts(g, sum).max);
  EXPECT_TRUE(facts(g, *builtin_monoid(g, "max", std::span(&real, 1))).max);
  EXPECT_TRUE(facts(g, *builtin_monoid(g, "moments", std::span(&real, 1))).welford);
  const std::vector<Kind> two = {real, real};
  EXPECT_TRUE(facts(g, *builtin_monoid(g, "online", two)).online_softmax);
  Monoid own = g[sum];
  own.name = "total";
  own.builtin = false;
  own.facts.reset();
  g.monoids.push_back(own);
  EXPECT_TRUE(facts(g, static_cast<MonoidId>(g.monoids.size() - 1)).sum);
  EXPECT_EQ(builtin_monoid(g, "sum", std::span(&real, 1)), sum);
  EXPECT_FALSE(builtin_monoid(g, "any", std::span(&real, 1)));
  EXPECT_FALSE(builtin_monoid(g, "affine", std::span(&real, 1)));
}

}  // namespace
}  // namespace tang
