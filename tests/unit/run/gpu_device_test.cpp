// What the device of a GPU asks of its driver: launches, transfers, memory, limits.
#include "run/gpu_device.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_driver.h"
#include "loop/text.h"
#include "run/gpu_checks.h"

namespace tang {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// t = 2 x, u = t + 1, y = u * 3 over n elements.
constexpr std::string_view chain = R"(
symbol n
buffer x : f32[n] input
buffer y : f32[n] output
buffer t : f32[n] workspace
buffer u : f32[n] workspace
buffer v : f32[n] workspace
require n
kernel t reads x writes t {
  for i in 0 .. n parallel {
    store t[i] = 2.0 * x[i]
  }
}
kernel u reads t writes u {
  for i in 0 .. n parallel {
    store u[i] = t[i] + 1.0
  }
}
kernel v reads u writes v {
  for i in 0 .. n parallel {
    store v[i] = u[i]
  }
}
kernel y reads v writes y {
  for i in 0 .. n parallel {
    store y[i] = v[i] * 3.0
  }
}
)";

class GpuDeviceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Executable> compile(std::string_view text,
                                      Capability c = FakeDriver::default_capability()) {
    auto program = loop::parse_program(text, "test");
    EXPECT_TRUE(program) << program.error().message;
    program_ = *program;
    auto driver = std::make_unique<FakeDriver>(log_, c);
    driver_ = driver.get();
    device_ = std::make_unique<GpuDevice>(std::move(driver));
    Diagnostics warnings;
    auto executable = device_->compile(*program, {}, warnings);
    EXPECT_TRUE(executable) << executable.error().message;
    return executable ? std::move(*executable) : nullptr;
  }

  using First = std::function<float&(std::string_view buffer)>;

  // Lets launches do `work` on first elements of the buffers that their kernel binds.
  void compute(std::function<void(std::string_view kernel, First first)> work) {
    log_.run = [this, work](const GpuLaunch& launch, const std::vector<std::byte*>& bytes) {
      const auto* kernel = &program_.kernels[0];
      for (const auto* kernels : {&program_.kernels, &program_.prepares})
        for (const loop::Kernel& k : *kernels)
          if (k.name == launch.kernel) kernel = &k;
      const std::vector<loop::BufferId> ids = bindings(program_, *kernel);
      work(launch.kernel, [&](std::string_view buffer) -> float& {
        const auto at = std::ranges::find(ids, *program_.find_buffer(buffer)) - ids.begin();
        return *reinterpret_cast<float*>(bytes[static_cast<size_t>(at)]);
      });
    };
  }

  void compute_chain() {
    compute([](std::string_view kernel, const First& first) {
      if (kernel == "t") first("t") = 2 * first("x");
      if (kernel == "u") first("u") = first("t") + 1;
      if (kernel == "v") first("v") = first("u");
      if (kernel == "y") first("y") = first("v") * 3;
    });
  }

  LoopProgram program_;
  FakeLog log_;
  FakeDriver* driver_ = nullptr;
  std::unique_ptr<GpuDevice> device_;
};

TEST_F(GpuDeviceTest, RunsKernelsInOrderAndCopiesArguments) {
  compute_chain();
  const auto executable = compile(chain);
  float x[4] = {5, 0, 0, 0}, y[4] = {0, 7, 7, 7};
  void* buffers[] = {x, y};
  const int64_t n = 4;
  log_.calls.clear();
  ASSERT_EQ(*executable->workspace_bytes({&n, 1}), 0);
  const auto times = executable->run(buffers, {&n, 1}, nullptr);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(times->total_ms, 0.5);
  EXPECT_THAT(y, ElementsAre(33, 7, 7, 7)) << "what no kernel writes keeps its values";
  EXPECT_EQ(log_.count("record"), 1u);
  std::vector<std::string> launches;
  for (const std::string& call : log_.calls)
    if (call.starts_with("launch")) launches.push_back(call.substr(7, 1));
  EXPECT_THAT(launches, ElementsAre("t", "u", "v", "y"));
}

