// Cases of data that is elsewhere: segments, pages, index tensors, sizes bound late.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

// Sums over sorted segments are the dense scatter (law 20): gaps, repeats, nothing at all.
TEST(Segments, AreTheDenseScatter) {
  const std::vector<std::vector<double>> keys = {
      {}, {3}, {0, 0, 0, 1, 4, 4, 5}, {-2, -2, 0, 2, 7, 9}, {5, 5, 5, 5, 5, 5, 5, 5, 5}};
  for (const auto& seg : keys) {
    Case c(
        fmt::format("dim n = {}, g = 6, c = 3\ninput x[n, c] : f32, seg[n] : i32\nsorted seg\n"
                    "y[g, c] = sum[n | seg[n] == g](x[n, c])\n"
                    "k[g] = sum[n | seg[n] == g](1)\n"
                    "l[g] = max[n | seg[n] < g](x[n, 0])\noutput y, k, l\n",
                    seg.size()));
    std::vector<double> x, y(18, 0), count(6, 0), lower(6, -inf);
    for (size_t e = 0; e < 3 * seg.size(); ++e) x.push_back(static_cast<double>(e % 7) - 3);
    for (size_t n = 0; n < seg.size(); ++n)
      for (int g = 0; g < 6; ++g) {
        if (seg[n] < g)
          lower[static_cast<size_t>(g)] = std::max(lower[static_cast<size_t>(g)], x[3 * n]);
        if (seg[n] != g) continue;
        count[static_cast<size_t>(g)] += 1;
        for (size_t k = 0; k < 3; ++k) y[3 * static_cast<size_t>(g) + k] += x[3 * n + k];
      }
    c.set("x", x).set("seg", seg);
    const auto runs = c.run();
    expect_values(runs, "y", y, 1e-6);
    expect_values(runs, "k", count, 0);
    expect_values(runs, "l", lower, 0);
  }
}

// V27: experts that no token chose, and no tokens at all.
TEST(V27, ExpertsWithoutTokens) {
  for (const std::vector<int>& tokens :
       {std::vector<int>{0, 3, 0, 0, 7, 0, 1, 0}, std::vector<int>(8, 0)}) {
    std::vector<double> expert, x;
    for (size_t e = 0; e < tokens.size(); ++e)
      expert.insert(expert.end(), static_cast<size_t>(tokens[e]), static_cast<double>(e));
    Case c(
        fmt::format("dim n = {}, x = 8, c = 4, f = 3\n"
                    "input h[n, c], w[x, f, c] : f32, expert[n] : i32\nsorted expert\n"
                    "y[n, f] = sum[c](h[n, c] * w[expert[n], f, c])\n"
                    "load[x] = sum[n | expert[n] == x](1)\n"
                    "mean[x, f] = mean[n | expert[n] == x](y[n, f])\noutput y, load, mean\n",
                    expert.size()));
    c.set("expert", expert);
    const auto runs = c.run();
    expect_agreement(runs, 1e-5);
    expect_values(runs, "load", std::vector<double>(tokens.begin(), tokens.end()), 0);
    for (const Outcome& run : runs)
      for (size_t e = 0; e < 8; ++e)
        if (tokens[e] == 0) EXPECT_EQ(run.real("mean", static_cast<int64_t>(3 * e)), 0) << run.way;
  }
}

// V03: what unused slots of a paged cache hold never reaches the output.
TEST(V03, UnusedSlotsOfACacheMayHoldAnything) {
  const std::string text =
      "dim b = 1, n = 3, pages = 5, t = 16, h = 2, d = 8, e = 8\n"
      "input q[b, h, d], kc[pages, t, h, d], vc[pages, t, h, e] : f32, page[b, n], len[b] : i32\n"
      "s[b, h, n, t] = sum[d](q[b, h, d] * kc?[page[b, n], t, h, d]) / sqrt(8)\n"
      "m[b, h] = max[n, t | 16*n + t < len[b]](s[b, h, n, t])\n"
      "w[b, h, n, t] = exp(s[b, h, n, t] - m[b, h])\n"
      "o[b, h, e] = sum[n, t | 16*n + t < len[b]](w[b, h, n, t] * vc?[page[b, n], t, h, e])\n"
      "  / sum[n, t | 16*n + t < len[b]](w[b, h, n, t])\noutput o\n";
  std::vector<double> want;
  for (const double poison : {0.0, nan_value, inf})
    for (const bool keys : {true, false}) {
      Case c(text);
      const std::vector<int> pages = {4, 0, 2};
      std::vector<double> k(5 * 16 * 16, keys ? poison : 0.25), v(5 * 16 * 16, poison);
      for (int key = 0; key < 33; ++key)
        for (int x = 0; x < 16; ++x) {
          const auto at =
              static_cast<size_t>((pages[static_cast<size_t>(key / 16)] * 16 + key % 16) * 16 + x);
          k[at] = std::sin(key * 16 + x);
          v[at] = std::cos(key + 3 * x);
        }
      c.set("kc", k).set("vc", v).set("page", {4, 0, 2}).set("len", {33});
      const auto runs = c.run();
      if (want.empty()) want = runs[0].reals("o");
      expect_values(runs, "o", want, 1e-5);
    }
}

