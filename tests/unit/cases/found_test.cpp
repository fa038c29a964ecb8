// What random programs found, as small as it goes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "rewrite/pipeline.h"
#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

void expect_same_everywhere(const std::string& text, std::vector<std::string> flags = {}) {
  Case c(text);
  if (!flags.empty()) c.flags(std::move(flags));
  expect_agreement(c.run(), 1e-5);
}

// The fill of a guarded read takes the place of the read: the format of what is read rounds
// nothing.
TEST(Found, AFillIsNotRoundedToTheFormatOfTheTensor) {
  expect_same_everywhere(
      "dim p = 4, k = 3\ninput x[p] : f32\nt[p] : u4 = 2 - p\n"
      "y[p, k] = x[p] + t?[p + k - 2; -1]\noutput y\n");
}

// An index read in a condition is guarded as well once it may lie outside of its tensor; the
// derived program would not be one otherwise.
TEST(Found, ConditionsOnGatheredIndicesStayInside) {
  const std::string text =
      "dim c = 5, k = 7, b = 3, q = 4\ninput x[c] : i32, z[b] : f32\n"
      "t[q, b] = select(b <= q + 1 and q - 1 <= b, z[b], 0.5)\n"
      "u[c] = select(x[c] == 1, tanh(t[x[c], 1]), 2)\n"
      "y[k] = u?[k + 2; 0] + u?[2*k - 3; 0]\noutput y\n";
  const Graph derived = derive(parse(text).value()).derived;
  for (const Diagnostic& fault : verify(derived)) ADD_FAILURE() << fault.message;
  EXPECT_TRUE(parse(print(derived))) << print(derived);
  expect_same_everywhere(text);
}

// A softmax weight read at one place of its row, inside of another softmax, where the row has no
// scores: the shift is 0 there, in the program as written and after its formula has been taken into
// others.
TEST(Found, WeightsOfMaskedRowsReadInOnePlace) {
  for (const char* shift : {"s[p, i] - m[p]", "(s[p, i] - m[p]) / (0.5 + abs(h[p]))"})
    for (const char* use : {"t[p, 1]", "t[p, n[p]]", "t[p, p]", "t?[p, n[p] - 1; -0.5]"}) {
      SCOPED_TRACE(fmt::format("{} {}", shift, use));
      expect_same_everywhere(
          fmt::format("dim p = 4, i = 4, c = 3\ninput x[p, i], h[p], z[c] : f32, n[p] : i32\n"
                      "s[p, i] = select(i + 2 <= p, tanh(x[p, i]), -inf)\nm[p] = max[i](s[p, i])\n"
                      "t[p, i] = exp({})\ne[c, p] = exp(tanh({}) + z[c] * p / 4)\n"
                      "y[c] = sum[p](e[c, p] * h[p]) / sum[p](e[c, p])\noutput y\n",
                      shift, use));
    }
}

// gcc 12 made an address from null of an array that is read in both directions, and dropped the
// stores of the function.
TEST(Found, AnArrayReadBothWaysIsStored) {
  expect_same_everywhere(
      "dim c = 4, k = 6, i = 5\ninput x[k, i] : f32\n"
      "y[c, k] : f64 = -(x[k, c + 1] - x[5 - k, 4 - c])\noutput y\n",
      {"-std=gnu11", "-O2", "-fno-math-errno", "-ffp-contract=off"});
}

// An axis of no elements makes the strides before it 0; what is read still moves along them.
TEST(Found, ANestedReadOverAnEmptyAxisMoves) {
  expect_same_everywhere(
      "param n = 6\ndim i = 4, j = 4, p = n, q = 7, b = 0, c = n\ninput x[j, q, b] : f64\n"
      "t[j, b] = sum[c, p](x[j, 2*j, b])\ny[i] = max[b, p](tanh(t?[p + i - 1, b + 2; 0]))\n"
      "output y\n");
}

// Targets may drop different indices, in any order that one order of all of them keeps.
TEST(Found, TargetsAgreeOnAnOrderThatNoneOfThemStates) {
  expect_same_everywhere(
      "dim p = 3, b = 2, q = 4, j = 5\ninput x[p, j], y[b, j] : f32\n"
      "(u[p, q], v[b, q], w[q]) = (sum[j](x[p, j] * q), max[j](y[b, j] + q), sum[j](q * j))\n"
      "output u, v, w\n");
}

// States of a pivot's rows are stored where the columns beside them are none.
TEST(Found, StatesOfRowsWithoutColumnsAreStored) {
  expect_same_everywhere(
      "dim i = 3, q = 7, b = 5, c = 0\ninput x[q, i], y[b, i], z[b, c] : f32\n"
      "s[q, b] = sum[i](x[q, i] * y[b, i])\n"
      "(m[q], l[q], o[q, c]) = online[b | b <= q](s[q, b], z[b, c])\noutput m, l, o\n");
}

// A vector of gathered places along which the tensor moves by one element as well.
TEST(Found, GatheredPlacesAddToAStrideOfOne) {
  expect_same_everywhere(
      "dim j = 9, i = 9, c = 9\ninput x[j, i], z[c] : f32, n[c] : i32\n"
      "y[c] = z[c] + x[n[c], c]\noutput y\n");
}

// A state that does not vary along the points is no state of the output.
TEST(Found, AFoldOfOneDefinitionsElementIsTheSameAtAllPoints) {
  expect_same_everywhere(
      "dim j = 3, k = 4, p = 6, b = 3\ninput x[b, j] : f32\n"
      "t[b] = log(sum[j](exp(x[b, j])))\ny[k] = min[p](tanh(t[1]))\noutput y\n");
}

// Sums that start at places which are gathered.
TEST(Found, AStepOfAMatrixScanAddsToGatheredPlaces) {
  expect_same_everywhere(
      "dim k = 6, y = 6, c = 4\ninput a[k, c], b[k], h0 : f32, n[k] : i32\n"
      "h[c, k] = matscan[c; k, y](a[n[k], 0] / 8 + select(k == y, 0.5, 0), b[n[k]], h0)\n"
      "output h\n");
}

// What is recomputed where it is read has no values outside of its own points.
TEST(Found, GuardedReadsOfWhatIsRecomputed) {
  expect_same_everywhere(
      "dim q = 3, k = 7, j = 3, b = 1, i = 1\ninput x[q, k, j], w[j, b], z[q, k] : f32\n"
      "t[q, k, b] = sum[j](exp(x[q, k, j] + z[q, k]) * w[j, b])\n"
      "y[i] = sum[j, k](tanh(t?[i + j - 1, k - 2, j + k - 1; 1]))\noutput y\n");
}

TEST(Found, ARealToALiteralPowerPrintsAsOne) {
  const auto g = parse("dim i = 2\ninput x[i] : f32\ny[i] = x[i] + tanh(pow(2.0, 2))\noutput y\n");
  ASSERT_TRUE(g);
  const std::string once = print(*g);
  EXPECT_NE(once.find("pow(2.0, 2)"), std::string::npos) << once;
  EXPECT_EQ(print(parse(once).value()), once);
}

}  // namespace
}  // namespace tang::cases
