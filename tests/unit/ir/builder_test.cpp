// The C++ API makes the graphs that its calls say, and records its first error.
#include "ir/builder.h"

#include <gtest/gtest.h>

#include "ir/monoids.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tang {
namespace {

std::string printed(const Builder& b) {
  const auto g = b.build();
  EXPECT_TRUE(g) << (g ? "" : g.error().id + " " + g.error().message);
  return g ? print(*g) : "";
}

TEST(Builder, TheExampleOfTheLanguage) {
  Builder g;
  auto i = g.dim("i", 512), j = g.dim("j", 512), d = g.dim("d", 64);
  auto q = g.input("q", {i, d}), k = g.input("k", {j, d});
  auto s = g.reduce(
      "s", tang::sum, {i, j}, {d}, [](auto a, auto b) { return a * b * 0.125f; }, q(i, d), k(j, d));
  g.output(s);
  EXPECT_EQ(printed(g), R"(dim i = 512, j = 512, d = 64
input q[i, d]
input k[j, d]
s[i, j] = sum[d](q[i, d] * k[j, d] * 0.125)
output s
)");
}

TEST(Builder, OnlineSoftmaxWithConditionEpilogueAndProjections) {
  Builder g;
  auto seq = g.param("seq");
  auto h = g.dim("h", 8), i = g.dim("i", seq), j = g.dim("j", seq), e = g.dim("e", 64);
  auto s = g.input("s", {h, i, j}), v = g.input("v", {h, j, e});
  auto out = g.define(
      {{"m", {h, i}}, {"l", {h, i}}, {as("o", Format::bf16), {h, i, e}}},
      {g.fold(
          tang::online, Over{j}.when(j <= i),
          [](auto a, auto b) { return std::tuple(a * 0.125, b); }, s(h, i, j), v(h, j, e))},
      [](const States& x) {
        return Parts{x["m"], x["l"], x["o"] * select(x["l"] < 0.5, 0, recip(x["l"]))};
      });
  for (const TensorRef& t : out) g.output(t);
  EXPECT_EQ(printed(g), R"(param seq
dim h = 8, i = seq, j = seq, e = 64
input s[h, i, j]
input v[h, j, e]
(m[h, i], l[h, i], o[h, i, e] : bf16) = (m, l, o * select(l < 0.5, 0, recip(l)))
  where (m, l, o) = online[j | j <= i](s[h, i, j] * 0.125, v[h, j, e])
output m, l, o
)");
}

TEST(Builder, GuardedReadsTakeTheIdentityOfTheirReduction) {
  Builder g;
  auto p = g.dim("p", 8), r = g.dim("r", 3);
  auto x = g.input("x", {p});
  g.output(g.reduce(
      "a", tang::sum, {p}, {r}, [](auto v) { return v; }, x.guarded(p + r - 1)));
  g.output(g.reduce(
      "b", tang::max, {p}, {r}, [](auto v) { return v; }, x.guarded(p + r - 1)));
  g.output(g.reduce(
      "c", tang::max, {p}, {r}, [](auto v) { return -v; },
      x.at_or(std::numeric_limits<double>::infinity(), p + r - 1)));
  g.output(g.map(
      "d", {p}, [](auto v) { return v; }, x.guarded(p - 1)));
  EXPECT_EQ(printed(g), R"(dim p = 8, r = 3
input x[p]
a[p] = sum[r](x?[p + r - 1])
b[p] = max[r](x?[p + r - 1])
c[p] = max[r](-x?[p + r - 1; inf])
d[p] = x?[p - 1]
output a, b, c, d
)");
  const auto graph = g.build();
  bool found = false;
  for (LeafId l : leaves_of(*graph, (*graph)[(*graph)[*graph->find_tensor("b")].node]))
    if (graph->leaf(l).what == Leaf::What::read) {
      EXPECT_EQ(graph->leaf(l).fill().r, -std::numeric_limits<double>::infinity());
      found = true;
    }
  EXPECT_TRUE(found);
}

TEST(Builder, ScansMonoidsTopkAndGathers) {
  Builder g;
  auto t = g.dim("t", 16), c = g.dim("c", 4), x = g.dim("x", 32), n = g.dim("n", 2);
  auto f = g.input("f", {t, c}), h0 = g.input("h0", {c}), w = g.input("w", {t, x});
  auto tok = g.input("tok", {t}, Format::i32), emb = g.input("emb", {x, c}, Format::f16);
  g.output(g.scan(
      "h", {t, c}, Along(t).from(h0(c)), [](auto a) { return std::tuple(a, a); }, f(t, c)));
  g.output(g.scan(
      "m", {t, c}, Along(t, tang::max).exclusive().reverse(), [](auto a) { return a; }, f(t, c)));
  for (const TensorRef& r :
       g.define({{"v", {t, n}}, {"e", {t, n}}},
                {g.fold(
                    tang::topk, Over{x}.entries(n), [](auto a) { return a; }, w(t, x))}))
    g.output(r);
  g.output(g.reduce(
      "best", tang::argmax.field("index"), {t}, {x}, [](auto a) { return a; }, w(t, x)));
  g.output(g.map(
      "y", {t, c}, [](auto a) { return a; }, emb(tok(t), c)));
  const MonoidRef welford =
      g.monoid({.name = "welford",
                .fields = {"n", "mean", "m2"},
                .identity = {0, 0, 0},
                .arguments = {"x"},
                .lift =
                    [](const States& s) {
                      return Parts{1, s["x"], 0};
                    },
                .combine =
                    [](const States& a, const States& b) {
                      auto total = a["n"] + b["n"];
                      auto rn = select(0 < total, recip(total), 0);
                      auto delta = b["mean"] - a["mean"];
                      return Parts{total, a["mean"] + delta * (b["n"] * rn),
                                   a["m2"] + b["m2"] + delta * (delta * (a["n"] * b["n"] * rn))};
                    },
                .commutative = true});
  g.output(g.reduce(
      "mu", welford.field("mean"), {t}, {c}, [](auto a) { return a; }, f(t, c)));
  EXPECT_EQ(printed(g), R"(dim t = 16, c = 4, x = 32, n = 2
input f[t, c]
input h0[c]
input w[t, x]
input tok[t] : i32
input emb[x, c] : f16
monoid welford(n, mean, m2)
  identity (0, 0, 0)
  lift(x) = (1, x, 0)
  combine(a, b) = (a.n + b.n, (b.mean - a.mean) * (b.n * select(0 < a.n + b.n, recip(a.n + b.n), 0)) + a.mean, a.m2 + b.m2 + (b.mean - a.mean) * ((b.mean - a.mean) * (a.n * b.n * select(0 < a.n + b.n, recip(a.n + b.n), 0))))
  commutative
h[t, c] = scan[t](f[t, c], f[t, c], h0[c])
m[t, c] = scan[t; max, exclusive, reverse](f[t, c])
(v[t, n], e[t, n]) = topk[x; n](w[t, x])
best[t] = argmax[x](w[t, x])
y[t, c] = emb[tok[t], c]
mu[t] = welford[c](f[t, c]).mean
output h, m, v, e, best, y, mu
)");
}

TEST(Builder, GradientsDeclareTheirCotangents) {
  Builder g;
  auto i = g.dim("i", 4);
  auto x = g.input("x", {i});
  auto y = g.map(
      "y", {i}, [](auto v) { return v * v; }, x(i));
  g.grad({{y, "dy"}}, {{"dx", x}});
  EXPECT_EQ(printed(g), R"(dim i = 4
input x[i]
y[i] = x[i] * x[i]
grad y with dy -> dx: x
output dx
)");
}

// ---- errors ----------------------------------------------------------------------------------

class BuilderError : public ::testing::Test {
 protected:
  Builder g;
  Index i = g.dim("i", 4), j = g.dim("j", 5);
  TensorRef x = g.input("x", {i}), n = g.input("n", {i}, Format::i32);

