#include "unit/cases/harness.h"

#include <cmath>
#include <cstring>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/oracle.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"
#include "ir/reading.h"
#include "ir/verify.h"
#include "loop/machine.h"
#include "rewrite/pipeline.h"
#include "run/c_device.h"
#include "run/memory.h"
#include "support/temp_dir.h"
#include "verify/tile_run.h"

namespace tang::cases {

std::vector<double> Outcome::reals(const std::string& output) const {
  std::vector<double> result;
  const Values& v = outputs.at(output);
  for (int64_t k = 0; k < v.elements(); ++k) result.push_back(v.at(k).as_real());
  return result;
}

double Outcome::real(const std::string& output, int64_t flat) const {
  return outputs.at(output).at(flat).as_real();
}

int64_t Outcome::integer(const std::string& output, int64_t flat) const {
  return outputs.at(output).at(flat).as_integer();
}

Case::Case(const std::string& text, const Sizes& sizes) {
  // Cases that differ in their inputs alone are compiled once.
  static const TempDir cache;
  compile_.cache_dir = cache / "";
  auto g = parse(text);
  if (!g) {
    ADD_FAILURE() << render(g.error(), nullptr) << text;
    return;
  }
  naive_ = std::move(*g);
  Bindings bindings;
  bindings.flags = sizes;
  const Diagnostics bad = bind(naive_, bindings);
  EXPECT_TRUE(bad.empty()) << render(bad, nullptr) << text;
  for (TensorId t : inputs_of(naive_)) {
    auto array = random_input(naive_, t, bound_params(naive_), 0);
    EXPECT_TRUE(array) << naive_[t].name;
    inputs_.push_back(array ? std::move(*array) : Array{});
  }
}

Case& Case::set(const std::string& input, const std::vector<double>& values) {
  const std::vector<TensorId> ids = inputs_of(naive_);
  for (size_t k = 0; k < ids.size(); ++k) {
    if (naive_[ids[k]].name != input) continue;
    EXPECT_EQ(inputs_[k].elements(), static_cast<int64_t>(values.size())) << input;
    for (size_t e = 0; e < values.size(); ++e) inputs_[k].set(static_cast<int64_t>(e), values[e]);
    return *this;
  }
  ADD_FAILURE() << "no input " << input;
  return *this;
}

Case& Case::set_bytes(const std::string& input, const std::vector<uint8_t>& bytes) {
  const std::vector<TensorId> ids = inputs_of(naive_);
  for (size_t k = 0; k < ids.size(); ++k) {
    if (naive_[ids[k]].name != input) continue;
    EXPECT_EQ(inputs_[k].data.size(), bytes.size()) << input;
    if (inputs_[k].data.size() != bytes.size()) return *this;
    std::memcpy(inputs_[k].data.data(), bytes.data(), bytes.size());
    return *this;
  }
  ADD_FAILURE() << "no input " << input;
  return *this;
}

Case& Case::flags(std::vector<std::string> flags) {
  compile_.flags = std::move(flags);
  return *this;
}

Case& Case::without_oracle() {
  oracle_ = false;
  return *this;
}

Case& Case::plan(const std::string& name, const PlanOptions& options) {
  plans_.emplace_back(name, options);
  return *this;
}

std::vector<int64_t> Case::shape(const std::string& tensor) const {
  return bound_shape(naive_, *naive_.find_tensor(tensor));
}

Outcome Case::oracle(const std::string& way, const Graph& g) const {
  Outcome run{way, {}, {}};
  const Graph read = reading(g);
  Given given;
  const std::vector<TensorId> ids = inputs_of(read);
  for (size_t k = 0; k < ids.size(); ++k) given[ids[k]] = &inputs_[k];
  OracleOptions full;
  full.extent = OracleOptions::Extent::full;
  auto values = evaluate(read, bound_params(read), given, full);
  if (!values) {
    ADD_FAILURE() << way << ": " << values.error().message;
    return run;
  }
  for (auto& [t, v] : *values) run.outputs.emplace(read[t].name, std::move(v));
  return run;
}

namespace {

constexpr double most_tile_work = 1 << 14;  // terms of a program that runs on the virtual machine

using Runner = std::function<Result<void>(const ProgramMemory& memory)>;

Outcome execute(const std::string& way, const Variant& v, std::vector<Array> inputs,
                ProgramMemory::Workspace workspace, int64_t bytes, const Runner& runner) {
  Outcome run{way, {}, {}};
  std::vector<Array*> pointers;
  for (Array& a : inputs) pointers.push_back(&a);
  auto memory = ProgramMemory::make(v.program(), bound_params(v.graph), pointers, workspace, bytes);
  if (!memory) {
    ADD_FAILURE() << way << ": " << memory.error().message;
    return run;
  }
  memory->poison();
  const auto ran = runner(*memory);
  EXPECT_TRUE(ran) << way << ": " << (ran ? "" : ran.error().message);
  for (size_t k = 0; k < v.outputs.size(); ++k) {
    const TensorId t = v.schedule.outputs[k].tensor;
    Array& a = memory->array(v.outputs[k]);
    a.shape = bound_shape(v.graph, t);
    run.outputs.emplace(v.graph[t].name, *decode(a, v.graph[t].kind));
    run.stored.emplace(v.graph[t].name, a);
  }
  return run;
}

// Runs a whole program as a caller of tang_run() would.
Outcome compiled(const std::string& way, const Variant& v, const Executable& program,
                 const std::vector<Array>& inputs) {
  const std::vector<int64_t> symbols = bound_params(v.graph);
  const auto bytes = program.workspace_bytes(symbols);
  if (!bytes) {
    ADD_FAILURE() << way << ": " << bytes.error().message;
    return {way, {}, {}};
  }
  return execute(way, v, inputs, ProgramMemory::Workspace::joined, *bytes,
                 [&](const ProgramMemory& memory) -> Result<void> {
                   const auto ready =
                       program.prepare(memory.arguments(), symbols, memory.workspace());
                   if (!ready) return tl::unexpected(ready.error());
                   const auto ran = program.run(memory.arguments(), symbols, memory.workspace());
                   if (!ran) return tl::unexpected(ran.error());
                   return {};
                 });
}

// Its tile programs on their virtual machine, kernel by kernel; what only copies has none.
Outcome on_tiles(const std::string& way, const Variant& v, const std::vector<Array>& inputs) {
  const std::vector<int64_t> symbols = bound_params(v.graph);
  return execute(way, v, inputs, ProgramMemory::Workspace::separate, 0,
                 [&](const ProgramMemory& memory) -> Result<void> {
                   for (size_t k = 0; k < v.program().kernels.size(); ++k) {
                     const loop::Kernel& kernel = v.program().kernels[k];
                     auto ran = v.lowered.tiled[k]
                                    ? run_tile(v, k, memory.buffers())
                                    : loop::run(v.program(), kernel, memory.buffers(), symbols);
                     if (!ran) return ran;
                   }
                   return {};
                 });
}

bool is_small(const Variant& v) {
  double work = 0;
  for (size_t k = 0; k < v.schedule.kernels.size(); ++k) work += tile_work(v, k);
  return work <= most_tile_work;
}

PlanOptions plain_loops() {
  PlanOptions o;
  o.inline_contractions = false;
  o.vectorise = false;
  o.contract = false;
  return o;
}

}  // namespace

std::vector<std::pair<std::string, Variant>> Case::variants(const Graph& derived) const {
  std::vector<std::pair<std::string, Variant>> all;
  const auto add = [&](const std::string& way, const Graph& g, const PlanOptions& options) {
    auto v = make_variant(g, options);
    if (v)
      all.emplace_back(way, std::move(*v));
    else
      ADD_FAILURE() << way << ": " << v.error().message;
  };
  add("c naive", naive_, naive_plan({}));
  add("c naive, plain loops", naive_, plain_loops());
  add("c derived", derived, {});
  add("c derived, plain loops", derived, plain_loops());
  for (const auto& [name, options] : plans_) add("c derived, " + name, derived, options);
  return all;
}

std::vector<Outcome> Case::run() const { return run_all({*this})[0]; }

std::vector<std::vector<Outcome>> Case::run_all(const std::vector<Case>& cases) {
  std::vector<std::vector<Outcome>> runs;
  std::vector<std::vector<std::pair<std::string, Variant>>> variants;
  std::vector<const LoopProgram*> programs;
  for (const Case& c : cases) {
    const Graph derived = derive(c.naive_).derived;
    const Diagnostics bad = verify(derived);
    EXPECT_TRUE(bad.empty()) << render(bad, nullptr);
    runs.emplace_back();
    if (c.oracle_)
      runs.back() = {c.oracle("oracle naive", c.naive_), c.oracle("oracle derived", derived)};
    variants.push_back(c.variants(derived));
  }
  for (const auto& of_case : variants)
    for (const auto& [way, v] : of_case) programs.push_back(&v.program());
  CDevice device;
  Diagnostics warnings;
  const auto made = device.compile_all(programs, cases[0].compile_, warnings);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return runs;
  }
  size_t next = 0;
  for (size_t k = 0; k < cases.size(); ++k)
    for (const auto& [way, v] : variants[k]) {
      runs[k].push_back(compiled(way, v, *(*made)[next++], cases[k].inputs_));
      if (is_small(v)) runs[k].push_back(on_tiles("tiles of " + way, v, cases[k].inputs_));
    }
  return runs;
}

