// Scans against the guarded reductions that they equal (law 13), recurrences, and top-k.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

struct Pair {
  const char* monoid;
  const char* args;    // of the scan, at t
  const char* reduce;  // the reduction's operation and arguments, at u
};

const Pair pairs[] = {
    {"sum", "x[b, t]", "sum[u | {}](x[b, u])"},
    {"prod", "x[b, t]", "prod[u | {}](x[b, u])"},
    {"max", "x[b, t]", "max[u | {}](x[b, u])"},
    {"min", "x[b, t]", "min[u | {}](x[b, u])"},
    {"sum", "n[b, t]", "sum[u | {}](n[b, u])"},
    {"any", "x[b, t] > 1", "any[u | {}](x[b, u] > 1)"},
    {"logsumexp", "x[b, t]", "logsumexp[u | {}](x[b, u])"},
    {"moments", "x[b, t]", "moments[u | {}](x[b, u])"},
    {"online", "x[b, t], n[b, t]", "online[u | {}](x[b, u], n[b, u])"},
};

// Inclusive, exclusive and reverse scans are reductions over the terms before (or after).
TEST(Scan, IsTheGuardedReduction) {
  std::vector<Case> cases;
  for (const Pair& p : pairs)
    for (int steps : {0, 9}) {
      const std::string head =
          fmt::format("dim b = 2, t = {0}, u = {0}\ninput x[b, t] : f32, n[b, t] : i32\n", steps);
      std::string text = head;
      std::string outputs;
      int k = 0;
      for (const auto& [modifiers, condition] : {std::pair{"", "u <= t"},
                                                 {", exclusive", "u < t"},
                                                 {", reverse", "t <= u"},
                                                 {", exclusive, reverse", "t < u"}}) {
        text += fmt::format("s{}[b, t] = scan[t; {}{}]({})\n", k, p.monoid, modifiers, p.args);
        text += fmt::format("r{}[b, t] = {}\n", k, fmt::format(fmt::runtime(p.reduce), condition));
        outputs += fmt::format("{}s{}, r{}", k ? ", " : "", k, k);
        ++k;
      }
      cases.emplace_back(text + "output " + outputs + "\n");
    }
  for (const auto& runs : Case::run_all(cases)) {
    expect_agreement(runs, 1e-5);
    for (int s = 0; s < 4; ++s) {
      const auto scanned = runs[0].reals(fmt::format("s{}", s));
      const auto reduced = runs[0].reals(fmt::format("r{}", s));
      for (size_t e = 0; e < scanned.size(); ++e)
        EXPECT_TRUE(scanned[e] == reduced[e] ||
                    std::abs(scanned[e] - reduced[e]) <= 1e-12 * (1 + std::abs(reduced[e])))
            << s << " " << e;
    }
  }
}

TEST(Scan, AffineIsTheRecurrenceOfTheVector) {
  const std::string head = "dim t = 4\ninput a[t], b[t], h0 : f32\n";
  Case c(head +
         "h[t] = scan[t](a[t], b[t], h0)\nz[t] = scan[t](a[t], b[t])\n"
         "e[t] = scan[t; affine, exclusive](a[t], b[t], h0)\n"
         "r[t] = scan[t; affine, reverse](a[t], b[t], h0)\n"
         "p[t] = scan[t; affine](a[t], b[t]).a\noutput h, z, e, r, p\n");
  c.set("a", {0.5, 2, -1, 0.25}).set("b", {1, -1, 3, 0.5}).set("h0", {4});
  const auto runs = c.run();
  expect_values(runs, "h", {3, 5, -2, 0}, 1e-7);
  expect_values(runs, "z", {1, 1, 2, 1}, 1e-7);
  expect_values(runs, "e", {4, 3, 5, -2}, 1e-7);
  expect_values(runs, "r", {2, 2, 1.5, 1.5}, 1e-7);
  expect_values(runs, "p", {0.5, 1, -1, -0.25}, 1e-7);
}

