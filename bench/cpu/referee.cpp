#include "cpu/referee.h"

#include <algorithm>

#include "cpu/tang_side.h"
#include "cpu/yardsticks.h"

namespace tang::bench_cpu {
namespace {

constexpr double gain_wanted = 1.4;
constexpr double pause_ms = 5;  // OpenMP's threads spin for about one

size_t fastest(const std::vector<std::pair<std::string, Timing>>& peers) {
  const auto by_median = [](const auto& a, const auto& b) {
    return a.second.median_ms < b.second.median_ms;
  };
  return static_cast<size_t>(std::min_element(peers.begin(), peers.end(), by_median) -
                             peers.begin());
}

}  // namespace

Torch& Referee::torch(int threads) {
  auto& torch = torch_[threads];
  if (!torch)
    torch = std::make_unique<Torch>(options_.torch_script, options_.folder, threads,
                                    options_.torch_keeps_memory);
  return *torch;
}

std::vector<Referee::Side> Referee::peers(const Case& c, const Inputs& inputs, int threads,
                                          std::string& why_none) {
  std::vector<Side> sides;
  for (const Peer& peer : c.peers) {
    auto made = peer.make(inputs, threads);
    if (made)
      sides.push_back({peer.name, std::move(*made)});
    else
      why_none = made.error();
  }
  if (c.torch.empty()) return sides;
  const auto version = torch(threads).version();
  auto made = version ? torch(threads).contender(c, inputs) : tl::unexpected(version.error());
  if (made)
    sides.push_back({*version, std::move(*made)});
  else
    why_none = made.error();
  return sides;
}

Outcome<std::vector<double>> Referee::reference(const Case& c, const Inputs& inputs, int threads,
                                                Contender& first) {
  if (c.reference) return c.reference(inputs);
  if (!c.torch.empty())
    if (auto values = torch(threads).reference()) return values;
  const auto values = first.output();
  if (!values) return tl::unexpected(values.error());
  return std::vector<double>(values->begin(), values->end());
}

Outcome<void> Referee::run(const Case& c, Contender& tang, const Inputs& inputs, Record& r) {
  std::string why_none = "no peer on this machine";
  std::vector<Side> sides = peers(c, inputs, r.threads, why_none);
  if (sides.empty()) return tl::unexpected(why_none);
  std::vector<Contender*> racers = {&tang};
  for (const Side& side : sides) racers.push_back(side.contender.get());
  const auto stick = yardstick(c.yardstick, r.tang_threads);
  if (stick) racers.push_back(stick.get());
  RaceOptions options = options_.race;
  if (c.latency) options.sample_calls = options_.latency_calls;
  if (r.threads > 1) options.pause_ms = pause_ms;
  options.clock = r.clock;
  const auto timings = race(racers, options);
  if (!timings) return tl::unexpected(timings.error());
  r.tang = timings->front();
  for (size_t k = 0; k < sides.size(); ++k) r.peers.emplace_back(sides[k].name, (*timings)[k + 1]);
  r.judged = c.fastest ? fastest(r.peers) : 0;
  if (stick) {
    const double rate = moved_by(c.yardstick) / timings->back().median_ms;
    r.fraction = c.yardstick.moved / r.tang.median_ms / rate;
    r.yardstick_gbs = rate * 1e-6;
  }
  const auto wanted = reference(c, inputs, r.threads, *sides.front().contender);
  if (!wanted) return tl::unexpected(wanted.error());
  const auto out = tang.output();
  if (!out) return tl::unexpected(out.error());
  r.error = largest_error(*out, *wanted);
  return {};
}

std::vector<Record> Referee::run(const Case& c, const std::vector<int>& threads) {
  std::vector<Record> records;
  std::unique_ptr<TangProgram> program;
  std::unique_ptr<Contender> tang;
  Inputs inputs;
  const auto prepare = [&](int count) -> Outcome<void> {
    if (c.tang && tang) return {};
    tang.reset();
    program.reset();  // two open objects cannot have one name
    if (!c.tang) {
      auto made = TangProgram::make(c.program, options_.folder, count, c.constants);
      if (!made) return tl::unexpected("tang: " + made.error());
      program = std::move(*made);
      auto drawn = program->draw(c.scales);
      if (!drawn) return tl::unexpected(drawn.error());
      inputs = std::move(*drawn);
    }
    auto made = c.tang ? c.tang() : program->contender(inputs);
    if (!made) return tl::unexpected(made.error());
    tang = std::move(*made);
    return {};
  };
  for (const int count : threads) {
    if (count > 1 && c.one_thread) continue;
    const Outcome<void> ready = prepare(count);
    Record r{.suite = c.suite,
             .name = c.name,
             .threads = count,
             .tang_threads = program ? program->threads() : 1};
    r.tol = c.tol;
    if (options_.cpu_time && count == 1 && !c.latency && !c.tang) r.clock = ClockKind::cpu;
    r.gate = c.gate;
    r.fraction_gate = c.fraction_gate;
    const auto done = ready ? run(c, *tang, inputs, r) : ready;
    if (!done) r.failure = done.error();
    r.load = load_average();
    if (done && count > 1) {
      const bool gains = !records.empty() && records[0].threads == 1 && records[0].ok() &&
                         records[0].peers[records[0].judged].second.median_ms >=
                             gain_wanted * r.peers[r.judged].second.median_ms;
      if (!gains) r.gate = r.fraction_gate = std::nullopt;
    }
    records.push_back(std::move(r));
  }
  return records;
}

}  // namespace tang::bench_cpu
