// The threads that share a program, and programs that they share.
#include "run/threads.h"

#include <csignal>
#include <cstring>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loop/text.h"
#include "run/c_device.h"

namespace tang {
namespace {

TEST(Threads, EveryPartRunsOnceInEveryRun) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    std::vector<int64_t> runs(static_cast<size_t>(threads));
    for (int k = 0; k < 300; ++k)
      pool.run(
          [](void* context, int64_t part, int64_t parts, Barrier&) {
            auto& counts = *static_cast<std::vector<int64_t>*>(context);
            EXPECT_EQ(parts, static_cast<int64_t>(counts.size()));
            ++counts[static_cast<size_t>(part)];
          },
          &runs);
    EXPECT_EQ(runs, std::vector<int64_t>(static_cast<size_t>(threads), 300));
  }
}

// Each part writes its own number, then reads its neighbour's, again and again.
TEST(Threads, TheBarrierOrdersWhatPartsWrite) {
  struct Ring {
    int64_t values[8] = {};
    int64_t wrong[8] = {};
  } ring;
  ThreadPool pool(4);
  for (int k = 0; k < 50; ++k)
    pool.run(
        [](void* context, int64_t part, int64_t parts, Barrier& barrier) {
          Ring& r = *static_cast<Ring*>(context);
          for (int64_t round = 1; round <= 20; ++round) {
            r.values[part] = round;
            barrier.wait();
            if (r.values[(part + 1) % parts] != round) ++r.wrong[part];
            barrier.wait();
          }
        },
        &ring);
  EXPECT_EQ(std::accumulate(std::begin(ring.wrong), std::end(ring.wrong), int64_t{0}), 0);
}

TEST(Threads, RunsAtTheSameTimeDoWithout) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> covered{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        pool.run(
            [](void* context, int64_t part, int64_t parts, Barrier& barrier) {
              barrier.wait();
              auto& sum = *static_cast<std::atomic<int64_t>*>(context);
              sum += 6 * (part + 1) / parts - 6 * part / parts;
            },
            &covered);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(covered, 4 * 100 * 6);
}

TEST(Threads, TakeNoSignals) {
  ThreadPool pool(2);
  std::vector<int> blocked(2, -1);
  pool.run(
      [](void* context, int64_t part, int64_t, Barrier&) {
        sigset_t set;
        pthread_sigmask(SIG_BLOCK, nullptr, &set);
        (*static_cast<std::vector<int>*>(context))[static_cast<size_t>(part)] =
            sigismember(&set, SIGINT);
      },
      &blocked);
  EXPECT_EQ(blocked, (std::vector<int>{0, 1}));
}

// A chain: parallel, serial, and parallel kernels that need each other's results.
constexpr const char* chain = R"(symbol n
buffer x : f32[n] input
buffer y : f32[n] output
buffer a : f32[n] workspace
buffer s : f32[1] workspace
buffer b : f32[n] workspace

kernel a reads x writes a {
  array t[1] : f32
  t[0] = 0.5
  for i in 0 .. n - 1 step 3 parallel {
    for j in i .. min(i + 3, n - 1) {
      store a[j] = x[j] * t[0]
    }
  }
  for k in n - 1 .. n parallel {
    store a[k] = x[k]
  }
}

kernel s reads a writes s {
  var sum : f32 = 0.0
  for i in 0 .. n {
    sum = sum + a[i]
  }
  store s[0] = sum
}

kernel b reads a, s writes b {
  for i in 0 .. n parallel {
    store b[i] = a[n - 1 - i] + s[0]
  }
}

kernel y reads b writes y {
  for i in 0 .. n parallel {
    store y[i] = b[n - 1 - i]
  }
}
)";

std::vector<float> run_chain(CDevice& device, int threads, int64_t n) {
  const auto program = loop::parse_program(chain, "chain");
  CompileOptions options;
  options.use_cache = false;
  options.flags = {"-std=gnu11", "-O1"};
  options.threads = threads;
  Diagnostics warnings;
  auto made = device.compile(*program, options, warnings);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  std::vector<float> x(static_cast<size_t>(n)), y(x.size()), first;
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 7) + 0.25f;
  void* const buffers[] = {x.data(), y.data()};
  const std::vector<int64_t> symbols = {n};
  alignas(64) static std::byte workspace[1 << 16];
  for (int k = 0; k < 50; ++k) {
    std::fill(y.begin(), y.end(), -1.0f);
    std::memset(workspace, 0xff, sizeof workspace);
    EXPECT_TRUE((*made)->run(buffers, symbols, workspace));
    if (k == 0) first = y;
    EXPECT_EQ(y, first) << threads << " threads, run " << k;
  }
  return first;
}

TEST(Threads, GiveTheSameBits) {
  CDevice device;
  for (const int64_t n : {1, 2, 5, 1000}) {
    const std::vector<float> alone = run_chain(device, 1, n);
    for (const int threads : {2, 3, 7})
      EXPECT_EQ(run_chain(device, threads, n), alone) << threads << " threads, " << n;
  }
}

TEST(Threads, RunOneKernelAndReportWrongSizes) {
  CDevice device;
  const auto program = loop::parse_program(chain, "chain");
  Diagnostics warnings;
  auto made = device.compile(*program, {.use_cache = false, .threads = 2}, warnings);
  ASSERT_TRUE(made) << made.error().message;
  std::vector<float> b = {1, 2, 3}, y(3);
  void* const buffers[] = {nullptr, y.data(), nullptr, nullptr, b.data()};
  EXPECT_TRUE((*made)->run_kernel(3, buffers, std::vector<int64_t>{3}));
  EXPECT_EQ(y, (std::vector<float>{3, 2, 1}));
  void* const none[] = {nullptr, nullptr};
  const auto wrong = (*made)->run(none, std::vector<int64_t>{-1}, nullptr);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().id, "E0701");
}

}  // namespace
}  // namespace tang