// Arguments that do not mention the step, or the points that only the initial state mentions.
TEST(Scan, OfWhatStaysTheSameFromStepToStep) {
  Case c(
      "dim q = 2, t = 3\ninput x[q], w, h0[q] : f32, n[q] : i32\n"
      "s[q, t] = scan[t; sum](x[q])\nr[q, t] = scan[t; sum, exclusive, reverse](x[q])\n"
      "k[q, t] = scan[t; max, exclusive](n[q] + 0.0)\nh[t, q] = scan[t](w, 1 - w, h0[q])\n"
      "o[q, t] = scan[t; online](w, x[q]).o\noutput s, r, k, h, o\n");
  c.set("x", {1, 10}).set("w", {0.5}).set("h0", {3, 5}).set("n", {4, 7});
  const auto runs = c.run();
  expect_values(runs, "s", {1, 2, 3, 10, 20, 30}, 1e-7);
  expect_values(runs, "r", {2, 1, 0, 20, 10, 0}, 1e-7);
  expect_values(runs, "k", {-inf, 4, 4, -inf, 7, 7}, 1e-7);
  expect_values(runs, "h", {2, 3, 1.5, 2, 1.25, 1.5}, 1e-7);
  expect_values(runs, "o", {1, 2, 3, 10, 20, 30}, 1e-7);
}

TEST(Scan, RoundsWhatIsStoredAndNotTheState) {
  Case c("dim t = 40\ninput x[t] : f32\nh[t] : f16 = cumsum[t](x[t])\noutput h\n");
  c.set("x", std::vector<double>(40, 1 + 1.0 / 4096));
  for (const Outcome& run : c.run()) EXPECT_NEAR(run.real("h", 39), 40 * (1 + 1.0 / 4096), 0.02);
}