TEST_F(GpuDeviceTest, AllocatesNothingWhenSizesStay) {
  compute_chain();
  const auto executable = compile(chain);
  float x[8] = {5}, y[8] = {};
  void* buffers[] = {x, y};
  int64_t n = 4;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  log_.calls.clear();
  x[0] = 1;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(y[0], 9);
  EXPECT_EQ(log_.count("allocate"), 0u);
  EXPECT_EQ(log_.count("record"), 0u);
  EXPECT_EQ(log_.count("build"), 0u);
  const int64_t before = log_.live_bytes;
  n = 8;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(log_.live_bytes, 2 * before) << "memory of other sizes is given back";
}

TEST_F(GpuDeviceTest, WorkspaceWhoseLivesAreApartIsShared) {
  const auto executable = compile(chain);
  std::vector<float> x(1000), y(1000);
  void* buffers[] = {x.data(), y.data()};
  const int64_t n = 1000;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(log_.live_bytes, 4 * 4000) << "x, y, t with v, u";
}

TEST_F(GpuDeviceTest, GivesAllMemoryBack) {
  auto executable = compile(chain);
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  const int64_t n = 4;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  auto resident = executable->resident(buffers, {&n, 1});
  ASSERT_TRUE(resident);
  executable.reset();
  device_.reset();
  EXPECT_GT(log_.live_bytes, 0);
  EXPECT_TRUE((*resident)->run(1)) << "a resident outlives its executable";
  resident->reset();
  EXPECT_EQ(log_.live_bytes, 0);
}

TEST_F(GpuDeviceTest, SingleKernelsSeeWhatTheyReadAndWrite) {
  compute_chain();
  const auto executable = compile(chain);
  float x[4] = {3, 0, 0, 0}, t[4] = {-1, -2, -3, -4};
  void* buffers[] = {x, nullptr, t, nullptr, nullptr};
  const int64_t n = 4;
  ASSERT_TRUE(executable->run_kernel(0, buffers, {&n, 1}));
  EXPECT_THAT(t, ElementsAre(6, -2, -3, -4)) << "poison stays where nothing is written";
  EXPECT_EQ(log_.count("launch"), 1u);
  EXPECT_EQ(log_.count("read"), 1u);
  const auto wrong = executable->run_kernel(4, buffers, {&n, 1});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().id, "E0701");
  const auto missing = executable->run_kernel(1, buffers, {&n, 1});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("`u`"));
}

TEST_F(GpuDeviceTest, FailedLaunchesAreErrors) {
  const auto executable = compile(chain);
  log_.fails = "u";
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  const int64_t n = 4;
  const auto times = executable->run(buffers, {&n, 1}, nullptr);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().id, "E0912");
  EXPECT_EQ(log_.count("read"), 0u);
}

// A launch that exceeds a limit says which kernel, grid, group and limit.
TEST(GpuLaunches, ThatExceedALimitAreErrors) {
  Capability device = FakeDriver::default_capability();
  device.groups = 65535;
  GpuFunction function;
  function.threads = 64;
  GpuLaunch launch;
  launch.kernel = "y";
  launch.groups = 65536;
  const auto refused = check_launch(device, function, launch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "E0921");
  EXPECT_EQ(refused.error().exit, Exit::target_limit);
  for (const char* part : {"kernel y", "65536 groups", "64 threads", "65535 at most"})
    EXPECT_THAT(refused.error().message, HasSubstr(part));
  launch.groups = 65535;
  EXPECT_TRUE(check_launch(device, function, launch));
}

