#include "schedule/pinned.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/bind.h"
#include "schedule/text.h"
#include "schedule/windows.h"

namespace tang {

namespace {

constexpr int64_t largest_window = 64 * 1024;  // elements, of windows that are moved

}  // namespace

Result<void> Pinned::belongs(const KernelPlan& k) const {
  const Node& n = g[k.node];
  if (!n.scan) return {};
  const bool whole = n.scan->matrix.has_value();  // all of its loops are planned where they stand
  const std::pair<const char*, bool> given[] = {
      {"blocks", whole && pins_.blocks},    {"points", whole && pins_.points},
      {"tile", whole && pins_.tile},        {"stages", pins_.stages.has_value()},
      {"reduce", pins_.reduce.has_value()}, {"pivot", pins_.pivot.has_value()},
      {"rows", pins_.rows.has_value()},     {"streamed", pins_.streamed.has_value()}};
  for (const auto& [field, is_given] : given)
    if (is_given)
      return refuse({field, "", "a scan runs its terms one by one, in order", "scan_prefix", ""});
  return {};
}

// ---- names -------------------------------------------------------------------------------------

Result<DimId> Pinned::dim(const KernelPlan& k, const std::string& field,
                          const std::string& name) const {
  const Node& n = g[k.node];
  std::vector<std::string> names;
  for (const auto* dims : {&n.points, &n.reduce})
    for (DimId d : *dims) {
      if (g[d].name == name) return d;
      names.push_back(g[d].name);
    }
  std::string hint = suggestion(name, names);
  if (hint.empty()) hint = fmt::format("its dims are {}", fmt::join(names, ", "));
  return tl::unexpected(refused(
      source_, where_, {field, "", fmt::format("the kernel has no dim `{}`", name), "", hint}));
}

Result<std::vector<DimId>> Pinned::dims(const KernelPlan& k, const std::string& field,
                                        const std::vector<std::string>& names) const {
  std::vector<DimId> result;
  for (const std::string& name : names) {
    const auto d = dim(k, field, name);
    if (!d) return tl::unexpected(d.error());
    result.push_back(*d);
  }
  return result;
}

Result<TensorId> Pinned::tensor(const KernelPlan& k, const std::string& name) const {
  std::set<TensorId> all;
  const auto add = [&](NodeId id) {
    for (TensorId t : tensors_read(g, g[id])) all.insert(t);
  };
  add(k.node);
  for (NodeId i : k.inlined) add(i);
  std::vector<std::string> names;
  for (TensorId t : all) {
    if (g[t].name == name) return t;
    names.push_back(g[t].name);
  }
  std::string hint = suggestion(name, names);
  if (hint.empty()) hint = fmt::format("it reads {}", fmt::join(names, ", "));
  return tl::unexpected(refused(
      source_, where_, {"stages", "", fmt::format("the kernel reads no `{}`", name), "", hint}));
}

Result<size_t> Pinned::axis(TensorId t, const std::string& name) const {
  std::vector<std::string> names;
  for (size_t a = 0; a < g[t].shape.size(); ++a) {
    if (axis_name(g, t, a) == name || fmt::format("{}", a) == name) return a;
    names.push_back(axis_name(g, t, a));
  }
  return tl::unexpected(
      refused(source_, where_,
              {"stages", "", fmt::format("`{}` has no axis `{}`", g[t].name, name), "reshape_bij",
               fmt::format("its axes are {}", fmt::join(names, ", "))}));
}

// ---- loops -------------------------------------------------------------------------------------

Result<void> Pinned::nest(KernelPlan& k) const {
  const std::pair<const char*, bool> given[] = {{"points", pins_.points.has_value()},
                                                {"reduce", pins_.reduce.has_value()},
                                                {"tile", pins_.tile.has_value()}};
  for (const auto& [field, is_given] : given)
    if (is_given && k.pivot)
      return refuse({field, "", "the loops of a pivot's blocks are planned where they stand", "",
                     "pin `pivot` to false too"});
  for (const auto& [names, field, to] : {std::tuple{&pins_.points, "points", &k.nest.points},
                                         std::tuple{&pins_.reduce, "reduce", &k.nest.reduce}}) {
    if (!names->has_value()) continue;
    auto order = dims(k, field, **names);
    if (!order) return tl::unexpected(order.error());
    *to = std::move(*order);
  }
  if (!pins_.tile) return {};
  k.nest.tile.clear();
  for (const TilePin& t : *pins_.tile) {
    const auto d = dim(k, "tile", t.dim);
    if (!d) return tl::unexpected(d.error());
    k.nest.tile.push_back({*d, t.registers, t.elements});
  }
  fit_panels(k);
  return {};
}

// Panels along a tiled coordinate are as wide as its tile.
void Pinned::fit_panels(KernelPlan& k) const {
  const Windows windows(g, k);
  for (StagePlan& s : k.stages) {
    const std::vector<LeafId> reads = windows.reads(s.tensor);
    if (s.panel == 0 || reads.empty()) continue;
    const auto d = g.leaf(reads[0]).forms[s.panel_axis].as_pick();
    for (const TileDim& t : k.nest.tile)
      if (t.dim == d) s.panel = t.elem > 1 ? t.elem : t.reg;
    if (s.panel < 2) s.panel = 0, s.panel_axis = 0;
  }
}

Result<void> Pinned::blocks(KernelPlan& k) const {
  if (!pins_.blocks) return {};
  const std::vector<BlockLoop> before = std::move(k.blocks);
  k.blocks.clear();
  for (const BlockPin& b : *pins_.blocks) {
    const auto d = dim(k, "blocks", b.dim);
    if (!d) return tl::unexpected(d.error());
    k.blocks.push_back({*d, b.step});
  }
  move_stages(k, before);
  if (!k.blocks.empty()) add_windows(k);
  return {};
}

// What is recomputed between blocks is computed in windows.
void Pinned::add_windows(KernelPlan& k) const {
  for (NodeId i : k.inlined) {
    const TensorId t = g[i].targets[0].tensor;
    const bool has_one = std::any_of(k.stages.begin(), k.stages.end(),
                                     [t](const StagePlan& s) { return s.tensor == t; });
    if (has_one || k.by_rows(i)) continue;
    StagePlan s;
    s.tensor = t;
    s.level = k.blocks.size();
    for (size_t a = 0; a < g[t].shape.size(); ++a) s.axes.push_back(a);
    k.stages.push_back(std::move(s));
  }
}

void Pinned::move_stages(KernelPlan& k, const std::vector<BlockLoop>& before) const {
  const auto same = [](const BlockLoop& a, const BlockLoop& b) {
    return a.dim == b.dim && a.step == b.step;
  };
  if (std::equal(before.begin(), before.end(), k.blocks.begin(), k.blocks.end(), same)) return;
  const Windows windows(g, k);
  std::vector<StagePlan> kept;
  for (StagePlan s : k.stages) {
    if (s.prepared) {
      kept.push_back(std::move(s));
      continue;
    }
    const auto outside = [&](DimId d) {
      return std::any_of(before.begin(), before.begin() + static_cast<long>(s.level),
                         [d](const BlockLoop& b) { return b.dim == d; });
    };
    size_t level = 0;
    for (size_t n = 0; n < k.blocks.size(); ++n)
      if (outside(k.blocks[n].dim)) level = n + 1;
    const bool row = k.by_rows(g[s.tensor].node) != nullptr;
    const bool computed = !row && std::any_of(k.inlined.begin(), k.inlined.end(),
                                              [&](NodeId i) { return g[s.tensor].node == i; });
    if (computed) level = k.blocks.size();
    const auto fits = [&] {
      return windows.elements(s, level).value_or(largest_window + 1) <= largest_window;
    };
    while (!row && level < k.blocks.size() && !fits()) ++level;
    if (!row && !computed && !fits()) continue;
    s.level = level;
    kept.push_back(std::move(s));
  }
  k.stages = std::move(kept);
}

// ---- windows -----------------------------------------------------------------------------------

Result<StagePlan> Pinned::stage(const KernelPlan& k, const StagePin& pin) const {
  const auto t = tensor(k, pin.tensor);
  if (!t) return tl::unexpected(t.error());
  StagePlan s;
  s.tensor = *t;
  if (pin.level < 0)
    return tl::unexpected(refused(source_, where_,
                                  {"stages", fmt::format("`{}` at level {}", pin.tensor, pin.level),
                                   "levels begin at 0, outside of all block loops", "purity", ""}));
  s.level = static_cast<size_t>(pin.level);
  s.padded = pin.padded;
  s.phases = pin.phases;
  s.prepared = pin.prepared;
  const bool row = k.by_rows(g[*t].node) != nullptr;
  if (pin.axes) {
    for (const std::string& name : *pin.axes) {
      const auto a = axis(*t, name);
      if (!a) return tl::unexpected(a.error());
      s.axes.push_back(*a);
    }
  } else if (!row) {
    for (size_t a = 0; a < g[*t].shape.size(); ++a) s.axes.push_back(a);
  }
  if (!pin.panel) return s;
  const auto a = axis(*t, pin.panel->axis);
  if (!a) return tl::unexpected(a.error());
  s.panel_axis = *a;
  s.panel = pin.panel->width;
  if (s.panel < 2)
    return tl::unexpected(refused(source_, where_,
                                  {"stages", fmt::format("`{}`", pin.tensor),
                                   fmt::format("a panel of width {} is none", s.panel),
                                   "reshape_bij", "panels are as wide as a tile"}));
  return s;
}

Result<void> Pinned::stages(KernelPlan& k) const {
  if (!pins_.stages) return {};
  std::vector<StagePlan> all;
  for (const StagePin& pin : *pins_.stages) {
    auto s = stage(k, pin);
    if (!s) return tl::unexpected(s.error());
    all.push_back(std::move(*s));
  }
  k.stages = std::move(all);
  return {};
}

Result<void> Pinned::streamed(KernelPlan& k) const {
  if (!pins_.streamed) return {};
  k.streamed.clear();
  const std::vector<Target>& targets = g[k.node].targets;
  for (const std::string& name : *pins_.streamed) {
    const auto target = std::find_if(targets.begin(), targets.end(),
                                     [&](const Target& t) { return g[t.tensor].name == name; });
    if (target == targets.end())
      return refuse({"streamed", "`" + name + "`", "the kernel stores no such tensor", "", ""});
    k.streamed.push_back(target->tensor);
  }
  return {};
}

Result<void> Pinned::legal(const KernelPlan& k) const {
  if (const auto r = refusal(g, k)) return refuse(*r);
  return {};
}

}  // namespace tang
