// The driver over CUDA: on a GPU where there is one, and what it asks of the driver's entry points
// on a table of fakes.
#include "run/cuda.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/nvrtc.h"

namespace tang {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* scale = R"(
extern "C" __global__ void scale(const float* x, float* y, long long n, long long k) {
  for (long long i = blockIdx.x * 32ll + threadIdx.x; i < n; i += gridDim.x * 32ll)
    y[i] = x[i] * (float)k;
})";
constexpr const char* outside = R"(
extern "C" __global__ void outside(float* y) { y[1ll << 36] = 1.0f; })";

GpuSource source(std::vector<GpuFunction> functions) {
  GpuSource s;
  s.dialect = Dialect::cuda;
  s.functions = std::move(functions);
  return s;
}

// ---- a GPU ------------------------------------------------------------------------------------

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_cuda();
    if (!opened && opened.error().id == "E0911") GTEST_SKIP() << opened.error().message;
    ASSERT_TRUE(opened) << opened.error().message;
    driver_ = std::move(*opened);
  }

  std::unique_ptr<GpuDriver> driver_;
};

TEST_F(CudaTest, SaysWhatTheDeviceOffers) {
  const Capability& c = driver_->capability();
  EXPECT_EQ(driver_->name(), "cuda");
  EXPECT_EQ(c.dialect, Dialect::cuda);
  EXPECT_FALSE(c.device.empty());
  EXPECT_THAT(c.architecture, HasSubstr("sm_"));
  EXPECT_EQ(c.threads, 1024);
  EXPECT_EQ(c.shared_bytes, 48 * 1024);
  EXPECT_EQ(c.groups, INT32_MAX);
  EXPECT_EQ(c.subgroup, 32);
  EXPECT_GT(driver_->memory_bytes(), int64_t{1} << 30);
}

TEST_F(CudaTest, RunsLaunchesInOrder) {
  auto module = driver_->build(source({{"scale", scale, 32}}));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_GT((*module)->usage(0).registers, 0);
  std::vector<float> x(1000, 2), y(1000);
  auto m = driver_->allocate(8192);
  ASSERT_TRUE(m) << m.error().message;
  ASSERT_TRUE(driver_->write(**m, 0, std::as_bytes(std::span(x))));
  const GpuBinding a{m->get(), 0, 4096}, b{m->get(), 4096, 4096};
  const std::vector<GpuLaunch> launches = {{0, "b", {a, b}, {1000, 3}, 5},
                                           {0, "a", {b, a}, {1000, 1}, 32}};
  auto sequence = driver_->record(**module, launches);
  ASSERT_TRUE(sequence) << sequence.error().message;
  const auto ms = (*sequence)->run(3);
  ASSERT_TRUE(ms) << ms.error().message;
  EXPECT_GT(*ms, 0);
  ASSERT_TRUE(driver_->read(**m, 4096, std::as_writable_bytes(std::span(y))));
  EXPECT_THAT(y, ::testing::Each(2 * 27));
  ASSERT_TRUE(driver_->read(**m, 0, std::as_writable_bytes(std::span(y))));
  EXPECT_THAT(y, ::testing::Each(2 * 27));
}

TEST_F(CudaTest, TooMuchMemoryIsAnError) {
  const auto m = driver_->allocate(driver_->memory_bytes() * 2);
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().id, "E0913");
  EXPECT_EQ(m.error().exit, Exit::out_of_memory);
}

// Runs a kernel that dies, and ends the process with what was said of it.
void die() {
  auto driver = open_cuda();
  auto module = (*driver)->build(source({{"outside", outside, 32}}));
  auto memory = (*driver)->allocate(64);
  const std::vector<GpuLaunch> launches = {{0, "y", {{memory->get(), 0, 64}}, {}, 2}};
  const auto ran = (*(*driver)->record(**module, launches))->run();
  if (!ran) std::fputs((ran.error().id + " " + ran.error().message).c_str(), stderr);
  std::_Exit(ran ? 1 : 0);
}

// The context is lost with it: in a process of its own, not forked from one that uses the GPU.
TEST_F(CudaTest, KernelsThatDieAreNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(die(), ::testing::ExitedWithCode(0),
              "E0912 kernel `y` \\(2 groups of 32 threads\\): .*CUDA_ERROR_");
}

// ---- fakes ------------------------------------------------------------------------------------

// Handles are small numbers; every call is written down.
struct Fakes {
  std::vector<std::string> calls;
  std::string fails;  // a call of this name does
  int code = 700;
  int pushed = 0;          // contexts
  int64_t live = 0;        // objects
  void* stream = nullptr;  // of the last launch
};
Fakes* fakes = nullptr;

