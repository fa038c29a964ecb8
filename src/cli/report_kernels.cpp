// Each kernel: its formula, its schedule, what it moves and computes, its programs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/report_text.h"
#include "cli/text.h"
#include "emit/c_source.h"
#include "ir/print.h"
#include "loop/same.h"
#include "loop/text.h"
#include "schedule/text.h"
#include "tile/text.h"

namespace tang::cli {

namespace {

using nlohmann::json;

// What a field of a schedule says, for people.
std::string meaning(const std::string& field) {
  static const std::map<std::string, std::string> table = {
      {"blocks", "loops over blocks, around all else, outermost first"},
      {"contract", "a + b * c is one fused operation"},
      {"inlined", "recomputed here, never stored"},
      {"machine", "whose record it was planned by"},
      {"pivot", "the fold reduces its pivots first, a block of terms at a time"},
      {"points", "the innermost loops over points, outermost first"},
      {"reduce", "the innermost loops over terms, outermost first"},
      {"rows", "folds computed here, a row at a time"},
      {"stages", "windows of tensors in memory of its own, by block loop"},
      {"threads", "share the outermost loop"},
      {"tile", "registers along dims, and elements of each"}};
  const auto it = table.find(field);
  return it == table.end() ? "" : it->second;
}

// Lists as "h, i", objects as "s_1 · lanes 16": what they are about first.
std::string value_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_structured()) return value.dump();
  std::string subject, text;
  for (const auto& [key, item] : value.items()) {
    if (value.is_array())
      text += (text.empty() ? "" : ", ") + value_text(item);
    else if (key == "tensor" || key == "dim" || key == "axis")
      subject = value_text(item);
    else
      text += " · " + key + " " + value_text(item);
  }
  return value.empty() ? "–" : subject + text;
}

std::string schedule_table(const json& schedule) {
  std::vector<std::vector<std::string>> rows = {{"field", "value", ""}};
  for (const auto& [field, value] : schedule.items())
    rows.push_back({"<code>" + escape(field) + "</code>",
                    "<code>" + escape(value_text(value)) + "</code>", escape(meaning(field))});
  return html_table(rows, "lll");
}

std::string listing(const std::string& marked) {
  return "<pre><code>" + marked + "</code></pre>\n";
}

// A program of the kernel at one level, from tensors down to the device's language.
struct Listing {
  std::string title, text, comment;
};

std::vector<Listing> listings(const Variant& v, size_t k) {
  std::vector<Listing> all;
  const tile::Program& tiles = v.lowered.tiles;
  if (const auto& t = v.lowered.tiled[k])
    all.push_back({"Tile program", tile::print(tiles, tiles.kernels[t->kernel]), "#"});
  all.push_back({"Loop program", loop::print(v.program(), v.program().kernels[k]), "#"});
  all.push_back({"C", c_kernel_source(v.program(), k), "//"});
  return all;
}

std::string programs(const Variant& v, size_t k, size_t first) {
  if (first < k)
    return fmt::format(
        "<p class=\"note\">Its programs are those of <a href=\"#kernel-{0}\"><code>{0}</code></a>, "
        "over other buffers.</p>\n",
        escape(v.program().kernels[first].name));
  std::string out;
  for (const Listing& l : listings(v, k))
    out += folded(escape(l.title), listing(highlighted(l.text, l.comment)));
  return out;
}

// As people read them: before the softmax reading.
std::string formulas(const Graph& g, const KernelPlan& k) {
  std::string text;
  for (NodeId i : k.inlined) text += print_node(g, i) + "    # recomputed here\n";
  return highlighted(text + print_node(g, k.node), "#");
}

std::string costs(const Report& r, size_t k) {
  if (!has_sizes(r.derived.graph)) return "";
  std::string text = fmt::format("touches {} · {} operations",
                                 with_unit(static_cast<double>(kernel_bytes(r.derived, k)), "B"),
                                 with_unit(kernel_flops(r.derived, k), ""));
  if (r.derived_times) text += " · " + duration(r.derived_times->kernels[k]);
  return "<p class=\"costs\">" + escape(text) + "</p>\n";
}

std::string kernel(const Report& r, size_t k, size_t first) {
  const Variant& v = r.derived;
  std::string summary = "copies an output over the input whose place it takes",
              details = costs(r, k);
  if (k < v.schedule.kernels.size()) {
    const KernelPlan& plan = v.schedule.kernels[k];
    summary = describe(v.graph, plan);
    details += listing(formulas(r.derivation.derived, plan)) +
               folded("Schedule", schedule_table(to_json(v.graph, plan)));
  }
  return filled("kernel.html", {{"name", escape(v.program().kernels[k].name)},
                                {"summary", escape(summary)},
                                {"details", details},
                                {"programs", programs(v, k, first)}});
}

}  // namespace

std::string kernels_section(const Report& r) {
  const std::vector<size_t> first = loop::first_of_each(r.derived.program());
  std::string out;
  for (size_t k = 0; k < first.size(); ++k) out += kernel(r, k, first[k]);
  return out.empty() ? "<p>The program computes nothing.</p>\n" : out;
}

}  // namespace tang::cli
