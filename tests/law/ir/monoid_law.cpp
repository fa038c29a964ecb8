// Laws 9 to 12, 15, 16 and 31 of algebra.md 10.1 on the built-in monoids.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "monoid_run.h"

namespace tang::law {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();
using Random = std::mt19937_64;

double normal(Random& random) { return std::normal_distribution<double>(0, 2)(random); }

struct Case {
  const char* name;
  std::vector<Kind> kinds;
  bool exact;  // no rounding: order does not matter at all
};

const Case cases[] = {
    {"sum", {Kind::real}, false},
    {"prod", {Kind::real}, false},
    {"max", {Kind::real}, true},
    {"min", {Kind::real}, true},
    {"sum", {Kind::integer}, true},
    {"prod", {Kind::integer}, true},
    {"max", {Kind::integer}, true},
    {"min", {Kind::integer}, true},
    {"sum", {Kind::boolean}, true},
    {"any", {Kind::boolean}, true},
    {"all", {Kind::boolean}, true},
    {"argmax", {Kind::real}, true},
    {"argmin", {Kind::real}, true},
    {"argmax", {Kind::integer}, true},
    {"logsumexp", {Kind::real}, false},
    {"online", {Kind::real, Kind::real}, false},
    {"online", {Kind::real, Kind::real, Kind::real}, false},
    {"moments", {Kind::real}, false},
    {"moments", {Kind::real, Kind::real}, false},
    {"affine", {Kind::real, Kind::real}, false},
};

// Ties, masks and zeros of either sign beside plain values.
Value wild(const Case& c, size_t argument, Random& random) {
  const Kind kind = c.kinds[argument];
  if (kind == Kind::boolean) return Value::boolean(random() % 2);
  if (kind == Kind::integer) return Value::integer(static_cast<int64_t>(random() % 5) - 2);
  const std::string_view name = c.name;
  const bool weight = name == "moments" && c.kinds.size() == 2 && argument == 0;
  if (weight) return Value::real(random() % 3 == 0 ? 0 : std::abs(normal(random)));
  const bool score = argument == 0 && (name == "online" || name == "logsumexp");
  const bool extreme = name == "max" || name == "min" || name.substr(0, 3) == "arg";
  switch (random() % 6) {
    case 0:
      return Value::real(score || extreme ? -infinity : 0);
    case 1:
      return Value::real(extreme ? infinity : -0.0);
    case 2:
      return Value::real(static_cast<double>(random() % 3));
    case 3:
      return Value::real(score ? 700 : 1e3 * normal(random));
    default:
      return Value::real(normal(random));
  }
}

std::vector<State> wild_terms(const Case& c, size_t n, Random& random) {
  std::vector<State> out;
  for (size_t k = 0; k < n; ++k) {
    State s;
    for (size_t a = 0; a < c.kinds.size(); ++a) s.push_back(wild(c, a, random));
    out.push_back(std::move(s));
  }
  return out;
}

bool any_nan(const State& s) {
  return std::any_of(s.begin(), s.end(),
                     [](const Value& v) { return v.kind == Kind::real && std::isnan(v.r); });
}

// Largest magnitude met, the scale of rounding.
double scale_of(const std::vector<State>& states) {
  double scale = 1;
  for (const State& s : states)
    for (const Value& v : s)
      if (std::isfinite(v.as_real())) scale = std::max(scale, std::abs(v.as_real()));
  return scale;
}

bool same_state(const State& a, const State& b, bool exact, double scale) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].kind != Kind::real) {
      if (a[k].i != b[k].i) return false;
      continue;
    }
    if (a[k].r == b[k].r || (std::isnan(a[k].r) && std::isnan(b[k].r))) continue;
    if (exact || !(std::abs(a[k].r - b[k].r) <= 1e-11 * std::max(scale, std::abs(a[k].r))))
      return false;
  }
  return true;
}

// Scale of a second moment or a product of many terms.
double tolerance_scale(const Case& c, const std::vector<State>& states) {
  const double s = scale_of(states);
  const std::string_view name = c.name;
  if (name == "moments") return s * s * static_cast<double>(states.size() + 1);
  if (name == "prod" || name == "affine") {
    double product = 1;
    for (const State& x : states) product *= std::max(1.0, scale_of({x}));
    return product * static_cast<double>(states.size() + 1);
  }
  return s * static_cast<double>(states.size() + 1);
}

