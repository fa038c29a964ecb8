// Three programs of groups that are right, and changes that make them wrong: each is refused by the
// verifier, is a fault on the machine or gives other values.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::loop {
namespace {

using testing::HasSubstr;
using Values = std::vector<float>;

constexpr const char* header =
    "symbol n\nbuffer x : f32[32 * n] input\nbuffer y : f32[32 * n] output\n\n";

// Rows of 32, less their sums, which halves of the threads add up.
constexpr const char* centred = R"(kernel y threads 32 reads x writes y {
  shared a[32] : f32
  for i in 0 .. n parallel {
    let v : f32 = x[32 * i + thread]
    a[thread] = v
    barrier
    var half : i64 = 16
    for r in 0 .. 5 {
      if thread < half {
        a[thread] = a[thread] + a[thread + half]
      }
      barrier
      half = div(half, 2)
    }
    store y[32 * i + thread] = v - a[0]
    barrier
  }
}
)";

// A matrix of n by 32, transposed by tiles of 8 by 8.
constexpr const char* transposed = R"(kernel y threads 64 reads x writes y {
  shared tile[72] : f32
  let row : i64 = div(thread, 8)
  let column : i64 = mod(thread, 8)
  for i in 0 .. n step 8 parallel {
    for j in 0 .. 32 step 8 parallel {
      tile[9 * row + column] = x[32 * (i + row) + j + column]
      barrier
      store y[n * (j + row) + i + column] = tile[9 * column + row]
      barrier
    }
  }
}
)";

// A softmax of rows of 32: runs of 8 threads exchange, the four runs meet in shared memory.
constexpr const char* softmax = R"(kernel y threads 32 reads x writes y {
  shared part[4] : f32
  let run : i64 = div(thread, 8)
  for i in 0 .. n parallel {
    let v : f32 = x[32 * i + thread]
    exchange m1 = v by 1
    let m2 : f32 = max(v, m1)
    exchange m3 = m2 by 2
    let m4 : f32 = max(m2, m3)
    exchange m5 = m4 by 4
    if mod(thread, 8) == 0 {
      part[run] = max(m4, m5)
    }
    barrier
    let top : f32 = max(max(part[0], part[1]), max(part[2], part[3]))
    barrier
    let e : f32 = exp(v - top)
    exchange s1 = e by 1
    let s2 : f32 = e + s1
    exchange s3 = s2 by 2
    let s4 : f32 = s2 + s3
    exchange s5 = s4 by 4
    if mod(thread, 8) == 0 {
      part[run] = s4 + s5
    }
    barrier
    store y[32 * i + thread] = e / (part[0] + part[1] + part[2] + part[3])
    barrier
  }
}
)";

constexpr int64_t rows = 8, columns = 32;

// One element of each row is so large that only the row's maximum keeps its exponential finite.
Values sample() {
  Values x;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const auto k = static_cast<float>(i * columns + j);
      x.push_back(j == (7 * i + 3) % columns ? 200 + k : std::sin(k));
    }
  return x;
}

template <class Formula>
Values of_rows(Formula formula) {
  const Values x = sample();
  Values y;
  for (int64_t i = 0; i < rows; ++i) formula(x.data() + i * columns, y);
  return y;
}

Values centred_rows() {
  return of_rows([](const float* row, Values& y) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += row[j];
    for (int64_t j = 0; j < columns; ++j) y.push_back(static_cast<float>(row[j] - sum));
  });
}

Values transposed_matrix() {
  const Values x = sample();
  Values y;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) y.push_back(x[static_cast<size_t>(i * columns + j)]);
  return y;
}

Values softmax_rows() {
  return of_rows([](const float* row, Values& y) {
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < columns; ++j) top = std::max<double>(top, row[j]);
    for (int64_t j = 0; j < columns; ++j) sum += std::exp(row[j] - top);
    for (int64_t j = 0; j < columns; ++j)
      y.push_back(static_cast<float>(std::exp(row[j] - top) / sum));
  });
}

// What is wrong with a program: a complaint, a fault, "other values" or nothing.
std::string wrong_with(const std::string& kernel, const Values& wanted) {
  const auto p = parse_program(header + kernel, "group");
  if (!p) return p.error().message;
  const Diagnostics faults = verify(*p);
  if (!faults.empty()) return faults[0].message;
  Values x = sample(), y(x.size(), -1);
  void* const buffers[] = {x.data(), y.data()};
  const auto done = run(*p, p->kernels[0], buffers, std::vector<int64_t>{rows});
  if (!done) return done.error().message;
  for (size_t e = 0; e < y.size(); ++e)
    if (!(std::abs(y[e] - wanted[e]) <= 1e-4F * std::max(1.0F, std::abs(wanted[e]))))
      return "other values";
  return "";
}

struct Change {
  const char *from, *to, *wrong;
};

