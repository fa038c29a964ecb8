// Values at the edges: NaN in max and argmax (V06), constants to the bit (V07), overflow inside
// functions (V08), empty extents (V20), variance that cancels (V31), branches not taken (V35).
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

constexpr double inf = INFINITY;
const double nan = std::numeric_limits<double>::quiet_NaN();

// Cases §1.2: NaN wins; the index is that of the first NaN, or else the lowest among ties.
struct Extremes {
  double max = -inf, min = inf;
  int64_t argmax = -1, argmin = -1;
};

Extremes extremes(const std::vector<double>& row) {
  Extremes e;
  for (size_t k = 0; k < row.size(); ++k) {
    const auto at = static_cast<int64_t>(k);
    const auto take = [&](double& best, int64_t& index, bool better) {
      if (std::isnan(best) || (index >= 0 && !std::isnan(row[k]) && !better)) return;
      best = row[k];
      index = at;
    };
    take(e.max, e.argmax, row[k] > e.max);
    take(e.min, e.argmin, row[k] < e.min);
  }
  return e;
}

void expect_extremes(const std::vector<std::vector<double>>& rows) {
  std::vector<double> all, max, min, argmax, argmin;
  for (const auto& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    const Extremes e = extremes(row);
    max.push_back(e.max), min.push_back(e.min);
    argmax.push_back(static_cast<double>(e.argmax)),
        argmin.push_back(static_cast<double>(e.argmin));
  }
  SCOPED_TRACE(fmt::format("rows of {}", rows[0].size()));
  Case c(
      fmt::format("dim i = {}, j = {}\ninput x[i, j] : f32\n"
                  "a[i] = max[j](x[i, j])\nb[i] = min[j](x[i, j])\n"
                  "(av[i], ai[i]) = argmax[j](x[i, j])\n(bv[i], bi[i]) = argmin[j](x[i, j])\n"
                  "(u[i], w[i]) = (max[j](x[i, j]), sum[j](x[i, j] * 0))\n"
                  "n[i] = -max[j](-x[i, j])\n"
                  "output a, b, av, ai, bv, bi, u, n\n",
                  rows.size(), rows[0].size()));
  c.set("x", all);
  PlanOptions stored;
  stored.inline_contractions = false;
  c.plan("each definition stored", stored);
  const auto runs = c.run();
  for (const char* name : {"a", "av", "u"}) expect_values(runs, name, max, 0);
  for (const char* name : {"b", "bv", "n"}) expect_values(runs, name, min, 0);
  expect_values(runs, "ai", argmax, 0);
  expect_values(runs, "bi", argmin, 0);
}

TEST(V06, NaNWinsInMaxMinAndTheirIndices) {
  expect_extremes(
      {{nan, 6, 8}, {6, nan, 8}, {6, 8, nan}, {nan, nan, 1}, {8, 8, 6}, {-inf, -inf, -inf}});
  expect_extremes({{inf, nan}, {nan, inf}, {-inf, -inf}, {inf, inf}, {-inf, nan}, {0, -0.0}});
}

TEST(V06, NoPositionLengthOrScheduleMatters) {
  for (const size_t n : {1u, 3u, 5u, 8u, 16u, 17u, 33u, 64u, 100u}) {
    std::vector<std::vector<double>> rows;
    std::vector<double> plain(n);
    for (size_t k = 0; k < n; ++k)
      plain[k] = static_cast<double>((k * 7 + 3) % n) - static_cast<double>(n / 2);
    rows.push_back(plain);
    for (const size_t at : {size_t{0}, n / 3, n / 2, n - 1}) {
      rows.push_back(plain), rows.back()[at] = nan;
      rows.push_back(plain), rows.back()[at] = nan, rows.back()[n - 1] = nan;
      rows.push_back(plain), rows.back()[at] = inf, rows.back()[n - 1] = inf;
      rows.push_back(plain), rows.back()[at] = -inf, rows.back()[0] = -inf;
    }
    rows.emplace_back(n, -inf);
    rows.emplace_back(n, nan);
    expect_extremes(rows);
  }
}

TEST(V06, MaxAndMinOfTwoPropagateNaN) {
  Case c(
      "dim i = 5\ninput x[i], y[i] : f32\na[i] = max(x[i], y[i])\nb[i] = min(x[i], y[i])\n"
      "r[i] = relu(x[i])\noutput a, b, r\n");
  c.set("x", {nan, 1, nan, inf, -2}).set("y", {1, nan, nan, nan, 3});
  const auto runs = c.run();
  expect_values(runs, "a", {nan, nan, nan, nan, 3}, 0);
  expect_values(runs, "b", {nan, nan, nan, nan, -2}, 0);
  expect_agreement(runs, 0);
}