// V17 (forward): a relative bias and a causal mask at lengths that fit no tile.
TEST(V17, BiasAndMaskAtAnyLength) {
  for (const char* format : {"f32", "bf16"}) {
    std::vector<Case> cases;
    for (int seq : {1, 2, 127, 129, 1025})
      cases.emplace_back(fmt::format(
          "dim i = {0}, j = {0}, d = 64, e = 64\ninput q[i, d], k[j, d], v[j, e] : {1}\n"
          "s[i, j] = sum[d](q[i, d] * k[j, d]) / 8 + (i - j) * 0.01\n"
          "p[i, j] = select(j <= i, s[i, j], -inf)\nw[i, j] = exp(p[i, j] - max[j](p[i, j]))\n"
          "o[i, e] = sum[j](w[i, j] * v[j, e]) / sum[j](w[i, j])\noutput o\n",
          seq, format));
    for (const auto& runs : Case::run_all(cases)) {
      expect_agreement(runs, 1e-4);
      for (double x : runs[0].reals("o")) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

// V34: floor division and its remainder, through index tensors.
TEST(V34, ShiftsThroughIndexTensors) {
  Case c(
      "dim i = 16, j = 8\ninput x[j] : f32\n"
      "r[i] = mod(i - 3, 8)\nf[i] = div(i - 5, 4)\ny[i] = x[r[i]]\nz[i] = x?[f[i] + 2; -1]\n"
      "output r, f, y, z\n");
  std::vector<double> x, r, f, y, z;
  for (int j = 0; j < 8; ++j) x.push_back(10 + j);
  for (int i = 0; i < 16; ++i) {
    r.push_back(((i - 3) % 8 + 8) % 8);
    f.push_back(std::floor((i - 5) / 4.0));
    y.push_back(10 + r.back());
    z.push_back(f.back() + 2 < 0 ? -1 : 12 + f.back());
  }
  c.set("x", x);
  const auto runs = c.run();
  expect_values(runs, "r", r, 0);
  expect_values(runs, "f", f, 0);
  expect_values(runs, "y", y, 0);
  expect_values(runs, "z", z, 0);
}

// V33: widths that are no multiple of a vector, a tile or a number of threads: an element each, and
// folds and scans of rows.
TEST(V33, ElementsAndRowsOfAnyWidth) {
  std::vector<Case> cases;
  for (int n : {1, 3, 24, 48, 96, 192, 229, 257})
    cases.emplace_back(
        fmt::format("dim i = 5, j = {}\ninput x[i, j], y[j] : f32\n"
                    "z[i, j] = x[i, j] * y[j] + exp(x[i, j])\ns[i] = sum[j](x[i, j] * y[j])\n"
                    "m[i] = max[j](x[i, j])\na[i] = argmin[j](x[i, j])\nc[j] = sum[i](x[i, j])\n"
                    "e[i] = mean[j](x[i, j])\nv[i, j] = (x[i, j] - e[i]) / sqrt(mean[j](x[i, j] * "
                    "x[i, j]) + 1)\n"
                    "p[i, j] = scan[j; sum](x[i, j])\noutput z, s, m, a, c, v, p\n",
                    n));
  for (const auto& runs : Case::run_all(cases)) expect_agreement(runs, 1e-5);
}

// V33: products whose sizes fit no tile, in narrow formats; small integers, so sums are exact.
TEST(V33, ProductsOfAnySize) {
  struct Sizes3 {
    int m, n, k;
    const char* format;
  };
  for (const auto& [m, n, k, format] :
       {Sizes3{1152, 997, 576, "f16"}, Sizes3{61, 419, 384, "bf16"}}) {
    Case c(
        fmt::format("dim i = {}, j = {}, k = {}\ninput a[i, k], b[k, j] : {}\n"
                    "y[i, j] = sum[k](a[i, k] * b[k, j])\noutput y\n",
                    m, n, k, format));
    std::vector<double> a, b;
    for (int e = 0; e < m * k; ++e) a.push_back(e * 7 % 11 - 5);
    for (int e = 0; e < k * n; ++e) b.push_back(e * 5 % 13 - 6);
    std::vector<double> want(static_cast<size_t>(m) * static_cast<size_t>(n), 0);
    for (size_t i = 0; i < static_cast<size_t>(m); ++i)
      for (size_t l = 0; l < static_cast<size_t>(k); ++l)
        for (size_t j = 0; j < static_cast<size_t>(n); ++j)
          want[i * static_cast<size_t>(n) + j] +=
              a[i * static_cast<size_t>(k) + l] * b[l * static_cast<size_t>(n) + j];
    c.set("a", a).set("b", b).without_oracle();
    expect_values(c.run(), "y", want, 1e-3);
  }
}

}  // namespace
}  // namespace tang::cases