RC_GTEST_PROP(Monoid, AssociativeIdentityCommutativeClosed, (uint64_t seed)) {
  for (const Case& c : cases) {
    Random random(seed);
    RC_LOG() << c.name;
    const MonoidRun m(c.name, c.kinds);
    const std::vector<State> s = m.lifted(wild_terms(c, 6, random));
    const double scale = tolerance_scale(c, s);
    const State x = m.fold({s[0], s[1]}), y = m.fold({s[2], s[3]}), z = m.fold({s[4], s[5]});
    const State left = m.combine(m.combine(x, y), z), right = m.combine(x, m.combine(y, z));
    RC_ASSERT(same_state(left, right, c.exact, scale));
    // e + x = x has no rounding, except n * recip(n) in moments.
    const bool exact = std::string_view(c.name) != "moments";
    RC_ASSERT(same_state(m.combine(m.identity(), x), x, exact, scale));
    RC_ASSERT(same_state(m.combine(x, m.identity()), x, exact, scale));
    if (m.monoid().commutative)
      RC_ASSERT(same_state(m.combine(x, y), m.combine(y, x), c.exact, scale));
    RC_ASSERT(!any_nan(left));
  }
}

RC_GTEST_PROP(Monoid, SplitsTreesAndStridesGiveTheFold, (uint64_t seed)) {
  for (const Case& c : cases) {
    Random random(seed);
    RC_LOG() << c.name;
    const MonoidRun m(c.name, c.kinds);
    const std::vector<State> s = m.lifted(wild_terms(c, random() % 10, random));
    const State want = m.fold(s);
    const double scale = tolerance_scale(c, s);
    const size_t cut = s.empty() ? 0 : random() % (s.size() + 1);
    const auto middle = s.begin() + static_cast<long>(cut);
    RC_ASSERT(same_state(m.combine(m.fold({s.begin(), middle}), m.fold({middle, s.end()})), want,
                         c.exact, scale));
    RC_ASSERT(same_state(m.tree(s, random), want, c.exact, scale));
    if (!m.monoid().commutative) continue;
    State strided = m.identity();
    for (size_t start = 0; start < 3; ++start) {
      State part = m.identity();
      for (size_t k = start; k < s.size(); k += 3) part = m.combine(part, s[k]);
      strided = m.combine(strided, part);
    }
    RC_ASSERT(same_state(strided, want, c.exact, scale));
  }
}

// Law 11, the monoid's part: striding the affine monoid changes the result.
TEST(Monoid, StridedAffineDiffers) {
  const MonoidRun m("affine", {Kind::real, Kind::real});
  EXPECT_FALSE(m.monoid().commutative);
  const auto s = m.lifted({reals({0.5, 1}), reals({2, -1}), reals({-1, 3}), reals({0.25, 0.5})});
  const State strided = m.combine(m.combine(s[0], s[2]), m.combine(s[1], s[3]));
  EXPECT_FALSE(same_state(strided, m.fold(s), false, 1));
}