  void expect(const char* id) {
    const auto r = g.build();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().id, id) << r.error().message;
  }
  static constexpr auto same = [](auto v) { return v; };
};

TEST_F(BuilderError, OutOfRange) {
  g.output(g.map("y", {i}, same, x(i + 1)));
  expect("E0401");
  EXPECT_NE(g.problem()->message.find("`x[4]`"), std::string::npos);
}
TEST_F(BuilderError, Rank) {
  g.output(g.map("y", {i}, same, x(i, j)));
  expect("E0402");
}
TEST_F(BuilderError, NotAffine) {
  g.output(g.map("y", {i}, same, x(i * j)));
  expect("E0405");
}
TEST_F(BuilderError, RealPosition) {
  g.output(g.map("y", {i}, same, x(x(i))));
  expect("E0407");
}
TEST_F(BuilderError, NestedGather) {
  g.output(g.map("y", {i}, same, x(n(n(i)))));
  expect("E0405");
}
TEST_F(BuilderError, UnboundIndex) {
  g.output(g.map(
      "y", {i}, [&](auto v) { return v + j; }, x(i)));
  expect("E0204");
}
TEST_F(BuilderError, TwiceDefined) {
  g.map("x", {i}, same, x(i));
  expect("E0202");
}
TEST_F(BuilderError, IndexTwice) {
  g.map("y", {i, i}, same, x(i));
  expect("E0205");
}
TEST_F(BuilderError, PointAndReduceIndex) {
  g.reduce("y", tang::sum, {i}, {i}, same, x(i));
  expect("E0205");
}
TEST_F(BuilderError, Arguments) {
  g.reduce("y", tang::affine, {}, {i}, same, x(i));
  expect("E0501");
}
TEST_F(BuilderError, ConditionWanted) {
  g.reduce("y", tang::any, {}, {i}, same, x(i));
  expect("E0301");
}
TEST_F(BuilderError, FillMustBeStated) {
  g.reduce("y", tang::argmax, {i}, {j}, same, x.guarded(i + j - 2));
  expect("E0504");
}
TEST_F(BuilderError, DroppedPoint) {
  g.define({{"a", {}}, {"b", {i}}}, {g.fold(tang::sum, {j}, [&] { return x(i) * 1.0; })},
           [](const States& s) {
             return Parts{s[0], s[0]};
           });
  expect("E0408");
}
TEST_F(BuilderError, NoOutput) { expect("E0208"); }
TEST_F(BuilderError, InputAsOutput) {
  g.output(x);
  expect("E0212");
}
TEST_F(BuilderError, IntoAnotherShape) {
  g.output(g.map(
               "y", {j}, [](auto v) { return v; }, x.at_or(0, j)),
           x);
  expect("E0404");
}
TEST_F(BuilderError, TheFirstIsKeptAndNothingBreaks) {
  auto y = g.map("y", {i}, same, x(i + 1));
  auto z = g.reduce("z", tang::sum, {}, {i}, same, y(i));
  g.output(z);
  g.output(g.map("x", {i}, same, z()));
  expect("E0401");
  EXPECT_TRUE(z.broken());
}

TEST(Builder, ReadsAreProvedByTheBindersCondition) {
  Builder g;
  auto i = g.dim("i", 8), j = g.dim("j", 8), p = g.dim("p", 4), r = g.dim("r", 3),
       q = g.dim("q", 8);
  auto x = g.input("x", {i});
  g.output(g.reduce(
      "a", tang::sum, {i}, Over{j}.when(j <= i), [](auto v) { return v; }, x(i - j)));
  g.output(g.reduce(
      "b", tang::sum, {q}, Over{p, r}.when(2 * p + r - 1 == q), [](auto v) { return v; },
      x(2 * p + r - 1)));
  EXPECT_NE(printed(g), "");
  g.output(g.reduce(
      "c", tang::sum, {i}, Over{j}.when(j <= i + 1), [](auto v) { return v; }, x(i - j)));
  ASSERT_FALSE(g.build());
  EXPECT_EQ(g.build().error().id, "E0401");
}

}  // namespace
}  // namespace tang
