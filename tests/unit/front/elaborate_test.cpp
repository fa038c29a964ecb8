#include "front/elaborate.h"

#include <chrono>

#include <gtest/gtest.h>

#include "front/render.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "unit/front/programs.h"

namespace tang {
namespace {

std::string shown(const Diagnostics& errors) {
  std::string out;
  for (const Diagnostic& d : errors) out += render(d, nullptr);
  return out;
}

Graph must_parse(const std::string& text) {
  auto g = parse(text, "t.tang");
  EXPECT_TRUE(g.has_value()) << text << "\n" << (g ? "" : shown(g.error()));
  if (!g) return {};
  Diagnostics broken = verify(*g);
  EXPECT_TRUE(broken.empty()) << text << "\n" << shown(broken);
  return std::move(*g);
}

// The printed form, which must read back as itself.
std::string printed(const std::string& text) {
  std::string once = print(must_parse(text));
  EXPECT_EQ(print(must_parse(once)), once);
  return once;
}

// The definitions of the printed form alone.
std::string body(const std::string& text) {
  std::string all = printed(text), out;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = all.find('\n', begin);
    std::string line = all.substr(begin, end - begin);
    bool declares = line.starts_with("param ") || line.starts_with("dim ") ||
                    line.starts_with("input ") || line.starts_with("output ");
    if (!declares) out += line + "\n";
    begin = end + 1;
  }
  return out;
}

const std::string kTop =
    "param n, m\n"
    "dim i = n, j = n, k = 4, l = 4, t = m\n"
    "input x[i], y[i, j], w[k], z[k, l], a[t] : f32, r[k] : i32, c[k] : bool, lr\n";

// ---- programs ---------------------------------------------------------------------------------

TEST(Elaborate, ProgramsOfTheManualPrintToAFixedPoint) {
  for (const auto& program : programs::kAll) {
    SCOPED_TRACE(program.name);
    EXPECT_FALSE(printed(program.text).empty());
  }
}

TEST(Elaborate, ThePrintedFormReadsBackByteForByte) {
  for (const auto& program : programs::kAll) {
    if (std::string(program.name) != "printed_form") continue;
    EXPECT_EQ(printed(program.text), program.text);
  }
}

TEST(Elaborate, AttentionHasSevenNodes) {
  EXPECT_EQ(body(programs::kAll[0].text),
            "s_1[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])\n"
            "s[h, i, j] = s_1[h, i, j] / sqrt(64)\n"
            "p_1[h, i] = max[j](s[h, i, j])\n"
            "p[h, i, j] = exp(s[h, i, j] - p_1[h, i])\n"
            "o_1[h, i, e] = sum[j](v[h, j, e] * p[h, i, j])\n"
            "o_2[h, i] = sum[j](p[h, i, j])\n"
            "o[h, i, e] = o_1[h, i, e] / o_2[h, i]\n");
}

// ---- lifting ----------------------------------------------------------------------------------

TEST(Elaborate, LiftedNamesSkipNamesTakenAnywhere) {
  EXPECT_EQ(body(kTop + "s = 1 + sum[i](x[i])\ns_1 = 2\noutput s, s_1\n"),
            "s_2 = sum[i](x[i])\ns = s_2 + 1\ns_1 = 2\n");
}

TEST(Elaborate, LiftedPointsAreTheOutsideIndicesInTheOrderBound) {
  EXPECT_EQ(body(kTop + "s[j, i] = exp(sum[k](y[i, j] * w[k]))\noutput s\n"),
            "s_1[j, i] = sum[k](y[i, j] * w[k])\ns[j, i] = exp(s_1[j, i])\n");
  EXPECT_EQ(body(kTop + "s = sum[k](w[k] * max[l](z[k, l]))\noutput s\n"),
            "s_1[k] = max[l](z[k, l])\ns = sum[k](w[k] * s_1[k])\n");
}

TEST(Elaborate, ABinderThatHidesAPointIsLifted) {
  EXPECT_EQ(body(kTop + "s[i] = sum[i](x[i])\noutput s\n"), "s_1 = sum[i](x[i])\ns[i] = s_1\n");
}

TEST(Elaborate, ABinderThatHidesAPointInWhereIsRenamed) {
  EXPECT_EQ(body(kTop + "s[i] = a * x[i] where a = sum[i](x[i])\noutput s\n"),
            "s[i] = a * x[i]\n  where a = sum[i_1](x[i_1])\n");
}

TEST(Elaborate, GatherIndicesReadByGathersAreLifted) {
  EXPECT_EQ(body(kTop + "s[k] = w[r[r[k]]]\noutput s\n"), "s_1[k] = r[r[k]]\ns[k] = w[s_1[k]]\n");
  EXPECT_EQ(body(kTop + "s[k] = w[r[k]; 2]\noutput s\n"), "s[k] = w[r[k]; 2]\n");
  EXPECT_EQ(body(kTop + "s[k] = z[k, r[k] + 1] + w[2*r[0] - k]\noutput s\n"),
            "s[k] = w[2*r[0] - k] + z[k, r[k] + 1]\n");
}

TEST(Elaborate, MeanAndVarianceExpand) {
  EXPECT_EQ(body(kTop + "s = mean[k](w[k])\noutput s\n"),
            "s_1 = sum[k](w[k])\ns = recip(4) * s_1\n");
  EXPECT_EQ(body(kTop + "s = var[k](w[k])\noutput s\n"),
            "s_1 = sum[k](w[k])\n"
            "s_2 = sum[k]((w[k] - recip(4) * s_1) * (w[k] - recip(4) * s_1))\n"
            "s = recip(4) * s_2\n");
  EXPECT_EQ(body(kTop + "s = mean[i](x[i])\noutput s\n"),
            "s_1 = sum[i](x[i])\ns = s_1 * select(0 < n, recip(n), 0)\n");
  EXPECT_EQ(body(kTop + "s = mean[k | c[k]](w[k])\noutput s\n"),
            "s_1 = sum[k | c[k]](w[k])\n"
            "s_2 = sum[k | c[k]](1)\n"
            "s = s_1 * select(0 < s_2, recip(s_2), 0)\n");
}

TEST(Elaborate, TuplesOfReductionsAreOneFold) {
  EXPECT_EQ(body(kTop + "(s, u) = (sum[k](w[k]), max[k](w[k]))\noutput s, u\n"),
            "(s, u) = (sum[k](w[k]), max[k](w[k]))\n");
  EXPECT_EQ(body(kTop + "(s, u) = (sum[k](w[k]), max[i](x[i]))\noutput s, u\n"),
            "s_1 = sum[k](w[k])\ns_2 = max[i](x[i])\n(s, u) = (s_1, s_2)\n");
  EXPECT_EQ(body(kTop + "(v[k], e[k]) = argmax[l](z[k, l])\noutput v, e\n"),
            "(v[k], e[k]) = argmax[l](z[k, l])\n");
  EXPECT_EQ(body(kTop + "v[k] = argmax[l](z[k, l]).value\ne[k] = argmax[l](z[k, l])\n"
                        "output v, e\n"),
            "v[k] = argmax[l](z[k, l]).value\ne[k] = argmax[l](z[k, l])\n");
}

TEST(Elaborate, ProjectionsMayDropIndices) {
  EXPECT_EQ(body(kTop + "(m1[k], o[k, i]) = (m, o) where (m, s1, o) = online[l](z[k, l], x[i])\n"
                        "output m1, o\n"),
            "(m1[k], o[k, i]) = (m, o)\n  where (m, l_1, o) = online[l](z[k, l], x[i])\n");
}

TEST(Elaborate, ScansKeepTheirIndex) {
  EXPECT_EQ(body(kTop + "h[t] = 1 + scan[t](0.5, a[t])\nu[t] = cumsum[t](a[t])\n"
                        "v[t] = scan[t; max, exclusive, reverse](a[t])\noutput h, u, v\n"),
            "h_1[t] = scan[t](0.5, a[t])\nh[t] = h_1[t] + 1\nu[t] = scan[t; sum](a[t])\n"
            "v[t] = scan[t; max, exclusive, reverse](a[t])\n");
}

// ---- functions --------------------------------------------------------------------------------

TEST(Functions, ExpandInPlace) {
  EXPECT_EQ(body(kTop + "fn sq(v) = v * v\nfn dot[p](u, v) = sum[p](u * v)\n"
                        "s = dot[k](w[k], sq(w[k]))\noutput s\n"),
            "s = sum[k](w[k] * w[k] * w[k])\n");
}

TEST(Functions, AnIndexParameterBindsInsideTheArguments) {
  EXPECT_EQ(body(kTop + "fn norm[p](v) = v / sum[p](v)\ns[k] = norm[k](w[k])\noutput s\n"),
            "s_1 = sum[k](w[k])\ns[k] = w[k] / s_1\n");
}

TEST(Functions, OtherIndicesOfTheBodyDoNotCapture) {
  EXPECT_EQ(body(kTop + "fn total(v) = sum[k](v * w[k])\ns[k] = total(w[k])\noutput s\n"),
            "s[k] = sum[k_1](w[k] * w[k_1])\n");
  EXPECT_EQ(body(kTop + "fn total(v) = sum[k](v * w[k])\ns[i] = total(x[i])\noutput s\n"),
            "s[i] = sum[k](x[i] * w[k])\n");
  EXPECT_EQ(body(kTop + "fn in(v) = sum[k](v * w[k])\nfn out(v) = in(v)\n"
                        "s[k] = out(exp(w[k]))\noutput s\n"),
            "s[k] = sum[k_1](exp(w[k]) * w[k_1])\n");
  EXPECT_EQ(body(kTop + "fn at[p](v) = sum[k](v * z[p, k])\ns[k] = at[k](2)\noutput s\n"),
            "s[k] = sum[k_1](z[k, k_1] * 2)\n");
  EXPECT_EQ(body(kTop + "fn dot[p](u, v) = sum[p](u * v)\nfn f(v) = dot[k](v, w[k])\n"
                        "s[k] = f(w[k])\noutput s\n"),
            "s[k] = sum[k_1](w[k] * w[k_1])\n");
}

TEST(Functions, ParametersHideValues) {
  EXPECT_EQ(body(kTop + "fn f(n) = n + 1\ns = f(2.5)\noutput s\n"), "s = 1 + 2.5\n");
}

TEST(Functions, ExponentialExpansionIsRefused) {
  std::string text = kTop + "fn fn_0(v) = v + exp(v)\n";
  for (int k = 1; k < 64; ++k) {
    text += "fn fn_" + std::to_string(k) + "(v) = fn_" + std::to_string(k - 1) + "(v) + fn_" +
            std::to_string(k - 1) + "(v)\n";
  }
  auto start = std::chrono::steady_clock::now();
  auto g = parse(text + "s = fn_63(lr)\noutput s\n");
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_FALSE(g);
  EXPECT_EQ(g.error()[0].id, "E0107");
  EXPECT_LT(seconds.count(), 20);
}

TEST(Functions, DeepExpansionIsRefused) {
  std::string text = kTop + "fn fn_0(v) = v + 1\n";
  for (int k = 1; k < 5000; ++k) {
    text += "fn fn_" + std::to_string(k) + "(v) = exp(fn_" + std::to_string(k - 1) + "(v))\n";
  }
  auto g = parse(text + "s = fn_4999(lr)\noutput s\n");
  ASSERT_FALSE(g);
  EXPECT_EQ(g.error()[0].id, "E0107");
}

// ---- reads ------------------------------------------------------------------------------------

TEST(Reads, FillsAreTheIdentityOfTheInnermostReduction) {
  EXPECT_EQ(body(kTop + "s[k] = sum[l](w?[k - l]) + max[l](w?[k - l])\noutput s\n"),
            "s_1[k] = sum[l](w?[k - l])\ns_2[k] = max[l](w?[k - l])\ns[k] = s_1[k] + s_2[k]\n");
  EXPECT_EQ(body(kTop + "s[k] = max[l](-w?[k - l; inf])\nu[k] = w?[k - 1; 0]\noutput s, u\n"),
            "s[k] = max[l](-w?[k - l; inf])\nu[k] = w?[k - 1]\n");
}

TEST(Reads, TheConditionOfTheBinderProvesARange) {
  EXPECT_EQ(body(kTop + "s[k] = sum[l | l <= k](w[k - l])\noutput s\n"),
            "s[k] = sum[l | l <= k](w[k - l])\n");
  EXPECT_EQ(body(kTop + "s[k] = sum[l | k + l == 3](w[k + l])\noutput s\n").substr(0, 4), "s[k]");
  EXPECT_EQ(body(kTop + "s = sum[k | 2*k < 4](w[2*k])\noutput s\n"),
            "s = sum[k | 2*k <= 3](w[2*k])\n");
}

TEST(Reads, AnEmptyBoxReadsNothing) {
  printed("dim i = 0\ninput x[i]\ny[i] = x[i + 5]\noutput y\n");
}

TEST(Reads, SymbolsLeaveChecksToBind) {
  printed("param n, m\ndim i = n\ninput x[m]\ny[i] = x[i]\noutput y\n");
}

// ---- formats ----------------------------------------------------------------------------------

TEST(Formats, OfInputsApplyToTheItemsBefore) {
  Graph g = must_parse("input a, b : f16, c : i8, d\ny = a + b + c + d\noutput y\n");
  EXPECT_EQ(g.tensors[0].format, Format::f16);
  EXPECT_EQ(g.tensors[1].format, Format::f16);
  EXPECT_EQ(g.tensors[2].format, Format::i8);
  EXPECT_EQ(g.tensors[3].format, Format::f32);
}

TEST(Formats, OfADefinitionIsItsStorageAndKind) {
  Graph g = must_parse(kTop + "s : i8 = lr\nb = lr < 1\noutput s, b\n");
  EXPECT_EQ(g[*g.find_tensor("s")].kind, Kind::integer);
  EXPECT_EQ(g[*g.find_tensor("b")].kind, Kind::boolean);
  EXPECT_EQ(g[*g.find_tensor("b")].storage(), Format::boolean);
}

TEST(Formats, IntoGivesABareDefinitionTheFormatOfTheBuffer) {
  Graph g = must_parse("dim i = 4\ninput x[i] : bf16\ny[i] = x[i] + 1\noutput y into x\n");
  EXPECT_EQ(g[*g.find_tensor("y")].format, Format::bf16);
}

// ---- monoids ----------------------------------------------------------------------------------

TEST(Monoids, KindsFollowTheArguments) {
  const std::string monoid =
      "monoid last(found, v)\n identity (false, 0)\n lift(x) = (true, x)\n"
      " combine(p, q) = (p.found or q.found, select(q.found, q.v, p.v))\n";
  Graph g = must_parse("dim i = 4\ninput x[i] : f32, n[i] : i32\n" + monoid +
                       "a = last[i](x[i]).v\nb = last[i](n[i]).v\noutput a, b\n");
  EXPECT_EQ(g[*g.find_tensor("a")].kind, Kind::real);
  EXPECT_EQ(g[*g.find_tensor("b")].kind, Kind::integer);
  EXPECT_FALSE(g.monoids.back().commutative);
  printed("dim i = 4\ninput x[i]\n" + monoid + "a = last[i](x[i]).v\noutput a\n");
}

TEST(Monoids, ASingleFieldIsANumber) {
  EXPECT_EQ(body("dim i = 4\ninput x[i]\nmonoid add(v) identity 0 combine(a, b) = a + b.v "
                 "commutative\ny = add[i](x[i])\noutput y\n"),
            "monoid add(v)\n  identity 0\n  lift(v) = v\n  combine(a, b) = a.v + b.v\n"
            "  commutative\ny = add[i](x[i])\n");
}

// Operands of the body stand in one order, whatever the program made before.
TEST(Monoids, PrintTheSameBesideOthers) {
  const std::string text =
      "dim i = 4\ninput x[i]\nmonoid count(n, s) identity (0, 0) lift(x) = (1, x)\n"
      "  combine(a, b) = (b.n + a.n, b.s + a.s)\n";
  const std::string shown = "combine(a, b) = (a.n + b.n, a.s + b.s)";
  for (const char* before : {"", "m = max[i](3)\n", "m = sum[i](i)\n", "m = sum[i](x[i])\n"}) {
    const std::string all = printed(text + before + "y = count[i](x[i]).s\noutput y\n");
    EXPECT_NE(all.find(shown), std::string::npos) << all;
  }
}

// ---- errors -----------------------------------------------------------------------------------

struct Expected {
  const char* id;
  int col, length;  // on the line under test
  const char* message;
  const char* text;
};

const Expected kErrors[] = {
    {"E0201", 5, 1, "`q` is not defined", "s = q"},
    {"E0202", 1, 1, "`x` is defined twice", "x = 1"},
    {"E0202", 8, 1, "`s` is defined twice", "(s[i], s[i]) = (1, 2)"},
    {"E0203", 5, 1, "`s` refers to itself", "s = s + 1"},
    {"E0203", 5, 5, "`after` is used before it is defined", "s = after"},
    {"E0204", 7, 1, "index `k` is not bound here", "s = w[k]"},
    {"E0204", 13, 1, "index `k` is neither a parameter nor bound in the body", "fn f(v) = w[k]"},
    {"E0205", 6, 1, "index `i` stands twice on the left-hand side", "s[i, i] = 1"},
    {"E0205", 12, 1, "index `i` stands twice in this binder", "s = sum[i, i](x[i])"},
    {"E0206", 5, 4, "there is no operation `foo_`", "s = foo_(1)"},
    {"E0206", 5, 2, "there is no operation `lr`", "s = lr(1)"},
    {"E0207", 3, 1, "`n` is a param, not an index", "s[n] = 1"},
    {"E0207", 9, 1, "`x` is a tensor, not an index", "s = sum[x](1)"},
    {"E0209", 5, 1, "`n` is a param, not a tensor", "s = n[1]"},
    {"E0214", 4, 3, "`exp` is a built-in operation", "fn exp(v) = v"},
    {"E0202", 9, 1, "`v` is named twice here", "fn f(v, v) = v"},
    {"E0211", 21, 3, "there is no field `abc` here", "s = argmax[k](w[k]).abc"},
    {"E0212", 8, 1, "`x` is an input, not a result", "output x"},
    {"E0212", 17, 3, "`top` is not an input", "output top into top"},
    {"E0404", 17, 1, "`top` cannot take the buffer of `r`: `top` is f32, `r[4]` is i32",
     "output top into r"},
    {"E0212", 8, 2, "`lr` has no axis to be sorted along", "sorted lr"},
    {"E0213", 5, 9, "`exp` takes 1 argument, this call gives 2", "s = exp(1, 2)"},
    {"E0213", 5, 14, "`atan2` takes 2 arguments, this call gives 3", "s = atan2(1, 2, 3)"},
    {"E0301", 12, 1, "a condition must be bool, and this is integer", "s = select(1, 2, 3)"},
    {"E0301", 5, 2, "a condition must be bool, and this is real", "s = lr and true"},
    {"E0301", 18, 4, "a condition must be bool, and this is real", "s = sum[k | not (w[k])](1)"},
    {"E0301", 12, 4, "`any` takes a condition, and this is real", "s = any[k](w[k])"},
    {"E0302", 5, 3, "there is no format `f17`", "s : f17 = 1"},
    {"E0303", 5, 4, "`q8_0` is a format of inputs only", "s : q8_0 = 1.0"},
    {"E0303", 5, 4, "`q4_k` is a format of inputs only", "s = q4_k(1.0)"},
    {"E0304", 7, 3, "the last axis of `big[48]` is not a multiple of the block of q8_0, 32",
     "input big[48] : q8_0"},
    {"E0305", 5, 6, "a tuple of 2 stands where a number is needed", "s = (1, 2) + 1"},
    {"E0305", 5, 6, "1 target for 2 components", "s = (1, 2)"},
    {"E0305", 10, 9, "2 targets for 3 components", "(s, u) = (1, 2, 3)"},
    {"E0305", 15, 6, "2 names for a state of 1 component", "s = a1 where (a1, b1) = sum[k](w[k])"},
    {"E0306", 5, 4, "`s` is real and cannot be stored as bool", "s : bool = lr"},
    {"E0401", 10, 5, "axis 0 of `w` is too short for this read", "s[k] = w[k + 1]"},
    {"E0401", 10, 5, "axis 0 of `w` starts at 0, and this read goes below", "s[k] = w[k - 1]"},
    {"E0401", 10, 5, "axis 0 of `x` is too short for this read", "s[i] = x[i + 1]"},
    {"E0401", 7, 1, "axis 0 of `w` is too short for this read", "s = w[4]"},
    {"E0401", 13, 3, "axis 1 of `z` is too short for this read", "s[k] = z[k, 2*k]"},
    {"E0402", 8, 7, "`w[4]` has 1 axis, this read gives 2", "s[k] = w[k, k]"},
    {"E0402", 8, 1, "`z[4, 4]` has 2 axes, this read gives 0", "s[k] = z"},
    {"E0402", 5, 5, "`lr` has 0 axes, this read gives 1", "s = lr[0]"},
    {"E0403", 9, 5, "`/` with a param cannot stand in an extent", "dim e = n / 2"},
    {"E0403", 9, 1, "`x` is a tensor and cannot stand in an extent", "dim e = x"},
    {"E0403", 9, 3, "this is not an extent", "dim e = 1.5"},
    {"E0403", 9, 5, "division by zero", "dim e = 1 / 0"},
    {"E0403", 11, 5, "division by zero", "param e = n / 0"},
    {"E0409", 9, 2, "an extent of `e` is -1", "dim e = -1"},
    {"E0404", 16, 1, "the targets disagree on the order of `i`", "(s[i, k], u[k, i]) = (1, 2)"},
    {"E0405", 10, 5, "`/` is not affine, so it cannot stand in a read", "s[k] = w[k / 2]"},
    {"E0405", 10, 9, "`mod` is not affine, so it cannot stand in a read", "s[k] = w[mod(k, 2)]"},
    {"E0405", 14, 5, "a product of indices is not affine, so it cannot stand in a read",
     "s[k] = w[1 + k * k]"},
    {"E0406", 14, 2, "a fill is a constant", "s[k] = w?[k; lr]"},
    {"E0406", 13, 1, "this read has no outside to fill", "s[k] = w[k; 0]"},
    {"E0406", 14, 3, "`r` is integer, and this fill is real", "s[k] = r?[k; 0.5]"},
    {"E0407", 7, 3, "a position is an integer, and this is real", "s = w[0.5]"},
    {"E0407", 7, 2, "a position is an integer, and this is not one", "s = w[lr]"},
    {"E0408", 2, 1, "`s` leaves out `k`, and its value depends on it", "(s, u[k]) = (w[k], w[k])"},
    {"E0501", 5, 11, "`online` does not take 0 arguments", "s = online[k]().o"},
    {"E0501", 5, 3, "the reduction `sum` needs an index", "s = sum(w)"},
    {"E0501", 5, 3, "`exp` is not a reduction", "s = exp[k](w[k])"},
    {"E0502", 17, 5, "a scan takes no condition", "s[k] = scan[k | k < 2](w[k], 1)"},
    {"E0503", 16, 5, "`later` cannot stand here", "s[k] = scan[k; later](w[k])"},
    {"E0503", 12, 3, "`sum` takes no modifier after `;`", "s = sum[k; max](w[k])"},
    {"E0504", 15, 9, "a guarded read inside `argmax` must state its fill",
     "s = argmax[k](w?[k + 1])"},
    {"E0505", 18, 1, "topk keeps 4 entries of 2", "dim two = 2\ns[k] = topk[two; k](w[two])"},
    {"E0506", 26, 1, "`m2` has 2 fields, its identity 1",
     "monoid m2(f, g) identity 0 combine(p, q) = (p.f, q.g)"},
    {"E0507", 19, 1, "`where` names the state of a reduction, and this is none",
     "s = a1 where a1 = 3"},
    {"E0507", 30, 28, "these reductions do not run over the same indices",
     "s = a1 + b1 where (a1, b1) = (sum[k](w[k]), sum[i](x[i]))"},
    {"E0601", 6, 5, "`grads[4]` is not a single number, so its gradient needs a cotangent",
     "grads[k] = w[k]\ngrad grads -> dw: w"},
    {"E0602", 17, 1, "`r` is integer, only reals have gradients", "grad top -> dr: r"},
};

TEST(Errors, IdMessageAndPlace) {
  int line_of_test = 5;
  for (const Expected& e : kErrors) {
    SCOPED_TRACE(e.text);
    std::string text = kTop + "top = 1.0\n" + e.text + "\nafter = 2\noutput top, after\n";
    auto g = parse(text, "t.tang");
    ASSERT_FALSE(g);
    const Diagnostic& d = g.error()[0];
    int extra = 0;
    for (const char* c = e.text; *c; ++c) extra += *c == '\n';
    EXPECT_EQ(d.id, e.id) << shown(g.error());
    EXPECT_EQ(d.message, e.message);
    EXPECT_EQ(d.where.line, line_of_test + extra);
    EXPECT_EQ(d.where.col, e.col);
    EXPECT_EQ(d.where.length, e.length);
    EXPECT_FALSE(d.hint.empty());
    for (std::size_t k = 1; k < g.error().size(); ++k) {
      EXPECT_EQ(g.error()[k].id, "E0212") << g.error()[k].message;  // `output top` twice
    }
  }
}

TEST(Errors, TheContractsExamples) {
  Source attention("attention.tang",
                   "# attention\nparam seq\ndim h = 8, i = seq, j = seq, d = 64\n\n"
                   "input q[h, i, d], k[h, j, d]\n\n"
                   "s[h, i, j] = sum[d](q[h, i, d] * k[h + 1, j, d]) / sqrt(64)\noutput s\n");
  auto g = parse(attention);
  ASSERT_FALSE(g);
  EXPECT_EQ(
      render(g.error(), &attention),
      "attention.tang:7:36: error E0401: axis 0 of `k` is too short for this read\n"
      "  7 | s[h, i, j] = sum[d](q[h, i, d] * k[h + 1, j, d]) / sqrt(64)\n"
      "    |                                    ^^^^^ runs over 1…8, `k[8, seq, 64]` has 0…7\n"
      "  hint: shrink `h`, or write `k?[h + 1, …]` to read 0 outside\n");
  Source gqa("gqa.tang",
             "param seq\ndim h = 32, kvh = 8, i = seq, j = seq, d = 64\n"
             "input q[h, i, d], k[kvh, j, d]\n\n"
             "s[h, i, j] = sum[d](q[h, i, d] * k[h / 4, j, d])\noutput s\n");
  g = parse(gqa);
  ASSERT_FALSE(g);
  EXPECT_EQ(render(g.error(), &gqa),
            "gqa.tang:5:36: error E0405: `/` is not affine, so it cannot stand in a read\n"
            "  5 | s[h, i, j] = sum[d](q[h, i, d] * k[h / 4, j, d])\n"
            "    |                                    ^^^^^\n"
            "  hint: make the heads two dims: `dim kv = 8, g = 4`, read `q[kv, g, i, d]` and "
            "`k[kv, j, d]`\n");
}

TEST(Errors, OfSyntaxAndMeaningTogetherInOrder) {
  auto g =
      parse(kTop + "a1[i] = x[i\nb1[i] = x[i, i]\nc1 = q\nd1 = a1[0] + b1[0] + c1\noutput d1\n");
  ASSERT_FALSE(g);
  std::vector<std::string> ids;
  for (const Diagnostic& d : g.error()) ids.push_back(d.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"E0104", "E0402", "E0201"}));
}

