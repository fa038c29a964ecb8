#include "probe/questions.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "probe/question.h"

namespace tang::probe {

namespace {

// Whether warpgroups get the registers that they ask for.
Findings ask_registers(Bench& bench, const std::string& kernel, const std::string& sizes) {
  const auto function = bench.question(kernel);
  if (!function) return tl::unexpected(function.error());
  const auto host = bench.driver().allocate_host(4096);
  if (!host) return tl::unexpected(host.error());
  std::memset(*host, 0, 4096);
  QuestionArgs q{};
  static_assert(sizeof(void*) == sizeof q.out);
  std::memcpy(&q.out, &*host, sizeof q.out);
  const Launch l{*function, 1, 384, 1, 0, false, &q};
  if (const auto r = bench.driver().launch(l); !r) return tl::unexpected(r.error());
  const auto done = bench.driver().wait_for(5);
  if (!done) return tl::unexpected(done.error());
  uint32_t passed[3];
  std::memcpy(passed, *host, sizeof passed);
  Finding f{"setmaxnreg", sizes, true, ""};
  f.lost = !*done;
  f.what = fmt::format("{}: {}; cycles until each warpgroup went on (0: never): {} {} {}", sizes,
                       *done ? "ends" : "hangs (5 s)", passed[0], passed[1], passed[2]);
  return std::vector<Finding>{f};
}

Findings ask_noinc(Bench& bench) {
  const auto function = bench.question("question_noinc");
  if (!function) return tl::unexpected(function.error());
  constexpr uint32_t laps = 64, bytes = laps * 512;
  std::vector<std::byte> memory(2 * bytes + 256);
  for (uint32_t k = 0; k < bytes / 4; ++k) std::memcpy(&memory[4 * k], &k, 4);
  QuestionArgs q{};
  q.in = bench.memory();
  q.out = q.in + bytes;
  q.other = q.in + 2 * bytes;
  q.count = laps;
  const Launch l{*function, 1, 32, 1, 1024, false, &q};
  Result<void> r = bench.driver().write(bench.memory(), memory);
  if (r) r = bench.driver().launch(l);
  if (r) r = bench.driver().wait();
  if (r) r = bench.driver().read(bench.memory(), memory);
  if (!r) return tl::unexpected(r.error());
  Finding f{"cp.async.mbarrier.arrive.noinc", "32 lanes, 64 laps", true, "all copies are seen"};
  if (memory[2 * bytes] != std::byte{0}) f = {f.row, f.sizes, false, "a wait timed out"};
  for (uint32_t k = 0; k < bytes / 4 && f.ok; ++k) {
    const uint32_t lane = k / 4 % 32, from = (lane ^ 3) ^ 5;
    const uint32_t wanted = k / 128 * 128 + from * 4 + k % 4;
    uint32_t is = 0;
    std::memcpy(&is, &memory[bytes + 4 * k], 4);
    if (is == wanted) continue;
    f.ok = false;
    f.what = fmt::format("word {} is {}, not {}", k, is, wanted);
  }
  return std::vector<Finding>{f};
}

// Microseconds a kernel, in a chain of them.
Result<double> chain(Bench& bench, void* function, uint32_t cycles, uint32_t mode, bool early) {
  constexpr int length = 200;
  QuestionArgs q{};
  q.out = bench.memory();
  q.count = cycles;
  q.mode = mode;
  const Launch l{function, bench.driver().cores(), 128, 1, 0, early, &q};
  float best = 1e9F;
  for (int run = 0; run < 5; ++run) {
    const Result<float> t = bench.driver().time([&]() -> Result<void> {
      for (int k = 0; k < length; ++k)
        if (const auto r = bench.driver().launch(l); !r) return r;
      return {};
    });
    if (!t) return tl::unexpected(t.error());
    best = std::min(best, *t);
  }
  return 1000.0 * best / length;
}

Findings ask_chain(Bench& bench) {
  const auto function = bench.question("question_chain");
  if (!function) return tl::unexpected(function.error());
  std::vector<Finding> result;
  for (uint32_t cycles : {0u, 2000u, 8000u, 20000u}) {
    double us[3];
    for (uint32_t how = 0; how < 3; ++how) {
      const auto t = chain(bench, *function, cycles, how == 1 ? 0 : 1, how != 0);
      if (!t) return tl::unexpected(t.error());
      us[how] = *t;
    }
    Finding f{"programmatic launch", fmt::format("{} + {} cycles", cycles, cycles), true, ""};
    f.what = fmt::format(
        "{}: {:.2f} us a kernel in order, {:.2f} with a launch at the start, {:.2f} with one "
        "halfway",
        f.sizes, us[0], us[1], us[2]);
    result.push_back(f);
  }
  return result;
}

Question registers(std::string less_more, std::string sizes) {
  return {"3 registers of roles " + sizes,
          [=](Bench& b) { return ask_registers(b, "question_registers_" + less_more, sizes); }};
}

}  // namespace

const std::vector<Question>& questions() {
  static const std::vector<Question> list{
      {"5 and 7 sums", ask_sums},
      {"6 values through maps", ask_map_values},
      {"8 copies that arrive", ask_noinc},
      {"8 maps that change", ask_map_changes},
      {"9 programmatic launch", ask_chain},
      {"2 who releases a slot", ask_ring},
      registers("40_232", "40 + 2 × 232"),
      registers("24_240", "24 + 2 × 240"),
      registers("40_240", "40 + 2 × 240, more than there are"),
      registers("168_176", "168 + 2 × 176, more than there are"),
  };
  return list;
}

}  // namespace tang::probe
