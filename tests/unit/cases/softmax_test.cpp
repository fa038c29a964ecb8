// Softmax and attention: masked rows (V01), masked first tiles (V02), products that cancel (V04),
// grouped heads (V18), unequal head sizes (V19).
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

constexpr double inf = INFINITY;

struct Mask {
  const char* name;
  const char* score;   // of s0[i, j]
  const char* binder;  // after the index
};

// Every way to write a mask; each leaves nothing in row 2.
const Mask masks[] = {
    {"select", "select(keep[i, j], s0[i, j], -inf)", ""},
    {"select, arms swapped", "select(not keep[i, j], -inf, s0[i, j])", ""},
    {"additive", "s0[i, j] + add[i, j]", ""},
    {"additive, of coordinates", "s0[i, j] + select(i == 2, -inf, 0)", ""},
    {"binder, data", "s0[i, j]", " | keep[i, j]"},
    {"binder, affine", "s0[i, j]", " | j < i - 2 or i != 2"},
    {"binder, nothing left", "s0[i, j]", " | j < 1 - i and i < 3"},
    {"binder, length", "s0[i, j]", " | j < len[i]"},
    {"rows", "select(i == 2, -inf, s0[i, j])", ""},
    {"causal and padding", "select(j <= i and 3 <= j, s0[i, j], -inf)", ""},
    {"causal binder, padding select", "select(3 <= j, s0[i, j], -inf)", " | j <= i"},
    {"everything", "select(i < 0, s0[i, j], -inf)", ""},
};

const char* const forms[] = {
    // as a paper writes it
    "p[i, j] = exp(s[i, j] - max[j{0}](s[i, j]))\n"
    "o[i, e] = sum[j{0}](p[i, j] * v[j, e]) / sum[j{0}](p[i, j])\n",
    // normalised before the values
    "m[i] = max[j{0}](s[i, j])\n"
    "p[i, j] = exp(s[i, j] - m[i]) / sum[j{0}](exp(s[i, j] - m[i]))\n"
    "o[i, e] = sum[j{0}](p[i, j] * v[j, e])\n",
    // by the reciprocal, scale outside the maximum
    "m[i] = max[j{0}](s[i, j])\n"
    "p[i, j] = exp(0.5 * (s[i, j] - m[i]))\n"
    "l[i] = sum[j{0}](p[i, j])\n"
    "o[i, e] = sum[j{0}](p[i, j] * v[j, e]) * recip(l[i])\n",
};

std::string attention(const Mask& mask, const std::string& form, const std::string& format) {
  return fmt::format(
             "dim b = 1, h = 1, i = 4, j = 4, d = 8, e = 8\n"
             "input q[i, d], k[j, d], v[j, e], add[i, j] : {0}, keep[i, j] : bool, len[i] : i32\n"
             "s0[i, j] = sum[d](q[i, d] * k[j, d]) / sqrt(8)\n"
             "s[i, j] = {1}\n",
             format, mask.score) +
         fmt::format(fmt::runtime(form), mask.binder) +
         fmt::format(
             "lse[i] = logsumexp[j{0}](s[i, j])\n"
             "lse2[i] = log(sum[j{0}](exp(s[i, j] - max[j{0}](s[i, j])))) + max[j{0}](s[i, j])\n"
             "output o, lse, lse2\n",
             mask.binder);
}

Case masked(const std::string& text) {
  std::vector<double> keep(16, 1), add(16, 0);
  keep[1] = keep[13] = 0;
  for (size_t j = 8; j < 12; ++j) keep[j] = 0, add[j] = -inf;
  Case c(text);
  c.set("keep", keep).set("add", add).set("len", {4, 3, 0, 1});
  return c;
}

