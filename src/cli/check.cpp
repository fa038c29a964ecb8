// tang check: naive and derived programs on each device against the oracle.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/device_check.h"
#include "cli/text.h"

namespace tang::cli {

namespace {

std::string again(const Session& s, const std::string& device) {
  const Options& o = s.options;
  return "tang check " + o.file + program_arguments(o) + " --device " + device + input_arguments(o);
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
  if (!f.holds.empty()) text += fmt::format("  it holds the values of {}\n", f.holds);
  return text + fmt::format("  again: {}\n", again(s, device));
}

std::string program_text(const char* label, const ProgramCheck& c, const Palette& p) {
  const std::string sample =
      c.compared < c.elements ? fmt::format("  {} of {} elements", c.compared, c.elements) : "";
  return fmt::format(
      "{} {} of {} {}  {}{}", label, c.passed(), c.kernels.size(),
      c.ok() ? fmt::format("{}✓{}", p.green, p.reset) : fmt::format("{}✗{}", p.red, p.reset),
      error_text(c.error), sample);
}

nlohmann::json check_json(const Session& s, const DeviceCheck& c) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const bool derived : {false, true})
    for (const KernelCheck& k : (derived ? c.derived : c.naive).kernels)
      kernels.push_back({{"name", k.name},
                         {"program", derived ? "derived" : "naive"},
                         {"error", json_number(k.error)},
                         {"ok", k.ok},
                         {"compared", k.compared},
                         {"elements", k.elements},
                         {"batch_invariant", k.batch_invariant}});
  nlohmann::json value = {{"schema", 1},
                          {"ok", c.ok()},
                          {"device", c.device},
                          {"error", json_number(std::max(c.naive.error, c.derived.error))},
                          {"tol", std::max(c.naive.tolerance, c.derived.tolerance)},
                          {"compared", c.naive.compared + c.derived.compared},
                          {"elements", c.naive.elements + c.derived.elements},
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
                      {"holds", f.holds},
                      {"again", again(s, c.device)}};
  }
  return value;
}

}  // namespace

Outcome<void> check_command(Session& s) {
  const auto devices = s.devices(true);
  if (!devices) return fail(devices.error());
  if (auto ok = s.load(true); !ok) return ok;
  const Palette p = palette(s.environment.color_out);
  size_t columns = 0;
  for (const std::string& name : *devices) columns = std::max(columns, name.size());
  std::string faults;
  const auto checked = check_devices(s, *devices, [&](const DeviceCheck& c) {
    if (!c.ok()) s.exit = Exit::wrong_result;
    if (s.options.json) {
      s.print_json(check_json(s, c));
    } else {
      s.out +=
          fmt::format("{}  {}    {}\n", padded(c.device, columns),
                      program_text("naive", c.naive, p), program_text("derived", c.derived, p));
    }
    if (!c.naive.ok()) faults += fault_text(s, c.device, false, *c.naive.fault);
    if (!c.derived.ok()) faults += fault_text(s, c.device, true, *c.derived.fault);
  });
  if (!checked) return checked;
  if (s.options.json)
    s.log("", faults);
  else
    s.out += faults;
  return {};
}

}  // namespace tang::cli
