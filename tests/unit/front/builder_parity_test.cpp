// The builder and the text make the same graph: equal printed forms (language.md section 3).
#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "ir/builder.h"
#include "ir/print.h"

namespace tang {
namespace {

void expect_parity(const Builder& b, const char* text) {
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed) << parsed.error()[0].id << " " << parsed.error()[0].message;
  const auto built = b.build();
  ASSERT_TRUE(built) << built.error().id << " " << built.error().message;
  EXPECT_EQ(print(*built), print(*parsed));
}

constexpr auto same = [](auto x) { return x; };
constexpr auto product = [](auto a, auto b) { return a * b; };

TEST(Parity, Attention) {
  Builder g;
  auto seq = g.param("seq");
  auto h = g.dim("h", 8), i = g.dim("i", seq), j = g.dim("j", seq), d = g.dim("d", 64),
       e = g.dim("e", 64);
  auto q = g.input("q", {h, i, d}), k = g.input("k", {h, j, d}), v = g.input("v", {h, j, e});
  auto s1 = g.reduce("s_1", tang::sum, {h, i, j}, {d}, product, q(h, i, d), k(h, j, d));
  auto s = g.map(
      "s", {h, i, j}, [](auto x) { return x / tang::sqrt(Expr(64)); }, s1(h, i, j));
  auto p1 = g.reduce("p_1", tang::max, {h, i}, {j}, same, s(h, i, j));
  auto p = g.map(
      "p", {h, i, j}, [](auto x, auto m) { return exp(x - m); }, s(h, i, j), p1(h, i));
  auto o1 = g.reduce("o_1", tang::sum, {h, i, e}, {j}, product, p(h, i, j), v(h, j, e));
  auto o2 = g.reduce("o_2", tang::sum, {h, i}, {j}, same, p(h, i, j));
  g.output(g.map(
      "o", {h, i, e}, [](auto x, auto l) { return x / l; }, o1(h, i, e), o2(h, i)));
  expect_parity(g, R"(param seq
dim h = 8, i = seq, j = seq, d = 64, e = 64
input q[h, i, d], k[h, j, d], v[h, j, e] : f32
s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) / 8.0
p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))
o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])
output o
)");
}

TEST(Parity, Convolution) {
  Builder g;
  auto ih = g.param("ih");
  auto oh = g.param("oh", tang::div(ih + 2 - 3, 2) + 1);
  auto n = g.dim("n", 8), k = g.dim("k", 64), c = g.dim("c", 32), p = g.dim("p", oh),
       q = g.dim("q", oh);
  auto r = g.dim("r", 3), s = g.dim("s", 3), p2 = g.dim("p2", 2 * oh), q2 = g.dim("q2", 2 * oh);
  auto x = g.input("x", {n, c, ih, ih}, Format::f16), w = g.input("w", {k, c, r, s}, Format::f16);
  auto wt = g.input("wt", {k, c, r, s}, Format::f16);
  auto y = g.reduce("y", tang::sum, {n, k, p, q}, {c, r, s}, product,
                    x.guarded(n, c, 2 * p + r - 1, 2 * q + s - 1), w(k, c, r, s));
  auto z = g.reduce("z", tang::sum, {n, k, p, q}, {c, r, s}, product,
                    x.guarded(n, c, p + 2 * r - 2, q + 2 * s - 2), w(k, c, r, s));
  auto m =
      g.reduce("m", tang::max, {n, k, p, q}, {r, s}, same, y.guarded(n, k, p + r - 1, q + s - 1));
  auto up = g.reduce("up", tang::sum, {n, c, p2, q2},
                     Over{k, p, q, r, s}.when(2 * p + r - 1 == p2 && 2 * q + s - 1 == q2), product,
                     y(n, k, p, q), wt(k, c, r, s));
  for (const TensorRef& t : {m, z, up}) g.output(t);
  expect_parity(g, R"(param ih, oh = (ih + 2 - 3) / 2 + 1
dim n = 8, k = 64, c = 32, p = oh, q = oh, r = 3, s = 3, p2 = 2*oh, q2 = 2*oh
input x[n, c, ih, ih], w[k, c, r, s], wt[k, c, r, s] : f16
y[n, k, p, q] = sum[c, r, s](x?[n, c, 2*p + r - 1, 2*q + s - 1] * w[k, c, r, s])
z[n, k, p, q] = sum[c, r, s](x?[n, c, p + 2*r - 2, q + 2*s - 2] * w[k, c, r, s])
m[n, k, p, q] = max[r, s](y?[n, k, p + r - 1, q + s - 1])
up[n, c, p2, q2] = sum[k, p, q, r, s | 2*p + r - 1 == p2 and 2*q + s - 1 == q2](y[n, k, p, q] * wt[k, c, r, s])
output m, z, up
)");
}

TEST(Parity, RoutingAndGathers) {
  Builder g;
  auto tokens = g.param("tokens");
  auto t = g.dim("t", tokens), x = g.dim("x", 128), n = g.dim("n", 8), c = g.dim("c", 2048);
  auto h = g.input("h", {t, c}, Format::bf16), wd = g.input("wd", {x, c}, Format::bf16);
  auto w1 = g.reduce("w_1", tang::sum, {t, x}, {c}, product, h(t, c), wd(x, c));
  auto we = g.define({{"w", {t, n}}, {"e", {t, n}}},
                     {g.fold(tang::topk, Over{x}.entries(n), same, w1(t, x))});
  auto y = g.reduce(as("y", Format::bf16), tang::sum, {t, c}, {n}, product, we[0](t, n),
                    wd(we[1](t, n), c));
  g.output(y);
  expect_parity(g, R"(param tokens
dim t = tokens, x = 128, n = 8, c = 2048
input h[t, c], wd[x, c] : bf16
w_1[t, x] = sum[c](h[t, c] * wd[x, c])
(w[t, n], e[t, n]) = topk[x; n](w_1[t, x])
y[t, c] : bf16 = sum[n](w[t, n] * wd[e[t, n], c])
output y
)");
}

