#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/variance.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"

namespace tang {

namespace {

std::string names(const Graph& g, const std::vector<DimId>& dims) {
  std::string text;
  for (DimId d : dims) text += (text.empty() ? "" : " ") + g[d].name;
  return text;
}

nlohmann::json name_list(const Graph& g, const std::vector<DimId>& dims) {
  nlohmann::json list = nlohmann::json::array();
  for (DimId d : dims) list.push_back(g[d].name);
  return list;
}

std::string inlined_name(const Graph& g, const InlinePlan& i) {
  return g[g[i.node].targets[0].tensor].name;
}

}  // namespace

nlohmann::json to_json(const Graph& g, const KernelPlan& plan) {
  nlohmann::json inlined = nlohmann::json::array();
  for (const InlinePlan& i : plan.inlined)
    inlined.push_back({{"name", inlined_name(g, i)}, {"lanes", i.lanes}});
  nlohmann::json j = {{"mapping", "loops"},
                      {"outer", name_list(g, plan.outer)},
                      {"inner", name_list(g, plan.inner)},
                      {"inlined", inlined},
                      {"lanes", plan.lanes},
                      {"contract", plan.contract},
                      {"threads", plan.threads}};
  if (plan.vector) j["vector"] = {{"dim", g[*plan.vector].name}, {"block", plan.block}};
  return j;
}

std::string describe(const Graph& g, const KernelPlan& plan) {
  const Node& n = g[plan.node];
  std::string text = fmt::format("points {}", names(g, n.points));
  if (n.points.empty()) text = "one point";
  if (!n.reduce.empty()) text += fmt::format(" · reduce {}", names(g, n.reduce));
  for (DimId d : n.reduce)
    if (std::any_of(n.guards.begin(), n.guards.end(),
                    [&](const Guard& guard) { return segment_of(g, guard, d).has_value(); }))
      text += fmt::format(" · {} in its segment", g[d].name);
  if (!plan.inner.empty()) text += fmt::format(" · inside {}", names(g, plan.inner));
  if (plan.vector) {
    text += fmt::format(" · vector {} {}", g[*plan.vector].name, plan.block);
    if (std::any_of(n.guards.begin(), n.guards.end(),
                    [&](const Guard& guard) { return contains(dims_of(g, guard), *plan.vector); }))
      text += " within its masks";
  }
  if (plan.lanes > 0) text += fmt::format(" · {} lanes", plan.lanes);
  if (plan.threads > 1) text += fmt::format(" · {} threads", plan.threads);
  for (const InlinePlan& i : plan.inlined)
    text += fmt::format(" · {} recomputed", inlined_name(g, i));
  return text;
}

}  // namespace tang
