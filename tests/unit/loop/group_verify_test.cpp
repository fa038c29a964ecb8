// Kernels of several threads: their text, and what the verifier asks of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/builder.h"
#include "loop/text.h"
#include "loop/uniform.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

using testing::HasSubstr;

std::string with_body(const std::string& body, const std::string& threads = " threads 32") {
  return "symbol n\nbuffer x : f32[n] input\nbuffer k : i64[n] input\nbuffer y : f32[n] output\n\n"
         "kernel y" +
         threads + " reads x, k, y writes y {\n" + body + "}\n";
}

// The first complaint, without the name of the kernel.
std::string fault_of(const std::string& body, const std::string& threads = " threads 32") {
  const auto p = parse_program(with_body(body, threads), "test");
  if (!p) return p.error().id + " " + p.error().message;
  EXPECT_EQ(print(*p), with_body(body, threads));
  const Diagnostics faults = verify(*p);
  return faults.empty() ? "" : faults[0].id + " " + faults[0].message;
}

// Every form of the notation.
constexpr const char* sample = R"(  shared a[64] : f32
  shared flags[2] : bool
  a[thread : 2 by 32] = spread2(0.0)
  for i in 0 .. n step 32 parallel {
    for j in 0 .. 4 parallel {
      array own[4] : i64
      barrier
      exchange v = x[i + thread : 2] by 31
      exchange w = thread < 3 and flags[1] by 1
      if n < 3 {
        barrier
      }
      let t : i64 = (thread + 1) * thread
      own[0] = t
      a[thread] = select(w, lane(v, 0), 0.0)
      for h in 0 .. n step 4 unroll {
        exchange u = own[0] by 16
        barrier
      }
    }
  }
)";

TEST(LoopGroupText, PrintsWhatItParses) { EXPECT_EQ(fault_of(sample), ""); }

TEST(LoopGroupText, MistakesHavePlaces) {
  EXPECT_THAT(fault_of("", " threads 0"), HasSubstr("E0410 kernel `y`: a group has at least one"));
  EXPECT_THAT(fault_of("  exchange v = thread by 32\n"), HasSubstr("between threads of the group"));
  EXPECT_THAT(fault_of("  exchange v = thread by 0\n"), HasSubstr("between threads of the group"));
  EXPECT_THAT(fault_of("  exchange v = thread\n"), HasSubstr("E0110"));
  EXPECT_THAT(fault_of("  let thread : i64 = 0\n"), HasSubstr("E0110"));
  EXPECT_THAT(fault_of("  shared a[2] : f32x2\n"), HasSubstr("scalars"));
  EXPECT_THAT(fault_of("  exchange v = thread by 1\n  v = 3\n"), HasSubstr("cannot be assigned"));
  EXPECT_THAT(fault_of("  barrier 3\n"), HasSubstr("E0110"));
}

TEST(LoopGroupText, AnyPrefixOfATextGivesAnErrorOrAProgram) {
  const std::string text = with_body(sample);
  for (size_t k = 0; k < text.size(); ++k) {
    const auto program = parse_program(text.substr(0, k), "prefix");
    if (program) verify(*program);
    std::string changed = text;
    changed[k] = "({=0x\n"[k % 6];
    const auto other = parse_program(changed, "changed");
    if (other) verify(*other);
  }
}

TEST(LoopGroupText, TheBuilderMakesThem) {
  Builder b;
  const BufferId y = b.buffer("y", Format::f32, 64, Role::output);
  b.begin_kernel("y", false, 64);
  const Array a = b.array("a", Type::f32, 64, true);
  b.set(a, b.thread(), b.cast(Type::f32, b.thread()));
  b.barrier();
  const Value v = b.exchange("v", b.at(a, b.thread()), 5);
  b.store(y, b.thread(), v);
  b.end_kernel();
  const auto p = b.finish();
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(print(*p, p->kernels[0]),
            "kernel y threads 64 writes y {\n  shared a[64] : f32\n  a[thread] = f32(thread)\n"
            "  barrier\n  exchange v = a[thread] by 5\n  store y[thread] = v\n}\n");
}

