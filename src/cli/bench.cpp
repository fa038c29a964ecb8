// tang bench: times of kernels and of whole programs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/text.h"
#include "cli/timing.h"
#include "schedule/text.h"

namespace tang::cli {

namespace {

nlohmann::json kernels_json(const Variant& v, const Times& times) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t k = 0; k < times.kernels.size(); ++k)
    list.push_back(
        {{"name", v.program().kernels[k].name},
         {"ms", json_number(times.kernels[k])},
         {"floor_ms", nullptr},
         {"bytes", kernel_bytes(v, k)},
         {"flops", kernel_flops(v, k)},
         {"schedule", k < v.schedule.kernels.size() ? to_json(v.graph, v.schedule.kernels[k])
                                                    : nlohmann::json::object()}});
  return list;
}

std::string bench_table(const Variant& v, const Times& times) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "time", "floor", "attained", "bytes", "flops", "limiter"}};
  for (size_t k = 0; k < times.kernels.size(); ++k)
    rows.push_back({v.program().kernels[k].name, duration(times.kernels[k]), "–", "–",
                    with_unit(static_cast<double>(kernel_bytes(v, k)), "B"),
                    with_unit(kernel_flops(v, k), ""), "–"});
  rows.push_back({"total", duration(times.total_ms), "–", "–"});
  std::string text = table(rows, "lrrrrrl");
  text.pop_back();
  return text + fmt::format("  c, {} runs, ±{:.1f} %\n", times.runs, 100 * times.spread);
}

std::string prepare_line(const nlohmann::json& prepare) {
  return fmt::format("prepared once: {} in {}\n", with_unit(prepare.at("bytes").get<double>(), "B"),
                     duration(prepare.at("ms").get<double>()));
}

}  // namespace

Outcome<void> bench_command(Session& s) {
  const auto devices = s.devices(false);
  if (!devices) return fail(devices.error());
  if (devices->front() == "oracle")
    return fail(
        error("E0802", "bench times kernels, and the oracle has none", "use --device c").value());
  if (auto ok = s.load(true); !ok) return ok;
  auto d = s.derive_program();
  if (!d) return fail(d.error());
  auto derived = s.lower_program(d->derived, false);
  if (!derived) return fail(derived.error());
  if (auto ok = s.draw_inputs(); !ok) return ok;
  const auto times = measure(s, *derived);
  if (!times) return fail(times.error());
  nlohmann::json value = {{"schema", 1},
                          {"device", devices->front()},
                          {"total_ms", json_number(times->total_ms)},
                          {"runs", times->runs},
                          {"spread", json_number(times->spread)},
                          {"floor_ms", nullptr},
                          {"kernels", kernels_json(*derived, *times)}};
  std::string text = bench_table(*derived, *times);
  if (!times->prepare.is_null()) {
    value["prepare"] = times->prepare;
    text += prepare_line(times->prepare);
  }
  if (s.options.vs_naive) {
    auto naive = s.lower_program(s.naive, true);
    if (!naive) return fail(naive.error());
    const auto slow = measure(s, *naive);
    if (!slow) return fail(slow.error());
    const double speedup = times->total_ms > 0 ? slow->total_ms / times->total_ms : 0;
    value["naive"] = {{"total_ms", json_number(slow->total_ms)},
                      {"kernels", kernels_json(*naive, *slow)}};
    value["speedup"] = json_number(speedup);
    text += "\nas written\n" + bench_table(*naive, *slow) +
            fmt::format("\nderived is {} times as fast\n", three_digits(speedup));
  }
  if (s.options.json)
    s.print_json(value);
  else
    s.out += text;
  return {};
}

}  // namespace tang::cli
