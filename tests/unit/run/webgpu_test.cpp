// The webgpu driver, with Dawn's library at TANG_WEBGPU_LIBRARY or in build/webgpu.
#include "run/webgpu.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/webgpu_kernels.h"
#include "unit/run/gpu_cases.h"
#include "unit/run/gpu_programs.h"

namespace tang {
namespace {

std::string library() {
  if (const char* given = std::getenv("TANG_WEBGPU_LIBRARY")) return given;
  const std::filesystem::path fetched = "build/webgpu/libwebgpu_wrapper.so";
  return std::filesystem::exists(fetched) ? std::filesystem::absolute(fetched).string() : "";
}

class WebGpu : public testing::Test {
 protected:
  // One for all: opening a device takes longer than most tests.
  static void SetUpTestSuite() { opened_.emplace(open_webgpu(library())); }
  static void TearDownTestSuite() { opened_.reset(); }
  void SetUp() override {
    if (!*opened_ && opened_->error().id == "E0911") GTEST_SKIP() << opened_->error().message;
    ASSERT_TRUE(*opened_) << opened_->error().message;
  }
  GpuDriver& driver() { return ***opened_; }

 private:
  static inline std::optional<Result<std::unique_ptr<GpuDriver>>> opened_;
};

TEST_F(WebGpu, KnownAnswer) { gpu_cases::known_answer(driver()); }
TEST_F(WebGpu, LaunchesInOrder) { gpu_cases::launches_in_order(driver()); }
TEST_F(WebGpu, GroupsWorkTogether) { gpu_cases::groups_work_together(driver()); }
TEST_F(WebGpu, SubgroupsExchange) { gpu_cases::subgroups_exchange(driver()); }
TEST_F(WebGpu, Halves) { gpu_cases::halves(driver()); }
TEST_F(WebGpu, NoElements) { gpu_cases::no_elements(driver()); }
TEST_F(WebGpu, BytesAtOddPlaces) { gpu_cases::bytes_at_odd_places(driver()); }
TEST_F(WebGpu, MuchMemory) { gpu_cases::much_memory(driver()); }
TEST_F(WebGpu, RefusedSource) { gpu_cases::refused_source(driver()); }
TEST_F(WebGpu, Limits) { gpu_cases::limits(driver()); }
TEST_F(WebGpu, Defects) { gpu_cases::defects(driver()); }
TEST_F(WebGpu, TimePasses) { gpu_cases::time_passes(driver()); }

TEST_F(WebGpu, RunsProgramsAsTheMachineDoes) {
  EXPECT_GT(gpu_programs::run_corpus(driver(), scalar_corpus()), 50);
  EXPECT_GT(gpu_programs::run_corpus(driver(), group_corpus()), 0);
  // Those that exchange further than a subgroup reaches are refused.
  gpu_programs::run_corpus(driver(), exchange_corpus());
}

TEST_F(WebGpu, TellsWhatTheDeviceHas) {
  const Capability& c = driver().capability();
  EXPECT_EQ(driver().name(), "webgpu");
  EXPECT_EQ(c.dialect, Dialect::wgsl);
  EXPECT_FALSE(c.device.empty());
  EXPECT_FALSE(c.machine.empty());
  // What every device of WebGPU has.
  EXPECT_GE(c.threads, 256);
  EXPECT_GE(c.shared_bytes, 16384);
  EXPECT_GE(c.buffers, 8);
  EXPECT_GE(c.binding_bytes, int64_t{1} << 27);
  EXPECT_GE(c.groups, 65535);
  EXPECT_FALSE(c.f64 || c.i64 || c.narrow_words);
}

// A launch that WebGPU refuses is an error of its own, and the next one runs.
TEST_F(WebGpu, RefusedLaunch) {
  using gpu_cases::Example;
  GpuSource source = gpu_cases::source(Dialect::wgsl, {Example::affine});
  std::string& text = source.functions[0].source;
  text.replace(text.find("read_write"), 10, "read");
  auto module = driver().build(source);
  ASSERT_TRUE(module) << module.error().message;
  auto memory = driver().allocate(512);
  ASSERT_TRUE(memory);
  GpuLaunch launch;
  launch.kernel = "shared";
  launch.bindings = {{memory->get(), 0, 64}, {memory->get(), 256, 64}};
  launch.symbols = {16, 1};
  auto sequence = driver().record(**module, std::span(&launch, 1));
  ASSERT_TRUE(sequence) << sequence.error().message;
  const auto ran = (*sequence)->run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().id, "E0912");
  gpu_cases::known_answer(driver());
}

TEST(WebGpuLibrary, AMissingOneIsNamed) {
  for (const char* path : {"/nowhere/libwebgpu_wrapper.so", "libdl.so.2"}) {
    const auto opened = open_webgpu(path);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().id, "E0911");
    EXPECT_EQ(opened.error().exit, Exit::no_device);
    EXPECT_THAT(opened.error().message, testing::HasSubstr(path));
  }
}

TEST(WebGpuSource, BindingsAreReadFromDeclarations) {
  using namespace wgpu;
  EXPECT_EQ(declared_bindings("// @binding(7) var<storage> no;\n"
                              "@group(0) @binding(1) var<storage, read_write> y : array<u32>;\n"
                              "@binding( 0 ) @group(0)\nvar<storage, read> x : array<u32>;\n"
                              "@group(0) @binding(4) var<uniform> s : array<vec4<i32>, 1>;\n"),
            (std::vector<uint32_t>{binding_read_only, binding_storage, 0, 0, binding_uniform}));
  EXPECT_TRUE(declared_bindings("fn main() {}").empty());
}

}  // namespace
}  // namespace tang
