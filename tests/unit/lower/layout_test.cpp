// Products whose operands lie so that they are turned, staged or folded in lanes.
#include <string_view>

#include <gtest/gtest.h>

#include "unit/lower/support.h"

namespace tang::test {
namespace {

constexpr Kind R = Kind::real;

// How often a word stands in the lowered program.
size_t count(const Graph& g, std::string_view word) {
  const std::string text = Compiled(g).text();
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(LowerMatmul, MatricesByVectors) {
  for (const int64_t rows : {3, 12, 37}) {
    Make m;
    const DimId i = m.dim("i", rows), c = m.dim("c", 20);
    const TensorId w = m.input("w", {rows, 20}), x = m.input("x", {20}), b = m.input("b", {rows});
    const TensorId s =
        m.fold("s", {i}, {c}, m.monoid("sum", {R}), {m.mul(m.read(w, {i, c}), m.read(x, {c}))});
    m.output(s);
    check(m.g, 1e-5);
    EXPECT_GT(count(m.g, "even("), 0U) << "the folds of rows do not fill a vector";
    m.output(m.map("y", {i}, m.op(Op::tanh, m.add(m.read(s, {i}), m.read(b, {i})))));
    check(m.g, 1e-5);
  }
}

TEST(LowerMatmul, VectorsByLargeMatrices) {
  Make m;
  const DimId i = m.dim("i", 1001), c = m.dim("c", 91);
  const TensorId w = m.input("w", {91, 1001}), x = m.input("x", {91});
  m.output(m.fold("y", {i}, {c}, m.monoid("sum", {R}), {m.mul(m.read(w, {c, i}), m.read(x, {c}))}));
  check(m.g, 1e-5);
  EXPECT_GT(count(m.g, "step 8"), 0U);
}

TEST(LowerMatmul, LinesOfTheTargetAreAskedFor) {
  Make m;
  const DimId i = m.dim("i", 30), c = m.dim("c", 600), f = m.dim("f", 40);
  const TensorId a = m.input("a", {30, 600}), b = m.input("b", {600, 40});
  m.output(m.fold("y", {i, f}, {c}, m.monoid("sum", {R}),
                  {m.mul(m.read(a, {i, c}), m.read(b, {c, f}))}));
  check(m.g, 1e-5);
  EXPECT_GT(count(m.g, "prefetch y"), 0U);
}

TEST(LowerConv, StridedWindows) {
  for (const int64_t stride : {2, 3}) {
    Make m;
    const int64_t wide = 21 * stride + 1;
    const DimId o = m.dim("o", 7), c = m.dim("c", 3), q = m.dim("q", 21), s = m.dim("s", 5);
    const TensorId x = m.input("x", {3, wide}), w = m.input("w", {7, 3, 5});
    const ExprId v = m.mul(m.guarded(x, {m.at(c), Poly(stride) * m.at(q) + m.at(s) - Form(2)}),
                           m.read(w, {o, c, s}));
    m.output(m.fold("y", {o, q}, {c, s}, m.monoid("sum", {R}), {v}));
    check(m.g, 1e-5);
  }
}

}  // namespace
}  // namespace tang::test
