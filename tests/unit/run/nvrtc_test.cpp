// Compiling CUDA sources without a GPU.
#include "run/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/ptxas_log.h"

namespace tang {
namespace {

using ::testing::HasSubstr;

constexpr const char* scale = R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* x, float* y, long long n) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)
    y[i] = x[i] * 2.0f + 1.0f;
})";

// Skips without NVRTC, or where it is too old for an architecture.
#define SKIP_WITHOUT(architecture)                                  \
  if (const auto known = nvrtc_architectures(); !known)             \
    GTEST_SKIP() << known.error().message;                          \
  else if (std::ranges::find(*known, architecture) == known->end()) \
  GTEST_SKIP() << "NVRTC does not know " << architecture

class NvrtcTest : public ::testing::TestWithParam<std::pair<int, const char*>> {};

TEST_P(NvrtcTest, CompilesAndSaysWhatIsUsed) {
  SKIP_WITHOUT(GetParam().first);
  const auto cubin = nvrtc_compile(scale, GetParam().second);
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_THAT(cubin->image, ::testing::StartsWith("\x7f"
                                                  "ELF"));
  EXPECT_GT(cubin->usage.registers, 4);
  EXPECT_LT(cubin->usage.registers, 64);
  EXPECT_EQ(cubin->usage.spilled_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Architectures, NvrtcTest,
                         ::testing::Values(std::pair{80, "sm_80"}, std::pair{90, "sm_90a"},
                                           std::pair{100, "sm_100a"}),
                         [](const auto& row) { return std::string(row.param.second); });

TEST(Nvrtc, CompilesManyInOrder) {
  SKIP_WITHOUT(80);
  std::vector<GpuFunction> functions;
  for (int k = 0; k < 5; ++k) {
    const std::string name = "f" + std::to_string(k);
    functions.push_back(
        {name, "extern \"C\" __global__ void " + name + "(float* y) { y[0] = 1; }"});
  }
  auto all = nvrtc_compile(functions, "sm_80");
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 5u);
  for (size_t k = 0; k < 5; ++k) EXPECT_THAT((*all)[k].image, HasSubstr("f" + std::to_string(k)));
  functions[3].source = "oops";
  all = nvrtc_compile(functions, "sm_80");
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("`f3`"));
}

TEST(Nvrtc, ContractsNothing) {
  SKIP_WITHOUT(80);
  // A product and a difference stay two operations: the code differs from that of one.
  const auto cubin = nvrtc_compile(R"(
extern "C" __global__ void f(float* y) { y[0] = y[1] * y[2] - y[3]; })",
                                   "sm_80");
  const auto fused = nvrtc_compile(R"(
extern "C" __global__ void f(float* y) { y[0] = fmaf(y[1], y[2], -y[3]); })",
                                   "sm_80");
  ASSERT_TRUE(cubin && fused);
  EXPECT_NE(cubin->image, fused->image);
}

TEST(Nvrtc, RefusedSourcesComeWithTheLog) {
  SKIP_WITHOUT(80);
  const auto cubin = nvrtc_compile("__global__ void f() { int x = nonsense; }", "sm_80", "f");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().id, "E0999");
  EXPECT_THAT(cubin.error().message, HasSubstr("nonsense"));
  EXPECT_THAT(cubin.error().message, HasSubstr("`f` for sm_80"));
}

TEST(Nvrtc, UnknownArchitecturesAreSaid) {
  SKIP_WITHOUT(80);
  const auto cubin = nvrtc_compile(scale, "sm_20");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().id, "E0911");
  EXPECT_EQ(cubin.error().exit, Exit::no_device);
  EXPECT_THAT(cubin.error().message, HasSubstr("sm_20"));
}

TEST(PtxasLog, IsReadForRegistersAndSpills) {
  const auto usage = parse_ptxas_log(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'f' for 'sm_90a'
ptxas info    : Function properties for f
    64 bytes stack frame, 60 bytes spill stores, 56 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 64 bytes cumulative stack size
ptxas info    : Compiling entry function 'g' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 0 barriers
)");
  EXPECT_EQ(usage.registers, 168);
  EXPECT_EQ(usage.spilled_bytes, 60);
  EXPECT_EQ(parse_ptxas_log("nothing").registers, -1);
  EXPECT_EQ(parse_ptxas_log("").spilled_bytes, -1);
}

TEST(Nvidia, DevicesHaveARecordAndAnArchitecture) {
  EXPECT_EQ(nvidia_architecture(8, 6), "sm_86");
  EXPECT_EQ(nvidia_architecture(9, 0), "sm_90a");
  EXPECT_EQ(nvidia_architecture(10, 0), "sm_100a");
  EXPECT_EQ(nvidia_machine(7, 5), "gpu.portable");
  EXPECT_EQ(nvidia_machine(8, 0), "nvidia.sm80");
  EXPECT_EQ(nvidia_machine(9, 0), "nvidia.sm90a");
  EXPECT_EQ(nvidia_machine(10, 0), "nvidia.sm100");
}

}  // namespace
}  // namespace tang
