// Groups of threads on the virtual machine: what they compute, and the faults it finds.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

using testing::HasSubstr;

struct Outcome {
  std::vector<float> y;
  std::string fault;
};

// Runs a kernel of four threads; x is 0, 1, 2, …, y has as many elements, all -1.
Outcome run_group(const std::string& body, bool verified = true, int64_t n = 8) {
  const std::string text =
      "symbol n\nbuffer x : f32[n] input\nbuffer b : bool[n] workspace\n"
      "buffer y : f32[n] output\n\nkernel y threads 4 reads x, b, y writes b, y {\n" +
      body + "}\n";
  const auto p = parse_program(text, "group");
  if (!p) {
    ADD_FAILURE() << p.error().message;
    return {};
  }
  if (verified) {
    for (const Diagnostic& d : verify(*p, p->kernels[0])) ADD_FAILURE() << d.message;
    EXPECT_EQ(print(*p), text);
  }
  const auto count = static_cast<size_t>(n);
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0F);
  const auto b = std::make_unique<bool[]>(count);
  Outcome r;
  r.y.assign(count, -1);
  void* const buffers[] = {x.data(), b.get(), r.y.data()};
  const auto done = run(*p, p->kernels[0], buffers, std::vector<int64_t>{n});
  if (!done) r.fault = done.error().message;
  return r;
}

std::string fault_in(const std::string& body) { return run_group(body).fault; }
std::string fault_unverified(const std::string& body) { return run_group(body, false).fault; }

using Values = std::vector<float>;

constexpr const char* reversed = R"(  shared a[4] : f32
  for i in 0 .. n step 4 parallel {
    a[thread] = x[i + thread]
    barrier
    store y[i + thread] = a[3 - thread]
    barrier
  }
)";

TEST(LoopGroup, ThreadsFindWhatOthersWroteBeforeABarrier) {
  const Outcome r = run_group(reversed);
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (Values{3, 2, 1, 0, 7, 6, 5, 4}));
}

TEST(LoopGroup, BuffersAreSeenAfterABarrierToo) {
  const Outcome r = run_group(R"(  store y[thread] = x[thread]
  barrier
  store y[4 + thread] = y[3 - thread]
)");
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (Values{0, 1, 2, 3, 3, 2, 1, 0}));
}

TEST(LoopGroup, ThreadsHaveTheirOwnLocalsArraysAndLoops) {
  const Outcome r = run_group(R"(  array a[4] : f32
  var s : f32 = 0.0
  for i in 0 .. thread {
    a[i] = x[i + thread]
    s = s + a[i]
  }
  if thread < 2 {
    s = s + 100.0
  }
  barrier
  store y[thread] = s
  store y[thread + 4] = s * x[thread]
)");
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (Values{100, 101, 5, 12, 0, 101, 10, 36}));
}

TEST(LoopGroup, ExchangesLanesOfVectorsToo) {
  const Outcome r = run_group(R"(  let v : f32x2 = x[2 * thread : 2]
  exchange a = v by 1
  exchange s = x[thread] by 3
  store y[2 * thread : 2] = a + spread2(10.0) * spread2(s)
)");
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (Values{32, 33, 20, 21, 16, 17, 4, 5}));
}

TEST(LoopGroup, NestedParallelLoopsAreOneOverBoth) {
  const Outcome r = run_group(R"(  shared a[4] : f32
  for i in 0 .. 2 parallel {
    for j in 0 .. n step 4 parallel {
      if i == div(j, 4) {
        a[thread] = x[j + thread]
      }
      barrier
      if i == div(j, 4) {
        store y[j + thread] = a[mod(thread + 1, 4)]
      }
      barrier
    }
  }
)");
  EXPECT_EQ(r.fault, "");
  EXPECT_EQ(r.y, (Values{1, 2, 3, 0, 5, 6, 7, 4}));
  // The outer index alone does not keep iterations apart.
  EXPECT_THAT(fault_in("  for i in 0 .. 2 parallel {\n    for j in 0 .. 2 parallel {\n"
                       "      store y[4 * i + thread] = x[j]\n    }\n  }\n"),
              HasSubstr("element 0 of `y` is written here and written in another iteration"));
}