int note(const char* name) {
  fakes->calls.push_back(name);
  return fakes->fails == name ? fakes->code : 0;
}

template <class Object>
int make(const char* name, Object* object) {
  const int code = note(name);
  if (code == 0) {
    ++fakes->live;
    *object = reinterpret_cast<Object>(static_cast<uintptr_t>(fakes->calls.size()));
  }
  return code;
}

int drop(const char* name) {
  --fakes->live;
  return note(name);
}

cuda::Api fake_api() {
  using namespace cuda;
  Api a;
  a.Init = [](unsigned) { return note("Init"); };
  a.GetErrorName = [](int, const char** s) { return *s = "CUDA_ERROR_FAKE", 0; };
  a.GetErrorString = [](int, const char** s) { return *s = "a fake", 0; };
  a.DeviceGetCount = [](int* n) { return *n = 1, note("DeviceGetCount"); };
  a.DeviceGet = [](Device* d, int) { return *d = 7, 0; };
  a.DeviceGetName = [](char* s, int, Device) { return std::strcpy(s, "fake"), 0; };
  a.DeviceGetAttribute = [](int* v, int what, Device) {
    *v = what == device_compute_capability_major   ? 8
         : what == device_compute_capability_minor ? 0
         : what == device_warp_size                ? 32
         : what == device_max_threads_per_block    ? 1024
                                                   : 1 << 20;
    return 0;
  };
  a.DeviceTotalMem = [](size_t* n, Device) { return *n = size_t{1} << 33, 0; };
  a.DevicePrimaryCtxRetain = [](Context* c, Device) { return make("Retain", c); };
  a.DevicePrimaryCtxRelease = [](Device) { return drop("Release"); };
  a.CtxGetCurrent = [](Context* c) { return *c = nullptr, 0; };
  a.CtxGetDevice = [](Device* d) { return *d = 3, note("CtxGetDevice"); };
  a.CtxPushCurrent = [](Context) { return ++fakes->pushed, 0; };
  a.CtxPopCurrent = [](Context*) { return --fakes->pushed, 0; };
  a.ModuleLoadData = [](Module* m, const void*) { return make("ModuleLoadData", m); };
  a.ModuleUnload = [](Module) { return drop("ModuleUnload"); };
  a.ModuleGetFunction = [](Function* f, Module, const char*) {
    *f = reinterpret_cast<Function>(uintptr_t{1});
    return note("ModuleGetFunction");
  };
  a.FuncGetAttribute = [](int* v, int, Function) { return *v = 512, 0; };
  a.MemAlloc = [](Address* at, size_t) {
    *at = 4096;
    ++fakes->live;
    const int code = note("MemAlloc");
    if (code) --fakes->live;
    return code;
  };
  a.MemFree = [](Address) { return drop("MemFree"); };
  a.MemGetInfo = [](size_t* free, size_t* total) { return *free = 5, *total = 9, 0; };
  a.MemcpyHtoDAsync = [](Address, const void*, size_t, Stream) { return note("Upload"); };
  a.MemcpyDtoHAsync = [](void*, Address, size_t, Stream) { return note("Download"); };
  a.StreamCreate = [](Stream* s, unsigned) { return make("StreamCreate", s); };
  a.StreamDestroy = [](Stream) { return drop("StreamDestroy"); };
  a.StreamSynchronize = [](Stream) { return note("Synchronize"); };
  a.StreamBeginCapture = [](Stream, int) { return note("BeginCapture"); };
  a.StreamEndCapture = [](Stream, Graph* g) { return make("EndCapture", g); };
  a.EventCreate = [](Event* e, unsigned) { return make("EventCreate", e); };
  a.EventDestroy = [](Event) { return drop("EventDestroy"); };
  a.EventRecord = [](Event, Stream) { return note("EventRecord"); };
  a.EventElapsedTime = [](float* ms, Event, Event) { return *ms = 1.5f, 0; };
  a.GraphInstantiate = [](GraphExec* g, Graph, unsigned long long) {
    return make("Instantiate", g);
  };
  a.GraphLaunch = [](GraphExec, Stream) { return note("GraphLaunch"); };
  a.GraphExecDestroy = [](GraphExec) { return drop("GraphExecDestroy"); };
  a.GraphDestroy = [](Graph) { return drop("GraphDestroy"); };
  a.LaunchKernel = [](Function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned,
                      unsigned, Stream stream, void** arguments, void**) {
    fakes->stream = stream;
    uint64_t first = 0, last = 0;
    std::memcpy(&first, arguments[0], 8);
    std::memcpy(&last, arguments[1], 8);
    fakes->calls.push_back("Launch " + std::to_string(gx) + " " + std::to_string(bx) + " " +
                           std::to_string(first) + " " + std::to_string(last));
    return note("LaunchKernel");
  };
  return a;
}

