// Kernels in Metal's language run on the host (msl_driver.h): every example against the oracle, and
// faults that the host finds.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "eval/random_inputs.h"
#include "examples.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/reading.h"
#include "msl_driver.h"
#include "rewrite/pipeline.h"
#include "run/gpu_device.h"
#include "verify/check.h"

namespace tang {
namespace {

// ---- examples -----------------------------------------------------------------------------------

// Sizes with which the oracle and the host take seconds at most.
std::map<std::string, int64_t> sizes_of(const std::string& name) {
  if (name == "attention") return {{"seq", 17}};
  if (name == "attention_causal" || name == "attention_variants") return {{"seq", 40}};
  if (name == "matmul") return {{"k", 40}};
  if (name == "mnist") return {{"images", 1}};
  return {};
}

std::optional<double> tolerance(const std::string& name) {
  if (name.ends_with("_bf16")) return std::nullopt;  // the format's
  return name == "swiglu_q8" ? 1e-3 : 1e-5;          // its sums are rounded to integers
}

std::string text_of(const Fault& f) {
  return fmt::format("kernel `{}`, `{}` at {}: error {}, {} unwritten", f.kernel, f.tensor, f.at,
                     f.comparison.error, f.unwritten);
}

class MslExample {
 public:
  explicit MslExample(const std::filesystem::path& file) : name_(file.stem().string()) {
    auto g = parse(*read_file(file.string(), 1 << 20));
    if (g && bind(*g, {.flags = sizes_of(name_)}).empty())
      graph_ = std::move(*g);
    else
      ADD_FAILURE() << file << " is not read";
  }

  // As it is written, of sizes that its kernels are given, and derived, of known sizes.
  void run(GpuDevice& device) {
    const PlanOptions options = plan_options(device.driver().capability());
    const auto naive = make_variant(graph_, naive_plan(options));
    const auto derived = make_variant(with_bound_params(derive(graph_).derived), options);
    ASSERT_TRUE(naive && derived);
    const LoopProgram* const programs[] = {&naive->program(), &derived->program()};
    Diagnostics warnings;
    const auto compiled = device.compile_all(programs, {}, warnings);
    ASSERT_TRUE(compiled) << compiled.error().message;
    draw_inputs();
    const Graph read = reading(graph_);
    const auto values = evaluate(read, bound_params(read), given_);
    ASSERT_TRUE(values) << values.error().message;
    std::map<std::string, const Values*> want;
    for (const auto& [t, v] : *values) want[read[t].name] = &v;
    check("naive", *naive, *(*compiled)[0], want);
    check("derived", *derived, *(*compiled)[1], want);
  }

 private:
  void draw_inputs() {
    const std::vector<TensorId> ids = inputs_of(graph_);
    for (const TensorId t : ids) {
      auto array = random_input(graph_, t, bound_params(graph_), 0);
      ASSERT_TRUE(array) << array.error().message;
      arrays_.push_back(std::move(*array));
    }
    for (size_t k = 0; k < ids.size(); ++k) given_[ids[k]] = &arrays_[k];
  }

  void check(const std::string& form, const Variant& v, const Executable& program,
             const std::map<std::string, const Values*>& want) {
    SCOPED_TRACE(form);
    std::vector<Array*> inputs;
    for (Array& a : arrays_) inputs.push_back(&a);
    const std::vector<int64_t> symbols = bound_params(v.graph);
    const auto run_kernel = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
      const auto ms = program.run_kernel(k, buffers, symbols);
      return ms ? Result<void>() : tl::unexpected(ms.error());
    };
    const auto checked =
        check_program(v, inputs, want, run_kernel, {.tolerance = tolerance(name_), .oracle = {}});
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_TRUE(checked->ok()) << text_of(*checked->fault);
    EXPECT_EQ(checked->passed(), checked->kernels.size());
  }

