// Parallel loops: their text, what the verifier asks of them, and races that the machine finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

using testing::HasSubstr;

std::string with_body(const std::string& body) {
  return "symbol n\nbuffer x : f32[n] input\nbuffer y : f32[n] output\n\n"
         "kernel y reads x writes y {\n" +
         body + "}\n";
}

Program parsed(const std::string& text) {
  auto p = parse_program(text, "test");
  if (!p) ADD_FAILURE() << p.error().message;
  return p ? std::move(*p) : Program{};
}

std::string fault_of(const std::string& body) {
  const Diagnostics faults = verify(parsed(with_body(body)));
  return faults.empty() ? "" : faults[0].message;
}

constexpr const char* two_loops = R"(  array a[1] : f32
  a[0] = 2.0
  for i in 0 .. n - 1 step 2 parallel {
    store y[i] = a[0] * x[i]
  }
  for i_1 in n - 1 .. n parallel {
    store y[i_1] = x[i_1]
  }
)";

TEST(LoopParallel, PrintsWhatItParses) {
  const Program p = parsed(with_body(two_loops));
  EXPECT_EQ(print(p), with_body(two_loops));
  EXPECT_TRUE(verify(p).empty());
  EXPECT_TRUE(is_parallel(p.kernels[0]));
  EXPECT_FALSE(is_parallel(
      parsed(with_body("  for i in 0 .. n {\n    store y[i] = 0.0\n  }\n")).kernels[0]));
}

TEST(LoopParallel, StandsOutermostAndHoldsAllStores) {
  EXPECT_THAT(fault_of("  for i in 0 .. n {\n    for j in 0 .. n parallel {\n      store y[j] = 0.0"
                       "\n    }\n  }\n"),
              HasSubstr("only an outermost loop is parallel"));
  EXPECT_THAT(fault_of("  for i in 0 .. n parallel {\n    store y[i] = 0.0\n  }\n"
                       "  for j in 0 .. n {\n    store y[j] = 0.0\n  }\n"),
              HasSubstr("stores outside of the parallel loops"));
  EXPECT_THAT(fault_of("  var s : f32 = 0.0\n  for i in 0 .. n parallel {\n    s = s + x[i]\n"
                       "    store y[i] = s\n  }\n"),
              HasSubstr("`s` outlives an iteration"));
  EXPECT_EQ(fault_of("  for i in 0 .. n parallel {\n    var s : f32 = 0.0\n    s = s + x[i]\n"
                     "    store y[i] = s\n  }\n"),
            "");
}

// What the machine says of a body over four elements.
std::string race_in(const std::string& body) {
  const Program p = parsed(with_body(body));
  for (const Diagnostic& d : verify(p)) ADD_FAILURE() << d.message;
  std::vector<float> x = {1, 2, 3, 4}, y(4, -1);
  void* const buffers[] = {x.data(), y.data()};
  const auto done = run(p, p.kernels[0], buffers, std::vector<int64_t>{4});
  return done ? "" : done.error().message;
}

TEST(LoopParallel, IterationsAreIndependent) {
  EXPECT_EQ(race_in(two_loops), "");
  EXPECT_THAT(race_in("  for i in 0 .. n parallel {\n    store y[0] = x[i]\n  }\n"),
              HasSubstr("element 0 of `y` is written here and written in another iteration"));
  EXPECT_THAT(race_in("  for i in 0 .. 2 parallel {\n    store y[2 * i : 4 first 3 - i] = "
                      "x[0 : 4]\n  }\n"),
              HasSubstr("element 2 of `y` is written here and written in another iteration"));
  // Two loops of a kernel run without a barrier between them.
  EXPECT_THAT(race_in("  for i in 0 .. n parallel {\n    store y[i] = x[i]\n  }\n"
                      "  for j in 0 .. 1 parallel {\n    store y[3] = x[j]\n  }\n"),
              HasSubstr("element 3 of `y` is written here and written in another iteration"));
  EXPECT_THAT(race_in("  array a[4] : f32\n  for i in 0 .. n parallel {\n    a[i] = x[i]\n"
                      "    store y[i] = select(i < 1, 0.0, a[i - 1])\n  }\n"),
              HasSubstr("element 0 of `a` was set in another iteration"));
}

TEST(LoopParallel, ReadsOfWhatAnotherWrites) {
  const auto race = [](const std::string& body) {
    const Program p = parsed(
        "symbol n\nbuffer x : f32[n] input\nbuffer w : f32[n] workspace\nbuffer y : f32[n] output "
        "into x\n\nkernel w reads x, y writes w, y {\n" +
        body + "}\n");
    std::vector<float> x = {1, 2, 3, 4}, w(4);
    void* const buffers[] = {x.data(), w.data(), x.data()};
    const auto done = run(p, p.kernels[0], buffers, std::vector<int64_t>{4});
    return done ? "" : done.error().message;
  };
  EXPECT_EQ(race("  for i in 0 .. n parallel {\n    store y[i] = x[i] + 1.0\n  }\n"), "");
  EXPECT_THAT(race("  for i in 1 .. n parallel {\n    store y[i] = x[i - 1]\n  }\n"),
              HasSubstr("element 1 of `x` is read here and written in another iteration"));
  EXPECT_THAT(race("  for i in 0 .. n - 1 parallel {\n    store y[i] = x[i + 1]\n  }\n"),
              HasSubstr("element 1 of `y` is written here and read in another iteration"));
  EXPECT_THAT(race("  let first : f32 = x[0]\n  for i in 0 .. n parallel {\n    store y[i] = "
                   "first\n  }\n"),
              HasSubstr("element 0 of `y` is written here and read in another iteration"));
}

}  // namespace
}  // namespace tang::loop