// Constants as they are written, and what they must be in a format.
struct Constant {
  const char* text;
  double value;
};

const Constant constants[] = {
    {"-inf", -inf},
    {"inf", inf},
    {"nan", nan},
    {"3.4028235e38", 3.4028235e38},
    {"1e-45", 1e-45},
    {"-0.0", -0.0},
    {"0.1", 0.1},
    {"16777217.0", 16777217},
    {"65504.0", 65504},
    {"6e-8", 6e-8},
    {"1.17549435e-38", 1.17549435e-38},
    {"0x1.8p-3", 0x1.8p-3},
    {"-3.4028235e38", -3.4028235e38},
    {"1e39", 1e39},
    {"1 / 0", inf},
    {"-1 / 0", -inf},
    {"0 / 0", nan},
    {"log(0)", -inf},
    {"inf - inf", nan},
    {"1e300 * 1e300", inf},
    {"exp(1000)", inf},
    {"0.1 + 0.2", 0.1 + 0.2},
};

// The bits of x in a format, all NaNs one.
std::vector<std::byte> bits(const Array& a) {
  return {a.data.data(), a.data.data() + a.data.size()};
}

TEST(V07, ConstantsKeepTheirBits) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::f64}) {
    std::string definitions = "dim i = 3\ninput x[i] : f32\n", outputs;
    for (size_t k = 0; k < std::size(constants); ++k) {
      definitions += fmt::format("c{}[i] : {} = {}\n", k, name(format), constants[k].text);
      outputs += fmt::format("{}c{}", k ? ", " : "", k);
    }
    const auto runs = Case(definitions + "output " + outputs + "\n").run();
    for (const Outcome& run : runs)
      for (size_t k = 0; k < std::size(constants); ++k) {
        if (run.stored.empty()) continue;
        const std::string c = fmt::format("c{}", k);
        Array want = *make_array(format, {3});
        for (int64_t e = 0; e < 3; ++e) want.set(e, constants[k].value);
        // Products and sums of constants may be folded in f32 or f64.
        if (std::strchr(constants[k].text, '+') && format == Format::f32) {
          EXPECT_NEAR(run.real(c), constants[k].value, 1e-7) << run.way;
        } else {
          EXPECT_EQ(bits(run.stored.at(c)), bits(want))
              << run.way << ": " << constants[k].text << " as " << name(format) << " is "
              << run.real(c);
        }
      }
  }
}

TEST(V07, NonFiniteConstantsStandWhereverConstantsStand) {
  Case c(
      "dim i = 3, j = 3\ninput x[i] : f32\n"
      "a[i] = select(x[i] < 0, -inf, nan)\n"
      "b[i] = x?[i - 1; -inf]\n"
      "d[i] = max(x[i], -inf) + min(x[i], inf)\n"
      "e = max[j | j < 0](x[j])\n"
      "f[i] = x[i] * inf\n"
      "g = sum[j](select(x[j] == inf, 1, 0))\n"
      "h[i] = select(x[i] != nan, 1, 0)\n"
      "monoid worst(m) identity inf combine(a, b) = min(a.m, b.m) commutative\n"
      "w = worst[j](x[j])\n"
      "output a, b, d, e, f, g, h, w\n");
  c.set("x", {-1, 2, inf});
  const auto runs = c.run();
  expect_values(runs, "a", {-inf, nan, nan}, 0);
  expect_values(runs, "b", {-inf, -1, 2}, 0);
  expect_values(runs, "d", {-2, 4, inf}, 0);
  expect_values(runs, "e", {-inf}, 0);
  expect_values(runs, "f", {-inf, inf, inf}, 0);
  expect_values(runs, "g", {1}, 0);
  expect_values(runs, "h", {1, 1, 1}, 0);
  expect_values(runs, "w", {-1}, 0);
}

const std::vector<double> arguments = {0.0, -0.0, 1e-4, -1e-4, 0.5, -0.5, 5,   -5,
                                       20,  -20,  45,   -45,   50,  -50,  88,  -88,
                                       89,  -89,  100,  -100,  1e4, -1e4, inf, -inf};

// The distance between neighbours of x in f32.
double ulp(double x) {
  const float f = std::abs(static_cast<float>(x));
  if (!std::isfinite(f)) return 0;
  return static_cast<double>(std::nextafter(f, INFINITY)) - static_cast<double>(f);
}

