// tang check: naive and derived programs on each device against the oracle.
#include "verify/check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "ir/reading.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace tang::cli {

namespace {

struct DeviceCheck {
  std::string device;
  ProgramCheck naive, derived;

  bool ok() const { return naive.ok() && derived.ok(); }
};

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

std::string again(const Session& s, const std::string& device) {
  const Options& o = s.options;
  std::string text = fmt::format("tang check {}", o.file);
  for (const auto& [name, value] : o.sizes) text += fmt::format(" -D {}={}", name, value);
  text += fmt::format(" --device {} --seed {}", device, o.seed);
  for (const std::string& word : o.in) text += " --in " + word;
  for (const std::string& word : o.store) text += " --store " + word;
  for (const std::string& word : o.replace) text += " --replace " + word;
  if (o.tol) text += fmt::format(" --tol {}", *o.tol);
  if (o.math != MathMode::real) text += o.math == MathMode::ieee ? " --math ieee" : " --math fast";
  return text;
}

std::string value_text(const Value& v) {
  if (v.kind == Kind::real) return fmt::format("{:.3g}", v.r);
  return v.kind == Kind::integer ? fmt::format("{}", v.i) : v.i ? "true" : "false";
}

std::string fault_text(const Session& s, const std::string& device, bool derived, const Fault& f) {
  const std::string what =
      f.kernel.empty()
          ? fmt::format("output {} of the {} program differs from the program as written", f.tensor,
                        derived ? "derived" : "naive")
          : fmt::format("kernel {}{} is wrong", f.kernel, derived ? "" : " of the naive program");
  const std::string tolerance =
      f.comparison.exact ? "exact" : fmt::format("tolerance {:.0e}", f.tolerance);
  std::string text = fmt::format("✗ {}: {} at {}: got {}, want {} (error {}, {})\n", device, what,
                                 f.at, value_text(f.comparison.got), value_text(f.comparison.want),
                                 error_text(f.comparison.error), tolerance);
  const std::string written = f.unwritten < 0 ? "which elements were written cannot be told"
                              : f.unwritten == 0
                                  ? "every element was written"
                                  : fmt::format("{} elements were never written", f.unwritten);
  text +=
      fmt::format("  {}; {}\n",
                  f.kernel.empty() ? "every kernel is right for its inputs: the derivation differs"
                                   : "its inputs are right",
                  written);
  return text + fmt::format("  again: {}\n", again(s, device));
}

std::string program_text(const char* label, const ProgramCheck& c, const Palette& p) {
  return fmt::format(
      "{} {} of {} {}  {}", label, c.passed(), c.kernels.size(),
      c.ok() ? fmt::format("{}✓{}", p.green, p.reset) : fmt::format("{}✗{}", p.red, p.reset),
      error_text(c.error));
}

nlohmann::json check_json(const Session& s, const DeviceCheck& c) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const bool derived : {false, true})
    for (const KernelCheck& k : (derived ? c.derived : c.naive).kernels)
      kernels.push_back({{"name", k.name},
                         {"program", derived ? "derived" : "naive"},
                         {"error", json_number(k.error)},
                         {"ok", k.ok}});
  nlohmann::json value = {{"schema", 1},
                          {"ok", c.ok()},
                          {"device", c.device},
                          {"error", json_number(std::max(c.naive.error, c.derived.error))},
                          {"tol", std::max(c.naive.tolerance, c.derived.tolerance)},
                          {"kernels", kernels}};
  for (const bool derived : {false, true}) {
    const ProgramCheck& program = derived ? c.derived : c.naive;
    if (program.ok() || value.contains("fault")) continue;
    const Fault& f = *program.fault;
    value["fault"] = {{"kernel", f.kernel},
                      {"program", derived ? "derived" : "naive"},
                      {"at", f.at},
                      {"got", json_number(f.comparison.got.as_real())},
                      {"want", json_number(f.comparison.want.as_real())},
                      {"unwritten", f.unwritten},
                      {"again", again(s, c.device)}};
  }
  return value;
}

Outcome<ProgramCheck> check_variant(Session& s, const std::string& device, const Variant& v,
                                    const std::map<std::string, const Values*>& want) {
  CheckOptions o;
  o.tolerance = s.options.tol;
  o.oracle.seed = s.options.seed;
  if (device == "oracle") {
    auto checked = check_oracle(v, s.inputs(), want, o);
    if (!checked) return fail(checked.error());
    return std::move(*checked);
  }
  auto program = s.compile(v.program());
  if (!program) return fail(program.error());
  const std::vector<int64_t> symbols = bound_params(v.graph);
  const auto run = [&](size_t k, std::span<void* const> buffers) -> Result<void> {
    const auto ms = (*program)->run_kernel(k, buffers, symbols);
    if (!ms) return tl::unexpected(ms.error());
    return {};
  };
  auto checked = check_program(v, s.inputs(), want, run, o);
  if (!checked) return fail(checked.error());
  return std::move(*checked);
}

}  // namespace

Outcome<void> check_command(Session& s) {
  if (s.options.vm)
    return fail(
        error("E0806", "check --vm is not built yet", "leave it out: kernels run on the device")
            .value());
  const auto devices = s.devices(true);
  if (!devices) return fail(devices.error());
  if (auto ok = s.load(true); !ok) return ok;
  auto d = s.derive_program();
  if (!d) return fail(d.error());
  auto naive = s.lower_program(s.naive, true);
  if (!naive) return fail(naive.error());
  auto derived = s.lower_program(d->derived, false);
  if (!derived) return fail(derived.error());
  if (auto ok = replace_kernels(s, *derived); !ok) return ok;
  if (auto ok = s.draw_inputs(); !ok) return ok;

  const Graph read = reading(s.naive);
  if (auto ok = check_promises(read, s.given(), s.options.seed); !ok) return fail(ok.error());
  OracleOptions oracle;
  oracle.seed = s.options.seed;
  oracle.verify_gathers = true;
  const auto values = evaluate(read, bound_params(read), s.given(), oracle);
  if (!values) return fail(values.error());
  std::map<std::string, const Values*> want;
  for (const auto& [t, v] : *values) want[read[t].name] = &v;
  s.passed("oracle", [] { return std::string(); });

  const Palette p = palette(s.environment.color_out);
  size_t columns = 0;
  for (const std::string& name : *devices) columns = std::max(columns, name.size());
  std::string faults;
  for (const std::string& device : *devices) {
    DeviceCheck c{device, {}, {}};
    auto first = check_variant(s, device, *naive, want);
    if (!first) return fail(first.error());
    c.naive = std::move(*first);
    auto second = check_variant(s, device, *derived, want);
    if (!second) return fail(second.error());
    c.derived = std::move(*second);
    if (!c.ok()) s.exit = Exit::wrong_result;
    if (s.options.json) {
      s.print_json(check_json(s, c));
    } else {
      s.out +=
          fmt::format("{}  {}    {}\n", padded(device, columns), program_text("naive", c.naive, p),
                      program_text("derived", c.derived, p));
    }
    if (!c.naive.ok()) faults += fault_text(s, device, false, *c.naive.fault);
    if (!c.derived.ok()) faults += fault_text(s, device, true, *c.derived.fault);
  }
  if (s.options.json)
    s.log("", faults);
  else
    s.out += faults;
  return {};
}

}  // namespace tang::cli
