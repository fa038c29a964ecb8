// Whole loop programs on the GPUs of this machine, against the virtual machine: through run(),
// kernel by kernel, and as residents. OpenCL runs on the processor where there is no GPU.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/array.h"
#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "run/cuda.h"
#include "run/gpu_device.h"
#include "run/nvrtc.h"
#include "run/opencl.h"

namespace tang {
namespace {

using loop::BufferId;
using loop::Role;

struct Case {
  std::string name;
  std::string_view text;
  std::vector<int64_t> symbols;
};

constexpr std::string_view chain = R"(
symbol n
buffer x : f32[n] input
buffer y : f32[n] output
buffer t : f32[n] workspace
buffer u : f32[n] workspace
require n
kernel t reads x writes t {
  for i in 0 .. n parallel {
    store t[i] = 2.0 * x[i]
  }
}
kernel u reads t writes u {
  for i in 0 .. n parallel {
    store u[i] = t[n - 1 - i] + f32(n)
  }
}
kernel y reads t, u writes y {
  for i in 0 .. n parallel {
    store y[i] = t[i] * 3.0 - u[i]
  }
}
)";

constexpr std::string_view product = R"(
symbol m
symbol n
symbol k
buffer a : f16[m*k] input
buffer b : bf16[k*n] input
buffer c : f32[m*n] output
kernel c threads 2 reads a, b writes c {
  for i in 0 .. m parallel {
    for j in 0 .. n step 2 parallel {
      if j + thread < n {
        var s : f32 = 0.0
        for l in 0 .. k {
          s = s + a[k * i + l] * b[n * l + j + thread]
        }
        store c[n * i + j + thread] = s
      }
    }
  }
}
)";

constexpr std::string_view integers = R"(
symbol n
buffer x : i64[n] input
buffer s : i8[n] input
buffer y : i64[n] output
buffer z : i8[n] output
buffer w : bool[n] output
kernel y reads x, s writes y, z, w {
  for i in 0 .. n parallel {
    store y[i] = x[i] * 3000000000 + i64(s[i])
    store z[i] = s[n - 1 - i] + 100'i32
    store w[i] = 2 < x[i]
  }
}
)";

constexpr std::string_view doubles = R"(
buffer x : f64[100] input
buffer y : f64[100] output
kernel y reads x writes y {
  for i in 0 .. 100 parallel {
    store y[i] = x[i] / 3.0'f64
  }
}
)";

constexpr std::string_view in_place = R"(
symbol n
buffer x : f32[n] input
buffer w : f32[n] input
buffer v : f32[n] output
buffer y : f32[n] output into x
buffer p : f32[n] prepared
prepare p reads w writes p {
  for i in 0 .. n parallel {
    store p[i] = w[i] * 10.0
  }
}
kernel v reads x, p writes v {
  for i in 0 .. n parallel {
    store v[i] = x[i] + p[i]
  }
}
kernel y reads x, p writes y {
  if 2 < n {
    store y[2] = x[2] + p[2]
  }
}
)";

// Groups: the machine of one thread does not run these, so they come with what they give.
constexpr std::string_view reversed = R"(
symbol n
buffer x : f32[n] input
buffer y : f32[n] output
kernel y threads 64 reads x writes y {
  shared a[64] : f32
  for i in 0 .. n step 64 parallel {
    a[thread] = x[i + thread]
    barrier
    store y[i + thread] = a[63 - thread]
    barrier
  }
}
)";

constexpr std::string_view folded = R"(
symbol n
buffer x : f32[32*n] input
buffer y : f32[n] output
kernel y threads 32 reads x writes y {
  for i in 0 .. n parallel {
    let v0 : f32 = x[32 * i + thread]
    exchange o1 = v0 by 1
    let v1 : f32 = v0 + o1
    exchange o2 = v1 by 2
    let v2 : f32 = v1 + o2
    exchange o4 = v2 by 4
    let v3 : f32 = v2 + o4
    exchange o8 = v3 by 8
    let v4 : f32 = v3 + o8
    exchange o16 = v4 by 16
    let v5 : f32 = v4 + o16
    if thread == 0 {
      store y[i] = v5
    }
  }
}
)";