TEST_F(GpuDeviceTest, ResidentsCopyWhenAsked) {
  compute_chain();
  const auto executable = compile(chain);
  float x[4] = {5}, y[4] = {};
  void* buffers[] = {x, y};
  const int64_t n = 4;
  auto resident = executable->resident(buffers, {&n, 1});
  ASSERT_TRUE(resident);
  log_.calls.clear();
  EXPECT_EQ(*(*resident)->run(10), 5.0);
  EXPECT_EQ(log_.count("launch"), 40u);
  EXPECT_EQ(log_.count("write") + log_.count("read"), 0u);
  EXPECT_EQ(y[0], 0);
  ASSERT_TRUE((*resident)->download_outputs());
  EXPECT_EQ(y[0], 33);
  log_.calls.clear();
  EXPECT_EQ(*(*resident)->run_kernel(3, 2), 1.0);
  EXPECT_EQ(*(*resident)->run_kernel(3), 0.5);
  EXPECT_EQ(log_.count("launch y"), 3u);
  EXPECT_EQ(log_.count("record"), 1u);
  x[0] = 0;
  ASSERT_TRUE((*resident)->upload(0));
  ASSERT_TRUE((*resident)->run());
  ASSERT_TRUE((*resident)->download(1));
  EXPECT_EQ(y[0], 3);
}

TEST_F(GpuDeviceTest, RefusesBuffersThatNoKernelCanBind) {
  Capability c = FakeDriver::default_capability();
  c.binding_bytes = 4000;
  const auto executable = compile(chain, c);
  const int64_t n = 1001;
  std::vector<float> x(1001), y(1001);
  void* buffers[] = {x.data(), y.data()};
  const auto times = executable->run(buffers, {&n, 1}, nullptr);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().id, "E0921");
  EXPECT_EQ(times.error().exit, Exit::target_limit);
  EXPECT_EQ(times.error().message,
            "`x` is 4004 bytes, more than the 4000 that a kernel can bind on a fake");
  const int64_t fits = 1000;
  EXPECT_TRUE(executable->run(buffers, {&fits, 1}, nullptr));
}

TEST_F(GpuDeviceTest, RefusesSizesThatAreNone) {
  const auto executable = compile(chain);
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  for (const int64_t n : {int64_t{-1}, int64_t{1} << 61, INT64_MAX / 4}) {
    const auto times = executable->run(buffers, {&n, 1}, nullptr);
    ASSERT_FALSE(times) << n;
    EXPECT_TRUE(times.error().id == "E0701" || times.error().id == "E0921") << n;
    EXPECT_FALSE(executable->resident(buffers, {&n, 1}));
  }
  const int64_t n = -1;
  EXPECT_EQ(executable->workspace_bytes({&n, 1}).error().id, "E0701");
  EXPECT_EQ(executable->run(buffers, {}, nullptr).error().id, "E0701");
  EXPECT_EQ(executable->run({}, {&n, 1}, nullptr).error().id, "E0701");
}

TEST_F(GpuDeviceTest, RefusesMoreMemoryThanThereIs) {
  Capability c = FakeDriver::default_capability();
  c.binding_bytes = INT64_MAX;
  const auto executable = compile(chain, c);
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  const int64_t n = int64_t{1} << 38;
  const auto times = executable->run(buffers, {&n, 1}, nullptr);
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().id, "E0913");
  EXPECT_EQ(times.error().exit, Exit::out_of_memory);
  EXPECT_EQ(log_.count("allocate"), 0u);
}

TEST_F(GpuDeviceTest, EmptyBuffersHaveMemory) {
  const auto executable = compile(chain);
  void* buffers[] = {nullptr, nullptr};
  const int64_t n = 0;
  const auto times = executable->run(buffers, {&n, 1}, nullptr);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(log_.count("allocate 16"), 4u);
  EXPECT_EQ(log_.count("write"), 0u);
}

TEST_F(GpuDeviceTest, LargeSymbolsTakeTheWideForm) {
  const auto executable = compile(R"(
symbol n
buffer x : f32[4] input
buffer y : f32[4] output
kernel y reads x writes y {
  for i in 0 .. 4 parallel {
    store y[i] = x[i] + f32(n)
  }
}
)");
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  int64_t n = (1 << 30) - 1;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(log_.count("build"), 1u);
  ++n;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(log_.count("build"), 2u);
  EXPECT_NE(driver_->sources[0].functions[0].source, driver_->sources[1].functions[0].source);
  --n;
  ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  EXPECT_EQ(log_.count("build"), 2u);
}

