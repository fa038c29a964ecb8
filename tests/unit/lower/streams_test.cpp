// Stores past the caches in C, at addresses that are aligned and not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/lower/support.h"

namespace tang::test {
namespace {

PlanOptions streamed(const std::string& name) {
  KernelPins pins;
  pins.kernel = name;
  pins.streamed = {name};
  PlanOptions options;
  options.pins.kernels = {pins};
  return options;
}

TEST(LowerStreams, RowsOfAnyLength) {
  for (const int64_t length : {64, 45, 8, 3}) {
    Make m;
    const DimId i = m.dim("i", 7), j = m.dim("j", length);
    const TensorId x = m.input("x", {7, length});
    m.output(m.map("y", {i, j}, m.add(m.mul(m.read(x, {i, j}), m.num(3)), m.num(1))));
    if (length >= 8) check(m.g, 1e-6, {}, streamed("y"));
    const std::string text = Compiled(m.g, length >= 8 ? streamed("y") : PlanOptions{}).text();
    EXPECT_EQ(text.find("stream y[") != std::string::npos, length >= 8) << text;
  }
}

TEST(LowerStreams, DoublesAndSums) {
  Make m;
  const DimId i = m.dim("i", 9), j = m.dim("j", 40), k = m.dim("k", 5);
  const TensorId a = m.input("a", {9, 5}, Format::f64), b = m.input("b", {5, 40}, Format::f64);
  m.output(m.fold("y", {i, j}, {k}, m.monoid("sum", {Kind::real}),
                  {m.mul(m.read(a, {i, k}), m.read(b, {k, j}))}, {}, Format::f64));
  PlanOptions options = streamed("y");
  options.pins.kernels[0].points = {"i", "j"};
  options.pins.kernels[0].tile = {{"j", 2, 4}};
  check(m.g, 1e-12, {}, options);
  EXPECT_NE(Compiled(m.g, options).text().find("stream y["), std::string::npos);
}

}  // namespace
}  // namespace tang::test
