// reduce: what is left of a program that fails by a condition of the test.
#include "verify/reduce.h"

#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/print.h"

namespace tang {
namespace {

constexpr const char* attention =
    "param seq\n"
    "dim h = 4, i = seq, j = seq, d = 16, e = 16\n"
    "input q[h, i, d], k[h, j, d], v[h, j, e] : f16, extra[h] : f32\n"
    "s[h, i, j] = select(j <= i, sum[d](q[h, i, d] * k[h, j, d]) / 4, -inf)\n"
    "p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))\n"
    "o[h, i, e] : f16 = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])\n"
    "x[h] = extra[h] + 1\n"
    "output o, x\n";

Graph graph_of(const std::string& text, const std::map<std::string, int64_t>& sizes = {}) {
  auto g = parse(text);
  EXPECT_TRUE(g) << (g ? "" : g.error()[0].message);
  EXPECT_TRUE(bind(*g, {.flags = sizes}).empty());
  return *g;
}

// Fails while the printed program has all of these.
FailsStill has(std::vector<std::string> parts) {
  return [parts](const Graph& g) {
    const std::string text = print(g);
    for (const std::string& part : parts)
      if (text.find(part) == std::string::npos) return false;
    return true;
  };
}

void expect_round_trip(const Reduced& r) {
  EXPECT_EQ(print(graph_of(r.text)), r.text);
  EXPECT_EQ(print(r.graph), r.text);
}

TEST(Reduce, KeepsTheOneDefinitionThatMatters) {
  const Reduced r = reduce(graph_of(attention, {{"seq", 8}}), has({"max["}));
  expect_round_trip(r);
  EXPECT_EQ(r.text,
            "dim h = 1, i = 1, j = 1\n"
            "p_1[h, i] = max[j](1.0)\n"
            "output p_1\n");
  EXPECT_TRUE(r.exhausted);
}

TEST(Reduce, KeepsAChainOfTwo) {
  const Reduced r = reduce(graph_of(attention, {{"seq", 8}}), has({"exp(", "max["}));
  expect_round_trip(r);
  EXPECT_EQ(r.graph.order().size(), 2u);
  EXPECT_LT(r.text.size(), 160u) << r.text;
}

TEST(Reduce, FindsTheSmallestSizesAndOperations) {
  const auto fails = [](const Graph& g) {
    const auto d = g.find_dim("d");
    if (!d || bound_value(g, g.extent(*d)).value_or(0) < 5) return false;
    return print(g).find("sum[d]") != std::string::npos;
  };
  const Reduced r = reduce(graph_of(attention, {{"seq", 8}}), fails);
  expect_round_trip(r);
  EXPECT_NE(r.text.find("d = 5"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("select"), std::string::npos) << r.text;
  EXPECT_EQ(r.text.find("param"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("= sum[d](1.0)"), std::string::npos) << r.text;
}

TEST(Reduce, DropsConditionsFormatsFoldsScansAndPromises) {
  const std::string text =
      "dim n = 12, g = 4, t = 6\n"
      "input x[n] : bf16, seg[n] : i32, w[t], h[t]\n"
      "sorted seg\n"
      "(a[g], b[g]) = (sum[n | seg[n] == g](x[n]), sum[n | seg[n] == g](x[n] * x[n]))\n"
      "y[t] : f16 = scan[t; affine, reverse](w[t], h[t])\n"
      "output a, b, y\n";
  const Reduced sum = reduce(graph_of(text), has({"sum[n"}));
  expect_round_trip(sum);
  EXPECT_EQ(sum.text.find("|"), std::string::npos) << sum.text;
  EXPECT_EQ(sum.text.find("bf16"), std::string::npos) << sum.text;
  const Reduced scan = reduce(graph_of(text), has({"scan[t"}));
  expect_round_trip(scan);
  EXPECT_EQ(scan.text.find("reverse"), std::string::npos) << scan.text;
  EXPECT_EQ(scan.text.find("f16"), std::string::npos) << scan.text;
}

TEST(Reduce, IsDeterministicAndKeepsToItsBudget) {
  const Graph g = graph_of(attention, {{"seq", 8}});
  const FailsStill fails = has({"sum[j]"});
  const Reduced once = reduce(g, fails), again = reduce(g, fails);
  EXPECT_EQ(once.text, again.text);
  EXPECT_EQ(once.trials, again.trials);
  const Reduced none = reduce(g, fails, {.budget = std::chrono::milliseconds(0)});
  EXPECT_FALSE(none.exhausted);
  expect_round_trip(none);
  EXPECT_TRUE(fails(none.graph));
}

TEST(Reduce, AProgramWithoutAnythingToDropStays) {
  const std::string text = "dim i = 1\ninput x[i]\ny[i] = exp(x[i])\noutput y\n";
  const Reduced r = reduce(graph_of(text), has({"exp(x"}));
  EXPECT_EQ(r.text, text);
}

}  // namespace
}  // namespace tang
