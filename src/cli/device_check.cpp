#include "cli/device_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "ir/reading.h"
#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "run/devices.h"
#include "verify/tile_run.h"

namespace tang::cli {

namespace {

// A loop program in a derived kernel's place.
Outcome<void> replace_kernels(const Session& s, Variant& v) {
  for (const std::string& word : s.options.replace) {
    const size_t at = word.find('=');
    if (at == std::string::npos)
      return fail(
          error("E0801", fmt::format("--replace {}: this is not KERNEL=FILE", word), "").value());
    const std::string name = word.substr(0, at), path = word.substr(at + 1);
    LoopProgram& program = v.lowered.program;
    const auto k = program.find_kernel(name);
    if (!k) {
      std::vector<std::string> names;
      for (const loop::Kernel& kernel : program.kernels) names.push_back(kernel.name);
      return fail(
          error("E0804",
                fmt::format("--replace {}: the derived program has no kernel `{}`", word, name),
                fmt::format("its kernels are `{}`", fmt::join(names, "`, `")))
              .value());
    }
    const auto text = read_file(path, 1 << 26);
    if (!text) return fail(text.error());
    auto kernel = loop::parse_kernel(*text, program, path);
    if (!kernel) return fail(kernel.error());
    Diagnostics bad = loop::verify(program, *kernel);
    for (Diagnostic& d : bad) d.where.file = path;
    if (!bad.empty()) return fail(std::move(bad));
    kernel->name = name;
    program.kernels[*k] = std::move(*kernel);
    if (Diagnostics wrong = loop::verify(program); !wrong.empty()) {
      for (Diagnostic& d : wrong) d.where.file = path;
      return fail(std::move(wrong));
    }
  }
  return {};
}

bool is_replaced(const Session& s, const std::string& kernel) {
  return std::any_of(s.options.replace.begin(), s.options.replace.end(),
                     [&](const std::string& w) { return w.substr(0, w.find('=')) == kernel; });
}

// What a virtual machine finds wrong with a kernel of ours is a wrong result.
Result<void> as_result(const Session& s, Result<void> ran) {
  if (!ran && s.options.vm) ran.error().exit = Exit::wrong_result;
  return ran;
}

constexpr double most_tile_work = 1 << 23;  // terms of a kernel: seconds on the machine of tiles

// The tile programs of the kernels that have one, each against the oracle; other kernels run as
// `others` does. What is wrong is said of the kernel's tile program.
Outcome<void> check_tiles(Session& s, const Variant& v, const KernelRunner& others,
                          const std::map<std::string, const Values*>& want, const CheckOptions& o,
                          ProgramCheck& result) {
  const auto run = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
    const std::string& name = v.program().kernels[k].name;
    if (v.lowered.tiled[k] && tile_work(v, k) <= most_tile_work)
      return as_result(s, run_tile(v, k, buffers));
    if (v.lowered.tiled[k])
      s.log("", fmt::format("note: the tile program of kernel {} is not run: it computes {:.2g} "
                            "terms, more than {:.2g}",
                            name, tile_work(v, k), most_tile_work));
    return others(k, buffers);
  };
  const auto prepare = [&](std::span<void* const>, std::span<void* const> buffers) -> Result<void> {
    for (size_t k = 0; k < v.lowered.prepared.size(); ++k)
      if (auto ran = run_prepare_tile(v, k, buffers); !ran) return as_result(s, std::move(ran));
    return {};
  };
  auto tiles = check_program(v, s.inputs(), want, run, o, prepare);
  if (!tiles) return fail(tiles.error());
  result.error = std::max(result.error, tiles->error);
  for (size_t k = 0; k < tiles->kernels.size(); ++k) {
    result.kernels[k].error = std::max(result.kernels[k].error, tiles->kernels[k].error);
    result.kernels[k].ok = result.kernels[k].ok && tiles->kernels[k].ok;
  }
  if (result.fault || !tiles->fault) return {};
  result.fault = std::move(tiles->fault);
  if (!result.fault->kernel.empty()) result.fault->kernel += " (its tile program)";
  return {};
}

bool is_driver(const std::string& device) {
  const std::vector<std::string>& all = driver_names();
  return std::find(all.begin(), all.end(), device) != all.end();
}

// With `replaced`, kernels that --replace names run on the virtual machine if the device is the
// host: it stays inside of their buffers whatever the given programs do. A driver runs them.
Outcome<ProgramCheck> check_variant(Session& s, const std::string& device, const Variant& v,
                                    const std::map<std::string, const Values*>& want,
                                    bool replaced) {
  CheckOptions o;
  o.tolerance = s.options.tol;
  o.oracle.seed = s.options.seed;
  if (device == "oracle") {
    auto checked = check_oracle(v, s.inputs(), want, o);
    if (!checked) return fail(checked.error());
    return std::move(*checked);
  }
  // Kernels of groups for a target that is no device here run on the virtual machines alone.
  const std::vector<loop::Kernel>& kernels = v.program().kernels;
  const bool groups = s.options.vm && std::any_of(kernels.begin(), kernels.end(),
                                                  [](const auto& k) { return k.threads > 1; });
  Outcome<std::unique_ptr<Executable>> program;
  if (!groups) program = s.compile(v.program());
  if (!program) return fail(program.error());
  const std::vector<int64_t> symbols = bound_params(v.graph);
  const auto compiled = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
    const auto ms = (*program)->run_kernel(k, buffers, symbols);
    return ms ? Result<void>() : tl::unexpected(ms.error());
  };
  const auto run = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
    const loop::Kernel& kernel = v.program().kernels[k];
    const bool here = replaced && !is_driver(device) && is_replaced(s, kernel.name);
    if (s.options.vm || here) return as_result(s, loop::run(v.program(), kernel, buffers, symbols));
    return compiled(k, buffers);
  };
  const auto prepare = [&](std::span<void* const> arguments,
                           std::span<void* const> buffers) -> Result<void> {
    if (!s.options.vm) {
      const auto ms = (*program)->prepare(arguments, symbols, nullptr);
      return ms ? Result<void>() : tl::unexpected(ms.error());
    }
    for (const loop::Kernel& kernel : v.program().prepares)
      if (auto ran = loop::run(v.program(), kernel, buffers, symbols); !ran)
        return as_result(s, std::move(ran));
    return {};
  };
  auto checked = check_program(v, s.inputs(), want, run, o, prepare);
  if (!checked) return fail(checked.error());
  if (!s.options.vm) return std::move(*checked);
  const KernelRunner others = groups ? KernelRunner(run) : KernelRunner(compiled);
  if (auto ok = check_tiles(s, v, others, want, o, *checked); !ok)
    return tl::unexpected(ok.error());
  return std::move(*checked);
}