TEST(LoopGroupVerifier, ThreadsAreNumbered) {
  EXPECT_THAT(fault_of("", " threads 1025"), HasSubstr("a group has 1 to 1024 threads, not 1025"));
  EXPECT_THAT(fault_of("  store y[0] = x[thread]\n", ""),
              HasSubstr("`thread` is for kernels of several threads"));
  EXPECT_THAT(fault_of("  barrier\n", ""), HasSubstr("`barrier` is for kernels of several"));
  EXPECT_THAT(fault_of("  shared a[2] : f32\n", ""), HasSubstr("a shared array is for kernels"));
  EXPECT_EQ(fault_of("  exchange v = thread by 16\n", " threads 96"), "");
  EXPECT_THAT(fault_of("  exchange v = thread by 33\n", " threads 96"),
              HasSubstr("some of 96 threads have none to exchange with in `exchange v = thread by "
                        "33`"));
}

TEST(LoopGroupVerifier, ArraysOfAllThreadsAreBounded) {
  EXPECT_EQ(fault_of("  array a[131072] : f64\n", " threads 64"), "");
  EXPECT_THAT(fault_of("  array a[131072] : f64\n", " threads 65"),
              HasSubstr("the arrays of its 65 threads take more than 67108864 bytes"));
  EXPECT_EQ(fault_of("  shared a[131072] : f64\n", " threads 65"), "");
}

TEST(LoopGroupVerifier, SharedArraysStandOutside) {
  const char* const wanted = "a shared array stands outside of all loops and branches in `shared";
  EXPECT_THAT(fault_of("  for i in 0 .. 3 {\n    shared a[2] : f32\n  }\n"), HasSubstr(wanted));
  EXPECT_THAT(fault_of("  if n < 3 {\n    shared a[2] : f32\n  }\n"), HasSubstr(wanted));
}

// A barrier in a branch on a condition, after some statements.
std::string guarded(const std::string& before, const std::string& condition) {
  return fault_of(before + "  if " + condition + " {\n    barrier\n  }\n");
}

TEST(LoopGroupVerifier, BarriersStandWhereAllThreadsGetTo) {
  EXPECT_EQ(fault_of("  if thread < 3 {\n    barrier\n  }\n"),
            "E0410 kernel `y`: not all threads get here together, since `if thread < 3 {` differs "
            "from thread to thread in `barrier`");
  EXPECT_THAT(
      fault_of("  for i in 0 .. thread {\n    if n < 3 {\n      exchange v = n by 1\n    }\n"
               "  }\n"),
      HasSubstr("since `for i in 0 .. thread {` differs from thread to thread in `exchange"));
  EXPECT_THAT(fault_of("  for i in thread .. n {\n    barrier\n  }\n"),
              HasSubstr("not all threads"));
  EXPECT_EQ(fault_of("  if thread < 3 {\n    store y[thread] = 0.0\n  }\n  barrier\n"), "");
  EXPECT_EQ(guarded("", "n < 3 and k[0] < k[n - 1]"), "");
  EXPECT_THAT(guarded("", "n < 3 and k[thread] < 3"), HasSubstr("not all threads"));
}

TEST(LoopGroupVerifier, WhatComesFromTheThreadVaries) {
  const char* const varies = "differs from thread to thread";
  EXPECT_THAT(guarded("  let t : i64 = 2 * thread\n  let u : i64 = t + 1\n", "u < 3"),
              HasSubstr(varies));
  EXPECT_THAT(guarded("  exchange v = n by 1\n", "v < 3"), HasSubstr(varies));
  EXPECT_THAT(guarded("  var v : i64 = n\n  if thread < 3 {\n    v = 1\n  }\n", "v < 3"),
              HasSubstr(varies));
  EXPECT_THAT(guarded("  var v : i64 = n\n  for i in 0 .. thread {\n    v = v + 1\n  }\n", "v < 3"),
              HasSubstr(varies));
  EXPECT_EQ(guarded("  var v : i64 = n\n  for i in 0 .. 3 {\n    v = v + i\n  }\n", "v < 3"), "");
  // Once around the loop, what is assigned below has come up.
  EXPECT_THAT(fault_of("  var v : i64 = 0\n  var w : i64 = 0\n  for i in 0 .. 9 {\n"
                       "    if v < 3 {\n      barrier\n    }\n    v = w\n    w = thread\n  }\n"),
              HasSubstr(varies));
}