TEST(V08, FunctionsNeitherOverflowNorLoseTheirTails) {
  const std::vector<std::string> functions = {
      "tanh(x[i])",           "sigmoid(x[i])", "silu(x[i])", "gelu(x[i])", "softplus(x[i])",
      "30 * tanh(x[i] / 30)", "erf(x[i])",     "erfc(x[i])", "relu(x[i])"};
  for (const char* format : {"f32", "f16"}) {
    std::string text = fmt::format("dim i = {}\ninput x[i] : {}\n", arguments.size(), format),
                outputs;
    for (size_t k = 0; k < functions.size(); ++k) {
      text += fmt::format("y{}[i] = {}\n", k, functions[k]);
      outputs += fmt::format("{}y{}", k ? ", " : "", k);
    }
    Case c(text + "output " + outputs + "\n");
    c.set("x", arguments);
    const auto runs = c.run();
    for (const Outcome& run : runs)
      for (size_t k = 0; k < functions.size(); ++k)
        for (size_t e = 0; e < arguments.size(); ++e) {
          const std::string y = fmt::format("y{}", k);
          const double want = runs[0].real(y, static_cast<int64_t>(e));
          const double got = run.real(y, static_cast<int64_t>(e));
          const std::string what =
              fmt::format("{}: {} at {} ({}): got {:.9g}, want {:.9g}", run.way, functions[k],
                          arguments[e], format, got, want);
          // The oracle's own erf is right to an ulp of f64 at 1.
          const bool close = std::isnan(want) || std::isinf(want)
                                 ? (std::isnan(want) && std::isnan(got)) || got == want
                                 : std::abs(got - want) <= 4 * ulp(want) + 3e-16;
          EXPECT_TRUE(close) << what;
          EXPECT_TRUE(std::isfinite(got) || !std::isfinite(arguments[e])) << what;
        }
  }
}

TEST(V08, LogSumExpOfLargeScoresIsFinite) {
  const char* const forms[] = {
      "y[i] = logsumexp[j](x[i, j])\n",
      "y[i] = log(sum[j](exp(x[i, j] - max[j](x[i, j])))) + max[j](x[i, j])\n",
      "m[i] = max[j](x[i, j])\ny[i] = m[i] + log(sum[j](exp(x[i, j] - m[i])))\n",
  };
  std::vector<double> rows, want;
  for (const double x : arguments) {
    rows.insert(rows.end(), {x, x, 0});
    const double top = std::max(x, 0.0);
    want.push_back(x == inf ? inf : top + std::log(2 * std::exp(x - top) + std::exp(-top)));
  }
  for (const char* format : {"f32", "f16"})
    for (const char* form : forms) {
      SCOPED_TRACE(fmt::format("{} {}", format, form));
      Case c(fmt::format("dim i = {}, j = 3\ninput x[i, j] : {}\n{}output y\n", arguments.size(),
                         format, form));
      c.set("x", rows);
      for (const Outcome& run : c.run())
        for (size_t k = 0; k < want.size(); ++k) {
          const double got = run.real("y", static_cast<int64_t>(k));
          if (!std::isfinite(arguments[k])) continue;
          EXPECT_LE(std::abs(got - want[k]), 4 * ulp(want[k]) + (format[1] == '1' ? 0.01 : 1e-7))
              << run.way << " at " << arguments[k] << ": got " << got << ", want " << want[k];
        }
    }
}

TEST(V20, SumsOverNothingAndOverEmptyRows) {
  Case c(
      "dim a = 0, b = 128\ninput x[a, b] : f32\n"
      "s[b] = sum[a](x[a, b])\nr[a] = sum[b](x[a, b])\nt = sum[a, b](x[a, b])\n"
      "m[b] = max[a](x[a, b])\nn[b] = min[a](x[a, b])\np[b] = prod[a](x[a, b])\n"
      "i[b] = argmax[a](x[a, b])\nl[b] = logsumexp[a](x[a, b])\ne[b] = mean[a](x[a, b])\nv[b] = "
      "var[a](x[a, b])\n"
      "any1[b] = any[a](x[a, b] < 0)\nall1[b] = all[a](x[a, b] < 0)\n"
      "output s, r, t, m, n, p, i, l, e, v, any1, all1\n");
  const auto runs = c.run();
  const auto all = [](double x) { return std::vector<double>(128, x); };
  expect_values(runs, "s", all(0), 0);
  expect_values(runs, "r", {}, 0);
  expect_values(runs, "t", {0}, 0);
  expect_values(runs, "m", all(-inf), 0);
  expect_values(runs, "n", all(inf), 0);
  expect_values(runs, "p", all(1), 0);
  expect_values(runs, "i", all(-1), 0);
  expect_values(runs, "l", all(-inf), 0);
  expect_values(runs, "e", all(0), 0);
  expect_values(runs, "v", all(0), 0);
  expect_values(runs, "any1", all(0), 0);
  expect_values(runs, "all1", all(1), 0);
}

