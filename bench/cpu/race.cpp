#include "cpu/race.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace tang::bench_cpu {
namespace {

// Calls that last about round_ms, by doubling until the clock can tell.
Outcome<int64_t> calls_for(Contender& c, const RaceOptions& options) {
  if (auto warm = c.time(1, options.clock); !warm) return tl::unexpected(warm.error());
  for (int64_t calls = 1;; calls *= 2) {
    const auto ms = c.time(calls, options.clock);
    if (!ms) return tl::unexpected(ms.error());
    if (*ms < options.round_ms / 4) continue;
    const double each = *ms / static_cast<double>(calls);
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(1.1 * options.round_ms / each)));
  }
}

// One contender's turn: a call or more to warm up, then those that count, into `times`.
Outcome<void> turn(Contender& c, int64_t calls, const RaceOptions& options,
                   std::vector<double>& times) {
  if (options.pause_ms > 0)
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.pause_ms));
  if (calls > 1)
    if (auto warm = c.time(1 + calls / 20, options.clock); !warm)
      return tl::unexpected(warm.error());
  if (options.sample_calls > 0) {
    auto all = c.samples(calls);
    if (!all) return tl::unexpected(all.error());
    times.insert(times.end(), all->begin(), all->end());
    return {};
  }
  const auto ms = c.time(calls, options.clock);
  if (!ms) return tl::unexpected(ms.error());
  times.push_back(*ms / static_cast<double>(calls));
  return {};
}

Timing summary(const std::vector<double>& times, bool single) {
  Timing t;
  t.median_ms = quantile(times, 0.5);
  t.min_ms = quantile(times, 0);
  t.spread = (quantile(times, 0.75) - quantile(times, 0.25)) / 2 / t.median_ms;
  if (single) t.p999_ms = quantile(times, 0.999);
  return t;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Outcome<std::vector<Timing>> race(const std::vector<Contender*>& contenders,
                                  const RaceOptions& options) {
  const Stopwatch watch;
  const bool single = options.sample_calls > 0;
  std::vector<int64_t> calls;
  for (Contender* c : contenders) {
    auto n = calls_for(*c, options);
    if (!n) return tl::unexpected(n.error());
    if (single) n = options.sample_calls / options.rounds + 1;
    calls.push_back(*n);
  }
  std::vector<std::vector<double>> times(contenders.size());
  int round = 0;
  const double limit_ms = options.limit_s * 1e3;
  for (; round < options.rounds && (round < 3 || watch.ms() < limit_ms); ++round)
    for (size_t k = 0; k < contenders.size(); ++k)
      if (auto ok = turn(*contenders[k], calls[k], options, times[k]); !ok)
        return tl::unexpected(ok.error());
  std::vector<Timing> all;
  for (size_t k = 0; k < contenders.size(); ++k) {
    all.push_back(summary(times[k], single));
    all.back().rounds = round;
    all.back().calls = calls[k];
  }
  return all;
}

}  // namespace tang::bench_cpu