TEST(LoopGroup, RacesInSharedArrays) {
  const std::string head = "  shared a[4] : f32\n";
  EXPECT_THAT(fault_in(head + "  a[thread] = 1.0\n  store y[thread] = a[0]\n"),
              HasSubstr("`store y[thread] = a[0]`, thread 1: element 0 of `a` is read here and "
                        "written by thread 0 with no barrier between"));
  EXPECT_THAT(fault_in(head + "  a[div(thread, 2)] = 1.0\n"),
              HasSubstr("thread 1: element 0 of `a` is written here and written by thread 0"));
  EXPECT_THAT(fault_in(head + "  a[thread] = 1.0\n  barrier\n  store y[thread] = a[0]\n"
                              "  a[thread] = 2.0\n"),
              HasSubstr("thread 1: element 0 of `a` is read here and written by thread 0"));
  EXPECT_THAT(fault_in(head + "  a[thread] = 1.0\n  barrier\n  store y[thread] = a[3]\n"
                              "  a[thread] = 2.0\n"),
              HasSubstr("thread 3: element 3 of `a` is written here and read by several threads"));
  EXPECT_THAT(fault_in(head + "  a[thread] = 1.0\n  barrier\n  if thread == 0 {\n"
                              "    store y[0] = a[1]\n  }\n  a[thread] = 2.0\n"),
              HasSubstr("thread 1: element 1 of `a` is written here and read by thread 0"));
  // An exchange is no barrier.
  EXPECT_THAT(fault_in(head + "  a[thread] = 1.0\n  exchange e = 1.0 by 1\n"
                              "  store y[thread] = e + a[3 - thread]\n"),
              HasSubstr("element 3 of `a` is read here and written by thread 3"));
  // What a thread alone touches is its own.
  EXPECT_EQ(fault_in(head + "  a[thread] = 1.0\n  a[thread] = a[thread] + 1.0\n"
                            "  store y[thread] = a[thread]\n"),
            "");
}

TEST(LoopGroup, RacesInBuffers) {
  EXPECT_THAT(fault_in("  store y[0] = x[thread]\n"),
              HasSubstr("`store y[0] = x[thread]`, thread 1: element 0 of `y` is written here and "
                        "written by thread 0"));
  EXPECT_THAT(fault_in("  store y[thread] = 1.0\n  store y[4 + thread] = y[0]\n"),
              HasSubstr("thread 1: element 0 of `y` is read here and written by thread 0"));
  EXPECT_THAT(fault_in("  for i in 0 .. 2 parallel {\n    store y[i] = x[thread]\n  }\n"),
              HasSubstr("thread 1: element 0 of `y` is written here and written by thread 0"));
  EXPECT_THAT(fault_in("  store y[2 * thread : 4 first 8 - 2 * thread] = x[0 : 4]\n"),
              HasSubstr("thread 1: element 2 of `y` is written here and written by thread 0"));
}

TEST(LoopGroup, BytesOfOneWordAreApart) {
  EXPECT_EQ(fault_in("  store b[thread] = thread < 2\n  store y[thread] = select(b[thread], 1.0, "
                     "0.0)\n"),
            "");
  EXPECT_THAT(fault_in("  store b[thread] = thread < 2\n  store y[thread] = select(b[0], 1.0, "
                       "0.0)\n"),
              HasSubstr("element 0 of `b` is read here and written by thread 0"));
}

// A group may run two iterations after each other.
TEST(LoopGroup, IterationsAreKeptApartByABarrier) {
  const std::string text = reversed;
  const size_t last = text.rfind("    barrier\n");
  std::string without = text;
  without.erase(last, 12);
  EXPECT_THAT(fault_in(without),
              HasSubstr("thread 2: element 1 of `a` is read here and written by thread 1 with no"));
  // Likewise from one parallel loop to the next.
  EXPECT_THAT(fault_in(without.substr(0, without.find("  for")) +
                       "  for i in 0 .. 1 parallel {\n    a[thread] = x[thread]\n  }\n"
                       "  for j in 0 .. 1 parallel {\n    a[3 - thread] = x[j]\n  }\n"),
              HasSubstr("thread 2: element 2 of `a` is written here and written by thread 1"));
}