class CudaFakeTest : public ::testing::Test {
 protected:
  void SetUp() override { fakes = &fakes_; }
  void TearDown() override {
    EXPECT_EQ(fakes_.pushed, 0) << "contexts stay on the thread's stack";
    EXPECT_EQ(fakes_.live, 0) << "objects are left behind";
    fakes = nullptr;
  }

  static std::unique_ptr<GpuDriver> open() {
    auto opened = open_cuda(fake_api());
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  // A module and memory, and two launches over it.
  struct Ready {
    std::unique_ptr<GpuDriver> driver = open();
    std::unique_ptr<GpuModule> module;
    std::unique_ptr<GpuMemory> memory;
    std::vector<GpuLaunch> launches;

    bool make() {
      auto built = driver->build(source({{"scale", scale, 32}}));
      if (!built) return false;  // without NVRTC
      module = std::move(*built);
      memory = std::move(*driver->allocate(512));
      const GpuBinding whole{memory.get(), 0, 256}, rest{memory.get(), 256, 256};
      launches = {{0, "t", {whole}, {11}, 4}, {0, "y", {rest}, {12}, 5}};
      return true;
    }
  };

  Fakes fakes_;
};

TEST_F(CudaFakeTest, ThePrimaryContextIsGivenBack) {
  auto driver = open();
  EXPECT_EQ(driver->capability().architecture, "sm_80");
  EXPECT_EQ(driver->capability().machine, "nvidia.sm80");
  EXPECT_EQ(driver->capability().shared_bytes, 48 * 1024);
  driver.reset();
  EXPECT_EQ(fakes_.calls.back(), "Release");
}

TEST_F(CudaFakeTest, TheCallersContextIsUsed) {
  cuda::Api api = fake_api();
  api.CtxGetCurrent = [](cuda::Context* c) {
    *c = reinterpret_cast<cuda::Context>(uintptr_t{99});
    return 0;
  };
  ASSERT_TRUE(open_cuda(api));
  EXPECT_THAT(fakes_.calls, Contains("CtxGetDevice"));
  EXPECT_THAT(fakes_.calls, ::testing::Not(Contains("Retain")));
  EXPECT_THAT(fakes_.calls, ::testing::Not(Contains("Release")));
}

TEST_F(CudaFakeTest, RecordsOneGraphAndLaunchesItOften) {
  Ready r;
  if (!r.make()) GTEST_SKIP() << "no NVRTC for sm_80";
  fakes_.calls.clear();
  auto sequence = r.driver->record(*r.module, r.launches);
  ASSERT_TRUE(sequence) << sequence.error().message;
  EXPECT_THAT(fakes_.calls,
              ElementsAre("BeginCapture", "Launch 4 32 4096 11", "LaunchKernel",
                          "Launch 5 32 4352 12", "LaunchKernel", "EndCapture", "Instantiate",
                          "GraphDestroy", "EventCreate", "EventCreate"));
  fakes_.calls.clear();
  EXPECT_EQ(*(*sequence)->run(2), 1.5);
  EXPECT_THAT(fakes_.calls, ElementsAre("EventRecord", "GraphLaunch", "GraphLaunch", "EventRecord",
                                        "Synchronize"));
}

// Two launches a round: 64 rounds are a graph.
TEST_F(CudaFakeTest, ManyRoundsAreLaunchedTogether) {
  Ready r;
  if (!r.make()) GTEST_SKIP() << "no NVRTC for sm_80";
  auto sequence = r.driver->record(*r.module, r.launches);
  ASSERT_TRUE(sequence) << sequence.error().message;
  const auto count = [&](const std::string& call) {
    return std::ranges::count(fakes_.calls, call);
  };
  for (const bool first : {true, false}) {
    fakes_.calls.clear();
    ASSERT_TRUE((*sequence)->run(2 * 64 + 3));
    EXPECT_EQ(count("GraphLaunch"), 2 + 3);
    EXPECT_EQ(count("LaunchKernel"), first ? 128 : 0);
  }
}

// The caller's stream may be in capture: kernels are put there, and nothing else is done.
TEST_F(CudaFakeTest, PutsLaunchesOnTheCallersStream) {
  Ready r;
  if (!r.make()) GTEST_SKIP() << "no NVRTC for sm_80";
  ASSERT_TRUE(r.driver->takes_streams());
  auto adopted = r.driver->adopt(reinterpret_cast<void*>(uintptr_t{8192}), 7);
  ASSERT_TRUE(adopted) << adopted.error().message;
  r.launches[0].bindings = {{adopted->get(), 16, 256}};
  fakes_.calls.clear();
  int stream = 0;
  ASSERT_TRUE(r.driver->enqueue(*r.module, r.launches, &stream));
  EXPECT_THAT(fakes_.calls, ElementsAre("Launch 4 32 8208 11", "LaunchKernel",
                                        "Launch 5 32 4352 12", "LaunchKernel"));
  EXPECT_EQ(fakes_.stream, &stream);
  const int64_t live = fakes_.live;
  adopted->reset();
  EXPECT_EQ(fakes_.live, live) << "memory of the caller is not freed";

  const auto elsewhere = r.driver->adopt(nullptr, 1);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().id, "E0720");
  fakes_.fails = "LaunchKernel";
  const auto failed = r.driver->enqueue(*r.module, r.launches, &stream);
  fakes_.fails.clear();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("kernel `t` (4 groups of 32 threads): cuLaunch"));
}

