// One invocation: options, environment, the program on its way through the pipeline, and what has
// been said so far. Commands (commands.h) are short sequences of these steps.
#pragma once

#include <chrono>
#include <map>
#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "cli/environment.h"
#include "cli/options.h"
#include "eval/oracle.h"
#include "front/source.h"
#include "ir/bind.h"
#include "rewrite/split.h"
#include "run/c_device.h"
#include "run/gpu_device.h"
#include "verify/variant.h"

namespace tang::cli {

template <class T>
using Outcome = tl::expected<T, Diagnostics>;

inline tl::unexpected<Diagnostics> fail(Diagnostic d) {
  return tl::unexpected<Diagnostics>(Diagnostics{std::move(d)});
}
inline tl::unexpected<Diagnostics> fail(Diagnostics d) {
  return tl::unexpected<Diagnostics>(std::move(d));
}
// Success before the end, after --stop-after: no diagnostics.
inline tl::unexpected<Diagnostics> stop() { return tl::unexpected<Diagnostics>(Diagnostics{}); }

class Session {
 public:
  Session(Options o, Environment e) : options(std::move(o)), environment(std::move(e)) {}

  const Options options;
  std::vector<std::string> constants;  // inputs that are the same in every run
  const Environment environment;
  std::optional<Source> source;
  std::string out;       // stdout, written at the end
  Exit exit = Exit::ok;  // of a command that succeeded but found something wrong

  std::string machine;  // whose record schedules are chosen by; empty: the target's

  Graph naive;                // parsed and bound
  std::vector<Array> arrays;  // values of the inputs, in program order

  // Reads, parses and binds the program, with the arrays of --in. Afterwards `naive` is set.
  Outcome<void> load(bool require_all);
  // Takes a graph built in C++ instead; its params have values.
  Outcome<void> adopt(Graph graph);
  // The arrays of --in, by the names of their inputs, until draw_inputs takes them.
  std::map<std::string, Array> given_arrays() const;
  // Gives the inputs of an adopted graph those arrays that fit name, shape and format.
  void give(const std::map<std::string, Array>& named);
  // Fills in inputs that were not given, from the seed.
  Outcome<void> draw_inputs();
  std::vector<Array*> inputs();
  Given given() const;

  Outcome<Derivation> derive_program();
  // The derived (or naive) program planned and lowered, with --schedule obeyed for the derived.
  Outcome<Variant> lower_program(const Graph& g, bool as_written);

  // What --schedule-out writes.
  std::string schedule_of(const Variant& v) const;

  // The devices asked for. `list` allows several and `all`; of one alone the session goes on with
  // it.
  Outcome<std::vector<std::string>> devices(bool list);
  // Programs are planned for and compiled by this device from now on.
  Outcome<void> use(const std::string& device);
  // Schedules are chosen for a device like this from now on.
  Outcome<void> plan_for(const Capability& c);
  // A driver's device, opened at first use.
  Result<GpuDevice*> gpu(const std::string& name);
  Outcome<std::unique_ptr<Executable>> compile(const LoopProgram& program);
  CompileOptions compile_options() const;
  int threads() const;
  bool fixes_sizes() const;
  bool has_compiler();

  void print_json(const nlohmann::json& value);
  void warn(const Diagnostic& d);
  bool logs(std::string_view channel) const;
  void log(std::string_view channel, const std::string& text);
  // To be called after each pass: times, dumps and --stop-after. True: stop here.
  bool passed(const std::string& pass, const std::function<std::string()>& text);
  void print_times();

 private:
  Outcome<void> store_formats();
  Outcome<void> read_inputs(Bindings& bindings);
  Outcome<void> check_passes() const;

  std::vector<std::optional<Array>> given_;
  std::vector<std::pair<TensorId, std::string>> raw_;  // inputs from raw files, read after binding
  std::vector<std::pair<std::string, double>> times_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::vector<Split> splits_;  // that --schedule asks for
  Pins pins_;                  // of kernels, by --schedule
  CDevice device_;
  std::map<std::string, std::unique_ptr<GpuDevice>> gpus_;
  Device* current_ = &device_;
};

// Writes diagnostics to stderr, and under --json the error object to `out`.
void report(const Diagnostics& diagnostics, const Source* source, bool color, bool json,
            std::string& out);

}  // namespace tang::cli