TEST_F(GpuDeviceTest, LaunchesHaveAsManyGroupsAsThereIsWork) {
  Capability c = FakeDriver::default_capability();
  c.groups = 100;
  const auto executable = compile(chain, c);
  std::vector<float> x(1000), y(1000);
  void* buffers[] = {x.data(), y.data()};
  for (const auto& [n, groups] : {std::pair<int64_t, int>{0, 1}, {60, 60}, {1000, 100}}) {
    log_.calls.clear();
    ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
    EXPECT_THAT(log_.calls, Contains(fmt::format("launch t {}", groups))) << n;
  }
}

// What is prepared comes back to the caller, and goes up with every run.
TEST_F(GpuDeviceTest, PreparesForAllRuns) {
  compute([](std::string_view kernel, const First& first) {
    if (kernel == "p") first("p") = first("w") * 10;
    if (kernel == "y") first("y") = first("x") + first("p");
  });
  const auto executable = compile(R"(
buffer w : f32[4] input
buffer x : f32[4] input
buffer y : f32[4] output
buffer p : f32[4] prepared
prepare p reads w writes p {
  for i in 0 .. 4 parallel {
    store p[i] = w[i] * 10.0
  }
}
kernel y reads x, p writes y {
  for i in 0 .. 4 parallel {
    store y[i] = x[i] + p[i]
  }
}
)");
  ASSERT_NE(executable, nullptr);
  float w[4] = {2}, x[4] = {1}, y[4] = {}, p[4] = {};
  void* buffers[] = {w, x, y, p};
  ASSERT_TRUE(executable->prepare(buffers, {}, nullptr));
  EXPECT_EQ(p[0], 20);
  EXPECT_EQ(log_.count("launch"), 1u);
  buffers[0] = nullptr;  // runs do without it
  ASSERT_TRUE(executable->run(buffers, {}, nullptr));
  EXPECT_EQ(y[0], 21);
  p[0] = 5;
  auto resident = executable->resident(buffers, {});
  ASSERT_TRUE(resident);
  ASSERT_TRUE((*resident)->run());
  ASSERT_TRUE((*resident)->download_outputs());
  EXPECT_EQ(y[0], 6);
}

// Programs of a batch share a module, and each launches its own functions.
TEST_F(GpuDeviceTest, BatchesAreBuiltTogether) {
  const auto single = compile(chain);
  log_.calls.clear();
  std::vector<size_t> functions;
  log_.run = [&](const GpuLaunch& launch, const std::vector<std::byte*>&) {
    functions.push_back(launch.function);
  };
  const LoopProgram* const programs[] = {&program_, &program_};
  Diagnostics warnings;
  auto both = device_->compile_all(programs, {}, warnings);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(log_.count("build"), 1u);
  const size_t each = driver_->sources[0].functions.size();
  EXPECT_EQ(driver_->sources[1].functions.size(), 2 * each);
  float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  const int64_t n = 4;
  for (const auto& executable : *both) ASSERT_TRUE(executable->run(buffers, {&n, 1}, nullptr));
  ASSERT_EQ(functions.size(), 8u);
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(functions[k + 4], functions[k] + each);
  EXPECT_EQ(dynamic_cast<GpuExecutable&>(*(*both)[1]).usage(0).registers,
            10 + static_cast<int64_t>(functions[4]));
}