using Arrays = std::vector<Array>;  // by BufferId; empty where another's is used

double pattern(Format format, int64_t i) {
  if (kind(format) == Kind::boolean) return static_cast<double>(i % 3 == 0);
  const double v = static_cast<double>(i * 7 % 13 - 6);
  return kind(format) == Kind::real ? v / 4 : v;
}

Arrays make_arrays(const LoopProgram& p, std::span<const int64_t> symbols) {
  Arrays all(p.buffers.size());
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    const loop::Buffer& b = p.buffers[k];
    if (b.into) continue;
    all[k] = *make_array(b.format, {*b.count.evaluate(symbols)});
    for (int64_t i = 0; i < all[k].elements(); ++i)
      all[k].set(i, b.role == Role::input ? pattern(b.format, i + static_cast<int64_t>(k)) : 1.0);
  }
  return all;
}

std::vector<void*> pointers(const LoopProgram& p, Arrays& arrays) {
  std::vector<void*> all;
  for (size_t k = 0; k < p.buffers.size(); ++k)
    all.push_back(arrays[loop::index(p.storage(static_cast<BufferId>(k)))].data.data());
  return all;
}

std::vector<void*> arguments(const LoopProgram& p, Arrays& arrays) {
  const std::vector<void*> all = pointers(p, arrays);
  std::vector<void*> result;
  for (const BufferId id : p.arguments()) result.push_back(all[loop::index(id)]);
  return result;
}

void expect_same(const LoopProgram& p, Arrays& got, Arrays& want, const std::string& what) {
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    if (p.buffers[k].role == Role::workspace) continue;
    const size_t at = loop::index(p.storage(static_cast<BufferId>(k)));
    for (int64_t i = 0; i < want[at].elements(); ++i) {
      const double g = got[at].at(i), w = want[at].at(i);
      ASSERT_LE(std::abs(g - w), 1e-6 * std::max(1.0, std::abs(w)))
          << what << ": " << p.buffers[k].name << '[' << i << "] is " << g << ", not " << w;
    }
  }
}

class GpuPrograms : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto driver = GetParam() == "cuda" ? open_cuda() : open_opencl();
    if (!driver && driver.error().id == "E0911") GTEST_SKIP() << driver.error().message;
    ASSERT_TRUE(driver) << driver.error().message;
    device_ = std::make_unique<GpuDevice>(std::move(*driver));
  }

  static LoopProgram parse(std::string_view text) {
    auto program = loop::parse_program(text, "test");
    EXPECT_TRUE(program) << program.error().message;
    if (program) {
      const auto problems = loop::verify(*program);
      EXPECT_TRUE(problems.empty()) << problems.front().message;
    }
    return program.value();
  }

  std::unique_ptr<Executable> compile(const LoopProgram& program) {
    Diagnostics warnings;
    auto executable = device_->compile(program, {}, warnings);
    EXPECT_TRUE(executable) << executable.error().message;
    return executable ? std::move(*executable) : nullptr;
  }

  // Runs the program in all ways, from the inputs of make_arrays.
  void expect_runs(const LoopProgram& p, const Executable& executable,
                   std::span<const int64_t> symbols, Arrays& want) {
    Arrays whole = make_arrays(p, symbols), single = whole, kept = whole;
    const auto prepared = executable.prepare(arguments(p, whole), symbols, nullptr);
    ASSERT_TRUE(prepared) << prepared.error().message;
    const auto ran = executable.run(arguments(p, whole), symbols, nullptr);
    ASSERT_TRUE(ran) << ran.error().message;
    expect_same(p, whole, want, "run");

    ASSERT_TRUE(executable.prepare(arguments(p, single), symbols, nullptr));
    for (size_t k = 0; k < p.kernels.size(); ++k) {
      const auto one = executable.run_kernel(k, pointers(p, single), symbols);
      ASSERT_TRUE(one) << one.error().message;
    }
    expect_same(p, single, want, "kernel by kernel");

    ASSERT_TRUE(executable.prepare(arguments(p, kept), symbols, nullptr));
    const auto resident = executable.resident(arguments(p, kept), symbols);
    ASSERT_TRUE(resident) << resident.error().message;
    const auto ms = (*resident)->run();
    ASSERT_TRUE(ms) << ms.error().message;
    ASSERT_TRUE((*resident)->download_outputs());
    expect_same(p, kept, want, "resident");
  }

  void expect_as_machine(const Case& c) {
    SCOPED_TRACE(c.name);
    const LoopProgram p = parse(c.text);
    const auto executable = compile(p);
    ASSERT_NE(executable, nullptr);
    Arrays want = make_arrays(p, c.symbols);
    for (const auto* kernels : {&p.prepares, &p.kernels})
      for (const loop::Kernel& k : *kernels) {
        const auto ok = loop::run(p, k, pointers(p, want), c.symbols);
        ASSERT_TRUE(ok) << ok.error().message;
      }
    expect_runs(p, *executable, c.symbols, want);
  }

  std::unique_ptr<GpuDevice> device_;
};