// What the program says: the oracle's values by name. The oracle's outputs stay in `values`.
Outcome<std::map<std::string, const Values*>> wanted_values(Session& s, Evaluation& values) {
  const Graph read = reading(s.naive);
  if (auto ok = check_promises(read, s.given(), s.options.seed); !ok) return fail(ok.error());
  OracleOptions oracle;
  oracle.seed = s.options.seed;
  oracle.verify_gathers = true;
  auto evaluated = evaluate(read, bound_params(read), s.given(), oracle);
  if (!evaluated) return fail(evaluated.error());
  values = std::move(*evaluated);
  std::map<std::string, const Values*> want;
  for (const auto& [t, v] : values) want[read[t].name] = &v;
  s.passed("oracle", [] { return std::string(); });
  return want;
}

}  // namespace

Outcome<void> check_devices(Session& s, const std::vector<std::string>& devices,
                            const std::function<void(const DeviceCheck&)>& each) {
  auto d = s.derive_program();
  if (!d) return fail(d.error());
  if (auto ok = s.draw_inputs(); !ok) return ok;
  Evaluation values;
  const auto want = wanted_values(s, values);
  if (!want) return fail(want.error());
  for (const std::string& device : devices) {
    if (auto ok = s.use(device); !ok) return ok;
    auto naive = s.lower_program(s.naive, true);
    if (!naive) return fail(naive.error());
    auto derived = s.lower_program(d->derived, false);
    if (!derived) return fail(derived.error());
    if (auto ok = replace_kernels(s, *derived); !ok) return ok;
    DeviceCheck c{device, {}, {}};
    auto first = check_variant(s, device, *naive, *want, false);
    if (!first) return fail(first.error());
    c.naive = std::move(*first);
    auto second = check_variant(s, device, *derived, *want, true);
    if (!second) return fail(second.error());
    c.derived = std::move(*second);
    each(c);
  }
  return {};
}

}  // namespace tang::cli
