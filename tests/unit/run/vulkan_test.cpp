// The vulkan driver, with the device that the loader finds first.
#include "run/vulkan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/run/gpu_cases.h"
#include "unit/run/gpu_programs.h"

namespace tang {
namespace {

class Vulkan : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    VulkanOptions options;
    options.copies = GetParam();
    auto opened = open_vulkan(options);
    if (!opened && opened.error().id == "E0911") GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = std::move(*opened);
  }
  GpuDriver& driver() { return *driver_; }

 private:
  std::unique_ptr<GpuDriver> driver_;
};

TEST_P(Vulkan, KnownAnswer) { gpu_cases::known_answer(driver()); }
TEST_P(Vulkan, LaunchesInOrder) { gpu_cases::launches_in_order(driver()); }
TEST_P(Vulkan, GroupsWorkTogether) { gpu_cases::groups_work_together(driver()); }
TEST_P(Vulkan, SubgroupsExchange) { gpu_cases::subgroups_exchange(driver()); }
TEST_P(Vulkan, Halves) { gpu_cases::halves(driver()); }
TEST_P(Vulkan, NoElements) { gpu_cases::no_elements(driver()); }
TEST_P(Vulkan, BytesAtOddPlaces) { gpu_cases::bytes_at_odd_places(driver()); }
TEST_P(Vulkan, MuchMemory) { gpu_cases::much_memory(driver()); }
TEST_P(Vulkan, RefusedSource) { gpu_cases::refused_source(driver()); }
TEST_P(Vulkan, Limits) { gpu_cases::limits(driver()); }
TEST_P(Vulkan, Defects) { gpu_cases::defects(driver()); }
TEST_P(Vulkan, TimePasses) { gpu_cases::time_passes(driver()); }

INSTANTIATE_TEST_SUITE_P(Memory, Vulkan, testing::Bool(),
                         [](const auto& which) { return which.param ? "copied" : "mapped"; });

TEST_P(Vulkan, TellsWhatTheDeviceHas) {
  const Capability& c = driver().capability();
  EXPECT_EQ(driver().name(), "vulkan");
  EXPECT_EQ(c.dialect, Dialect::glsl);
  EXPECT_FALSE(c.device.empty());
  EXPECT_FALSE(c.machine.empty());
  // What every device of Vulkan has.
  EXPECT_GE(c.threads, 128);
  EXPECT_GE(c.shared_bytes, 16384);
  EXPECT_GE(c.buffers, 4);
  EXPECT_GE(c.binding_bytes, int64_t{1} << 27);
  EXPECT_GE(c.groups, 65535);
  EXPECT_GT(driver().memory_bytes(), 0);
}

// Push constants hold 32 sizes.
TEST_P(Vulkan, ManySymbolsAreRefused) {
  GpuSource many = gpu_cases::source(Dialect::glsl, {gpu_cases::Example::affine});
  many.functions[0].symbols.resize(33);
  const auto refused = driver().build(many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "E0921");
  EXPECT_EQ(refused.error().exit, Exit::target_limit);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("132"));
}

TEST(VulkanGpuPrograms, RunAsTheMachineDoes) {
  auto driver = open_vulkan(VulkanOptions{});
  if (!driver) GTEST_SKIP() << driver.error().message;
  EXPECT_GT(gpu_programs::run_corpus(**driver, scalar_corpus()), 50);
  EXPECT_GT(gpu_programs::run_corpus(**driver, group_corpus()), 0);
  // Those that exchange further than a subgroup reaches are refused.
  gpu_programs::run_corpus(**driver, exchange_corpus());
}

TEST(VulkanLibrary, AMissingOneIsNamed) {
  VulkanOptions options;
  options.library = "libno-such-loader.so.1";
  const auto opened = open_vulkan(options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().id, "E0911");
  EXPECT_EQ(opened.error().exit, Exit::no_device);
}

}  // namespace
}  // namespace tang