TEST(V20, ProductsCopiesAndConcatenationsOfNothing) {
  Case c(
      "param z\ndim i = 4, j = 5, k = z, p = z + 3, q = 2, r = 3\n"
      "input x[i, k], y[k, j], w[k], u[r], big[q, k, r] : f32\n"
      "xy[i, j] = sum[k](x[i, k] * y[k, j])\n"
      "copy[k] = w[k]\ndouble[k] = 2 * w[k]\n"
      "both[p] = select(p < z, w?[p], u?[p - z])\n"
      "mapped[q, k, r] = tanh(big[q, k, r])\n"
      "inner[q, r] = sum[k](big[q, k, r])\nouter[k] = sum[q, r](big[q, k, r])\n"
      "output xy, copy, double, both, mapped, inner, outer\n",
      {{"z", 0}});
  c.set("u", {1, 2, 3});
  const auto runs = c.run();
  expect_agreement(runs, 1e-6);
  expect_values(runs, "xy", std::vector<double>(20, 0), 0);
  expect_values(runs, "copy", {}, 0);
  expect_values(runs, "both", {1, 2, 3}, 0);
  expect_values(runs, "inner", std::vector<double>(6, 0), 0);
  EXPECT_EQ(runs[2].outputs.at("mapped").shape, (std::vector<int64_t>{2, 0, 3}));
}

TEST(V20, AttentionWithoutKeysOrQueriesOrChannels) {
  const char* const text =
      "param nq, nk, nd\ndim i = nq, j = nk, d = nd, e = 3\n"
      "input q[i, d], k[j, d], v[j, e] : f32\n"
      "s[i, j] = sum[d](q[i, d] * k[j, d])\n"
      "p[i, j] = exp(s[i, j] - max[j](s[i, j]))\n"
      "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n"
      "l[i] = logsumexp[j](s[i, j])\n"
      "output o, l\n";
  const auto no_keys = Case(text, {{"nq", 2}, {"nk", 0}, {"nd", 4}}).run();
  expect_values(no_keys, "o", std::vector<double>(6, 0), 0);
  expect_values(no_keys, "l", {-inf, -inf}, 0);
  const auto no_queries = Case(text, {{"nq", 0}, {"nk", 3}, {"nd", 4}}).run();
  expect_values(no_queries, "o", {}, 0);
  const auto no_channels = Case(text, {{"nq", 2}, {"nk", 3}, {"nd", 0}}).run();
  expect_agreement(no_channels, 1e-5);
  expect_values(no_channels, "l", {std::log(3), std::log(3)}, 1e-6);
  expect_agreement(Case(text, {{"nq", 0}, {"nk", 0}, {"nd", 0}}).run(), 0);
}

const char* const layernorms[] = {
    "y[i] = (x[i] - mean[j](x[j])) * rsqrt(var[j](x[j]) + 1e-5)\n",
    "mu = mean[j](x[j])\nv = mean[j]((x[j] - mu) * (x[j] - mu))\ny[i] = (x[i] - mu) * rsqrt(v + "
    "1e-5)\n",
    "mu = sum[j](x[j]) / 16\nv = sum[j](pow(x[j] - mu, 2)) / 16\ny[i] = (x[i] - mu) / sqrt(v + "
    "1e-5)\n",
    "y[i] = (x[i] - moments[j](x[j]).mean) * rsqrt(moments[j](x[j]).m2 / 16 + 1e-5)\n",
};

TEST(V31, VarianceDoesNotCancel) {
  for (const auto& [base, first, last] :
       {std::tuple{1000.0, -1.34151, 1.34424}, std::tuple{10000.0, -1.33133, 1.33133}}) {
    std::vector<double> x;
    for (int k = 0; k < 16; ++k) x.push_back(base + k * 1e-3);
    for (const char* form : layernorms) {
      SCOPED_TRACE(fmt::format("{} {}", base, form));
      Case c(std::string("dim i = 16, j = 16\ninput x[i] : f32\n") + form + "output y\n");
      c.set("x", x);
      const auto runs = c.run();
      // The inputs are f32 already, so the oracle has the numbers of the report to its digits.
      EXPECT_NEAR(runs[0].real("y", 0), first, 2e-5);
      EXPECT_NEAR(runs[0].real("y", 15), last, 2e-5);
      for (const Outcome& run : runs) {
        // The mean is right to a few spacings of f32, which moves every value alike; one pass in
        // sums of squares would give 0.01 for the spread of 2.7.
        const bool one_by_one = run.way.find("plain") != std::string::npos;
        const double spacing = base * 1.2e-7 / 5.6e-3;
        for (int64_t k = 0; k < 16; ++k)
          EXPECT_NEAR(run.real("y", k), runs[0].real("y", k), (one_by_one ? 4 : 1) * spacing)
              << run.way;
        EXPECT_NEAR(run.real("y", 15) - run.real("y", 0), last - first, 0.03 * (last - first))
            << run.way;
      }
    }
  }
}