TEST(LoopGroupVerifier, MemoryOfTheGroupIsTheSameForAll) {
  const char* const varies = "differs from thread to thread";
  const std::string shared = "  shared a[32] : i64\n  a[thread] = thread\n  barrier\n";
  EXPECT_EQ(guarded(shared, "a[0] < 3"), "");
  EXPECT_THAT(guarded(shared, "a[thread] < 3"), HasSubstr(varies));
  EXPECT_THAT(guarded(shared, "lane(a[0 : 2 by thread], 0) < 3"), HasSubstr(varies));
  EXPECT_EQ(guarded("  array a[4] : i64\n  a[0] = n\n", "a[0] < 3"), "");
  EXPECT_THAT(guarded("  array a[4] : i64\n  a[0] = n\n", "a[thread] < 3"), HasSubstr(varies));
  EXPECT_THAT(guarded("  array a[4] : i64\n  a[1] = thread\n", "a[0] < 3"), HasSubstr(varies));
  EXPECT_THAT(guarded("  array a[32] : i64\n  a[thread] = n\n", "a[0] < 3"), HasSubstr(varies));
  EXPECT_THAT(guarded("  array a[4] : i64\n  if thread < 3 {\n    a[0] = n\n  }\n", "a[0] < 3"),
              HasSubstr(varies));
}

TEST(LoopGroupVerifier, GroupsShareParallelLoops) {
  const std::string store = "    store y[thread] = 0.0\n";
  EXPECT_THAT(fault_of("  for i in 0 .. thread parallel {\n" + store + "  }\n"),
              HasSubstr("the bounds of a parallel loop differ from thread to thread"));
  EXPECT_THAT(fault_of("  for i in 0 .. 3 parallel {\n    for j in i .. n parallel {\n    }\n"
                       "  }\n"),
              HasSubstr("the bounds of a parallel loop depend on `i` of the one around it"));
  EXPECT_THAT(fault_of("  for i in 0 .. 3 {\n    for j in 0 .. n parallel {\n    }\n"
                       "  }\n"),
              HasSubstr("a parallel loop stands outermost or directly in another one"));
  const std::string inner = "    for j in 0 .. 3 parallel {\n    }\n";
  const std::string beside = "stands beside a parallel loop, in another one";
  EXPECT_THAT(fault_of("  for i in 0 .. 3 parallel {\n" + inner + store + "  }\n"),
              HasSubstr(beside + " in `store"));
  EXPECT_THAT(fault_of("  for i in 0 .. 3 parallel {\n    for h in 0 .. 3 parallel {\n    }\n" +
                       inner + "  }\n"),
              HasSubstr(beside));
  EXPECT_EQ(fault_of("  for i in 0 .. 3 parallel {\n    # rows\n" + inner + "  }\n" +
                     "  for h in 0 .. 3 parallel {\n  }\n"),
            "");
  EXPECT_THAT(fault_of("  for i in 0 .. 3 parallel {\n" + inner + "  }\n", ""),
              HasSubstr("only an outermost loop is parallel"));
  EXPECT_THAT(fault_of("  for i in 0 .. 3 parallel {\n  }\n  store y[thread] = 0.0\n"),
              HasSubstr("stores outside of the parallel loops"));
  EXPECT_EQ(fault_of("  store y[thread] = 0.0\n"), "");
}

TEST(LoopGroupVerifier, NamesOfExchangesAreDefinedOnce) {
  EXPECT_THAT(fault_of("  exchange v = n by 1\n  exchange v = n by 1\n"), HasSubstr("E0210"));
  EXPECT_THAT(fault_of("  if n < 3 {\n    exchange v = n by 1\n  }\n  let w : i64 = v\n"),
              HasSubstr("E0210"));
}

}  // namespace
}  // namespace tang::loop