// V36: decays of 1e-12, 0 and 1 neither overflow nor lose the state.
TEST(V36, TheGatedDeltaRuleIsItsRecurrence) {
  const std::string text =
      "dim t = 64, x = 8, y = 8, z = 5\n"
      "input k[t, x], q[t, x], v[t, z], al[t], be[t], s0[x, z] : f32\n"
      "st[t, x, z] = matscan[t; x, y](al[t] * (select(x == y, 1, 0) - be[t] * k[t, x] * k[t, y]),\n"
      "  be[t] * k[t, x] * v[t, z], s0[x, z])\n"
      "o[t, z] = sum[x](st[t, x, z] * q[t, x])\n"
      "last[x, z] = st[63, x, z]\noutput o, last\n";
  for (double decay : {1e-12, 0.0, 1.0, 0.9}) {
    SCOPED_TRACE(decay);
    Case c(text);
    c.set("al", std::vector<double>(64, decay)).set("be", std::vector<double>(64, 0.5));
    const auto runs = c.run();
    expect_agreement(runs, 1e-5);
    for (double v : runs[0].reals("last")) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST(Scan, MatrixScanOfARotation) {
  // H(t) = A H(t-1) + b with A a rotation by a quarter turn.
  Case c(
      "dim t = 3, x = 2, y = 2\ninput b[t, x], h0[x] : f32\n"
      "h[t, x] = matscan[t; x, y](select(x == 0 and y == 1, -1, select(x == 1 and y == 0, 1, 0)),\n"
      "  b[t, x], h0[x])\noutput h\n");
  c.set("b", {1, 0, 0, 1, 1, 1}).set("h0", {1, 2});
  expect_values(c.run(), "h", {-1, 1, -1, 0, 1, 0}, 1e-7);
}

// ---- top-k ------------------------------------------------------------------------------------

struct Entry {
  double value;
  int64_t index;
};

std::vector<Entry> sorted_entries(std::vector<double> row) {
  for (double& v : row)
    if (std::isnan(v)) v = -inf;
  std::vector<int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  std::vector<Entry> result;
  for (int64_t k : order) result.push_back({row[static_cast<size_t>(k)], k});
  return result;
}

void expect_topk(const std::vector<std::vector<double>>& rows, int k) {
  const auto width = rows[0].size();
  SCOPED_TRACE(fmt::format("k {} of {}", k, width));
  Case c(
      fmt::format("dim t = {}, x = {}, n = {}\ninput s[t, x] : f32\n"
                  "(v[t, n], e[t, n]) = topk[x; n](s[t, x])\noutput v, e\n",
                  rows.size(), width, k));
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  c.set("s", all);
  for (const Outcome& run : c.run())
    for (size_t t = 0; t < rows.size(); ++t) {
      const auto want = sorted_entries(rows[t]);
      for (int n = 0; n < k; ++n) {
        const auto at = static_cast<int64_t>(t) * k + n;
        EXPECT_EQ(run.real("v", at), want[static_cast<size_t>(n)].value) << run.way << " " << at;
        EXPECT_EQ(run.integer("e", at), want[static_cast<size_t>(n)].index) << run.way << " " << at;
      }
    }
}

// V26: ties go to the lowest index, NaN ranks last, indices are distinct and in range.
TEST(V26, ExpertsAreDistinctAndInRange) {
  std::vector<std::vector<double>> rows(4, std::vector<double>(128, 0));
  rows[1].assign(128, nan_value);
  rows[2][77] = inf;
  for (size_t j = 0; j < 128; ++j)
    rows[3][j] = static_cast<float>(std::sin(static_cast<double>(j * j)));
  rows[3][5] = nan_value;
  for (int k : {1, 3, 8}) expect_topk(rows, k);
}

TEST(V26, AllOfARowSorted) {
  std::vector<double> row;
  for (int j = 0; j < 23; ++j) row.push_back(j * 7 % 5);
  row[4] = nan_value;
  row[9] = -inf;
  expect_topk({row, std::vector<double>(23, -inf)}, 23);
}

TEST(Topk, OverNothingAndUnderConditions) {
  Case c(
      "dim t = 4, x = 5, n = 2\ninput s[t, x] : f32\n"
      "(v[t, n], e[t, n]) = topk[x; n | x < t](s[t, x])\noutput v, e\n");
  c.set("s", {1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 3, 4, 1, 1, 1, 5, 6, 7, 1, 1});
  const auto runs = c.run();
  expect_values(runs, "v", {-inf, -inf, 3, -inf, 4, 3, 7, 6}, 0);
  expect_values(runs, "e", {-1, -1, 0, -1, 1, 0, 2, 1}, 0);
}

// NaN last, distinct places in a row of -inf, and (-inf, -1) past the end: top-k's rule.
TEST(Topk, AChainOfArgMaximaReadsAsOne) {
  Case c(
      "dim t = 4, x = 3\ninput s[t, x] : f32\n"
      "(v1[t], a1[t]) = argmax[x](s[t, x])\n"
      "(v2[t], a2[t]) = argmax[x](select(x == a1[t], -inf, s[t, x]))\n"
      "(v3[t], a3[t]) = argmax[x | x != a1[t] and x != a2[t]](s[t, x])\n"
      "left[t, x] = select(x == a1[t] or x == a2[t] or x == a3[t], -inf, s[t, x])\n"
      "(v4[t], a4[t]) = argmax[x](left[t, x])\n"
      "output v1, a1, v2, a2, v3, a3, v4, a4\n");
  c.set("s", {1, nan_value, 2, -inf, -inf, -inf, 5, 5, 7, nan_value, nan_value, -1});
  const auto runs = c.run();
  expect_values(runs, "a1", {2, 0, 2, 2}, 0);
  expect_values(runs, "a2", {0, 1, 0, 0}, 0);
  expect_values(runs, "a3", {1, 2, 1, 1}, 0);
  expect_values(runs, "a4", {-1, -1, -1, -1}, 0);
  expect_values(runs, "v1", {2, -inf, 7, -1}, 0);
  expect_values(runs, "v2", {1, -inf, 5, -inf}, 0);
  expect_values(runs, "v4", {-inf, -inf, -inf, -inf}, 0);
}

TEST(Topk, OverTwoIndicesCountsRowMajor) {
  Case c(
      "dim i = 2, j = 3, n = 3\ninput s[i, j] : f32\n"
      "e[n] = topk[i, j; n](s[i, j]).index\noutput e\n");
  c.set("s", {1, 9, 3, 8, 9, 0});
  expect_values(c.run(), "e", {1, 4, 3}, 0);
}

}  // namespace
}  // namespace tang::cases