TEST_P(GpuPrograms, GiveWhatTheMachineGives) {
  for (const int64_t n : {0, 1, 5, 1000}) expect_as_machine({"chain", chain, {n}});
  expect_as_machine({"product", product, {17, 33, 20}});
  expect_as_machine({"integers", integers, {300}});
  expect_as_machine({"in place", in_place, {70}});
  if (device_->driver().capability().f64) expect_as_machine({"doubles", doubles, {}});
}

// Symbols that need 64 bits take the other form of the kernels; buffers stay small.
TEST_P(GpuPrograms, IndicesMayNeedSixtyFourBits) {
  expect_as_machine({"large",
                     R"(
symbol n
buffer x : f32[8] input
buffer y : f32[8] output
kernel y reads x writes y {
  for i in 0 .. 8 parallel {
    store y[i] = x[7 - i] * f32(n - 5000000000)
  }
}
)",
                     {5000000003}});
}

TEST_P(GpuPrograms, GroupsShareArrays) {
  const LoopProgram p = parse(reversed);
  const auto executable = compile(p);
  ASSERT_NE(executable, nullptr);
  const std::vector<int64_t> symbols = {64 * 50};
  Arrays want = make_arrays(p, symbols);
  for (int64_t i = 0; i < symbols[0]; ++i) want[1].set(i, want[0].at(i / 64 * 64 + 63 - i % 64));
  expect_runs(p, *executable, symbols, want);
}

TEST_P(GpuPrograms, ThreadsExchangeValues) {
  const LoopProgram p = parse(folded);
  if (device_->driver().capability().subgroup < 32) {
    Diagnostics warnings;
    EXPECT_EQ(device_->compile(p, {}, warnings).error().id, "E0921");
    return;
  }
  const auto executable = compile(p);
  ASSERT_NE(executable, nullptr);
  const std::vector<int64_t> symbols = {40};
  Arrays want = make_arrays(p, symbols);
  for (int64_t i = 0; i < symbols[0]; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 32; ++j) sum += want[0].at(32 * i + j);
    want[1].set(i, sum);
  }
  expect_runs(p, *executable, symbols, want);
}

// The emitted CUDA of all programs compiles without a GPU, and nothing is spilled.
TEST(GpuSources, CompileForCuda) {
  const auto known = nvrtc_architectures();
  if (!known) GTEST_SKIP() << known.error().message;
  const std::vector<std::pair<int, std::string>> architectures = {
      {80, "sm_80"}, {90, "sm_90a"}, {100, "sm_100a"}};
  for (const auto& [number, architecture] : architectures) {
    if (std::ranges::find(*known, number) == known->end()) continue;
    for (const std::string_view text :
         {chain, product, integers, doubles, in_place, reversed, folded}) {
      const LoopProgram p = loop::parse_program(text, "test").value();
      for (const bool wide : {false, true}) {
        const auto source = gpu_source(p, {least(Dialect::cuda), wide});
        ASSERT_TRUE(source) << source.error().message;
        const auto cubins = nvrtc_compile(source->functions, architecture);
        ASSERT_TRUE(cubins) << cubins.error().message;
        for (const Cubin& cubin : *cubins) EXPECT_EQ(cubin.usage.spilled_bytes, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, GpuPrograms, ::testing::Values("opencl", "cuda"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace tang
