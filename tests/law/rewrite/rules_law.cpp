// Laws 14, 15 and 16 of algebra.md 10.1: on random programs that contain a rule's pattern the rule
// fires and the derived program computes what the naive one does. Near misses, which must not fire,
// are tests/text/why_not.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "eval/compare.h"
#include "eval/oracle.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/print.h"
#include "ir/reading.h"
#include "ir/verify.h"
#include "rewrite/split.h"

namespace tang {
namespace {

using testing::HasSubstr;

struct Outcome {
  double error = 0;  // the worst output, naive against derived
  std::map<std::string, int> fired;
  std::string derived;
  std::map<std::string, Values> naive_outputs;
  std::map<std::string, Values> derived_outputs;
};

using GivenInputs = std::map<std::string, std::vector<double>>;

std::map<TensorId, Array> inputs_of(const Graph& g, uint64_t seed, const GivenInputs& given) {
  std::map<TensorId, Array> arrays;
  for (uint32_t k = 0; k < g.tensors.size(); ++k) {
    const auto t = static_cast<TensorId>(k);
    if (g[t].role != Role::input) continue;
    Array a = *random_input(g, t, {}, seed);
    if (const auto it = given.find(g[t].name); it != given.end())
      for (size_t e = 0; e < it->second.size(); ++e) a.set(static_cast<int64_t>(e), it->second[e]);
    arrays.emplace(t, std::move(a));
  }
  return arrays;
}

std::map<std::string, Values> outputs_of(const Graph& g, const std::map<TensorId, Array>& inputs) {
  Given given;
  for (const auto& [t, a] : inputs) given[t] = &a;
  auto result = evaluate(reading(g), {}, given);
  std::map<std::string, Values> out;
  if (!result) {
    ADD_FAILURE() << result.error().message << "\n" << print(g);
    return out;
  }
  for (const Output& o : g.outputs) out.emplace(g[o.tensor].name, std::move(result->at(o.tensor)));
  return out;
}

Outcome run_both(const std::string& text, uint64_t seed, const GivenInputs& given = {}) {
  Outcome r;
  const auto g = parse(text);
  if (!g) {
    ADD_FAILURE() << g.error()[0].message << "\n" << text;
    return r;
  }
  const Derivation d = derive(*g);
  for (const LogEntry& e : d.log) ++r.fired[e.rule];
  r.derived = print(d.derived);
  for (const Diagnostic& fault : verify(d.derived))
    ADD_FAILURE() << fault.message << "\n" << r.derived;
  const auto inputs = inputs_of(*g, seed, given);
  r.naive_outputs = outputs_of(*g, inputs);
  r.derived_outputs = outputs_of(d.derived, inputs);
  for (const auto& [name, want] : r.naive_outputs) {
    const double error = compare(want, r.derived_outputs.at(name)).error;
    r.error = std::max(r.error, std::isnan(error) ? INFINITY : error);
  }
  return r;
}

int between(int lo, int hi) { return *rc::gen::inRange(lo, hi + 1); }
std::string one_of(std::vector<std::string> choices) { return *rc::gen::elementOf(choices); }

std::string dims(int i, int j, int e) {
  return fmt::format("dim i = {}, j = {}, e = {}\n", i, j, e);
}

void expect(const Outcome& r, const std::string& rule, double tolerance = 1e-12) {
  RC_LOG() << r.derived;
  RC_ASSERT(r.fired.count(rule) > 0 || rule.empty());
  RC_ASSERT(r.error <= tolerance);
}

RC_GTEST_PROP(rewrite, canonicalise_merges_equal_definitions, ()) {
  const int i = between(1, 6), j = between(1, 6);
  const std::string body =
      one_of({"sum[j](x[i, j])", "max[j](x[i, j] * 2)", "sum[j](exp(x[i, j]))"});
  expect(run_both(dims(i, j, 1) + "input x[i, j] : f32\na[i] = " + body + "\nb[i] = " + body +
                      "\ny[i] = a[i] + 3 * b[i]\noutput y\n",
                  1),
         "canonicalise");
}

RC_GTEST_PROP(rewrite, promotion_keeps_the_fold, ()) {
  const int i = between(1, 6), j = between(1, 6);
  const std::string c = one_of({"j <= i", "i < 2*j", "j != 1", "b[i, j]", "n[i] == j", "j < n[i]",
                                "j <= i and b[i, j]", "j <= i or b[i, j]"});
  const std::string term = one_of({
      "sum[j](select(%, x[i, j], 0))",
      "sum[j](select(%, x[i, j], 0) * z[j])",
      "sum[j](select(%, 0, x[i, j]))",
      "max[j](select(%, x[i, j], -inf))",
      "max[j](x[i, j] + select(%, 0, -inf))",
      "min[j](select(%, x[i, j], inf))",
      "prod[j](select(%, x[i, j], 1))",
      "logsumexp[j](select(%, x[i, j], -inf))",
      "any[j](select(%, b[i, j], false))",
  });
  std::string body = term;
  body.replace(body.find('%'), 1, c);
  expect(run_both(dims(i, j, 1) + "input x[i, j], z[j] : f32, b[i, j] : bool, n[i] : i32\ny[i] = " +
                      body + "\noutput y\n",
                  static_cast<uint64_t>(between(0, 1000))),
         "promote_guards");
}

RC_GTEST_PROP(rewrite, maps_substitute_through_views, ()) {
  const int i = between(1, 6), e = between(1, 4);
  const std::string map = one_of({"2 * x[i]", "exp(x[i]) + i", "x[i] * x[N - 1 - i]",
                                  "select(i < 2, x[i], 1)", "f16(x[i])", "x?[i - 1] + 1"});
  const std::string use =
      one_of({"y[i] = t[i] + 1", "y[e] = t[e]", "y[i] = t[N - 1 - i]", "y[e] = t[0]",
              "y[e] = sum[i](t[i] * w[e, i])", "y[i] = t?[i - 1]", "y[i] = t?[i + 1; 5]",
              "y[e] = max[i](t?[i - e])", "y[e] = t[k[e]]", "y[e] = prod[i](t?[i + k[e]; 1])",
              "y[e] = sum[i](t?[2*i - 1])"});
  RC_PRE(e <= i || use.find("t[e]") == std::string::npos);
  std::string text = "dim i = N, e = " + std::to_string(e) +
                     "\ninput x[i], w[e, i] : f32, k[e] : i32\nt[i] = " + map + "\n" + use +
                     "\noutput y\n";
  for (size_t at; (at = text.find('N')) != std::string::npos;)
    text.replace(at, 1, std::to_string(i));
  expect(run_both(text, static_cast<uint64_t>(between(0, 1000))), "substitute_maps");
}

RC_GTEST_PROP(rewrite, invariant_factors_leave_sums, ()) {
  const int i = between(1, 6), j = between(0, 6);
  const std::string body = one_of({"x[i, j] * f[i]", "f[i] * x[i, j] * 0.125", "x[i, j] / f[i]",
                                   "-(x[i, j] * 3)", "x[i, j] * x[i, j] * exp(f[i]) / 7"});
  expect(
      run_both(dims(i, j, 1) + "input x[i, j], f[i] : f32\ny[i] = sum[j](" + body + ")\noutput y\n",
               3),
      "hoist_invariant_factors");
}

RC_GTEST_PROP(rewrite, terms_and_scales_leave_maxima, ()) {
  const int i = between(1, 6), j = between(0, 6);
  const std::string body =
      one_of({"max[j](x[i, j] + f[i])", "max[j](3 * x[i, j] / 7 - f[i])",
              "min[j](f[i] - x[i, j] * 0.5)", "max[j | j <= i](f[i] + 2 * x[i, j] + i)",
              "max[j](select(b[i, j], 2 * x[i, j] + f[i], -inf))"});
  expect(run_both(dims(i, j, 1) + "input x[i, j], f[i] : f32, b[i, j] : bool\ny[i] = " + body +
                      "\noutput y\n",
                  static_cast<uint64_t>(between(0, 1000))),
         "hoist_invariant_factors");
}

RC_GTEST_PROP(rewrite, read_guards_become_term_guards, ()) {
  const int i = between(1, 6), j = between(0, 6);
  const std::string body =
      one_of({"sum[j](x?[i, i + j] * z[j])", "sum[j](x?[i, 2*j - i] * f[i] * x?[i, j - 1])",
              "max[j](x?[i, i - j])", "max[j](x?[i, i - j] + z[j])", "prod[j](x?[i, j - 2])",
              "sum[j](x?[n[i], j] * z[j])", "min[j](x?[n[i], j + n[i]])"});
  expect(run_both(dims(i, j, 1) + "input x[i, j], f[i], z[j] : f32, n[i] : i32\ny[i] = " + body +
                      "\noutput y\n",
                  static_cast<uint64_t>(between(0, 1000))),
         "promote_guards");
}

// Contraction order: any two nested sums of products.
RC_GTEST_PROP(rewrite, contractions_take_the_cheaper_order, ()) {
  const int i = between(3, 6), j = between(3, 6);
  const std::string body = one_of({
      "t[i, k] = sum[j](x[i, j] * y[j, k])\nz[i, e] = sum[k](t[i, k] * w[k, e])\n",
      "t[i, k] = sum[j](x[i, j] * y[j, k]) / 3\nz[i, e] = sum[k](-(t[i, k]) * w[k, e] * x[i, 0])\n",
      "t[k, i] = sum[j](x[i, j] * y[j, k])\nz[i, e] = sum[k](t[k, i] * w[k, e] / (2 + k))\n",
      "t[i, k] = sum[j](x[i, j] * exp(y[j, k]))\nz[i, e] = sum[k](t[i, k] * w[k, e] * e)\n",
  });
  expect(run_both(fmt::format("dim i = {}, j = {}, k = 6, e = 1\n"
                              "input x[i, j], y[j, k], w[k, e] : f32\n{}output z\n",
                              i, j, body),
                  static_cast<uint64_t>(between(0, 1000))),
         "denest");
}

// Attention with every kind of mask, scale, bias and way to normalise.
std::string random_attention() {
  const int i = between(1, 7), j = between(1, 7), e = between(1, 3);
  const std::string score = one_of({"sum[d](q[i, d] * k[j, d])", "sum[d](q[i, d] * k[j, d]) / 3",
                                    "30 * tanh(sum[d](q[i, d] * k[j, d]) / 30)",
                                    "sum[d](q[i, d] * k[j, d]) + b[j] * (j - i)"});
  const std::string condition = one_of(
      {"j <= i", "keep[i, j]", "j <= i and i - j < 3", "g[i] == g[0]", "i != 1", "j < g[i]"});
  const std::string kind = one_of({"none", "select", "additive", "binder"});
  std::string s = score, binder;
  if (kind == "select") s = fmt::format("select({}, {}, -inf)", condition, score);
  if (kind == "additive") s = fmt::format("{} + select({}, 0, -inf)", score, condition);
  if (kind == "binder") binder = " | " + condition;
  const std::string weight = one_of(
      {"exp(s[i, j] - m[i])", "exp((s[i, j] - m[i]) / 2)", "exp(0.5 * s[i, j] - 0.5 * m[i])"});
  const std::string out = one_of({
      "o[i, e] = sum[j@](p[i, j] * v[j, e]) / sum[j@](p[i, j])",
      "l[i] = sum[j@](p[i, j])\no[i, e] = sum[j@](p[i, j] / l[i] * v[j, e])",
      "l[i] = sum[j@](p[i, j])\no[i, e] = recip(l[i]) * sum[j@](p[i, j] * v[j, e])",
  });
  std::string tail = out;
  for (size_t at; (at = tail.find('@')) != std::string::npos;) tail.replace(at, 1, binder);
  return dims(i, j, e) +
         "dim d = 3\ninput q[i, d], k[j, d], v[j, e], b[j] : f32, keep[i, j] : bool, g[i] : i32\n" +
         "s[i, j] = " + s + "\nm[i] = max[j" + binder + "](s[i, j])\np[i, j] = " + weight + "\n" +
         tail + "\noutput o\n";
}

RC_GTEST_PROP(rewrite, attention_is_one_online_fold, ()) {
  const std::string text = random_attention();
  RC_LOG() << text;
  const Outcome r = run_both(text, static_cast<uint64_t>(between(0, 1000)));
  expect(r, "stabilize_softmax");
  RC_ASSERT(r.derived.find("max[") == std::string::npos);
}

// Sinks, temperatures outside the max, no max at all, and differences of two softmaxes.
RC_GTEST_PROP(rewrite, shifted_softmaxes_are_online_folds, ()) {
  const int i = between(1, 5), j = between(1, 7), e = between(1, 3);
  const std::string body = one_of({
      "m[i] = max(max[j](x[i, j]), z[i])\np[i, j] = exp(x[i, j] - m[i])\n"
      "y[i, e] = sum[j](p[i, j] * v[j, e]) / (sum[j](p[i, j]) + exp(z[i] - m[i]))\n",
      "m[i] = max[j](x[i, j])\np[i, j] = exp((x[i, j] - m[i]) * (1 + abs(z[i])))\n"
      "y[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n",
      "p[i, j] = exp(x[i, j] + z[i])\ny[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n",
      "p[i, j] = exp(x[i, j])\nl[i] = sum[j](p[i, j])\n"
      "y[i, e] = sum[j](p[i, j] / l[i] * v[j, e])\n",
      "p[i, j] = exp(x[i, j] - max[j](x[i, j])) / sum[j](exp(x[i, j] - max[j](x[i, j])))\n"
      "q[i, j] = exp(w[i, j] - max[j](w[i, j])) / sum[j](exp(w[i, j] - max[j](w[i, j])))\n"
      "y[i, e] = sum[j]((p[i, j] - z[i] * q[i, j]) * v[j, e])\n",
  });
  const Outcome r = run_both(
      dims(i, j, e) + "input x[i, j], w[i, j], z[i], v[j, e] : f32\n" + body + "output y\n",
      static_cast<uint64_t>(between(0, 1000)));
  RC_LOG() << body << r.derived;
  RC_ASSERT(r.fired.count("shift_softmax") + r.fired.count("split_weights") > 0);
  expect(r, "stabilize_softmax", 1e-11);
  RC_ASSERT(r.derived.find("max[") == std::string::npos);
}

// Rows without a score are 0 however the softmax is written, and whoever else reads its weights.
RC_GTEST_PROP(rewrite, rows_without_scores_are_zero, ()) {
  const int i = between(1, 4), j = between(1, 5), e = between(1, 3);
  const std::string mask = one_of({"select(j < 0, s[i, j], -inf)", "select(keep[i], s[i, j], -inf)",
                                   "s[i, j] + select(i == 0, -inf, 0)"});
  const std::string weight = one_of({
      "p[i, j] : f64 = exp(x[i, j] - m[i])\n",
      "p[i, j] = exp((x[i, j] - m[i]) * (1 + abs(z[i])))\n",
      "p[i, j] = exp((x[i, j] - m[i]) / (0.5 + abs(z[i])))\n",
      "p[i, j] = exp(x[i, j])\n",
      "p[i, j] = exp(x[i, j] + z[i])\n",
  });
  const std::string out = one_of({
      "y[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\n",
      "l[i] = sum[j](p[i, j])\ny[i, e] = sum[j](p[i, j] / l[i] * v[j, e])\n",
  });
  const std::string also = one_of({"", "q[e] = tanh(p[0, 0])\n"});
  const std::string text = dims(i, j, e) +
                           "input s[i, j], z[i], v[j, e] : f32, keep[i] : bool\nx[i, j] = " + mask +
                           "\nm[i] = max[j](x[i, j])\n" + weight + out + also + "output y" +
                           (also.empty() ? "\n" : ", q\n");
  RC_LOG() << text;
  expect(run_both(text, static_cast<uint64_t>(between(0, 1000))), "", 1e-11);
}

// A sink stands in the divisor too: the sum's own target reads what it is divided by.
RC_GTEST_PROP(rewrite, divisors_of_sinks_join_the_fold, ()) {
  const std::string text =
      dims(between(1, 4), between(1, 5), between(1, 3)) +
      "input x[i, j], z[i], v[j, e] : f32\nm[i] = max(max[j](x[i, j]), z[i])\n"
      "p[i, j] = exp(x[i, j] - m[i])\nl[i] = sum[j](p[i, j]) + exp(z[i] - m[i])\n"
      "y[i, e] = sum[j](p[i, j] / l[i] * v[j, e])\n" +
      one_of({"output y\n", "output y, l\n"});
  RC_LOG() << text;
  expect(run_both(text, static_cast<uint64_t>(between(0, 1000))), "stabilize_softmax", 1e-11);
}

// A max is known as one when its node computes more than that.
RC_GTEST_PROP(rewrite, maxima_beside_others_keep_their_weights, ()) {
  const std::string text = dims(between(1, 4), between(1, 5), between(1, 3)) +
                           "input s[i, j], z[i], v[j, e] : f32\nx[i, j] = " +
                           one_of({"select(j < 0, s[i, j], -inf)", "select(j < 0, 1.5, -inf)",
                                   "select(j < i, 1.5, -inf)"}) +
                           "\n" +
                           one_of({"(n[i], m[i]) = (sum[j](z[i]), max[j](x[i, j]))\n",
                                   "m[i] = max[j](x[i, j])\nn[i] = max(m[i], z[i])\n"}) +
                           "p[i, j] = exp(x[i, j] - " + one_of({"m[i]", "max(m[i], z[i])"}) +
                           ")\nl[i] = sum[j](p[i, j]) + exp(-abs(z[i]))\n"
                           "y[i, e] = sum[j](p[i, j] / l[i] * v[j, e])\noutput x, l, y, n\n";
  RC_LOG() << text;
  expect(run_both(text, static_cast<uint64_t>(between(0, 1000))), "", 1e-11);
}

TEST(rewrite, masked_rows_are_zero) {
  const Outcome r = run_both(
      "dim i = 4, j = 4, e = 2\ninput s[i, j], v[j, e] : f32, keep[i, j] : bool\n"
      "t[i, j] = select(keep[i, j], s[i, j], -inf)\nm[i] = max[j](t[i, j])\np[i, j] = exp(t[i, "
      "j] - m[i])\n"
      "l[i] = sum[j](p[i, j])\no[i, e] = sum[j](p[i, j] * v[j, e]) / l[i]\nlse[i] = m[i] + "
      "log(l[i])\n"
      "output o, lse\n",
      7, {{"keep", {1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0}}});
  EXPECT_LE(r.error, 1e-12);
  for (const auto* outputs : {&r.naive_outputs, &r.derived_outputs}) {
    EXPECT_EQ(outputs->at("o").at(2).r, 0);
    EXPECT_EQ(outputs->at("o").at(7).r, 0);
    EXPECT_EQ(outputs->at("lse").at(1).r, -INFINITY);
    EXPECT_TRUE(std::isfinite(outputs->at("o").at(0).r));
  }
}

// A weight with a storage format is a weight: its empty rows are 0 in both programs.
TEST(rewrite, masked_rows_of_rounded_weights_are_zero) {
  const Outcome r = run_both(
      "dim i = 2, j = 3, e = 2\ninput s[i, j], v[j, e] : f32\n"
      "t[i, j] = select(j < 0, s[i, j], -inf)\nm[i] = max[j](t[i, j])\n"
      "p[i, j] : f16 = exp(t[i, j] - m[i])\nx[i] = p[i, 0]\n"
      "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\noutput o, x\n",
      3);
  EXPECT_EQ(r.error, 0);
  for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(r.derived_outputs.at("o").at(k).r, 0);
}

// A NaN score makes its row NaN, everywhere in the row and nowhere else (law 31).
RC_GTEST_PROP(rewrite, nan_scores_propagate, ()) {
  const int i = 3, j = between(1, 6), e = 2;
  std::vector<double> s(static_cast<size_t>(i * j), 0.5);
  const int at = between(0, i * j - 1);
  s[static_cast<size_t>(at)] = NAN;
  const Outcome r =
      run_both(dims(i, j, e) +
                   "input s[i, j], v[j, e] : f32\nm[i] = max[j](s[i, j])\n"
                   "o[i, e] = sum[j](exp(s[i, j] - m[i]) * v[j, e]) / sum[j](exp(s[i, j] - "
                   "m[i]))\noutput o, m\n",
               5, {{"s", s}});
  for (int row = 0; row < i; ++row)
    RC_ASSERT(std::isnan(r.derived_outputs.at("o").at(row * e).r) == (row == at / j));
  RC_ASSERT(std::isnan(r.derived_outputs.at("m").at(at / j).r));
}

RC_GTEST_PROP(rewrite, logsumexp_forms_agree, ()) {
  const int i = between(1, 5), j = between(0, 6);
  const std::string body =
      one_of({"log(sum[j](exp(x[i, j])))", "2 * log(sum[j](exp(x[i, j] * 3))) + 1"});
  expect(run_both(dims(i, j, 1) + "input x[i, j] : f32\ny[i] = " + body + "\noutput y\n", 11),
         "logsumexp");
}

RC_GTEST_PROP(rewrite, deviations_become_moments, ()) {
  const int i = between(1, 5), j = between(1, 9);
  const std::string form = one_of({
      "y[i] = var[j](x[i, j])\noutput y\n",
      "mu[i] = mean[j](x[i, j])\ny[i] = sum[j]((x[i, j] - mu[i]) * (x[i, j] - mu[i]))\noutput y, "
      "mu\n",
      "mu[i] = sum[j](x[i, j]) / size(j)\ny[i, j] = (x[i, j] - mu[i]) * rsqrt(mean[j](pow(x[i, j] "
      "- mu[i], 2)) + 1e-5)\n"
      "output y\n",
      "y[i] = var[j | j <= i](x[i, j])\noutput y\n",
      "mu[i] = mean[j](x[i, j])\ny[i] = mean[j](x[i, j] * x[i, j]) - mu[i] * mu[i]\noutput y, mu\n",
      "y[i, j] = x[i, j] * rsqrt(1 - pow(mean[j](x[i, j]), 2) + mean[j](pow(x[i, j], 2)))\n"
      "output y\n",
      "q[i] = sum[j](x[i, j] * x[i, j])\ny[i] = q[i] / size(j) - pow(sum[j](x[i, j]) / size(j), "
      "2)\n"
      "output y, q\n",
      "mu[i] = mean[j | j <= i](x[i, j])\ny[i] = mean[j | j <= i](pow(x[i, j], 2)) - mu[i] * "
      "mu[i]\n"
      "output y\n",
  });
  expect(run_both(dims(i, j, 1) + "input x[i, j] : f32\n" + form, 13), "welford", 1e-10);
}

// Law 16: an offset of 1e8 costs the one-pass fold nothing that the two-pass form keeps.
TEST(rewrite, welford_survives_an_offset) {
  std::vector<double> x;
  for (int k = 0; k < 16; ++k) x.push_back(1e8 + 8 * k);  // exact in f32
  const Outcome r = run_both(
      "dim i = 1, j = 16\ninput x[i, j] : f32\ny[i] = var[j](x[i, j])\noutput y\n", 1, {{"x", x}});
  EXPECT_NEAR(r.derived_outputs.at("y").at(0).r, 64 * 21.25, 1e-6);
  EXPECT_LE(r.error, 1e-10);
}

// Any monoid, parts of any number, even or not; every second term only where it commutes.
RC_GTEST_PROP(rewrite, folds_split_into_parts, ()) {
  const int i = between(1, 3), j = between(0, 9), e = between(1, 3);
  const std::string fold = one_of({
      "sum[%](x[i, j])",
      "max[%](x[i, j])",
      "any[%](x[i, j] < -1)",
      "argmin[%](x[i, j] * w[e])",
      "argmax[%](x[i, j])",
      "logsumexp[%](x[i, j] + w[e])",
      "moments[%](x[i, j]).m2",
      "online[%](x[i, j], w[e])",
      "online[%](x[i, j], w[e]).o",
      "affine[%](x[i, j], w[e])",
      "longest[%](0 < x[i, j])",
  });
  const bool ordered = fold.rfind("affine", 0) == 0 || fold.rfind("longest", 0) == 0;
  std::string body = fold;
  const std::string binder = one_of({"j", "j, e", ordered ? "j, e" : "e, j", "j | j <= i"});
  if (binder.find('e') == std::string::npos && body.find("[e]") != std::string::npos)
    body.replace(body.find("[e]"), 3, "[0]");
  body.replace(body.find('%'), 1, binder);
  const std::string text =
      dims(i, j, e) +
      "monoid longest(all, best, head, tail, n)\n  identity (true, 0, 0, 0, 0)\n"
      "  lift(x) = (x, select(x, 1, 0), select(x, 1, 0), select(x, 1, 0), 1)\n"
      "  combine(a, b) = (a.all and b.all, max(max(a.best, b.best), a.tail + b.head),\n"
      "    select(a.all, a.n + b.head, a.head), select(b.all, b.n + a.tail, b.tail), a.n + b.n)\n"
      "input x[i, j], w[e] : f32\ny[i] = " +
      body + (body.rfind("longest", 0) == 0 ? ".best" : "") + "\noutput y\n";
  const auto g = parse(text);
  if (!g) RC_FAIL(g.error()[0].message + text);
  Derivation d = derive(*g);
  const Split split{"y", "j", between(1, 5), !ordered && *rc::gen::arbitrary<bool>()};
  const auto done = split_fold(d, split);
  if (!done) RC_FAIL(done.error().message + text);
  RC_LOG() << print(d.derived);
  for (const Diagnostic& fault : verify(d.derived)) RC_FAIL(fault.message);
  const auto again = parse(print(d.derived));
  if (!again) RC_FAIL(again.error()[0].message);
  RC_ASSERT(print(*again) == print(d.derived));
  const bool logged = !d.log.empty() && d.log.back().rule == "split";
  RC_ASSERT(logged == (split.parts > 1));
  const auto inputs = inputs_of(*g, 23, {});
  const auto want = outputs_of(*g, inputs), got = outputs_of(d.derived, inputs);
  RC_ASSERT(compare(want.at("y"), got.at("y")).error <= 1e-12);
}

TEST(rewrite, what_a_split_would_break_is_refused) {
  const auto refusal = [](const std::string& definition, const Split& split) {
    const auto g = parse("param n\ndim t = n, j = 12, e = 3\ninput x[t, j, e] : f32\n" +
                         definition + "\noutput y\n");
    Derivation d = derive(g.value());
    const auto done = split_fold(d, split);
    return done ? std::string("none") : done.error().message;
  };
  const std::string affine = "y[t] = affine[j, e](x[t, j, e], 1)";
  EXPECT_EQ(refusal(affine, {"y", "j", 5}), "none");
  EXPECT_THAT(refusal(affine, {"y", "j", 4, true}), HasSubstr("law fold_perm"));
  EXPECT_THAT(refusal(affine, {"y", "e", 3}), HasSubstr("law fold_split"));
  EXPECT_THAT(refusal(affine, {"y", "t", 3}), HasSubstr("does not reduce over that"));
  EXPECT_THAT(refusal(affine, {"x", "j", 3}), HasSubstr("no fold of that name"));
  EXPECT_THAT(refusal(affine, {"y", "j", 0}), HasSubstr("0 parts"));
  EXPECT_THAT(refusal("y = sum[t](x[t, 0, 0])", {"y", "t", 2}), HasSubstr("a multiple of 2"));
  EXPECT_EQ(refusal("y = sum[t](x[t, 0, 0])", {"y", "t", 2, true}), "none");
  EXPECT_THAT(refusal("y[t] = cumsum[t](x[t, 0, 0])", {"y", "t", 2}), HasSubstr("a scan"));
}

// Values with ties, NaN and infinities: the chain reads as the top-k it becomes.
RC_GTEST_PROP(rewrite, chains_of_arg_maxima_are_one_topk, ()) {
  const int i = between(1, 4), j = between(2, 4), e = between(2, 3), k = between(2, 4);
  const std::string op = one_of({"argmax", "argmin"}), worst = op == "argmax" ? "-inf" : "inf";
  const bool two = *rc::gen::arbitrary<bool>(), masked = *rc::gen::arbitrary<bool>();
  const std::string over = two ? "j, e" : "j", place = two ? fmt::format("{} * j + e", e) : "j";
  const std::string base = two ? "x[i, j, e]" : "x[i, j, 0]";
  const std::string mask = masked ? " | j <= i" : "";
  std::string text = dims(i, j, e) + "input x[i, j, e] : f32\n", condition, outputs;
  std::string left = base;
  for (int n = 1; n <= std::min(k, two ? j * e : j); ++n) {
    const std::string way = n == 1 ? "0" : one_of({"0", "1", "2"});
    std::string fold = fmt::format("{}[{}{}]({})", op, over, mask, left);
    if (n > 1 && way == "0")
      fold = fmt::format("{}[{}{}](select({}, {}, {}))", op, over, mask, condition, worst, base);
    if (n > 1 && way == "1")
      fold = fmt::format("{}[{}{} not ({})]({})", op, over, masked ? mask + " and" : " |",
                         condition, base);
    text += fmt::format("(v{0}[i], a{0}[i]) = {1}\n", n, fold);
    const std::string taken = fmt::format("{} == a{}[i]", place, n);
    condition += (condition.empty() ? "" : " or ") + taken;
    left = fmt::format("select({}, {}, {})", taken, worst, left);
    outputs += fmt::format("{}v{}, a{}", n == 1 ? "" : ", ", n, n);
  }
  const double some[] = {1, 1, 2, -3, INFINITY, -INFINITY, NAN, 0.5};
  std::vector<double> x;
  for (int n = 0; n < i * j * e; ++n) x.push_back(some[between(0, 7)]);
  expect(run_both(text + "output " + outputs + "\n", 18, {{"x", x}}), "topk", 0);
}

RC_GTEST_PROP(rewrite, siblings_merge, ()) {
  const int i = between(1, 5), j = between(0, 5);
  const std::string second =
      one_of({"max[j](x[i, j])", "sum[j](x[i, j] * z[j])", "argmin[j](z[j] * 0 + x[i, j])",
              "any[j](x[i, j] < 0)", "prod[j](x[i, j])"});
  const bool flat = second.rfind("arg", 0) == 0;
  expect(run_both(dims(i, j, 1) + "input x[i, j], z[j] : f32\na[i] = sum[j](x[i, j])\nb[i] = " +
                      second + "\ny[i] = a[i] + b[i]\noutput y\n",
                  17),
         flat || second.rfind("any", 0) == 0 ? "" : "merge_siblings");
}

RC_GTEST_PROP(rewrite, epilogues_run_on_the_fold, ()) {
  const int i = between(1, 5), j = between(0, 5), e = between(1, 4);
  const std::string use =
      one_of({"y[i, e] = relu(a[i, e] + z[e])", "y[e, i] = a[i, e] * i", "y[i, e] = f16(a[i, e])"});
  const std::string format = one_of({"", " : f16", " : bf16"});
  expect(run_both(dims(i, j, e) + "input x[i, j], w[j, e], z[e] : f32\na[i, e]" + format +
                      " = sum[j](x[i, j] * w[j, e])\n" + use + "\noutput y\n",
                  19),
         "epilogue");
}

TEST(rewrite, ieee_mode_uses_exact_rules_only) {
  const auto g = parse(
      "dim i = 4, j = 4, e = 2\ninput s[i, j], v[j, e] : f32\nm[i] = max[j](s[i, j])\np[i, j] = "
      "exp(s[i, j] - m[i])\n"
      "o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\noutput o\n");
  ASSERT_TRUE(g);
  for (const LogEntry& e : derive(*g, {.math = MathMode::ieee}).log) {
    EXPECT_NE(e.rule, "stabilize_softmax");
    EXPECT_NE(e.rule, "hoist_invariant_factors");
  }
}

}  // namespace
}  // namespace tang