// The program without its k-th barrier; empty if it has fewer.
std::string without_barrier(const std::string& kernel, int k) {
  const std::string barrier = "barrier\n";
  size_t at = kernel.find(barrier);
  for (; k > 0 && at != std::string::npos; --k) at = kernel.find(barrier, at + 1);
  if (at == std::string::npos) return "";
  return std::string(kernel).replace(at, barrier.size(), "# nothing\n");
}

void check(const std::string& kernel, const Values& wanted, int barriers,
           const std::vector<Change>& changes) {
  EXPECT_EQ(wrong_with(kernel, wanted), "");
  int k = 0;
  for (; !without_barrier(kernel, k).empty(); ++k) {
    const std::string wrong = wrong_with(without_barrier(kernel, k), wanted);
    EXPECT_THAT(wrong, testing::AnyOf(HasSubstr("with no barrier between"),
                                      HasSubstr("is read before it is set"),
                                      HasSubstr("was set in another iteration")))
        << "barrier " << k;
  }
  EXPECT_EQ(k, barriers);
  for (const auto& [from, to, wrong] : changes) {
    const size_t at = kernel.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    EXPECT_THAT(wrong_with(std::string(kernel).replace(at, std::strlen(from), to), wanted),
                HasSubstr(wrong))
        << from << " → " << to;
  }
}

constexpr const char* race = "with no barrier between";

TEST(LoopGroupPrograms, ReductionByHalves) {
  check(centred, centred_rows(), 3,
        {{"a[thread + half]", "a[thread + half + 1]", "element 32 of `a`, which has 32"},
         {"a[thread + half]", "a[thread + half - 1]", race},
         {"a[thread + half]", "a[thread]", "other values"},
         {"a[thread] = v", "a[0] = v", race},
         {"a[thread] = v", "a[thread] = x[i + thread]", "other values"},
         {"thread < half", "thread < half - 1", "other values"},
         {"thread < half", "thread < 2 * half", "element 32 of `a`"},
         {"thread < half", "thread < 16", race},
         {"0 .. 5", "0 .. 4", "other values"},
         {"0 .. 5", "0 .. min(5, thread)", "not all threads get here together"},
         {"      }\n      barrier\n", "        barrier\n      }\n", "not all threads"},
         {"y[32 * i + thread]", "y[32 * i]", race},
         {"y[32 * i + thread]", "y[16 * i + thread]", "in another iteration of a parallel loop"},
         {"let v : f32 = x[32 * i + thread]\n    a", "let v : f32 = x[thread]\n    a",
          "other values"}});
}

TEST(LoopGroupPrograms, TransposedTiles) {
  check(
      transposed, transposed_matrix(), 2,
      {{"tile[9 * column + row]", "tile[9 * column + row + 1]", "is read before it is set"},
       {"tile[9 * column + row]", "tile[8 * column + row]", "is read before it is set"},
       {"tile[9 * column + row]", "tile[9 * row + column]", "other values"},
       {"tile[9 * row + column]", "tile[7 * row + column]", race},
       {"tile[9 * row + column]", "tile[0]", race},
       {"tile[9 * row + column]", "tile[10 * row + column]", "element 72 of 72"},
       {"y[n * (j + row) + i + column]", "y[n * (j + row) + i]", race},
       {"y[n * (j + row) + i + column]", "y[n * row + i + column]", "in another iteration"},
       {"x[32 * (i + row) + j + column]", "x[32 * (j + row) + i + column]", "a load of element"}});
}

TEST(LoopGroupPrograms, SoftmaxOfRows) {
  check(softmax, softmax_rows(), 4,
        {{"m1 = v by 1", "m1 = v by 2", "other values"},
         {"m3 = m2 by 2", "m3 = m2 by 1", "other values"},
         {"m3 = m2 by 2", "m3 = v by 2", "other values"},
         {"m5 = m4 by 4", "m5 = m4 by 2", "other values"},
         {"s1 = e by 1", "s1 = e by 4", "other values"},
         {"s3 = s2 by 2", "s3 = s2 by 8", "other values"},
         {"s5 = s4 by 4", "s5 = s2 by 4", "other values"},
         {"s5 = s4 by 4", "s5 = s4 by 64", "an exchange is between threads of the group"},
         {"part[run] = max", "part[0] = max", race},
         {"part[run] = s4", "part[0] = s4", race},
         {"part[run] = s4", "part[run - 1] = s4", "element -1 of 4"},
         {"mod(thread, 8) == 0", "0 <= thread", race},
         {"mod(thread, 8) == 0", "thread == 0", "is read before it is set"},
         {"    if mod(thread, 8) == 0 {\n      part[run] = max(m4, m5)\n    }\n    barrier\n",
          "    if mod(thread, 8) == 0 {\n      part[run] = max(m4, m5)\n      barrier\n    }\n",
          "not all threads get here together"},
         {"part[2] + part[3])", "part[2] + part[2])", "other values"}});
}

}  // namespace
}  // namespace tang::loop
