#include <algorithm>

#include <fmt/format.h>

#include "ir/variance.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"

namespace tang {

namespace {

class Line {
 public:
  Line(const Graph& graph, const KernelPlan& plan) : g(graph), k_(plan), n_(graph[plan.node]) {}

  std::string run() {
    part(n_.points.empty() ? "one point" : "points" + names(n_.points));
    if (!n_.reduce.empty()) part("reduce" + names(n_.reduce));
    segments();
    loops(k_);
    for (TensorId t : k_.streamed) part(g[t].name + " past the caches");
    if (k_.threads > 1) part(fmt::format("{} threads", k_.threads));
    for (NodeId i : k_.inlined)
      if (!k_.by_rows(i)) part(name(g[i]) + " recomputed");
    for (const KernelPlan& row : k_.rows) rows(row);
    return text_;
  }

 private:
  void part(const std::string& text) { text_ += (text_.empty() ? "" : " · ") + text; }

  const std::string& name(const Node& n) const { return g[n.targets[0].tensor].name; }
  std::string names(const std::vector<DimId>& dims) const {
    std::string text;
    for (DimId d : dims) text += " " + g[d].name;
    return text;
  }

  void segments() {
    for (DimId d : n_.reduce)
      if (std::any_of(n_.guards.begin(), n_.guards.end(),
                      [&](const Guard& guard) { return segment_of(g, guard, d).has_value(); }))
        part(g[d].name + " in its segment");
  }

  // Blocks of one are named alone.
  void loops(const KernelPlan& k) {
    if (g[k.node].scan && g[k.node].scan->matrix) return;
    std::string text;
    for (const BlockLoop& b : k.blocks)
      text += " " + g[b.dim].name + (b.step == 1 ? "" : fmt::format(" {}", b.step));
    if (!text.empty()) part("blocks" + text);
    text.clear();
    if (!k.pivot)
      for (const TileDim& t : k.nest.tile)
        if (t.size() > 1) text += fmt::format(" {} {}", g[t.dim].name, t.size());
    if (!text.empty()) part("tile" + text);
    windows(k);
    if (k.pivot) part("pivot");
    if (k.kept) part("weights kept");
  }

  // Copies alone: what is computed in a window is named for itself.
  void windows(const KernelPlan& k) {
    std::string text;
    for (const StagePlan& s : k.stages) {
      const NodeId made = g[s.tensor].node;
      const bool inside =
          std::any_of(k.inlined.begin(), k.inlined.end(), [&](NodeId i) { return i == made; });
      if (inside) continue;
      text += (text.empty() ? "windows " : ", ") + g[s.tensor].name;
      if (s.panel > 0) text += fmt::format(" in panels of {}", s.panel);
      if (s.padded) text += " with zeros around";
      if (s.phases > 1) text += fmt::format(" in {} phases", s.phases);
    }
    if (!text.empty()) part(text);
  }

  void rows(const KernelPlan& row) {
    const std::string before = std::move(text_);
    text_.clear();
    loops(row);
    const std::string inside = text_.empty() ? "" : fmt::format(" ({})", text_);
    text_ = before;
    part(fmt::format("{} by rows{}", row.name, inside));
  }

  const Graph& g;
  const KernelPlan& k_;
  const Node& n_;
  std::string text_;
};

}  // namespace

std::string describe(const Graph& g, const KernelPlan& plan) { return Line(g, plan).run(); }

}  // namespace tang
