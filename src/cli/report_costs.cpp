// Times and memory, as bars and tables.
#include <algorithm>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/report_text.h"
#include "cli/text.h"
#include "emit/workspace.h"
#include "eval/oracle.h"

namespace tang::cli {

namespace {

constexpr double bar_row = 24;      // pixels
constexpr double label_share = 30;  // percent of the width, then the bars, then the numbers
constexpr double bar_share = 50;
constexpr size_t label_columns = 20;

std::string code(const std::string& text) { return "<code>" + escape(text) + "</code>"; }

std::vector<Bar> kernel_bars(const Variant& v, const Times& t, Bar::Of of) {
  std::vector<Bar> bars;
  for (size_t k = 0; k < t.kernels.size(); ++k)
    bars.push_back({v.program().kernels[k].name, duration(t.kernels[k]), t.kernels[k], of});
  return bars;
}

// What `tang bench` prints, and the rates that follow.
std::string cost_table(const Variant& v, const std::optional<Times>& times) {
  std::vector<std::vector<std::string>> rows = {
      {"kernel", "time", "bytes", "operations", "operations a byte", "bytes a second"}};
  for (size_t k = 0; k < v.program().kernels.size(); ++k) {
    const double bytes = static_cast<double>(kernel_bytes(v, k)), flops = kernel_flops(v, k);
    const double ms = times ? times->kernels[k] : 0;
    rows.push_back({code(v.program().kernels[k].name), times ? escape(duration(ms)) : "–",
                    escape(with_unit(bytes, "B")), escape(with_unit(flops, "")),
                    bytes > 0 ? three_digits(flops / bytes) : "–",
                    ms > 0 ? escape(with_unit(bytes / ms * 1000, "B/s")) : "–"});
  }
  return html_table(rows, "lrrrrr");
}

std::string speed_text(const Report& r) {
  const Times& d = *r.derived_times;
  std::string text = fmt::format("Medians of {} on one thread of C, ±{:.1f} %.",
                                 counted(static_cast<size_t>(d.runs), "run"), 100 * d.spread);
  if (r.naive_times && d.total_ms > 0)
    text += fmt::format(" The derived program is {} times as fast as the program as written.",
                        three_digits(r.naive_times->total_ms / d.total_ms));
  return "<p>" + escape(text) + "</p>\n";
}

std::string timed(const Report& r) {
  std::vector<Bar> totals;
  if (r.naive_times)
    totals.push_back(
        {"as written", duration(r.naive_times->total_ms), r.naive_times->total_ms, Bar::Of::naive});
  totals.push_back({"derived", duration(r.derived_times->total_ms), r.derived_times->total_ms,
                    Bar::Of::derived});
  std::string out = speed_text(r) + bar_plot(totals, "Times of the whole programs");
  const std::vector<Bar> kernels = kernel_bars(r.derived, *r.derived_times, Bar::Of::derived);
  if (kernels.size() > 1)
    out += "<h3>Derived kernels</h3>\n" + bar_plot(kernels, "Times of the derived kernels");
  if (r.naive_times)
    out += folded("Kernels of the program as written",
                  bar_plot(kernel_bars(r.naive, *r.naive_times, Bar::Of::naive),
                           "Times of the kernels of the program as written") +
                      cost_table(r.naive, r.naive_times));
  return out;
}

// Bytes as people read them, and as a bar if they are a number.
Bar memory_bar(const Variant& v, const std::string& label, const Poly& bytes, Bar::Of of) {
  return {label, bytes_text(v.graph, bytes),
          static_cast<double>(bound_value(v.graph, bytes).value_or(0)), of};
}

// A plot, or a table where the values are polynomials.
std::string bars_or_table(const Graph& g, const std::vector<Bar>& bars, const std::string& label) {
  if (has_sizes(g)) return bar_plot(bars, label);
  std::vector<std::vector<std::string>> rows = {{"", "bytes"}};
  for (const Bar& b : bars) rows.push_back({escape(b.label), code(b.text)});
  return html_table(rows, "ll");
}

struct Stored {
  std::string type, naive, derived;
};

// Intermediate results that lie in memory, in one program or the other.
std::string intermediates(const Report& r) {
  std::vector<std::string> names;
  std::map<std::string, Stored> all;
  for (const Variant* v : {&r.naive, &r.derived})
    for (const Allocation& a : v->lowered.allocations) {
      const auto [it, fresh] = all.try_emplace(a.name);
      if (fresh) names.push_back(a.name);
      const auto t = v->graph.find_tensor(a.name);
      if (fresh && t) it->second.type = type_text(v->graph, *t);
      (v == &r.naive ? it->second.naive : it->second.derived) = bytes_text(v->graph, a.bytes);
    }
  if (names.empty()) return "<p>Neither program stores an intermediate result.</p>\n";
  std::vector<std::vector<std::string>> rows = {
      {"stored between kernels", "", "as written", "derived"}};
  const auto cell = [](const std::string& bytes) {
    return bytes.empty() ? "<span class=\"none\">never stored</span>" : escape(bytes);
  };
  for (const std::string& n : names)
    rows.push_back({code(n), code(all[n].type), cell(all[n].naive), cell(all[n].derived)});
  return html_table(rows, "llrr");
}

}  // namespace

std::string bar_plot(const std::vector<Bar>& bars, const std::string& label) {
  static constexpr const char* kinds[] = {"both", "naive", "derived"};
  double most = 0;
  for (const Bar& b : bars) most = std::max(most, b.value);
  std::string out = fmt::format(
      "<svg class=\"bars\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{:.0f}\">\n",
      escape(label), bar_row * static_cast<double>(bars.size()));
  for (size_t k = 0; k < bars.size(); ++k) {
    const Bar& b = bars[k];
    const double y = bar_row * static_cast<double>(k), middle = y + bar_row / 2;
    const double share = most > 0 ? bar_share * b.value / most : 0;
    out += fmt::format(
        "<g><title>{0}: {1}</title><text x=\"0\" y=\"{2:.0f}\">{3}</text>"
        "<rect class=\"track\" x=\"{4:.0f}%\" y=\"{5:.0f}\" width=\"{6:.0f}%\" height=\"12\"/>"
        "<rect class=\"{7}\" x=\"{4:.0f}%\" y=\"{5:.0f}\" width=\"{8:.2f}%\" height=\"12\"/>"
        "<text class=\"value\" x=\"100%\" y=\"{2:.0f}\">{1}</text></g>\n",
        escape(b.label), escape(b.text), middle + 4, escape(shortened(b.label, label_columns)),
        label_share, middle - 6, bar_share, kinds[static_cast<size_t>(b.of)], share);
  }
  return out + "</svg>\n";
}

std::string times_section(const Report& r) {
  std::string out = r.derived_times ? timed(r) : "";
  if (!r.untimed.empty()) out += "<p class=\"note\">" + escape(r.untimed) + "</p>\n";
  return has_sizes(r.derived.graph) ? out + cost_table(r.derived, r.derived_times) : out;
}

bool has_sizes(const Graph& g) {
  return std::all_of(g.params.begin(), g.params.end(),
                     [](const Param& p) { return p.bound.has_value(); });
}

Poly role_bytes(const Variant& v, loop::Role role) {
  Poly total;
  for (const loop::Buffer& b : v.program().buffers)
    if (b.role == role && !b.into) total = total + buffer_bytes(b);
  return total;
}

Poly workspace_bytes(const Variant& v) {
  if (!has_sizes(v.graph)) return role_bytes(v, loop::Role::workspace);
  return Poly(measure(v.program(), plan_workspace(v.program()), bound_params(v.graph)).total);
}

std::string memory_section(const Report& r) {
  const Graph& g = r.naive.graph;
  std::vector<Bar> bars = {
      memory_bar(r.derived, "inputs", role_bytes(r.derived, loop::Role::input), Bar::Of::both),
      memory_bar(r.derived, "outputs", role_bytes(r.derived, loop::Role::output), Bar::Of::both)};
  std::vector<Bar> traffic;
  for (const auto& [of, v] :
       {std::pair(Bar::Of::naive, &r.naive), {Bar::Of::derived, &r.derived}}) {
    const std::string which = of == Bar::Of::naive ? "as written" : "derived";
    bars.push_back(memory_bar(*v, "workspace " + which, workspace_bytes(*v), of));
    traffic.push_back(memory_bar(*v, which, bytes_written(v->program()), of));
  }
  return "<h3>What lies in memory</h3>\n" + bars_or_table(g, bars, "Bytes of memory") +
         "<h3>What the kernels write</h3>\n" +
         bars_or_table(g, traffic, "Bytes the kernels write") + intermediates(r);
}

}  // namespace tang::cli
