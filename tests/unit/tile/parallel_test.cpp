// Parallel loops of tile programs: text, verifier, machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/text.h"
#include "tile/verify.h"
#include "unit/tile/programs.h"

namespace tang::tile {
namespace {

using testing::HasSubstr;

std::string with_body(const std::string& body) {
  return "param N\n\nkernel y on cpu.avx2 {\n  axis i\n  arg x[i : N] : f32\n  out y[i : N] : f32\n"
         "  role all warps 0..0\n  place one () = single\n" +
         body + "}\n";
}

constexpr const char* copy = R"(  loop i0 from 0 to N parallel {
    v = load x[i0] -> one : f32
    store v -> y[i0]
  }
)";

std::string fault_of(const std::string& body) {
  const auto p = parse_program(with_body(body), "test");
  if (!p) return p.error().message;
  const Diagnostics faults = verify(*p);
  return faults.empty() ? "" : faults[0].message;
}

TEST(TileParallel, PrintsWhatItParsesAndRuns) {
  const auto p = parse_program(with_body(copy), "test");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(print(*p), with_body(copy));
  EXPECT_EQ(fault_of(copy), "");
  Task t{*p, {3}, {*make_array(Format::f32, {3}), *make_array(Format::f32, {3})}, {}, {0}};
  for (int64_t k = 0; k < 3; ++k) t.arguments[0].set(k, static_cast<double>(k) + 1);
  t.expected = {t.arguments[0]};
  EXPECT_EQ(run(t, p->kernels[0], {}), "");
}

TEST(TileParallel, StandsInTheKernelsBody) {
  EXPECT_THAT(fault_of("  loop a0 from 0 to N {\n    loop i0 from 0 to N parallel {\n"
                       "      v = load x[i0] -> one : f32\n      store v -> y[i0]\n    }\n  }\n"),
              HasSubstr("only a loop of the kernel's own body is parallel"));
  EXPECT_THAT(fault_of(copy + std::string("  w = load x[0] -> one : f32\n  store w -> y[0]\n")),
              HasSubstr("stores outside of the parallel loops"));
  EXPECT_THAT(fault_of("  a = load x[0] -> one : f32\n"
                       "  c = loop i0 from 0 to N parallel carry b = a {\n    store b -> y[i0]\n"
                       "    next b\n  }\n"),
              HasSubstr("a parallel loop carries nothing"));
}

// Trips of a parallel loop run in any order, at once: what one writes no other touches.
TEST(TileParallel, TripsDoNotMeet) {
  const auto wrong = [](std::string body, int64_t n) {
    const auto p = parse_program(with_body(body), "test");
    EXPECT_TRUE(p) << (p ? "" : p.error().message);
    if (!p) return std::string();
    EXPECT_TRUE(verify(*p).empty());
    Task t{*p, {n}, {*make_array(Format::f32, {n}), *make_array(Format::f32, {n})}, {}, {0}};
    t.expected = {t.arguments[0]};
    return run(t, p->kernels[0], {});
  };
  EXPECT_THAT(wrong("  loop i0 from 0 to N parallel {\n    v = load x[i0] -> one : f32\n"
                    "    store v -> y[0]\n  }\n",
                    3),
              HasSubstr("`y`: race: element 0 is written by two parts"));
  const std::string reads =
      "  loop i0 from 0 to N parallel {\n    v = load x[i0] -> one : f32\n    store v -> y[i0]\n"
      "  }\n  loop i1 from 0 to N parallel {\n    w = load y[i1] -> one : f32\n"
      "    store w -> x[i1]\n  }\n";
  EXPECT_THAT(wrong(reads, 3),
              HasSubstr("`y`: race: element 0 is read by one part and written by"));
}

}  // namespace
}  // namespace tang::tile
