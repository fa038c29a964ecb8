#include "ir/bind.h"

#include <gtest/gtest.h>

#include "eval/oracle.h"
#include "front/elaborate.h"
#include "ir/print.h"

namespace tang {
namespace {

Graph program(const std::string& text) {
  auto g = parse(text);
  if (!g) throw std::runtime_error(g.error()[0].message);
  return *g;
}

std::string first_id(const Diagnostics& d) { return d.empty() ? "" : d[0].id; }

constexpr const char* copy_text =
    "param n, m = 3\ndim i = n, j = m\ninput x[n, m]\n"
    "y[i, j] = x[i, j]\noutput y\n";

TEST(Bind, FlagsShapesAndDefaultsAgree) {
  Graph g = program(copy_text);
  EXPECT_TRUE(bind(g, {.flags = {{"n", 4}}}).empty());
  EXPECT_EQ(bound_params(g), (std::vector<int64_t>{4, 3}));
  Graph h = program(copy_text);
  EXPECT_TRUE(bind(h, {.flags = {{"n", 4}}, .shapes = {{"x", {4, 7}}}}).empty());
  EXPECT_EQ(bound_params(h), (std::vector<int64_t>{4, 7}));
}

TEST(Bind, DisagreementNamesBothSources) {
  Graph g = program(copy_text);
  const Diagnostics d = bind(g, {.flags = {{"n", 4}}, .shapes = {{"x", {5, 3}}}});
  ASSERT_EQ(first_id(d), "E0711");
  EXPECT_NE(d[0].message.find("4 by -D n=4"), std::string::npos) << d[0].message;
  EXPECT_NE(d[0].message.find("5 by axis 0"), std::string::npos) << d[0].message;
}

TEST(Bind, UnknownFlagSuggests) {
  Graph g = program("param seq\ndim i = seq\ninput x[i]\ny[i] = x[i]\noutput y\n");
  const Diagnostics d = bind(g, {.flags = {{"sq", 4}}});
  ASSERT_EQ(first_id(d), "E0710");
  EXPECT_EQ(d[0].hint, "did you mean `seq`?");
}

TEST(Bind, UnboundStaysASymbolOrIsAnError) {
  Graph g = program(copy_text);
  EXPECT_EQ(first_id(bind(g, {})), "E0712");
  Graph h = program(copy_text);
  EXPECT_TRUE(bind(h, {.require_all = false}).empty());
  EXPECT_FALSE(h.params[0].bound.has_value());
}

TEST(Bind, DefaultsComputeWithFloorDivision) {
  Graph g = program(
      "param ih, oh = (ih + 2 - 3) / 2 + 1\ndim p = oh\ninput x[ih]\n"
      "y[p] = x?[2*p - 1]\noutput y\n");
  ASSERT_TRUE(bind(g, {.shapes = {{"x", {8}}}}).empty());
  EXPECT_EQ(bound_params(g), (std::vector<int64_t>{8, 4}));
}

TEST(Bind, NegativeExtentsAndOverflow) {
  const char* text = "param n\ndim i = n - 4\ninput x[n]\ny[i] = x[i]\noutput y\n";
  Graph g = program(text);
  EXPECT_EQ(first_id(bind(g, {.flags = {{"n", 3}}})), "E0409");
  Graph h = program("param n\ndim i = n*n*n\ninput x[n]\ny[i] = 1.0\noutput y\n");
  const Diagnostics d = bind(h, {.flags = {{"n", 3000000}}});
  ASSERT_EQ(first_id(d), "E0903");
  EXPECT_EQ(d[0].exit, Exit::out_of_memory);
  Graph zero = program(text);
  EXPECT_TRUE(bind(zero, {.flags = {{"n", 4}}}).empty());
}

TEST(Bind, DeferredReadsAreProvedWithNumbers) {
  const char* text = "param n, m\ndim i = n\ninput x[m]\ny[i] = x[i + 1]\noutput y\n";
  Graph g = program(text);
  EXPECT_TRUE(bind(g, {.flags = {{"n", 3}, {"m", 4}}}).empty());
  Graph h = program(text);
  const Diagnostics d = bind(h, {.flags = {{"n", 3}, {"m", 3}}});
  ASSERT_EQ(first_id(d), "E0401");
  EXPECT_EQ(d[0].where.line, 4);
  Graph empty = program(text);
  EXPECT_TRUE(bind(empty, {.flags = {{"n", 0}, {"m", 0}}}).empty());
}

TEST(Bind, ConditionsJustifyReads) {
  const char* text =
      "param n, m\ndim i = n, j = n\ninput x[m]\n"
      "y[i] = sum[j | j + 2 <= i](x[j])\noutput y\n";
  Graph g = program(text);
  EXPECT_TRUE(bind(g, {.flags = {{"n", 6}, {"m", 4}}}).empty());
  Graph h = program(text);
  EXPECT_EQ(first_id(bind(h, {.flags = {{"n", 6}, {"m", 3}}})), "E0401");
}

TEST(Bind, SubstitutionReplacesParamsEverywhere) {
  Graph g = program(
      "param n\ndim i = n, j = n\ninput x[n, n]\n"
      "y[i] = sum[j | j < n - i](x[i, j] * n) + size(j)\noutput y\n");
  ASSERT_TRUE(bind(g, {.flags = {{"n", 5}}}).empty());
  const Graph b = with_bound_params(g);
  EXPECT_TRUE(b.dims[0].extent.is_constant());
  const std::string text = print(b);
  EXPECT_EQ(text.find("n)"), std::string::npos) << text;
  EXPECT_NE(text.find("* 5"), std::string::npos) << text;
}

}  // namespace
}  // namespace tang
