#include "loop/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/text.h"

namespace tang::loop {
namespace {

using testing::HasSubstr;

constexpr const char* header = R"(symbol n
buffer x : f16[n] input
buffer k : i8[n] input
buffer y : f32[n] output

)";

struct Outcome {
  std::vector<float> y;
  std::string fault;
};

// Runs a kernel's body over n elements: x is 0, 1, 2, … and k alternates -1 and 1.
Outcome run_body(const std::string& body, int64_t n = 4, int64_t most_steps = 1000) {
  const auto p = parse_program(
      header + std::string("kernel y reads x, k writes y {\n") + body + "\n}\n", "test");
  if (!p) {
    ADD_FAILURE() << p.error().message;
    return {};
  }
  const auto elements = static_cast<size_t>(n);
  std::vector<uint16_t> x(elements);
  std::vector<int8_t> k(elements);
  Outcome r;
  r.y.assign(elements, -1);
  for (size_t e = 0; e < elements; ++e) {
    x[e] = static_cast<uint16_t>(encode_float(Format::f16, static_cast<double>(e)));
    k[e] = e % 2 == 0 ? -1 : 1;
  }
  void* const buffers[] = {x.data(), k.data(), r.y.data()};
  const auto done = run(*p, p->kernels[0], buffers, std::vector<int64_t>{n}, most_steps);
  if (!done) r.fault = done.error().message;
  return r;
}

TEST(LoopMachine, RunsStatements) {
  const Outcome r = run_body(R"(
  array a[4] : f32
  for j in 0 .. n step 2 {
    a[j] = x[j] * 2.0
    a[j + 1] = 0.5
  }
  var sum : f32 = 0.0
  for i in 0 .. n {
    if k[i] < 0'i32 {
      sum = sum + a[i]
    }
    let t : f32 = select(i < 3, sum, fma(a[i], 2.0, x[i]))
    store y[i] = t
  })");
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (std::vector<float>{0, 0, 4, 4}));
}

TEST(LoopMachine, StaysInsideOfItsMemory) {
  EXPECT_THAT(run_body("  for i in 0 .. n + 1 {\n    store y[i] = 0.0\n  }").fault,
              HasSubstr("a store of element 4 of `y`, which has 4"));
  EXPECT_THAT(run_body("  for i in 0 .. n {\n    store y[i] = x[i - 1]\n  }").fault,
              HasSubstr("a load of element -1 of `x`, which has 4"));
  EXPECT_THAT(run_body("  array a[2] : f32\n  for i in 0 .. n {\n    a[i] = 0.0\n  }").fault,
              HasSubstr("element 2 of 2"));
  EXPECT_THAT(run_body("  array a[2] : f32\n  store y[0] = a[1]").fault,
              HasSubstr("element 1 of `a` is read before it is set"));
  EXPECT_EQ(run_body("  for i in 0 .. n {\n    store y[i] = select(0 < i, x[i - 1], 9.0)\n  }").y,
            (std::vector<float>{9, 0, 1, 2}));
}

TEST(LoopMachine, RunsVectors) {
  const Outcome r = run_body(R"(
  array a[8] : f32
  a[0 : 8] = f32(ramp8(0))
  let v : f32x4 = x[0 : 4] * spread4(2.0)
  a[1 : 4 by 2 first 3] = v
  store y[0 : 8] = a[0 : 8]
  store y[8 : 2 first n - 15] = join(lane(v, 3), low(low(v))) + spread2(0.5)
  store y[10 : 2] = f32(k[0 : 2])
  let m : boolx4 = x[0 : 4] < spread4(2.0) or x[0 : 4 by 2] == spread4(6.0)
  store y[12 : 4] = select(m, x[4 : 4 by 0 - 1 first 3], x[ramp4(10) * spread4(1) - ramp4(0)])
  )",
                             16);
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (std::vector<float>{0, 0, 2, 2, 4, 4, 6, 7, 6.5, -1, -1, 1, 4, 3, 10, 0}));
}

TEST(LoopMachine, RunsOfLanesAndLinesAskedFor) {
  const Outcome r = run_body(R"(
  let a : f32x8 = f32(ramp8(0))
  let b : f32x8 = f32(ramp8(10))
  prefetch x[n + 1000]
  store y[0 : 8] = even(a, b, 1)
  store y[8 : 8] = odd(a, b, 2)
  )",
                             16);
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (std::vector<float>{0, 10, 2, 12, 4, 14, 6, 16, 2, 3, 12, 13, 6, 7, 16, 17}));
}

TEST(LoopMachine, ChecksTheLanesThatAreTouched) {
  EXPECT_THAT(run_body("  for i in 1 .. n {\n    store y[i : 4] = spread4(0.0)\n  }").fault,
              HasSubstr("a store of element 4 of `y`, which has 4"));
  EXPECT_THAT(run_body("  store y[0 : 4] = x[n - 4 : 4 by n]").fault,
              HasSubstr("a load of element 4 of `x`, which has 4"));
  EXPECT_THAT(run_body("  store y[0 : 4] = x[ramp4(n - 3)]").fault,
              HasSubstr("a load of element 4 of `x`, which has 4"));
  EXPECT_THAT(
      run_body("  array a[8] : f32\n  a[2 : 4] = x[0 : 4]\n  store y[0 : 4] = a[3 : 4]").fault,
      HasSubstr("element 6 of `a` is read before it is set"));
  EXPECT_EQ(run_body("  store y[0 : 8 first n] = x[0 : 8 first n]").y,
            (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(run_body("  store y[n : 8 first 0 - n] = x[n : 8 first 0 - 3]").fault, "");
}

TEST(LoopMachine, GivesUpOnALoopWithoutEnd) {
  EXPECT_THAT(run_body("  for i in 0 .. n {\n    store y[0] = 0.0\n  }", 2000, 1000).fault,
              HasSubstr("too many steps"));
}

}  // namespace
}  // namespace tang::loop
