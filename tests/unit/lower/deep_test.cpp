// Deep expressions and long programs.
#include <gtest/gtest.h>

#include "unit/lower/support.h"

namespace tang::test {
namespace {

TEST(LowerExpressions, DeepAndSharedTreesAreNamedInParts) {
  Make m;
  const DimId i = m.dim("i", 10);
  const TensorId x = m.input("x", {10});
  ExprId e = m.read(x, {i});
  for (int k = 0; k < 300; ++k) e = m.op(Op::sin, m.add(e, m.num(0.5)));
  for (int k = 0; k < 40; ++k) e = m.mul(m.num(0.5), m.add(e, m.mul(e, e)));
  m.output(m.map("y", {i}, e));
  check(m.g, 1e-4);
}

TEST(LowerKernels, LongChainOfMaps) {
  Make m;
  const DimId i = m.dim("i", 3);
  TensorId t = m.input("x", {3});
  for (int k = 0; k < 200; ++k)
    t = m.map("t" + std::to_string(k), {i}, m.mul(m.read(t, {i}), m.num(1.01)));
  m.output(t);
  check(m.g, 1e-4);
}

}  // namespace
}  // namespace tang::test
