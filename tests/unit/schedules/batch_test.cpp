// Which plans sum rows in an order that follows from the number of rows.
#include "schedule/batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "ir/bind.h"
#include "rewrite/pipeline.h"
#include "unit/schedules/support.h"

namespace tang {
namespace {

Variant norm(int rows, const std::string& machine, bool invariant, bool mark = false) {
  auto g =
      parse(fmt::format("dim b = {}, k = 512, j = 64\ninput x[b, k], w[k, j] : f32\n"
                        "y[b, j] = sum[k](x[b, k] * w[k, j])\n"
                        "o[b, j] = y[b, j] * rsqrt(mean[j](y[b, j] * y[b, j]) + 1e-5)\noutput o\n",
                        rows));
  EXPECT_TRUE(g);
  PlanOptions options;
  options.machine = machine;
  options.batch_invariant = invariant;
  auto v = make_variant(derive(*g).derived, options);
  EXPECT_TRUE(v) << (v ? "" : v.error().message);
  if (mark) mark_batch_invariant(v->graph, v->schedule, options);
  return std::move(*v);
}

TEST(Batch, OnePlanServesAllNumbersOfRows) {
  for (const char* machine : {"cpu.avx2", "gpu.portable", "nvidia.sm90a"}) {
    SCOPED_TRACE(machine);
    const std::string want = test::kernels_text(norm(64, machine, true));
    for (const int rows : {1, 2, 16, 17})
      EXPECT_EQ(test::kernels_text(norm(rows, machine, true)), want);
  }
}

TEST(Batch, KernelsSayWhetherTheyVary) {
  bool varies = false;
  for (const int rows : {1, 64})
    for (const KernelPlan& k : norm(rows, "nvidia.sm90a", false, true).schedule.kernels)
      varies |= !k.batch_invariant;
  EXPECT_TRUE(varies);
  for (const KernelPlan& k : norm(64, "nvidia.sm90a", true, true).schedule.kernels)
    EXPECT_TRUE(k.batch_invariant) << k.name;
}

}  // namespace
}  // namespace tang