TEST(Parity, ScansAndInPlaceUpdates) {
  Builder g;
  auto seq = g.param("seq"), slots = g.param("slots");
  auto t = g.dim("t", seq), c = g.dim("c", 64), x = g.dim("x", 16), y = g.dim("y", 16),
       z = g.dim("z", 16);
  auto s = g.dim("s", slots);
  auto f = g.input("f", {t, c}), u = g.input("u", {t, c}), h0 = g.input("h0", {c}),
       k = g.input("k", {t, x});
  auto v = g.input("v", {t, z}), be = g.input("be", {t}), s0 = g.input("s0", {x, z});
  auto kc = g.input("kc", {s, c}, Format::bf16), pos = g.input("pos", {}, Format::i32);
  g.output(g.scan(
      "h", {t, c}, Along(t).from(h0(c)), [](auto a, auto b) { return std::tuple(sigmoid(a), b); },
      f(t, c), u(t, c)));
  g.output(g.scan("cum", {t, c}, Along(t, tang::sum).exclusive().reverse(), same, f(t, c)));
  g.output(g.scan(
      "st", {t, x, z}, Along(t).matrix(x, y).from(s0(x, z)),
      [&](auto b, auto kx, auto ky, auto vz) {
        return std::tuple(select(x == y, 1, 0) - b * kx * ky, b * kx * vz);
      },
      be(t), k(t, x), k(t, y), v(t, z)));
  g.output(g.map(
               as("kc2", Format::bf16), {s, c},
               [&](auto old) { return select(s == pos(), 0.5, old); }, kc(s, c)),
           kc);
  expect_parity(g, R"(param seq, slots
dim t = seq, c = 64, x = 16, y = 16, z = 16, s = slots
input f[t, c], u[t, c], h0[c], k[t, x], v[t, z], be[t], s0[x, z] : f32, kc[s, c] : bf16, pos : i32
h[t, c] = scan[t](sigmoid(f[t, c]), u[t, c], h0[c])
cum[t, c] = scan[t; sum, exclusive, reverse](f[t, c])
st[t, x, z] = matscan[t; x, y](select(x == y, 1, 0) - be[t] * k[t, x] * k[t, y], be[t] * k[t, x] * v[t, z], s0[x, z])
kc2[s, c] : bf16 = select(s == pos, 0.5, kc[s, c])
output h, cum, st, kc2 into kc
)");
}

TEST(Parity, MonoidsWhereSortedAndGrad) {
  Builder g;
  auto c = g.dim("c", 64), p = g.dim("p", 128), q = g.dim("q", 32);
  auto x = g.input("x", {c, p}), b = g.input("b", {c}), seg = g.input("seg", {p}, Format::i32);
  g.sorted(seg);
  const MonoidRef welford = g.monoid(
      {.name = "welford",
       .fields = {"n", "mean"},
       .identity = {0, 0},
       .arguments = {"x"},
       .lift =
           [](const States& s) {
             return Parts{1, s["x"]};
           },
       .combine =
           [](const States& l, const States& r) {
             return Parts{l["n"] + r["n"], l["mean"] + (r["mean"] - l["mean"]) *
                                                           select(0 < l["n"] + r["n"],
                                                                  r["n"] / (l["n"] + r["n"]), 0)};
           },
       .commutative = true});
  auto w = g.define({{"n", {c}}, {"mu", {c}}}, {g.fold(welford, {p}, same, x(c, p))});
  auto y = g.define({{"y", {c}}}, {g.fold(tang::sum, {p}, same, x(c, p))},
                    [&](const States& s) { return relu(s[0] + b(c)); });
  auto z = g.reduce("z", tang::sum, {q, c}, Over{p}.when(seg(p) == q), same, x(c, p));
  auto best = g.reduce("best", tang::argmax.field("value"), {c}, {p}, same, x(c, p));
  auto loss = g.reduce("loss", tang::sum, {}, {c}, product, y[0](c), w[1](c));
  g.grad({{loss}}, {{"db", b}});
  for (const TensorRef& t : {loss, z, best}) g.output(t);
  expect_parity(g, R"(dim c = 64, p = 128, q = 32
input x[c, p], b[c] : f32, seg[p] : i32
sorted seg
monoid welford(n, mean)
  identity (0, 0)
  lift(x) = (1, x)
  combine(a, b) = (a.n + b.n, a.mean + (b.mean - a.mean) * select(0 < a.n + b.n, b.n / (a.n + b.n), 0))
  commutative
(n[c], mu[c]) = welford[p](x[c, p])
y[c] = relu(s + b[c]) where s = sum[p](x[c, p])
z[q, c] = sum[p | seg[p] == q](x[c, p])
best[c] = argmax[p](x[c, p]).value
loss = sum[c](y[c] * mu[c])
grad loss -> db: b
output loss, z, best
)");
}

}  // namespace
}  // namespace tang