void expect_masked_row(const std::vector<Outcome>& runs) {
  expect_agreement(runs, 1e-4);
  for (const Outcome& run : runs) {
    for (int64_t e = 16; e < 24; ++e) EXPECT_EQ(run.real("o", e), 0) << run.way;
    EXPECT_EQ(run.real("lse", 2), -inf) << run.way;
    EXPECT_EQ(run.real("lse2", 2), -inf) << run.way;
    for (double x : run.reals("o")) EXPECT_TRUE(std::isfinite(x)) << run.way;
  }
}

TEST(V01, AFullyMaskedRowIsZeroAndItsLogSumExpMinusInfinity) {
  for (const char* form : forms) {
    std::vector<Case> cases;
    for (const char* format : {"f32", "bf16"})
      for (const Mask& mask : masks) cases.push_back(masked(attention(mask, form, format)));
    const auto all = Case::run_all(cases);
    for (size_t k = 0; k < all.size(); ++k) {
      SCOPED_TRACE(fmt::format("{} {}\n{}", masks[k % std::size(masks)].name,
                               k < std::size(masks) ? "f32" : "bf16", form));
      expect_masked_row(all[k]);
    }
  }
}

TEST(V01, ARowOfTheBatchedShapeWithTheMaskOfTheReport) {
  std::vector<double> keep(16, 1);
  for (size_t j = 8; j < 12; ++j) keep[j] = 0;
  Case c(
      "dim b = 1, h = 1, i = 4, j = 4, d = 8, e = 8\n"
      "input q[b, h, i, d], k[b, h, j, d], v[b, h, j, e] : f32, keep[i, j] : bool\n"
      "fn softmax[x](t) = exp(t - max[x](t)) / sum[x](exp(t - max[x](t)))\n"
      "s[b, h, i, j] = select(keep[i, j], sum[d](q[b, h, i, d] * k[b, h, j, d]) / sqrt(8), -inf)\n"
      "p[b, h, i, j] = softmax[j](s[b, h, i, j])\n"
      "o[b, h, i, e] = sum[j](p[b, h, i, j] * v[b, h, j, e])\n"
      "output o, p\n");
  c.set("keep", keep);
  const auto runs = c.run();
  expect_agreement(runs, 1e-4);
  for (const Outcome& run : runs) {
    for (int64_t e = 16; e < 24; ++e) EXPECT_EQ(run.real("o", e), 0) << run.way;
    for (int64_t j = 8; j < 12; ++j) EXPECT_EQ(run.real("p", j), 0) << run.way;
  }
}

// A window behind the query: the first keys of late rows are all masked.
const char* const windowed[] = {
    "s[i, j] = select(i - 9 <= j and j <= i, s0[i, j], -inf)\n"
    "p[i, j] = exp(s[i, j] - max[j](s[i, j]))\n"
    "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n",
    "p[i, j] = exp(s0[i, j] - max[j | i - 9 <= j and j <= i](s0[i, j]))\n"
    "o[i, e] = sum[j | i - 9 <= j and j <= i](p[i, j] * v[j, e]) / sum[j | i - 9 <= j and j <= "
    "i](p[i, j])\n",
    "s[i, j] = s0[i, j] + select(i - 9 <= j and j <= i, 0, -inf)\n"
    "p[i, j] = exp(s[i, j] - max[j](s[i, j]))\n"
    "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n",
};

TEST(V02, AMaskedFirstTileIsNoNaNUnderAnySchedule) {
  for (const char* form : windowed) {
    SCOPED_TRACE(form);
    Case c(std::string("dim i = 33, j = 33, d = 64, e = 64\n"
                       "input q[i, d], k[j, d], v[j, e] : f32\n"
                       "s0[i, j] = sum[d](q[i, d] * k[j, d]) / sqrt(64)\n") +
           form + "output o\n");
    for (int64_t step : {2, 4, 8}) {
      KernelPins pins{.kernel = "o"};
      pins.blocks = {{"j", step}};
      PlanOptions o;
      o.pins.kernels = {pins};
      c.plan(fmt::format("blocks of {} keys", step), o);
    }
    expect_agreement(c.run(), 1e-4);
  }
}

