#include "cli/timing.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "run/memory.h"

namespace tang::cli {

namespace {

constexpr double batch_ms = 20;                      // clocks of drivers are coarse
constexpr double time_wanted_ms = 1000;              // for the timed runs of one program
constexpr int64_t rotated_bytes = int64_t{1} << 27;  // more than the caches hold

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// Copies of everything a run touches, used in turn so that no run finds its data in the caches.
class Sets {
 public:
  struct Set {
    std::vector<Array> inputs;
    std::optional<ProgramMemory> memory;
  };

  static Result<std::unique_ptr<Sets>> make(const Variant& v, const std::vector<Array*>& inputs,
                                            int64_t workspace, bool warm) {
    auto sets = std::make_unique<Sets>();
    const std::vector<int64_t> symbols = bound_params(v.graph);
    double bytes = static_cast<double>(workspace);
    for (const loop::Buffer& b : v.program().buffers)
      bytes += static_cast<double>(
          bytes_for(b.format, b.count.evaluate(symbols).value_or(0)).value_or(0));
    const double room = static_cast<double>(memory_limit()) / 4;
    double wanted =
        warm ? 1
             : std::min(16.0, std::ceil(static_cast<double>(rotated_bytes) / std::max(bytes, 1.0)));
    wanted = std::max(
        1.0, std::min(std::max(wanted, warm ? 1.0 : 2.0), std::floor(room / std::max(bytes, 1.0))));
    for (int k = 0; k < static_cast<int>(wanted); ++k) {
      auto set = std::make_unique<Set>();
      std::vector<Array*> pointers;
      for (const Array* a : inputs) set->inputs.push_back(*a);
      for (Array& a : set->inputs) pointers.push_back(&a);
      auto memory = ProgramMemory::make(v.program(), symbols, pointers,
                                        ProgramMemory::Workspace::joined, workspace);
      if (!memory) return tl::unexpected(memory.error());
      set->memory = std::move(*memory);
      sets->all_.push_back(std::move(set));
    }
    return sets;
  }

  ProgramMemory& next() { return *all_[turn_++ % all_.size()]->memory; }
  size_t count() const { return all_.size(); }

 private:
  std::vector<std::unique_ptr<Set>> all_;
  size_t turn_ = 0;
};

int runs_for(const Options& o, double first_ms) {
  if (o.runs > 0) return o.runs;
  return static_cast<int>(std::clamp(time_wanted_ms / std::max(first_ms, 1e-3), 3.0, 50.0));
}

Result<void> time_total(Session& s, const Variant& v, const Executable& program, Times& times) {
  const std::vector<int64_t> symbols = bound_params(v.graph);
  const auto workspace = program.workspace_bytes(symbols);
  if (!workspace) return tl::unexpected(workspace.error());
  auto sets = Sets::make(v, s.inputs(), *workspace, s.options.warm);
  if (!sets) return tl::unexpected(sets.error());
  for (size_t k = 0; k < (*sets)->count(); ++k) {
    ProgramMemory& m = (*sets)->next();
    const auto ready = program.prepare(m.arguments(), symbols, m.workspace());
    if (!ready) return tl::unexpected(ready.error());
    if (k == 0) times.prepare = prepare_json(v.program(), symbols, ready->total_ms);
  }
  // Where arguments stay on the device a run is a batch that the clock is good enough for.
  const bool apart = !s.machine.empty();
  std::vector<std::unique_ptr<Resident>> residents;
  for (size_t k = 0; apart && k < (*sets)->count(); ++k) {
    auto placed = program.resident((*sets)->next().arguments(), symbols);
    if (!placed) return tl::unexpected(placed.error());
    residents.push_back(std::move(*placed));
  }
  size_t turn = 0;
  const auto run_once = [&](int64_t rounds) -> Result<double> {
    if (apart) return residents[turn++ % residents.size()]->run(rounds);
    ProgramMemory& m = (*sets)->next();
    const auto ran = program.run(m.arguments(), symbols, m.workspace());
    return ran ? Result<double>(ran->total_ms) : tl::unexpected(ran.error());
  };
  std::vector<double> all;
  double first = 0;
  int64_t rounds = 1;
  for (int k = apart ? -3 : -1; k < runs_for(s.options, first); ++k) {  // those before 0 warm up
    const auto ms = run_once(rounds);
    if (!ms) return tl::unexpected(ms.error());
    if (k >= 0) all.push_back(*ms / static_cast<double>(rounds));
    if (k >= 0) continue;
    first = *ms / static_cast<double>(rounds);
    if (apart)
      rounds = std::clamp<int64_t>(std::llround(batch_ms / std::max(first, 1e-4)), 1, 2000);
  }
  times.runs = static_cast<int>(all.size());
  times.total_ms = quantile(all, 0.5);
  if (times.total_ms > 0)
    times.spread = (quantile(all, 0.75) - quantile(all, 0.25)) / 2 / times.total_ms;
  return {};
}

Result<void> time_kernels(Session& s, const Variant& v, const Executable& program, Times& times) {
  const std::vector<int64_t> symbols = bound_params(v.graph);
  const size_t count = v.program().kernels.size();
  if (count == 1) {
    times.kernels = {times.total_ms};
    return {};
  }
  auto memory =
      ProgramMemory::make(v.program(), symbols, s.inputs(), ProgramMemory::Workspace::separate, 0);
  if (!memory) return tl::unexpected(memory.error());
  if (auto ready = program.prepare(memory->arguments(), symbols, nullptr); !ready)
    return tl::unexpected(ready.error());
  std::unique_ptr<Resident> resident;
  if (!s.machine.empty()) {
    auto placed = program.resident(memory->arguments(), symbols);
    if (!placed) return tl::unexpected(placed.error());
    resident = std::move(*placed);
    if (auto ran = resident->run(); !ran) return tl::unexpected(ran.error());
  }
  std::vector<std::vector<double>> all(count);
  for (int k = -1; k < std::min(times.runs, 10); ++k)
    for (size_t n = 0; n < count; ++n) {
      const auto ms =
          resident ? resident->run_kernel(n) : program.run_kernel(n, memory->buffers(), symbols);
      if (!ms) return tl::unexpected(ms.error());
      if (k >= 0) all[n].push_back(*ms);
    }
  for (const auto& values : all) times.kernels.push_back(quantile(values, 0.5));
  return {};
}

}  // namespace

nlohmann::json prepare_json(const LoopProgram& program, std::span<const int64_t> symbols,
                            double ms) {
  if (program.prepares.empty()) return nullptr;
  int64_t bytes = 0;
  for (const loop::Buffer& b : program.buffers)
    if (b.role == loop::Role::prepared)
      bytes += bytes_for(b.format, b.count.evaluate(symbols).value_or(0)).value_or(0);
  return {{"ms", json_number(ms)}, {"bytes", bytes}};
}

Outcome<Times> measure(Session& s, const Variant& v) {
  auto program = s.compile(v.program());
  if (!program) return fail(program.error());
  Times times;
  if (auto ok = time_total(s, v, **program, times); !ok) return fail(ok.error());
  if (auto ok = time_kernels(s, v, **program, times); !ok) return fail(ok.error());
  return times;
}

}  // namespace tang::cli