// The memory of the device and its driver serve one caller at a time.
TEST_F(GpuDeviceTest, ThreadsTakeTurns) {
  compute_chain();
  const auto executable = compile(chain);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 200; ++k) {
        const int64_t n = 1 + k % 3;
        float x[4] = {static_cast<float>(t)}, y[4] = {};
        void* buffers[] = {x, y};
        const bool ok = executable->run(buffers, {&n, 1}, nullptr).has_value();
        if (!ok || y[0] != static_cast<float>(6 * t + 3)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// An output that takes an input's memory: one memory on the device, copied once each way.
TEST_F(GpuDeviceTest, OutputsInPlaceShareTheirInputsMemory) {
  log_.run = [](const GpuLaunch&, std::vector<std::byte*> bytes) {
    reinterpret_cast<float*>(bytes[0])[1] += 1;
  };
  const auto executable = compile(R"(
buffer x : f32[4] input
buffer y : f32[4] output into x
kernel y reads x writes y {
  store y[1] = x[1] + 1.0
}
)");
  ASSERT_NE(executable, nullptr);
  float x[4] = {1, 2, 3, 4};
  void* buffers[] = {x, x};
  log_.calls.clear();
  ASSERT_TRUE(executable->run(buffers, {}, nullptr));
  EXPECT_THAT(x, ElementsAre(1, 3, 3, 4));
  EXPECT_THAT(log_.calls,
              ElementsAre("allocate 16", "write 16", "record 1", HasSubstr("launch y"), "read 16"));
  ASSERT_TRUE(executable->run_kernel(0, buffers, {}));
  EXPECT_THAT(x, ElementsAre(1, 4, 3, 4));
}

// ---- memory and streams of the caller -----------------------------------------------------------

TEST_F(GpuDeviceTest, RunsOnMemoryOfTheCaller) {
  compute_chain();
  log_.streams = true;
  const auto executable = compile(chain);
  alignas(64) float x[4] = {5, 0, 0, 0}, y[4] = {0, 7, 7, 7};
  alignas(64) std::byte workspace[128];
  const int64_t n = 4;
  ASSERT_EQ(*executable->stream_workspace_bytes({&n, 1}), 128) << "two lines: t and v share one";
  void* buffers[] = {x, y};
  log_.calls.clear();
  const auto ran = executable->enqueue({buffers, 3, workspace, nullptr}, {&n, 1});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(y, ElementsAre(33, 7, 7, 7));
  EXPECT_THAT(log_.calls, ElementsAre("adopt 3", "adopt 3", "adopt 3", "launch t 4", "launch u 4",
                                      "launch v 4", "launch y 4"))
      << "nothing is allocated, copied or recorded";
}

TEST_F(GpuDeviceTest, AFailedLaunchOnAStreamIsAnError) {
  log_.streams = true;
  log_.fails = "u";
  const auto executable = compile(chain);
  alignas(64) float x[4] = {}, y[4] = {};
  alignas(64) std::byte workspace[128];
  const int64_t n = 4;
  void* buffers[] = {x, y};
  const auto ran = executable->enqueue({buffers, 0, workspace, nullptr}, {&n, 1});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().id, "E0912");
  EXPECT_EQ(log_.count("launch y"), 0u) << "later kernels are not launched";
}

TEST_F(GpuDeviceTest, MemoryThatKernelsCannotUseIsRefused) {
  log_.streams = true;
  const auto executable = compile(chain);
  alignas(64) float x[8] = {}, y[4] = {};
  alignas(64) std::byte workspace[128];
  const int64_t n = 4;
  const auto refusal = [&](void* in, void* out, void* scratch) {
    void* buffers[] = {in, out};
    const auto ran = executable->enqueue({buffers, 0, scratch, nullptr}, {&n, 1});
    return ran ? std::string() : ran.error().id + " " + ran.error().message;
  };
  EXPECT_EQ(refusal(x + 1, y, workspace), "E0719 the address of `x` is no multiple of 16");
  EXPECT_EQ(refusal(x, nullptr, workspace), "E0701 `y` has no memory");
  EXPECT_EQ(refusal(x, y, nullptr), "E0701 the program needs 128 bytes of workspace on the device");
  EXPECT_EQ(refusal(x, y, workspace), "");
}

TEST_F(GpuDeviceTest, DriversWithoutStreamsSaySo) {
  const auto executable = compile(chain);
  const int64_t n = 4;
  const auto bytes = executable->stream_workspace_bytes({&n, 1});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().id, "E0923");
  alignas(64) float x[4] = {}, y[4] = {};
  void* buffers[] = {x, y};
  EXPECT_EQ(executable->enqueue({buffers, 0, nullptr, nullptr}, {&n, 1}).error().id, "E0923");
}

}  // namespace
}  // namespace tang