// Law 12.
TEST(Monoid, EmptyFolds) {
  const auto empty = [](const char* name, std::vector<Kind> kinds) {
    const MonoidRun m(name, kinds);
    return m.fin(m.fold({}));
  };
  EXPECT_EQ(empty("sum", {Kind::real})[0].r, 0);
  EXPECT_EQ(empty("prod", {Kind::real})[0].r, 1);
  EXPECT_EQ(empty("max", {Kind::real})[0].r, -infinity);
  EXPECT_EQ(empty("min", {Kind::real})[0].r, infinity);
  EXPECT_EQ(empty("max", {Kind::integer})[0].i, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(empty("min", {Kind::integer})[0].i, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(empty("any", {Kind::boolean})[0].i, 0);
  EXPECT_EQ(empty("all", {Kind::boolean})[0].i, 1);
  EXPECT_EQ(empty("logsumexp", {Kind::real})[0].r, -infinity);
  EXPECT_EQ(empty("argmax", {Kind::real})[1].i, -1);
  EXPECT_EQ(empty("argmax", {Kind::integer})[1].i, -1);
  EXPECT_TRUE(same_state(empty("moments", {Kind::real}), reals({0, 0, 0}), true, 1));
  EXPECT_TRUE(
      same_state(empty("online", {Kind::real, Kind::real}), reals({-infinity, 0, 0}), true, 1));
  EXPECT_TRUE(same_state(empty("affine", {Kind::real, Kind::real}), reals({1, 0}), true, 1));
}

// Law 15: the online fold is the two-pass softmax, garbage behind a mask does not leak, a masked
// row is the identity, and the scale may stand inside or outside the max.
RC_GTEST_PROP(OnlineSoftmax, IsTheTwoPassSoftmax, (uint64_t seed)) {
  Random random(seed);
  const MonoidRun m("online", {Kind::real, Kind::real});
  const double kappa = 0.1 + std::abs(normal(random));
  std::vector<State> terms, scaled;
  std::vector<double> scores, values;
  for (size_t k = random() % 8; k > 0; --k) {
    const bool masked = random() % 3 == 0;
    const double s = masked ? -infinity : 20 * normal(random),
                 v = masked ? nan_value : normal(random);
    terms.push_back(reals({s, v}));
    scaled.push_back(reals({kappa * s, v}));
    if (!masked) scores.push_back(s), values.push_back(v);
  }
  const State got = m.fold(m.lifted(terms)), outside = m.fold(m.lifted(scaled));
  if (scores.empty()) {
    RC_ASSERT(same_state(got, m.identity(), true, 1));
    return;
  }
  const auto two_pass = [&](double scale) {
    const double top = *std::max_element(scores.begin(), scores.end());
    double l = 0, o = 0;
    for (size_t k = 0; k < scores.size(); ++k) {
      const double w = std::exp(scale * (scores[k] - top));
      l += w;
      o += w * values[k];
    }
    return reals({scale * top, l, o});
  };
  RC_ASSERT(same_state(got, two_pass(1), false, 10));
  RC_ASSERT(same_state(outside, two_pass(kappa), false, 100));
  RC_ASSERT(got[1].r >= 1);
}

// Law 16.
RC_GTEST_PROP(Welford, IsTheTwoPassVarianceEvenFarFromZero, (uint64_t seed)) {
  Random random(seed);
  const MonoidRun m("moments", {Kind::real});
  const double offset = random() % 2 ? 1e8 : 0;
  std::vector<double> x;
  for (size_t k = 2 + random() % 20; k > 0; --k) x.push_back(offset + normal(random));
  std::vector<State> terms;
  for (double v : x) terms.push_back(reals({v}));
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double m2 = 0, squares = 0;
  for (double v : x) m2 += (v - mean) * (v - mean), squares += v * v;
  const State got = m.fold(m.lifted(terms));
  RC_ASSERT(got[0].r == n);
  RC_ASSERT(std::abs(got[1].r - mean) <= 1e-14 * (std::abs(mean) + 10));
  // Rounding of the data's offset is 1e8 * 2^-53 a term.
  const double error = std::abs(got[2].r - m2);
  RC_ASSERT(error <= 1e-10 * m2 + (offset != 0 ? 1e-6 * std::sqrt(m2 * n) : 1e-13));
  if (offset != 0) RC_ASSERT(error <= std::abs(squares - n * mean * mean - m2) + 1e-6);
}

// Law 31: one NaN at any place reaches the result of max, min and online in every split; argmax
// names the first NaN.
RC_GTEST_PROP(Nan, Propagates, (uint64_t seed)) {
  Random random(seed);
  const size_t n = 2 + random() % 8, at = random() % n;
  for (const Case& c : cases) {
    const std::string_view name = c.name;
    if (c.kinds[0] != Kind::real ||
        (name != "max" && name != "min" && name != "online" && name != "argmax"))
      continue;
    const MonoidRun m(c.name, c.kinds);
    std::vector<State> terms = wild_terms(c, n, random);
    terms[at][0] = Value::real(nan_value);
    std::vector<State> s = m.lifted(terms);
    const State fold = m.fold(s), tree = m.tree(s, random);
    std::shuffle(s.begin(), s.end(), random);
    const State shuffled = m.fold(s);
    for (const State* result : {&fold, &tree, &shuffled}) {
      if (name == "argmax") {
        RC_ASSERT(std::isnan((*result)[0].r));
        RC_ASSERT((*result)[1].i == static_cast<int64_t>(at));
      } else {
        for (const Value& v : *result) RC_ASSERT(std::isnan(v.r));
      }
    }
  }
}

// Ties of argmax go to the lowest index, in every order.
RC_GTEST_PROP(Argmax, TiesGoToTheLowestIndex, (uint64_t seed)) {
  Random random(seed);
  const MonoidRun m("argmax", {Kind::real});
  std::vector<State> terms;
  std::vector<double> x;
  for (size_t k = 1 + random() % 9; k > 0; --k) x.push_back(static_cast<double>(random() % 3));
  for (double v : x) terms.push_back(reals({v}));
  std::vector<State> s = m.lifted(terms);
  std::shuffle(s.begin(), s.end(), random);
  const State got = m.fin(m.tree(s, random));
  RC_ASSERT(got[1].i == std::max_element(x.begin(), x.end()) - x.begin());
}

}  // namespace
}  // namespace tang::law