// Another number of groups makes other iterations follow each other: here the first and the third.
TEST(LoopGroup, IterationsOfOtherGroupsLieBetweenThem) {
  const std::string halves = R"(  shared a[8] : f32
  for i in 0 .. 3 parallel {
    a[4 * mod(i, 2) + thread] = x[thread]
    barrier
    if i == 0 {
      store y[thread] = a[4 * mod(i, 2) + 3 - thread]
    }
  }
)";
  EXPECT_THAT(fault_in(halves),
              HasSubstr("thread 0: element 0 of `a` is written here and read by thread 3 with no "
                        "barrier between, where this iteration follows that one"));
  std::string with = halves;
  EXPECT_EQ(fault_in(with.insert(halves.rfind("  }\n"), "    barrier\n")), "");
  // Nor does a loop stand between what is before and after it, if a group runs none of it.
  EXPECT_THAT(fault_in("  shared a[4] : f32\n  a[thread] = 1.0\n  for i in 0 .. 2 parallel {\n"
                       "    barrier\n  }\n  let v : f32 = a[3 - thread]\n"),
              HasSubstr("element 3 of `a` is read here and written by thread 3 with no barrier"));
}

TEST(LoopGroup, SharedElementsAreSetInTheirIteration) {
  EXPECT_THAT(fault_in("  shared a[4] : f32\n  barrier\n  store y[thread] = a[thread]\n"),
              HasSubstr("thread 0: element 0 of `a` is read before it is set"));
  EXPECT_THAT(fault_in("  shared a[4] : f32\n  for i in 0 .. 2 parallel {\n    if i == 0 {\n"
                       "      a[thread] = 1.0\n    }\n    barrier\n"
                       "    store y[4 * i + thread] = a[thread]\n    barrier\n  }\n"),
              HasSubstr("element 0 of `a` was set in another iteration of a parallel loop"));
  EXPECT_EQ(fault_in("  shared a[4] : f32\n  a[thread] = 1.0\n  barrier\n"
                     "  for i in 0 .. 2 parallel {\n    store y[4 * i + thread] = a[0]\n  }\n"),
            "");
  EXPECT_THAT(fault_in("  shared a[4] : f32\n  a[thread + 1] = 1.0\n"),
              HasSubstr("thread 3: element 4 of 4"));
}

// The verifier refuses these; the machine does not rely on it.
TEST(LoopGroup, ThreadsThatReachDifferentBarriersDiverge) {
  EXPECT_THAT(fault_unverified("  if thread < 2 {\n    barrier\n  }\n"),
              HasSubstr("`barrier`, thread 0: threads diverge: thread 0 waits at statement 2 "
                        "(`barrier`), thread 2 has ended"));
  EXPECT_THAT(
      fault_unverified("  if 1 < thread {\n    exchange e = x[0] by 1\n  }\n"),
      HasSubstr("thread 2: threads diverge: thread 0 has ended, thread 2 waits at statement "
                "2 (`exchange e = x[0] by 1`)"));
  EXPECT_THAT(fault_unverified("  if thread < 2 {\n    barrier\n  }\n  barrier\n"),
              HasSubstr("thread 0 waits at statement 2 (`barrier`), thread 2 waits at statement 4 "
                        "(`barrier`)"));
  EXPECT_THAT(
      fault_unverified("  for i in 0 .. 3 {\n    if i != 0 or thread != 3 {\n      barrier\n"
                       "    }\n  }\n"),
      HasSubstr("thread 0 waits at statement 3 (`barrier`) with i = 0, thread 3 waits at "
                "statement 3 (`barrier`) with i = 1"));
  EXPECT_THAT(fault_unverified("  for i in 0 .. thread {\n    barrier\n  }\n"),
              HasSubstr("thread 0 has ended, thread 1 waits"));
}

TEST(LoopGroup, StepsOfAllThreadsCount) {
  const auto p = parse_program("kernel y threads 4 {\n  for i in 0 .. 100 {\n  }\n}\n", "steps");
  ASSERT_TRUE(p);
  const std::vector<int64_t> none;
  EXPECT_TRUE(run(*p, p->kernels[0], {}, none, 404 + 400));
  const auto done = run(*p, p->kernels[0], {}, none, 300);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("thread 2: too many steps"));
  Kernel many = p->kernels[0];
  many.threads = INT64_MAX;
  EXPECT_THAT(run(*p, many, {}, none).error().message, HasSubstr("groups of"));
}

}  // namespace
}  // namespace tang::loop
