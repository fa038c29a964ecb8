// The driver over OpenCL, with sources written by hand: on a GPU where there is one, otherwise on
// the processor (PoCL). Skipped without a device.
#include "run/opencl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/opencl_api.h"

namespace tang {
namespace {

using ::testing::HasSubstr;

// y[i] = x[i] * k over the groups' threads, and a sum through local memory.
constexpr const char* scale = R"(
__kernel void scale(__global const float* x, __global float* y, long n, long k) {
  for (long i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = x[i] * (float)k;
})";
constexpr const char* total = R"(
__kernel void total(__global const float* y, __global float* s, long n) {
  __local float part[64];
  const int t = get_local_id(0);
  float sum = 0;
  for (long i = t; i < n; i += 64) sum += y[i];
  part[t] = sum;
  for (int w = 32; w > 0; w /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < w) part[t] += part[t + w];
  }
  if (t == 0 && get_group_id(0) == 0) s[0] = part[0];
})";

GpuSource source(std::vector<GpuFunction> functions) {
  GpuSource s;
  s.dialect = Dialect::opencl;
  s.functions = std::move(functions);
  return s;
}

std::span<const std::byte> bytes(const std::vector<float>& v) {
  return std::as_bytes(std::span(v));
}

class OpenclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_opencl();
    if (!opened && opened.error().id == "E0911") GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = std::move(*opened);
  }

  std::unique_ptr<GpuModule> build(std::vector<GpuFunction> functions) {
    auto module = driver_->build(source(std::move(functions)));
    EXPECT_TRUE(module) << module.error().message;
    return module ? std::move(*module) : nullptr;
  }

  std::unique_ptr<GpuMemory> memory(const std::vector<float>& values) {
    const auto size = static_cast<int64_t>(values.size() * sizeof(float));
    auto m = driver_->allocate(size);
    EXPECT_TRUE(m) << m.error().message;
    EXPECT_TRUE(driver_->write(**m, 0, bytes(values)));
    return std::move(*m);
  }

  std::unique_ptr<GpuDriver> driver_;
};

TEST_F(OpenclTest, SaysWhatTheDeviceOffers) {
  const Capability& c = driver_->capability();
  EXPECT_EQ(driver_->name(), "opencl");
  EXPECT_EQ(c.dialect, Dialect::opencl);
  EXPECT_FALSE(c.device.empty());
  EXPECT_FALSE(c.machine.empty());
  EXPECT_GE(c.threads, 64);
  EXPECT_GE(c.shared_bytes, 16384);
  EXPECT_GE(c.binding_bytes, 1 << 26);
  EXPECT_GE(c.groups, 65535);
  EXPECT_TRUE(c.i64 && c.narrow_words);
  EXPECT_GT(driver_->memory_bytes(), 0);
}

TEST_F(OpenclTest, RunsLaunchesInOrder) {
  const int64_t n = 1000;
  std::vector<float> x(1000), y(1000, -1), s(1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto module = build({{"scale", scale, 32}, {"total", total, 64}});
  ASSERT_NE(module, nullptr);
  const auto mx = memory(x), my = memory(y), ms = memory(s);
  const std::vector<GpuLaunch> launches = {
      {0, "y", {{mx.get(), 0, 4000}, {my.get(), 0, 4000}}, {n, 3}, 5},
      {1, "s", {{my.get(), 0, 4000}, {ms.get(), 0, 4}}, {n}, 1},
  };
  auto sequence = driver_->record(*module, launches);
  ASSERT_TRUE(sequence) << sequence.error().message;
  ASSERT_TRUE((*sequence)->run());  // PoCL compiles for the group's size
  const auto once = (*sequence)->run();
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_GT(*once, 0);
  ASSERT_TRUE(driver_->read(*ms, 0, std::as_writable_bytes(std::span(s))));
  EXPECT_EQ(s[0], 3 * 999 * 500);
  // More rounds than are waited for together.
  const auto often = (*sequence)->run(1500);
  ASSERT_TRUE(often) << often.error().message;
  EXPECT_GT(*often, *once);
  ASSERT_TRUE(driver_->read(*my, 4 * 999, std::as_writable_bytes(std::span(s))));
  EXPECT_EQ(s[0], 3 * 999);
}

TEST_F(OpenclTest, BindsPartsOfMemory) {
  const auto module = build({{"scale", scale, 32}});
  ASSERT_NE(module, nullptr);
  std::vector<float> all(4096, 2), y(256);
  const auto m = memory(all);
  const std::vector<GpuLaunch> launches = {
      {0, "y", {{m.get(), 0, 4096}, {m.get(), 8192, 4096}}, {256, 5}, 2}};
  auto sequence = driver_->record(*module, launches);
  ASSERT_TRUE(sequence) << sequence.error().message;
  ASSERT_TRUE((*sequence)->run());
  ASSERT_TRUE(driver_->read(*m, 8192, std::as_writable_bytes(std::span(y))));
  EXPECT_THAT(y, ::testing::Each(10));
  ASSERT_TRUE(driver_->read(*m, 4096, std::as_writable_bytes(std::span(y))));
  EXPECT_THAT(y, ::testing::Each(2));
}

TEST_F(OpenclTest, RefusedSourcesComeWithTheLog) {
  const auto module =
      driver_->build(source({{"bad", "__kernel void bad() { int x = nonsense; }", 1}}));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().id, "E0999");
  EXPECT_THAT(module.error().message, HasSubstr("`bad`"));
  EXPECT_THAT(module.error().message, HasSubstr("nonsense"));
}

TEST_F(OpenclTest, GroupsThatAreTooLargeAreRefused) {
  const int64_t threads = driver_->capability().threads * 2;
  const auto module = driver_->build(source({{"scale", scale, threads}}));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().id, "E0921");
  EXPECT_EQ(module.error().exit, Exit::target_limit);
}

TEST_F(OpenclTest, LaunchesThatCannotRunAreErrors) {
  const auto module = build({{"scale", scale, 32}});
  ASSERT_NE(module, nullptr);
  const auto m = memory(std::vector<float>(64));
  // Too few arguments: the driver notices when it is launched.
  const std::vector<GpuLaunch> launches = {{0, "y", {{m.get(), 0, 256}}, {}, 2}};
  auto sequence = driver_->record(*module, launches);
  if (!sequence) return;
  const auto ran = (*sequence)->run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().id, "E0912");
  EXPECT_EQ(ran.error().exit, Exit::no_device);
  EXPECT_THAT(ran.error().message, HasSubstr("kernel `y` (2 groups of 32 threads)"));
  EXPECT_THAT(ran.error().message, HasSubstr("CL_INVALID_KERNEL_ARGS"));
}

TEST_F(OpenclTest, TooMuchMemoryIsAnError) {
  const auto m = driver_->allocate(driver_->memory_bytes() * 2 + (int64_t{1} << 40));
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().id, "E0913");
  EXPECT_EQ(m.error().exit, Exit::out_of_memory);
}

TEST(Opencl, MissingLibrariesAreSaid) {
  const auto driver = open_opencl("libno-such-opencl.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().id, "E0911");
  EXPECT_EQ(driver.error().exit, Exit::no_device);
  EXPECT_THAT(driver.error().message, HasSubstr("libno-such-opencl.so.1"));
  EXPECT_THAT(driver.error().hint, HasSubstr("apt-get install"));
  const auto other = cl::load("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("it lacks cl"));
}

}  // namespace
}  // namespace tang