TEST(V31, AnInfiniteInputSpoilsItsOwnRowAlone) {
  Case c(
      "dim t = 3, i = 4\ninput x[t, i] : f32\n"
      "y[t, i] = (x[t, i] - mean[i](x[t, i])) * rsqrt(var[i](x[t, i]) + 1e-5)\noutput y\n");
  c.set("x", {1, 2, 3, 4, 1, inf, 3, 4, 5, 6, 7, 9});
  const auto runs = c.run();
  for (const Outcome& run : runs) {
    for (int64_t k : {0, 1, 2, 3, 8, 9, 10, 11})
      EXPECT_TRUE(std::isfinite(run.real("y", k))) << run.way;
    EXPECT_TRUE(std::isnan(run.real("y", 5))) << run.way;
  }
}

TEST(V35, ABranchNotTakenLeavesNothingBehind) {
  Case c(
      "dim i = 6, j = 6\ninput x[i], z[i] : f32\n"
      "a[i] = select(x[i] <= 0, exp(x[i]), 1 + x[i])\n"
      "b[i] = select(0 < x[i], sqrt(x[i]), 0)\n"
      "c[i] = select(z[i] != 0, x[i] / z[i], 0)\n"
      "d = sum[j](select(z[j] != 0, x[j] / z[j], 0))\n"
      "e = sum[j | z[j] != 0](x[j] / z[j])\n"
      "f[i] = select(0 < x[i], log(x[i]), select(x[i] < 0, 0 / z[i], 7))\n"
      "g = max[j](select(0 < x[j], log(x[j]), -inf))\n"
      "h[i] = select(z[i] == 0, 0, pow(x[i], -1))\n"
      "k = sum[j | 0 < x[j]](sqrt(x[j])) + prod[j](select(0 < x[j], sqrt(x[j]), 1))\n"
      "output a, b, c, d, e, f, g, h, k\n");
  c.set("x", {100, 0, 4, -1, 1, 9}).set("z", {2, 0, 0, 1, 0, 3});
  const auto runs = c.run();
  expect_values(runs, "a", {101, 1, 5, std::exp(-1.0), 2, 10}, 1e-6);
  expect_values(runs, "b", {10, 0, 2, 0, 1, 3}, 1e-6);
  expect_values(runs, "c", {50, 0, 0, -1, 0, 3}, 1e-6);
  expect_values(runs, "d", {52}, 1e-6);
  expect_values(runs, "e", {52}, 1e-6);
  expect_values(runs, "f", {std::log(100.0), 7, std::log(4.0), 0, 0, std::log(9.0)}, 1e-6);
  expect_values(runs, "g", {std::log(100.0)}, 1e-6);
  expect_values(runs, "h", {0.01, 0, 0, -1, 0, 1.0 / 9}, 1e-6);
  expect_values(runs, "k", {16 + 60}, 1e-6);
}

TEST(V35, AMaskedTermMayHoldAnything) {
  Case c(
      "dim i = 2, j = 4\ninput x[j], w[i, j] : f32, keep[j] : bool\n"
      "a[i] = sum[j | keep[j]](w[i, j] * x[j])\n"
      "b[i] = sum[j](select(keep[j], w[i, j] * x[j], 0))\n"
      "c = max[j | keep[j]](x[j])\n"
      "p[j] = select(keep[j], x[j], -inf)\n"
      "y[i] = sum[j](exp(p[j] - max[j](p[j])) * w[i, j]) / sum[j](exp(p[j] - max[j](p[j])))\n"
      "output a, b, c, y\n");
  c.set("x", {1, nan, inf, 1}).set("keep", {1, 0, 0, 1}).set("w", {1, 2, 3, 4, 5, 6, 7, 8});
  const auto runs = c.run();
  expect_values(runs, "a", {5, 13}, 1e-6);
  expect_values(runs, "b", {5, 13}, 1e-6);
  expect_values(runs, "c", {1}, 1e-6);
  expect_values(runs, "y", {2.5, 6.5}, 1e-6);
}

}  // namespace
}  // namespace tang::cases
