// Loops in two: short folds, and long chains of operations on what they give.
#include <gtest/gtest.h>

#include "unit/lower/support.h"

namespace tang::test {
namespace {

// y[a] = f(sum_i w[a, i] x[i] + b[a]), into b if `in_place`.
Graph rows(int64_t count, int64_t terms, Op f, bool in_place = false) {
  Make m;
  const DimId a = m.dim("a", count), i = m.dim("i", terms);
  const TensorId x = m.input("x", {terms}), w = m.input("w", {count, terms}),
                 c = m.input("b", {count});
  const ExprId sum = m.g.state(0, Kind::real);
  const auto y = m.folds(
      {a}, {i}, {{m.monoid("sum", {Kind::real}), {m.mul(m.read(w, {a, i}), m.read(x, {i}))}, {}}},
      {{"y", {a}, m.op(f, m.add(sum, m.read(c, {a})))}});
  m.output(y[0], in_place ? c : TensorId::none);
  return m.g;
}

// How many loops over `a` the kernel has, and whether they keep something between them.
bool is_apart(const Graph& g) {
  const std::string text = Compiled(g).text();
  return text.find("  array ") != std::string::npos &&
         text.find("for a0_1 in") != std::string::npos;
}

TEST(LowerApart, LongChainsAfterShortFolds) {
  for (const int64_t count : {32, 64, 70, 256}) {
    const Graph g = rows(count, 12, Op::tanh);
    EXPECT_TRUE(is_apart(g)) << Compiled(g).text();
    check(g, 1e-5);
  }
}

TEST(LowerApart, OutputsInPlace) {
  const Graph g = rows(64, 12, Op::gelu, true);
  EXPECT_TRUE(is_apart(g)) << Compiled(g).text();
  check(g, 1e-5);
}

// A chain is hidden by the next trip's long fold; a short chain need not be hidden; few trips are
// not worth it; more than fits beside everything else is not kept.
TEST(LowerApart, NotOthers) {
  for (const Graph& g : {rows(64, 256, Op::tanh), rows(64, 12, Op::relu), rows(24, 12, Op::tanh),
                         rows(2048, 12, Op::tanh)}) {
    EXPECT_FALSE(is_apart(g)) << Compiled(g).text();
    check(g, 1e-5);
  }
}

}  // namespace
}  // namespace tang::test
