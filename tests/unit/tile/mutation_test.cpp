// Every planted fault is reported: by the verifier, by the virtual machine, or by a wrong result,
// however asynchronous operations happen to complete. What survives must be shown to be no fault;
// those are listed here with the argument.
#include <atomic>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tile/verify.h"
#include "unit/tile/mutations.h"
#include "unit/tile/programs.h"

namespace tang::tile {
namespace {

using Completion = MachineOptions::Completion;

std::string fault_of(const Task& task, const Mutant& m) {
  if (const Diagnostics bad = verify(task.program, m.kernel); !bad.empty()) return bad[0].message;
  for (const Completion c : {Completion::random, Completion::late, Completion::early})
    if (const std::string fault =
            run(task, m.kernel, {.completion = c, .seed = 7, .most_steps = 200'000});
        !fault.empty())
      return fault;
  return {};
}

void expect_killed(Task task, const std::set<std::string>& equivalent) {
  if (auto& order = task.program.kernels[0].order) order->workers = 1;
  const std::vector<Mutant> all = mutants(task.program, task.program.kernels[0]);
  std::vector<std::string> faults(all.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t k; (k = next++) < all.size();) faults[k] = fault_of(task, all[k]);
  };
  std::thread other(work);
  work();
  other.join();
  size_t survived = 0;
  for (size_t k = 0; k < all.size(); ++k) {
    if (std::getenv("TANG_TEST_SHOW")) fmt::print("{}\n    {}\n", all[k].what, faults[k]);
    const bool listed = equivalent.contains(all[k].what);
    if (faults[k].empty() && !listed) ADD_FAILURE() << "survives: " << all[k].what;
    if (!faults[k].empty() && listed) ADD_FAILURE() << "no equivalent: " << all[k].what;
    survived += faults[k].empty();
  }
  fmt::print("{} mutants, {} survive\n", all.size(), survived);
  EXPECT_LE(survived * 10, all.size());
}

// Tiles of the result are computed in any order, and once more if the last panel starts in the
// middle of one; a panel past the end adds zeros and stores nothing. A copy of one warp commits to
// nobody else. The register tile is stored before the next trip begins, whatever the stage says.
TEST(TileMutations, PackedMatrixProduct) {
  expect_killed(matrix_product("gemm_avx2", Format::f32, false, 55, 120, 70),
                {
                    "`loop jc from 0 to N step 96`: +1 trips at the end",
                    "`loop jc from 0 to N step 96`: the other way",
                    "`loop jc from 0 to N step 96`: half the step",
                    "`loop pc from 0 to K step 64`: +1 trips at the end",
                    "`loop ic from 24*t to M step 48`: +1 trips at the end",
                    "`loop ic from 24*t to M step 48`: the other way",
                    "`loop jr from 0 to min(96, N - jc) step 16`: without a limit",
                    "`loop jr from 0 to min(96, N - jc) step 16`: the other way",
                    "`loop ir from 0 to min(24, M - ic) step 6`: without a limit",
                    "`loop ir from 0 to min(24, M - ic) step 6`: the other way",
                    "`c = loop p from 0 to 64 carry c1 = c0`: the other way",
                    "without `commit block g`",
                    "`commit block g`: a stage later",
                    "`c2 = contract () : x * y + c1 -> acc : f32 row fma8`: a stage later",
                    "`branch pc - 1 >= 0`: a stage later",
                });
}

// Blocks of k may be summed in any order; pieces of the result are stored in any order. Done a trip
// later, a copy still completes the barrier that counts its bytes, a commit or release only holds
// its slot for longer, and a product is still waited for.
TEST(TileMutations, MatrixProductWithARing) {
  expect_killed(
      matrix_product("gemm_wgmma", Format::bf16, true, 200, 296, 264),
      {
          "`loop p from 0 to K step 64`: the other way",
          "`d, t, r = loop q from 0 to K step 64 carry d0 = none, t0 = none, r0 = none`: the other "
          "way",
          "`loop c from 0 to 256 step 64`: the other way",
          "`copy ta[tm, p] -> s.As[m, k] by one_thread`: a stage later",
          "`copy tb[tn, p] -> s.Bs[n, k] by one_thread`: a stage later",
          "`copy o.Cs[m, n] -> tc[64*h + tm, tn + c] by one_thread`: a stage later",
          "`commit ring s`: a stage later",
          "`release ring r0`: a stage later",
          "`d1, t1 = contract (k 64) : f.As[m + 64*h, k] * f.Bs[n, k] + d0 -> D : f32 row "
          "wgmma.m64n256k16.bf16.ss`: a stage later",
      });
}

// As above. Either copy may speak first. A key past the end comes after every query that is stored,
// so the causal condition masks it already. A value received a trip early waits for longer; the
// running sum and the log of the sums are not read in between.
TEST(TileMutations, AttentionInTurns) {
  expect_killed(
      attention("attention_wgmma", 2, 2, 130),
      {
          "turn speaker starts elsewhere",
          "`copy tk[tb, th, j0, 0] -> k.Ks[j, d] by one_thread`: a stage later",
          "`copy tk[tb, th, j0, 64] -> k.Ks[j, d + 64] by one_thread`: a stage later",
          "`copy tv[tb, th, j0, 0] -> v.Vs[j, e] by one_thread`: a stage later",
          "`copy tv[tb, th, j0, 64] -> v.Vs[j, e + 64] by one_thread`: a stage later",
          "`copy y.Os[i, e] -> to[tb, th, 64*c + ti, x] by one_thread`: a stage later",
          "`copy tq[tb, th, ti, 0] -> q.Qs[i, d] by one_thread`: a stage later",
          "`copy tq[tb, th, ti, 64] -> q.Qs[i, d + 64] by one_thread`: a stage later",
          "`commit qs q`: a stage later",
          "`commit ks k`: a stage later",
          "`commit vs v`: a stage later",
          "`release ks kk`: a stage later",
          "`@1 release vs vv`: a stage later",
          "`release qs u`: a stage later",
          "`@1 vv = receive vs`: a stage earlier",
          "`l = map a * l0 + ls -> part : f32 partial sum`: a stage later",
          "`store lse -> L[tb, th, i + 64*c + ti] valid S - i - 64*c - ti - 1 >= 0`: a stage later",
          "`s = map select(j + j1 < S and j + j1 <= i + ti + c * 64, s0, -inf) -> P : f32`: index "
          "5 "
          "+1",
          "`loop x from 0 to 128 step 64`: the other way",
      });
}

// As above. What a query past the end adds is zero, since bulk copies filled it with zeros.
TEST(TileMutations, AttentionGradientOfFiveProducts) {
  expect_killed(
      attention_gradient("attention_gradient_wgmma", 2, 130),
      {
          "`copy tq[th, i1, 0] -> b.Qs[i, d] by one_thread`: a stage later",
          "`copy tq[th, i1, 64] -> b.Qs[i, d + 64] by one_thread`: a stage later",
          "`copy tg[th, i1, 0] -> b.Gs[i, d] by one_thread`: a stage later",
          "`copy tg[th, i1, 64] -> b.Gs[i, d + 64] by one_thread`: a stage later",
          "`copy tl[th, i1] -> b.Ls[i] by one_thread`: a stage later",
          "`copy td[th, i1] -> b.Ds[i] by one_thread`: a stage later",
          "`commit qd b`: a stage later",
          "`w = map select(i + i0 < S and j + tj + c * 64 <= i + i0, exp(s * 0.08838834764831845 - "
          "ls), 0.0) -> T : f32`: index 5 +1",
          "`release qd y`: a stage later",
          "`store gv -> dV[th, j + 64*c + tj, d] valid S - j - 64*c - tj - 1 >= 0`: a stage later",
          "`store gk -> dK[th, j + 64*c + tj, d] valid S - j - 64*c - tj - 1 >= 0`: a stage later",
      });
}

// As above. `solve` reads the triangle below the diagonal only, so what the map leaves elsewhere
// does not matter.
TEST(TileMutations, GatedDeltaRuleInChunks) {
  expect_killed(gated_delta("delta_wgmma", 2, 100),
                {
                    "`copy tk[th, t1, 0] -> a.Ks[t, x] by one_thread`: a stage later",
                    "`copy tk[th, t1, 64] -> a.Ks[t, x + 64] by one_thread`: a stage later",
                    "`copy tq[th, t1, 0] -> a.Qs[t, x] by one_thread`: a stage later",
                    "`copy tq[th, t1, 64] -> a.Qs[t, x + 64] by one_thread`: a stage later",
                    "`copy tv[th, t1, 0] -> a.Vs[t, z] by one_thread`: a stage later",
                    "`copy tv[th, t1, 64] -> a.Vs[t, z + 64] by one_thread`: a stage later",
                    "`commit feed a`: a stage later",
                    "`commit tp o`: a stage later",
                    "`release feed i`: a stage later",
                    "`release feed j`: a stage later",
                    "`release tp p`: a stage later",
                    "`aw = map select(s < t, b * w * kk, 0.0) -> M : f32`: index 0 -1",
                    "`aw = map select(s < t, b * w * kk, 0.0) -> M : f32`: index 0 without s",
                    "`aw = map select(s < t, b * w * kk, 0.0) -> M : f32`: index 1 +1",
                    "`store v -> O[th, t + t0, z + 64*c] valid T - t - t0 - 1 >= 0`: a stage later",
                    "`store zf -> S1[th, x, z + 64*c]`: a stage later",
                });
}

}  // namespace
}  // namespace tang::tile