TEST(Errors, AProgramNeedsAnOutput) {
  for (const char* text : {"", "# nothing\n", "param n\n", "x = 1\n"}) {
    auto g = parse(text);
    ASSERT_FALSE(g);
    EXPECT_EQ(g.error()[0].id, "E0208");
  }
}

TEST(Errors, AtMostTwenty) {
  std::string text;
  for (int k = 0; k < 50; ++k) text += "x" + std::to_string(k) + " = q" + std::to_string(k) + "\n";
  auto g = parse(text);
  ASSERT_FALSE(g);
  EXPECT_EQ(g.error().size(), 20u);
}

// ---- gradients --------------------------------------------------------------------------------

TEST(Gradients, PrintAsWrittenAndAreOutputsWhenUnread) {
  EXPECT_EQ(printed("dim k = 4\ninput w[k]\nl = sum[k](w[k] * w[k])\ngrad l -> dw: w\noutput l\n"),
            "dim k = 4\ninput w[k]\nl = sum[k](w[k] * w[k])\ngrad l -> dw: w\noutput l, dw\n");
}

TEST(Gradients, ACotangentHasTheFormatOfItsValue) {
  Graph g = must_parse(
      "dim k = 4\ninput w[k] : f16\no[k] : f16 = 2 * w[k]\n"
      "grad o with do -> dw: w\noutput o\n");
  TensorId t = *g.find_tensor("do");
  EXPECT_EQ(g[t].role, Role::cotangent);
  EXPECT_EQ(g[t].format, Format::f16);
}

// ---- size -------------------------------------------------------------------------------------

TEST(Elaborate, LargeProgramsAreFast) {
  std::string text = "dim i = 4, j = 4\ninput x0[i]\n";
  for (int k = 1; k <= 5000; ++k) {
    std::string at = std::to_string(k), before = std::to_string(k - 1);
    text += "x" + at + "[i] = x" + before + "[i] + sum[j](x" + before + "[j])\n";
  }
  auto start = std::chrono::steady_clock::now();
  auto g = parse(text + "output x5000\n");
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(g.has_value());
  EXPECT_LT(seconds.count(), 10);
}

TEST(Elaborate, DeepExpressionsAreFine) {
  std::string open, close, sum = "1.5";
  for (int k = 0; k < 990; ++k) open += "exp(", close += ")", sum += " + lr";
  must_parse("input lr\ns = " + open + "lr" + close + "\nu = " + sum + "\noutput s, u\n");
}

}  // namespace
}  // namespace tang