// The key axis in tiles, each with its own running maximum, merged as the tiles of a kernel are.
TEST(V02, EverySplitOfTheKeyAxisEqualsTheWhole) {
  std::vector<double> whole;
  for (const int tiles : {1, 2, 5}) {
    const int width = (33 + tiles - 1) / tiles;
    SCOPED_TRACE(fmt::format("{} tiles of {}", tiles, width));
    const std::string key = fmt::format("{}*t + u", width);
    const std::string keep = fmt::format("| {0} < 33 and i - 9 <= {0} and {0} <= i", key);
    Case c(
        fmt::format("dim i = 33, t = {0}, u = {1}, d = 64, e = 64, j = 33\n"
                    "input q[i, d], k[j, d], v[j, e] : f32\n"
                    "s[i, t, u] = sum[d](q[i, d] * k?[{2}, d; 0]) / sqrt(64)\n"
                    "(m[i, t], l[i, t], a[i, t, e]) = online[u {3}](s[i, t, u], v?[{2}, e; 0])\n"
                    "top[i] = max[t](m[i, t])\n"
                    "f[i, t] = select(m[i, t] == -inf, 0, exp(m[i, t] - top[i]))\n"
                    "o[i, e] = sum[t](f[i, t] * a[i, t, e]) / sum[t](f[i, t] * l[i, t])\n"
                    "output o\n",
                    tiles, width, key, keep));
    const auto runs = c.run();
    expect_agreement(runs, 1e-4);
    if (whole.empty()) whole = runs.front().reals("o");
    expect_values(runs, "o", whole, 1e-4);
  }
}

const std::vector<std::string> contracting = {"-std=gnu11", "-O3", "-march=native"};

// The largest product is rounded once: what exp sees is the maximum itself, so equal values share.
TEST(V04, EqualLargeScoresShareEvenly) {
  const char* const programs[] = {
      // one definition, two definitions, scale after the maximum, a shift, a division
      "y[i] = exp(x[i] * 0.1 - max[j](x[j] * 0.1)) / sum[j](exp(x[j] * 0.1 - max[i](x[i] * "
      "0.1)))\n",
      "s[i] = x[i] * 0.1\np[i] = exp(s[i] - max[j](s[j]))\ny[i] = p[i] / sum[j](p[j])\n",
      "p[i] = exp(0.1 * (x[i] - max[j](x[j])))\ny[i] = p[i] / sum[j](p[j])\n",
      "s[i] = x[i] * 0.1 + 1\np[i] = exp(s[i] - max[j](s[j]))\ny[i] = p[i] / sum[j](p[j])\n",
      "s[i] = x[i] * c - 3 * c\np[i] = exp(s[i] - max[j](s[j]))\ny[i] = p[i] / sum[j](p[j])\n",
      "s[i] = x[i] / 10\np[i] = exp(s[i] - max[j](s[j]))\ny[i] = p[i] * recip(sum[j](p[j]))\n",
  };
  for (const char* program : programs)
    for (const double value : {118587908096.0, -118587908096.0, 3.0000001e7, 1.2345678e-3}) {
      SCOPED_TRACE(fmt::format("{}{}", program, value));
      for (const bool contract : {false, true}) {
        Case c(std::string("dim i = 4, j = 4\ninput x[i], c : f32\n") + program + "output y\n");
        c.set("x", std::vector<double>(4, value)).set("c", {0.1});
        if (contract) c.flags(contracting);
        expect_values(c.run(), "y", {0.25, 0.25, 0.25, 0.25}, 1e-6);
      }
    }
}

