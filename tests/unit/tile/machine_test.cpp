// The hand-written programs of tests/text/tile: their text, and what they do on the virtual
// machine.
#include <gtest/gtest.h>

#include "tile/text.h"
#include "tile/verify.h"
#include "unit/tile/programs.h"

namespace tang::tile {
namespace {

using Completion = MachineOptions::Completion;

TEST(TileText, PrintsWhatItParses) {
  for (const char* name :
       {"gemm_avx2", "gemm_wgmma", "attention_wgmma", "attention_gradient_wgmma", "delta_wgmma"}) {
    const Program p = read_program(name);
    const std::string once = print(p);
    const auto again = parse_program(once, "printed");
    ASSERT_TRUE(again) << again.error().where.line << ": " << again.error().message << "\n" << once;
    EXPECT_EQ(print(*again), once);
    for (const Diagnostic& fault : verify(p)) ADD_FAILURE() << fault.message;
  }
}

void expect_right(const Task& task) {
  for (const Completion c : {Completion::early, Completion::late, Completion::random})
    for (const int64_t workers : {1, 2}) {
      Kernel k = task.program.kernels[0];
      if (k.order) k.order->workers = workers;
      EXPECT_EQ(run(task, k, {.completion = c, .seed = 3}), "");
    }
}

TEST(TileMachine, PackedMatrixProduct) {
  expect_right(matrix_product("gemm_avx2", Format::f32, false, 55, 120, 70));
}

TEST(TileMachine, MatrixProductWithARing) {
  expect_right(matrix_product("gemm_wgmma", Format::bf16, true, 200, 264, 136));
}

TEST(TileMachine, AttentionInTurns) { expect_right(attention("attention_wgmma", 1, 1, 300)); }

TEST(TileMachine, AttentionGradientOfFiveProducts) {
  expect_right(attention_gradient("attention_gradient_wgmma", 1, 200));
}

TEST(TileMachine, GatedDeltaRuleInChunks) { expect_right(gated_delta("delta_wgmma", 2, 100)); }

}  // namespace
}  // namespace tang::tile
