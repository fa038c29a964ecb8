#include "eval/compare.h"

#include <cmath>

#include <gtest/gtest.h>

#include "build.h"
#include "eval/monoid_laws.h"
#include "eval/random_inputs.h"

namespace tang {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Comparison check(std::vector<double> want, std::vector<double> got, Format format = Format::f64) {
  const auto n = static_cast<int64_t>(want.size());
  Array w = make_array(Format::f64, {n}).value(), g = make_array(format, {n}).value();
  for (int64_t k = 0; k < n; ++k) {
    w.set(k, want[static_cast<size_t>(k)]);
    g.set(k, got[static_cast<size_t>(k)]);
  }
  return compare(decode(w, Kind::real).value(), g);
}

TEST(Compare, RelativeToTheLargest) {
  const Comparison c = check({1, -10, 3}, {1, -10, 4});
  EXPECT_DOUBLE_EQ(c.error, 0.1);
  EXPECT_EQ(c.worst, 2);
  EXPECT_EQ(c.got.r, 4);
  EXPECT_EQ(c.want.r, 3);
  EXPECT_DOUBLE_EQ(check({0, 0}, {0, 0.25}).error, 0.25);
  EXPECT_EQ(check({}, {}).error, 0);
}

TEST(Compare, NaNAndInfinity) {
  EXPECT_EQ(check({NAN, 1}, {NAN, 1}).error, 0);
  EXPECT_EQ(check({NAN, 1}, {0, 1}).error, inf);
  EXPECT_EQ(check({0, 1}, {NAN, 1}).error, inf);
  EXPECT_FALSE(check({0, 1}, {NAN, 1}).passes(1e300));
  EXPECT_EQ(check({inf, 2}, {inf, 1}).error, 0.5);
  EXPECT_EQ(check({inf, 2}, {-inf, 2}).error, inf);
  EXPECT_EQ(check({inf, 2}, {1e308, 2}).error, inf);
  EXPECT_EQ(check({1e39, 2}, {inf, 2}, Format::f32).error, 0);
}

TEST(Compare, IntegersAreExact) {
  Array w = make_array(Format::i64, {2}).value();
  w.set_integer(0, int64_t{1} << 60);
  Array g = w;
  g.set_integer(0, (int64_t{1} << 60) + 1);
  const Comparison c = compare(decode(w, Kind::integer).value(), g);
  EXPECT_FALSE(c.passes(0.5));
  EXPECT_EQ(c.worst, 0);
}

TEST(RandomInputs, FollowTheirUse) {
  test::Program p;
  const DimId t = p.dim("t", 500), c = p.dim("c", 2);
  const TensorId emb = p.tensor("emb", {30, 2}, Kind::real, Role::input, Format::f16);
  const TensorId tok = p.tensor("tok", {500}, Kind::integer, Role::input, Format::i32);
  const TensorId seg = p.tensor("seg", {500}, Kind::integer, Role::input, Format::i32);
  p.g[seg].sorted = true;
  const LeafId at = p.g.pool[p.g.read(tok, {p.at(t)})].variable();
  p.map("y", {t, c}, p.g.read(emb, {Poly(3) * Form::gathered(at), p.at(c)}));
  const Array tokens = random_input(p.g, tok, {}, 0).value();
  int64_t most = 0;
  for (int64_t k = 0; k < 500; ++k) most = std::max(most, tokens.integer_at(k));
  EXPECT_EQ(most, 9);  // 3·9 is the last multiple inside 30
  const Array segments = random_input(p.g, seg, {}, 0).value();
  for (int64_t k = 1; k < 500; ++k) EXPECT_LE(segments.integer_at(k - 1), segments.integer_at(k));
  EXPECT_EQ(segments.integer_at(499), 7);
  const Array values = random_input(p.g, emb, {}, 0).value();
  EXPECT_EQ(values.at(0), round_to(Format::f16, values.at(0)));
  EXPECT_NE(values.at(0), random_input(p.g, emb, {}, 1).value().at(0));
}

TEST(MonoidLaws, BuiltInsHold) {
  test::Program p;
  Graph& g = p.g;
  const Kind r = Kind::real, n = Kind::integer, b = Kind::boolean;
  const std::vector<std::pair<const char*, std::vector<Kind>>> all = {
      {"sum", {r}}, {"prod", {r}},      {"max", {r}},      {"min", {n}},       {"any", {b}},
      {"all", {b}}, {"argmax", {r}},    {"argmin", {n}},   {"logsumexp", {r}}, {"moments", {r}},
      {"sum", {n}}, {"online", {r, r}}, {"affine", {r, r}}};
  for (const auto& [name, kinds] : all) {
    const MonoidId m = builtin_monoid(g, name, kinds).value();
    EXPECT_EQ(monoid_counterexample(g, m, 0).value_or(""), "") << name;
  }
}

TEST(MonoidLaws, FalseClaimsHaveCounterexamples) {
  test::Program p;
  const std::vector<Kind> kinds = {Kind::real, Kind::real};
  const MonoidId affine = builtin_monoid(p.g, "affine", kinds).value();
  Monoid claimed = p.g[affine];
  claimed.commutative = true;
  claimed.name = "claimed";
  p.g.monoids.push_back(claimed);
  const auto text = monoid_counterexample(p.g, static_cast<MonoidId>(p.g.monoids.size() - 1), 0);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->substr(0, 31), "`claimed` breaks commutativity:");

  Monoid mean = p.g[affine];  // (x + y) / 2 does not associate
  mean.name = "mean";
  const std::vector<Kind> one = {Kind::real};
  const Monoid& sum = p.g[builtin_monoid(p.g, "sum", one).value()];
  mean = sum;
  mean.name = "mean";
  mean.combine = {p.g.pool.make(Op::mul, p.g.pool.real(0.5), sum.combine[0])};
  p.g.monoids.push_back(mean);
  EXPECT_TRUE(monoid_counterexample(p.g, static_cast<MonoidId>(p.g.monoids.size() - 1), 0));
}

}  // namespace
}  // namespace tang
