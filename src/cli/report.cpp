#include "cli/report.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/pages.h"
#include "cli/report_text.h"
#include "cli/text.h"

namespace tang::cli {

namespace {

// "With n = 4 and any seq: "; nothing for a program without params.
std::string sizes_text(const Graph& g) {
  std::vector<std::string> parts;
  for (const Param& p : g.params)
    parts.push_back(p.bound ? fmt::format("{} = {}", p.name, *p.bound) : "any " + p.name);
  return parts.empty() ? "" : fmt::format("With {}: ", fmt::join(parts, ", "));
}

std::string figure(const char* label, const std::string& before, const std::string& after) {
  return filled("number.html",
                {{"label", label}, {"before", escape(before)}, {"after", escape(after)}});
}

std::string figures(const Report& r) {
  const auto kernels = [](const Variant& v) {
    return fmt::format("{}", v.program().kernels.size());
  };
  const auto written = [](const Variant& v) {
    return bytes_text(v.graph, bytes_written(v.program()));
  };
  const auto workspace = [](const Variant& v) { return bytes_text(v.graph, workspace_bytes(v)); };
  std::string out = figure("kernels", kernels(r.naive), kernels(r.derived)) +
                    figure("written to memory", written(r.naive), written(r.derived)) +
                    figure("workspace", workspace(r.naive), workspace(r.derived));
  if (r.naive_times && r.derived_times)
    out += figure("time", duration(r.naive_times->total_ms), duration(r.derived_times->total_ms));
  return out;
}

std::string lead(const Report& r) {
  return fmt::format("{}{} become {} in {}.", sizes_text(r.naive.graph),
                     counted(r.derivation.naive.order().size(), "definition"),
                     counted(r.derived.program().kernels.size(), "kernel"),
                     counted(r.derivation.log.size(), "rewrite"));
}

// A long program is folded at first.
std::string program_section(const Report& r) {
  constexpr size_t most_open = 40;
  const auto lines =
      static_cast<size_t>(std::count(r.text.begin(), r.text.end(), '\n')) + !r.text.ends_with('\n');
  const std::string text = "<pre><code>" + highlighted(r.text, "#") + "</code></pre>\n";
  return lines <= most_open ? text : folded(counted(lines, "line"), text);
}

// Times of one program, or the reason there are none. Faults of tang itself are errors.
Outcome<std::optional<Times>> try_measure(Session& s, const Variant& v, std::string& untimed) {
  auto times = measure(s, v);
  if (times) return std::move(*times);
  const Diagnostic& d = times.error()[0];
  if (d.exit != Exit::no_device && d.exit != Exit::out_of_memory) return fail(times.error());
  untimed += fmt::format("{}Not timed: {}.", untimed.empty() ? "" : " ", d.message);
  return std::nullopt;
}

std::string reason_not_to_run(Session& s) {
  if (s.options.no_run) return "Not timed: the page was made with --no-run.";
  for (const Param& p : s.naive.params)
    if (!p.bound)
      return fmt::format("Not timed: {0} has no value (give one, as in -D {0}=64).", p.name);
  return s.has_compiler() ? "" : "Not timed: there is no C compiler here.";
}

Outcome<void> time_programs(Session& s, Report& r) {
  r.untimed = reason_not_to_run(s);
  if (!r.untimed.empty()) return {};
  if (auto ok = s.draw_inputs(); !ok) return ok;
  auto derived = try_measure(s, r.derived, r.untimed);
  if (!derived) return fail(derived.error());
  r.derived_times = std::move(*derived);
  auto naive = try_measure(s, r.naive, r.untimed);
  if (!naive) return fail(naive.error());
  r.naive_times = std::move(*naive);
  return {};
}

Outcome<Report> make_report(Session& s) {
  auto d = s.derive_program();
  if (!d) return fail(d.error());
  auto naive = s.lower_program(s.naive, true);
  if (!naive) return fail(naive.error());
  auto derived = s.lower_program(d->derived, false);
  if (!derived) return fail(derived.error());
  const Options& o = s.options;
  Report r{.name = s.source ? std::filesystem::path(s.source->file()).filename().string() : "",
           .text = std::string(s.source->text()),
           .again = "tang report " + o.file + program_arguments(o) + input_arguments(o) +
                    (o.no_run ? " --no-run" : "") + " -o report.html",
           .derivation = std::move(*d),
           .naive = std::move(*naive),
           .derived = std::move(*derived)};
  if (auto ok = time_programs(s, r); !ok) return fail(ok.error());
  return r;
}

}  // namespace

std::string report_page(const Report& r) {
  return filled("page.html", {{"title", escape(r.name)},
                              {"style", std::string(page("page.css"))},
                              {"script", std::string(page("page.js"))},
                              {"version", escape(version)},
                              {"lead", escape(lead(r))},
                              {"figures", figures(r)},
                              {"program", program_section(r)},
                              {"graphs", graphs_section(r)},
                              {"derivation", derivation_section(r)},
                              {"kernels", kernels_section(r)},
                              {"times", times_section(r)},
                              {"memory", memory_section(r)},
                              {"again", escape(r.again)}});
}

Outcome<void> report_command(Session& s) {
  const std::string& path = s.options.output_file;
  if (path.empty())
    return fail(error("E0801", "report needs a file to write", "add -o report.html").value());
  if (auto ok = s.load(false); !ok) return ok;
  auto r = make_report(s);
  if (!r) return fail(r.error());
  const std::string text = report_page(*r);
  if (auto done = write_file(path, text); !done) return fail(done.error());
  nlohmann::json invariant = nlohmann::json::object();
  for (const KernelPlan& k : r->derived.schedule.kernels) invariant[k.name] = k.batch_invariant;
  if (s.options.json)
    s.print_json({{"schema", 1},
                  {"file", path},
                  {"bytes", text.size()},
                  {"rewrites", r->derivation.log.size()},
                  {"kernels", r->derived.program().kernels.size()},
                  {"batch_invariant", invariant},
                  {"timed", r->derived_times.has_value()},
                  {"reason", r->untimed}});
  else
    s.out += path + "\n" + (r->untimed.empty() ? "" : r->untimed + "\n");
  return {};
}

}  // namespace tang::cli