  const std::string name_;
  Graph graph_;
  std::vector<Array> arrays_;  // of the inputs, in program order
  Given given_;
};

TEST(ExamplesRun, msl) {
  GpuDevice device(open_msl());
  size_t count = 0;
  for (const auto& file : example_files()) {
    SCOPED_TRACE(file);
    MslExample(file).run(device);
    ++count;
  }
  EXPECT_GE(count, 60U);
}

// ---- faults -------------------------------------------------------------------------------------

// Runs a kernel of 64 threads of which `body` is what each does, with 64 elements `y`, in two
// groups, which add. Gives what the driver says; empty: nothing.
std::string said_of(const std::string& body, std::vector<float>* result = nullptr) {
  const std::string source = fmt::format(
      "#include <metal_stdlib>\nusing namespace metal;\n"  // lines 1 and 2
      "kernel void y(device float* y [[buffer(0)]], uint group "
      "[[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]], uint t "
      "[[thread_position_in_threadgroup]]) {{\n"
      "  alignas(16) threadgroup float all[64];\n"
      "  {}\n}}\n",
      body);
  const auto driver = open_msl();
  const auto module = driver->build({Dialect::msl, {{"y", source, 64, 256, {}}}, {0}, {}});
  if (!module) return module.error().message;
  std::vector<float> values(64, 1.0F);
  const auto memory = driver->allocate(256);
  EXPECT_TRUE(memory && driver->write(**memory, 0, std::as_bytes(std::span(values))));
  const GpuLaunch launch = {0, "y", {{memory->get(), 0, 256}}, {}, 2};
  const auto sequence = driver->record(**module, {&launch, 1});
  const auto ran = (*sequence)->run();
  if (!ran) return ran.error().message;
  EXPECT_TRUE(driver->read(**memory, 0, std::as_writable_bytes(std::span(values))));
  if (result) *result = values;
  return {};
}

constexpr std::string_view barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

TEST(MslDriver, RunsBarriersAndExchanges) {
  std::vector<float> y;
  EXPECT_EQ(said_of(fmt::format("all[t] = (float)t; {} y[t] += all[63 - t] + "
                                "simd_shuffle_xor((float)t, 5);",
                                barrier),
                    &y),
            "");
  ASSERT_EQ(y.size(), 64U);
  for (size_t t = 0; t < 64; ++t)
    EXPECT_EQ(y[t], 1 + 2 * (static_cast<float>(63 - t) + static_cast<float>(t ^ 5)));
}

TEST(MslDriver, SharedMemoryIsNotSetAtFirst) {
  std::vector<float> y;
  EXPECT_EQ(said_of("y[t] = group == 0 ? 0 : all[t] ; all[t] = 1;", &y), "");
  EXPECT_TRUE(std::isnan(y.at(7)));
}

TEST(MslDriver, FindsMissingBarriers) {
  std::vector<float> y;
  EXPECT_EQ(said_of("all[t] = 1; y[t] = all[63 - t];", &y), "");
  EXPECT_TRUE(std::isnan(y.at(0)));
}

TEST(MslDriver, ReportsFaults) {
  const std::pair<std::string, std::string> faults[] = {
      {fmt::format("if (t < 40) {}", barrier),
       "kernel y, group 0, line 5: threads of a group do not all reach a barrier"},
      {fmt::format("if (t < 40) {{ {0} }}\n else {{ {0} }}", barrier),
       "kernel y, group 0, line 6: threads of a group do not all reach a barrier"},
      {"if (t != 3) y[t] = simd_shuffle_xor(1.0f, 1);",
       "kernel y, group 0, line 5: lanes of a simdgroup do not all exchange values"},
      {"y[t] = simd_shuffle_xor(1.0f, 32);",
       "kernel y, group 0, line 5: no lane 32 to exchange with"},
      {"y[t + 1] = 0;", "kernel y writes past binding 0"},
      {"y[(int)t - 1] = 0;", "kernel y writes past binding 0"},
      {"all[t + 1] = 0;", "kernel y, group 0, line 5: an index outside of an array, of thread 63"},
      {"*(device float2*)(y + t) = float2{0, 0};",
       "kernel y, group 0, line 5: an access that is not aligned, of thread 1"},
      {"y[t] = ((threadgroup float4*)&all[t + group])->y;",
       "kernel y, group 0, line 5: an access that is not aligned, of thread 1"},
  };
  for (const auto& [body, what] : faults) EXPECT_EQ(said_of(body), what) << body;
  EXPECT_NE(said_of("y[t] = unknown;").find("unknown"), std::string::npos);
}

}  // namespace
}  // namespace tang