// Whatever call fails, a run does not succeed, and nothing is left behind.
TEST_F(CudaFakeTest, FailuresAreNamed) {
  for (const std::string call : {"BeginCapture", "LaunchKernel", "EndCapture", "Instantiate",
                                 "EventCreate", "EventRecord", "GraphLaunch", "Synchronize"}) {
    Ready r;
    if (!r.make()) GTEST_SKIP() << "no NVRTC for sm_80";
    fakes_.fails = call;
    auto sequence = r.driver->record(*r.module, r.launches);
    const Diagnostic e = sequence ? (*sequence)->run().error() : sequence.error();
    fakes_.fails.clear();
    EXPECT_EQ(e.id, "E0912") << call;
    EXPECT_EQ(e.exit, Exit::no_device) << call;
    EXPECT_THAT(e.message, HasSubstr("CUDA_ERROR_FAKE (a fake)")) << call;
    if (call == "LaunchKernel") {
      EXPECT_THAT(e.message, HasSubstr("kernel `t` (4 groups of 32 threads): cuLaunchKernel"));
    }
    if (call == "Synchronize") {
      EXPECT_THAT(e.message, HasSubstr("one of kernel `t` (4 groups of 32 threads), kernel `y` (5 "
                                       "groups of 32 threads): cuStreamSynchronize"));
    }
  }
}

TEST_F(CudaFakeTest, FailuresOfMemoryAreNamed) {
  auto driver = open();
  fakes_.fails = "MemAlloc";
  fakes_.code = cuda::out_of_memory;
  const auto memory = driver->allocate(1000);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().id, "E0913");
  EXPECT_EQ(memory.error().message, "1000 bytes cannot be had on fake, which has 5 of 9 left");
  fakes_.fails.clear();
  fakes_.code = 700;
  const auto some = driver->allocate(16);
  std::byte bytes[16] = {};
  for (const std::string call : {"Upload", "Download", "Synchronize"}) {
    fakes_.fails = call;
    const bool up = call != "Download" && !driver->write(**some, 0, bytes);
    const bool down = call != "Upload" && !driver->read(**some, 0, bytes);
    EXPECT_TRUE(up || down) << call;
  }
}

TEST_F(CudaFakeTest, KernelsOverALimitAreRefused) {
  auto driver = open();
  GpuFunction f{"scale", scale, 32};
  f.shared_bytes = 48 * 1024 + 4;
  auto built = driver->build(source({f}));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().id, "E0921");
  EXPECT_EQ(built.error().message,
            "kernel `scale` needs 49156 bytes of shared memory a group; fake offers 49152");
  built = driver->build(source({{"scale", scale, 2048}}));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().id, "E0921");
  built = driver->build(source({{"scale", scale, 1024}}));
  ASSERT_FALSE(built);
  if (built.error().id == "E0911") GTEST_SKIP() << built.error().message;
  EXPECT_EQ(built.error().message, "kernel `scale` needs 1024 threads a group; fake offers 512");
}

TEST_F(CudaFakeTest, DevicesThatAreMissingAreSaid) {
  fakes_.fails = "Init";
  auto driver = open_cuda(fake_api());
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().id, "E0911");
  EXPECT_THAT(driver.error().message, HasSubstr("CUDA_ERROR_FAKE"));
  fakes_.fails.clear();
  cuda::Api api = fake_api();
  api.DeviceGetCount = [](int* n) { return *n = 0, 0; };
  driver = open_cuda(api);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().id, "E0911");
  const auto library = cuda::load("libno-such-cuda.so.1");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().id, "E0911");
  EXPECT_THAT(library.error().message, HasSubstr("libno-such-cuda.so.1"));
  EXPECT_THAT(cuda::load("libm.so.6").error().message, HasSubstr("it lacks cu"));
}

}  // namespace
}  // namespace tang
