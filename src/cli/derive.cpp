// tang derive: the derivation as people read it, as JSON, and as a folder of stages.
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/schedule_file.h"
#include "cli/text.h"
#include "emit/c_source.h"
#include "ir/print.h"
#include "loop/text.h"
#include "schedule/text.h"
#include "tile/text.h"

namespace tang::cli {

namespace {

using nlohmann::json;

size_t live_nodes(const Graph& g) { return g.order().size(); }

std::string summary_line(const char* label, const Graph& g, const Variant& v, const Palette& p) {
  const size_t nodes = live_nodes(g), kernels = v.program().kernels.size();
  return fmt::format("{}{:<7}{}  {} node{} · {} kernel{} · writes {}\n", p.bold, label, p.reset,
                     nodes, nodes == 1 ? "" : "s", kernels, kernels == 1 ? "" : "s",
                     bytes_text(v.graph, bytes_written(v.program())));
}

// Text with each line but the first indented further, as in a `where` clause.
std::string indented(const std::string& text) {
  std::string out = "  ";
  for (char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out;
}

// Which kernels recompute a definition: "o, p".
std::string recomputed_in(const Variant& v, NodeId id) {
  std::string names;
  for (const KernelPlan& k : v.schedule.kernels)
    for (NodeId i : k.inlined)
      if (i == id) names += (names.empty() ? "" : ", ") + k.name;
  return names;
}

std::string definitions(const Graph& g, const Variant& v, const Palette& p) {
  std::string out;
  for (NodeId id : g.order()) {
    std::string text = indented(print_node(g, id));
    const std::string in = recomputed_in(v, id);
    if (!in.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      text.insert(end, fmt::format("    {}# recomputed in the tiles of {}{}", p.dim, in, p.reset));
    }
    out += text + "\n";
  }
  return out;
}

std::string rewrite_table(const std::vector<LogEntry>& log) {
  std::vector<std::vector<std::string>> rows;
  for (size_t k = 0; k < log.size(); ++k)
    rows.push_back({fmt::format("{}", k + 1), log[k].rule, log[k].summary, log[k].law, "tested"});
  return table(rows, "rllll", 2);
}

// With -v: the definitions each rewrite touched, before and after.
std::string rewrite_details(const std::vector<LogEntry>& log, const Palette& p) {
  std::string out;
  for (size_t k = 0; k < log.size(); ++k) {
    out += fmt::format("{:>3}  {}: {}\n", k + 1, log[k].rule, log[k].summary);
    for (const std::string& t : log[k].before)
      out += fmt::format("{}{}{}\n", p.red, indented("- " + t), p.reset);
    for (const std::string& t : log[k].after)
      out += fmt::format("{}{}{}\n", p.green, indented("+ " + t), p.reset);
  }
  return out;
}

json kernel_json(const Variant& v, const KernelPlan& k) {
  const Graph& g = v.graph;
  const Node& n = g[k.node];
  json points = json::array(), reduce = json::array(), shapes = json::array();
  for (DimId d : n.points) points.push_back(g[d].name);
  for (DimId d : n.reduce) reduce.push_back(g[d].name);
  for (const Target& t : n.targets) shapes.push_back(shape_json(g, g[t.tensor].shape));
  std::string monoid;
  for (const Fold& f : n.folds) monoid += (monoid.empty() ? "" : ", ") + g[f.monoid].name;
  return {{"name", k.name},
          {"points", points},
          {"reduce", reduce},
          {"monoid", monoid},
          {"materialises", shapes},
          {"schedule", to_json(g, k)},
          {"batch_invariant", k.batch_invariant}};
}

json derive_json(const Derivation& d, const Graph& result, const Variant& v, bool why_not) {
  json rewrites = json::array(), kernels = json::array();
  for (const LogEntry& e : d.log)
    rewrites.push_back({{"rule", e.rule},
                        {"law", e.law},
                        {"node", e.node},
                        {"summary", e.summary},
                        {"before", e.before},
                        {"after", e.after}});
  for (const KernelPlan& k : v.schedule.kernels) kernels.push_back(kernel_json(v, k));
  json value = {{"schema", 1},
                {"rewrites", rewrites},
                {"kernels", kernels},
                {"text", print(result)},
                {"allocations", allocations_json(v)}};
  if (why_not) {
    json near = json::array();
    for (const NearMiss& m : d.near)
      near.push_back({{"rule", m.rule}, {"node", m.node}, {"condition", m.condition}});
    value["near"] = near;
  }
  return value;
}

// Every stage into a directory: the program after each rewrite, the schedule, tiles, loops and C.
Outcome<void> dump_stages(Session& s, const Derivation& d, const Variant& v) {
  const std::string& dir = s.options.dump_dir;
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed)
    return fail(
        error("E0708", fmt::format("{}: the directory cannot be made: {}", dir, failed.message()))
            .value());
  int number = 0;
  std::string last;
  const auto write = [&](const std::string& name, const std::string& text) -> Outcome<void> {
    const auto done = write_file(fmt::format("{}/{:02}-{}", dir, number++, name), text);
    if (!done) return fail(done.error());
    return {};
  };
  if (auto ok = write("naive.tang", last = print(s.naive)); !ok) return ok;
  constexpr size_t most = 100;  // rewrites that are dumped one by one
  for (size_t k = 0; k < d.log.size() && k < most; ++k) {
    const bool same = k + 1 < d.log.size() && d.log[k + 1].rule == d.log[k].rule;
    if (same) continue;
    DeriveOptions o;
    o.math = s.options.math;
    o.keep_texts = false;
    o.stop_after = static_cast<int>(k) + 1;
    const std::string text = print(derive(s.naive, o).derived);
    if (text == last) continue;
    if (auto ok = write(d.log[k].rule + ".tang", last = text); !ok) return ok;
  }
  if (auto ok = write("derived.tang", print(d.derived)); !ok) return ok;
  if (auto ok = write("read.tang", print(v.graph)); !ok) return ok;
  if (auto ok = write("schedule.json", s.schedule_of(v)); !ok) return ok;
  if (auto ok = write("program.tile", tile::print(v.lowered.tiles)); !ok) return ok;
  if (auto ok = write("program.loop", loop::print(v.program())); !ok) return ok;
  if (auto ok = write("program.c", c_source(v.program())); !ok) return ok;
  return write("manifest.json", manifest(v.program(), "program.c").dump(2) + "\n");
}

std::string near_misses(const Derivation& d) {
  std::vector<std::vector<std::string>> rows;
  for (const NearMiss& m : d.near) rows.push_back({m.rule, m.node, m.condition});
  return rows.empty() ? "no rule nearly applied\n" : "nearly applied\n" + table(rows, "lll", 2);
}

}  // namespace

Outcome<void> derive_command(Session& s) {
  const Options& o = s.options;
  if (!o.coq.empty())
    return fail(error("E0806", "derive --coq is not built yet", "leave it out").value());
  if (auto ok = s.load(false); !ok) return ok;
  Derivation d{s.naive, s.naive, {}, {}};
  if (!o.naive) {
    auto derived = s.derive_program();
    if (!derived) return fail(derived.error());
    d = std::move(*derived);
  }
  const Graph& result = o.naive ? s.naive : d.derived;
  if (o.text && !o.json) {
    s.out += print(result);
    return {};
  }
  auto v = s.lower_program(result, o.naive);
  if (!v) return fail(v.error());
  if (!o.dump_dir.empty())
    if (auto ok = dump_stages(s, d, *v); !ok) return ok;
  if (o.json) {
    s.print_json(derive_json(d, result, *v, o.why_not));
    return {};
  }
  const Palette p = palette(s.environment.color_out);
  if (o.naive) {
    s.out += summary_line("naive", s.naive, *v, p);
  } else {
    const auto naive = make_variant(s.naive, naive_plan({}));
    if (!naive) return fail(naive.error());
    s.out += summary_line("naive", s.naive, *naive, p);
    s.out += o.verbose ? rewrite_details(d.log, p) : rewrite_table(d.log);
    s.out += summary_line("derived", result, *v, p);
  }
  s.out += definitions(result, *v, p);
  std::vector<std::vector<std::string>> rows;
  for (const KernelPlan& k : v->schedule.kernels)
    rows.push_back({"kernel " + k.name, describe(v->graph, k)});
  s.out += table(rows, "ll");
  if (o.why_not) s.out += near_misses(d);
  return {};
}

}  // namespace tang::cli