void expect_agreement(const std::vector<Outcome>& runs, double tolerance) {
  for (const Outcome& run : runs)
    for (const auto& [name, want] : runs.front().outputs) {
      const auto got = run.outputs.find(name);
      if (got == run.outputs.end()) {
        ADD_FAILURE() << run.way << ": no output " << name;
        continue;
      }
      ASSERT_EQ(got->second.shape, want.shape) << run.way << ": " << name;
      const Comparison c = compare(want, got->second);
      EXPECT_TRUE(c.passes(tolerance))
          << run.way << ": " << name << " at " << c.worst << ": " << comparison_text(c);
    }
}

void expect_values(const std::vector<Outcome>& runs, const std::string& output,
                   const std::vector<double>& want, double tolerance) {
  double scale = 0;
  for (double w : want)
    if (std::isfinite(w)) scale = std::max(scale, std::abs(w));
  for (const Outcome& run : runs) {
    const std::vector<double> got = run.reals(output);
    ASSERT_EQ(got.size(), want.size()) << run.way;
    for (size_t k = 0; k < want.size(); ++k) {
      const bool same = std::isnan(want[k]) ? std::isnan(got[k])
                        : !std::isfinite(want[k])
                            ? got[k] == want[k]
                            : std::abs(got[k] - want[k]) <= tolerance * std::max(scale, 1e-300);
      EXPECT_TRUE(same) << run.way << ": " << output << " at " << k << ": got " << got[k]
                        << ", want " << want[k];
    }
  }
}

}  // namespace tang::cases