// The same in attention: equal scores from a contraction, scaled, against the values' mean.
TEST(V04, EqualLargeScoresAverageTheValues) {
  for (const bool contract : {false, true}) {
    Case c(
        "dim i = 2, j = 4, d = 3, e = 2\n"
        "input q[i, d], k[j, d], v[j, e] : f32\n"
        "s[i, j] = sum[d](q[i, d] * k[j, d]) * 0.1\n"
        "p[i, j] = exp(s[i, j] - max[j](s[i, j]))\n"
        "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n"
        "output o\n");
    c.set("q", std::vector<double>(6, 344366.0)).set("k", std::vector<double>(12, 344367.0));
    c.set("v", {1, 10, 2, 20, 3, 30, 4, 40});
    if (contract) c.flags(contracting);
    expect_values(c.run(), "o", {2.5, 25, 2.5, 25}, 1e-6);
  }
}

TEST(V18, AnyNumberOfQueryHeadsShareAKeyHead) {
  for (const auto& [kv, g, d] :
       {std::tuple{3, 3, 64}, std::tuple{4, 7, 128}, std::tuple{1, 5, 8}}) {
    SCOPED_TRACE(fmt::format("{}/{} heads, d {}", kv * g, kv, d));
    expect_agreement(
        Case(fmt::format("dim kv = {}, g = {}, i = 5, j = 5, d = {}, e = {}\n"
                         "input q[kv, g, i, d], k[kv, j, d], v[kv, j, e] : f32\n"
                         "s[kv, g, i, j] = sum[d](q[kv, g, i, d] * k[kv, j, d]) / sqrt({})\n"
                         "p[kv, g, i, j] = exp(s[kv, g, i, j] - max[j | j <= i](s[kv, g, i, j]))\n"
                         "o[kv, g, i, e] = sum[j | j <= i](p[kv, g, i, j] * v[kv, j, e])\n"
                         "  / sum[j | j <= i](p[kv, g, i, j])\n"
                         "output o\n",
                         kv, g, d, d, d))
            .run(),
        1e-4);
  }
}

// The head of a query by a table, not a dim: the same numbers.
TEST(V18, HeadsThroughATableEqualHeadsAsDims) {
  const char* const by_table =
      "dim h = 9, kv = 3, i = 5, j = 5, d = 64, e = 64\n"
      "input q[h, i, d], k[kv, j, d], v[kv, j, e] : f32\n"
      "of[h] = div(h, 3)\n"
      "s[h, i, j] = sum[d](q[h, i, d] * k[of[h], j, d]) / sqrt(64)\n"
      "p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))\n"
      "o[h, i, e] = sum[j](p[h, i, j] * v[of[h], j, e]) / sum[j](p[h, i, j])\n"
      "output o\n";
  const char* const by_dims =
      "dim kv = 3, g = 3, i = 5, j = 5, d = 64, e = 64\n"
      "input q[kv, g, i, d], k[kv, j, d], v[kv, j, e] : f32\n"
      "s[kv, g, i, j] = sum[d](q[kv, g, i, d] * k[kv, j, d]) / sqrt(64)\n"
      "p[kv, g, i, j] = exp(s[kv, g, i, j] - max[j](s[kv, g, i, j]))\n"
      "o[kv, g, i, e] = sum[j](p[kv, g, i, j] * v[kv, j, e]) / sum[j](p[kv, g, i, j])\n"
      "output o\n";
  const auto table = Case(by_table).run(), dims = Case(by_dims).run();
  expect_agreement(table, 1e-4);
  expect_values(table, "o", dims.front().reals("o"), 1e-4);
}

TEST(V19, HeadSizesOfScoresAndValuesDiffer) {
  for (const auto& [d, e] :
       {std::pair{128, 512}, std::pair{192, 128}, std::pair{1, 3}, std::pair{7, 1}}) {
    SCOPED_TRACE(fmt::format("d {}, e {}", d, e));
    expect_agreement(
        Case(fmt::format("dim h = 2, i = 9, j = 11, d = {}, e = {}\n"
                         "input q[h, i, d], k[h, j, d], v[h, j, e] : f32\n"
                         "s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) / sqrt({})\n"
                         "p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))\n"
                         "o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])\n"
                         "output o\n",
                         d, e, d))
            .run(),
        1e-4);
  }
}

}  // namespace
}  // namespace tang::cases
