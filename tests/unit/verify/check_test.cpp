#include "verify/check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/reading.h"
#include "loop/text.h"
#include "rewrite/pipeline.h"
#include "run/c_device.h"

namespace tang {
namespace {

constexpr const char* softmax_text =
    "dim i = 7, j = 9\ninput x[i, j]\n"
    "p[i, j] = exp(x[i, j] - max[j](x[i, j]))\n"
    "y[i, j] = p[i, j] / sum[j](p[i, j])\noutput y\n";

struct Fixture {
  explicit Fixture(const std::string& text) {
    auto parsed = parse(text);
    if (!parsed) throw std::runtime_error(parsed.error()[0].message);
    graph = *parsed;
    bind(graph, {});
    for (TensorId t : inputs_of(graph))
      arrays.push_back(*random_input(graph, t, bound_params(graph), 0));
    for (Array& a : arrays) inputs.push_back(&a);
    for (size_t k = 0; k < arrays.size(); ++k) given[inputs_of(graph)[k]] = &arrays[k];
    read = reading(graph);
    values = *evaluate(read, bound_params(read), given);
    for (const auto& [t, v] : values) want[read[t].name] = &v;
  }

  ProgramCheck check(const Variant& v) {
    CDevice device;
    Diagnostics warnings;
    auto program = device.compile(v.program(), {.use_cache = false}, warnings);
    if (!program) throw std::runtime_error(program.error().message);
    const auto run = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
      (void)(*program)->run_kernel(k, buffers, bound_params(v.graph));
      return {};
    };
    return *check_program(v, inputs, want, run, {});
  }

  Graph graph, read;
  std::vector<Array> arrays;
  std::vector<Array*> inputs;
  Given given;
  Evaluation values;
  std::map<std::string, const Values*> want;
};

Variant naive(const Fixture& f) { return *make_variant(f.graph, naive_plan({})); }
Variant derived(const Fixture& f) { return *make_variant(derive(f.graph).derived, {}); }

TEST(Check, RightProgramsPass) {
  Fixture f(softmax_text);
  const ProgramCheck a = f.check(naive(f)), b = f.check(derived(f));
  EXPECT_TRUE(a.ok());
  EXPECT_TRUE(b.ok());
  EXPECT_EQ(a.passed(), a.kernels.size());
  EXPECT_LT(a.error, 1e-5);
}

TEST(Check, OracleAsDevicePasses) {
  Fixture f(softmax_text);
  EXPECT_TRUE(check_oracle(naive(f), f.inputs, f.want, {})->ok());
  EXPECT_TRUE(check_oracle(derived(f), f.inputs, f.want, {})->ok());
}

// Replaces kernel k by one that stores `value` into the first `count` elements of what it writes.
void break_kernel(Variant& v, size_t k, const std::string& value, int count) {
  LoopProgram& p = v.lowered.program;
  const std::string& out = p[p.kernels[k].writes[0]].name;
  auto kernel = loop::parse_kernel(
      fmt::format("kernel {0} writes {0} {{\n for n in 0 .. {1} {{\n store {0}[n] = {2}\n }}\n}}\n",
                  out, count, value),
      p, "test");
  if (!kernel) throw std::runtime_error(kernel.error().message);
  kernel->name = p.kernels[k].name;
  p.kernels[k] = *kernel;
}

TEST(Check, FirstKernelAtFaultIsNamed) {
  Fixture f(softmax_text);
  Variant v = naive(f);
  ASSERT_GE(v.program().kernels.size(), 3u);
  const std::string name = v.program().kernels[1].name;
  break_kernel(v, 1, "0.5", 63);
  const ProgramCheck c = f.check(v);
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.fault->kernel, name);
  EXPECT_EQ(c.passed(), c.kernels.size() - 1);  // later kernels are right for the inputs they got
  EXPECT_EQ(c.fault->unwritten, 0);
}

TEST(Check, UnwrittenElementsAreCounted) {
  Fixture f(softmax_text);
  Variant v = naive(f);
  break_kernel(v, 1, "0.5", 60);
  const ProgramCheck c = f.check(v);
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.fault->unwritten, 3);
}

TEST(Check, WrongDerivationShowsAtTheOutput) {
  Fixture f("dim i = 5\ninput x[i]\ny[i] = x[i] + 1\noutput y\n");
  Fixture other("dim i = 5\ninput x[i]\ny[i] = x[i] + 2\noutput y\n");
  const ProgramCheck c = f.check(naive(other));
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.fault->kernel, "");
  EXPECT_EQ(c.passed(), c.kernels.size());
}

TEST(Check, InPlaceOutputsLeaveTheInputAlone) {
  Fixture f("dim i = 5\ninput x[i]\ny[i] = x[i] * 2\noutput y into x\n");
  const double before = f.arrays[0].at(3);
  EXPECT_TRUE(f.check(derived(f)).ok());
  EXPECT_EQ(f.arrays[0].at(3), before);
}

TEST(Check, ToleranceFollowsFormats) {
  const auto tolerance = [](const char* text) {
    Fixture f(text);
    const Variant v = derived(f);
    return tolerance_of(v.graph, v.schedule.kernels[0]);
  };
  EXPECT_EQ(tolerance("dim i = 5\ninput x[i]\ny[i] = x[i] * 2\noutput y\n"), 1e-4);
  EXPECT_EQ(tolerance("dim i = 5\ninput x[i]\ny[i] : f16 = x[i] * 2\noutput y\n"), 5e-3);
  EXPECT_EQ(tolerance("dim i = 5\ninput x[i]\ny[i] = bf16(x[i]) * 2\noutput y\n"), 2e-2);
  EXPECT_EQ(tolerance("dim i = 5\ninput x[i] : f64\ny[i] : f64 = x[i] * 2\noutput y\n"), 1e-10);
}

TEST(Check, PromisesAreTested) {
  Fixture f("dim n = 4\ninput seg[n] : i32\nsorted seg\ny[n] = seg[n]\noutput y\n");
  EXPECT_TRUE(check_promises(f.graph, f.given, 0).has_value());
  f.arrays[0].set_integer(0, 9);
  EXPECT_EQ(check_promises(f.graph, f.given, 0).error().id, "E0418");
  Fixture m(
      "dim i = 3, j = 4\ninput x[i, j]\nmonoid away(a) identity 0 combine(p, q) = p.a - q.a\n"
      "y[i] = away[j](x[i, j])\noutput y\n");
  const auto laws = check_promises(m.graph, m.given, 0);
  ASSERT_FALSE(laws.has_value());
  EXPECT_EQ(laws.error().id, "E0508");
  EXPECT_EQ(laws.error().exit, Exit::wrong_result);
}

}  // namespace
}  // namespace tang
