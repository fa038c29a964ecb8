#include "verify/variant.h"

#include <nlohmann/json.hpp>

#include "ir/bind.h"
#include "ir/reading.h"
#include "schedule/legal.h"
#include "schedule/text.h"

namespace tang {

namespace {

// Buffers in the order lower() makes them: inputs, outputs, then stored definitions.
void place(Variant& v) {
  const Graph& g = v.graph;
  v.buffer_of.assign(g.tensors.size(), std::nullopt);
  uint32_t next = 0;
  for (TensorId t : inputs_of(g)) v.buffer_of[index(t)] = static_cast<loop::BufferId>(next++);
  for (const OutputPlan& o : v.schedule.outputs) {
    const auto id = static_cast<loop::BufferId>(next++);
    v.outputs.push_back(id);
    auto& buffer = v.buffer_of[index(o.tensor)];
    if (o.place != OutputPlan::Place::copied && !buffer) buffer = id;
  }
  for (const KernelPlan& k : v.schedule.kernels)
    for (const Target& t : g[k.node].targets)
      if (auto& buffer = v.buffer_of[index(t.tensor)]; !buffer)
        buffer = static_cast<loop::BufferId>(next++);
}

// The plan of the same kernels where nothing else of them is pinned.
Result<Schedule> free_plan(const Graph& g, PlanOptions options) {
  for (KernelPins& k : options.pins.kernels) {
    KernelPins kept;
    kept.kernel = k.kernel;
    kept.inlined = k.inlined;
    kept.rows = k.rows;
    if (kept.rows)
      for (KernelPins& row : *kept.rows) row = KernelPins{.kernel = row.kernel};
    k = std::move(kept);
  }
  return plan(g, options);
}

// A kernel whose loops are pinned has a tile program, which obeys them.
Result<void> obeyed(const Variant& v, const PlanOptions& options) {
  if (options.pins.kernels.empty()) return {};
  const auto wanted = free_plan(v.graph, options);
  if (!wanted) return tl::unexpected(wanted.error());
  for (size_t k = 0; k < v.schedule.kernels.size(); ++k) {
    const KernelPlan& plan = v.schedule.kernels[k];
    if (v.lowered.tiled[k]) continue;
    for (const KernelPlan& other : wanted->kernels) {
      if (other.name != plan.name) continue;
      nlohmann::json now = to_json(v.graph, plan), before = to_json(v.graph, other);
      for (const char* field : {"contract", "threads"}) now.erase(field), before.erase(field);
      if (now == before) continue;
      return tl::unexpected(refused(
          options.pins.source, plan.name,
          {"kernels", "", "it has no tile program with these loops", "", "pin fewer fields"}));
    }
  }
  return {};
}

}  // namespace

Result<Variant> make_variant(const Graph& g, const PlanOptions& options) {
  Variant v{reading(g), {}, {}, {}, {}};
  auto schedule = plan(v.graph, options);
  if (!schedule) return tl::unexpected(schedule.error());
  v.schedule = std::move(*schedule);
  auto lowered = lower(v.graph, v.schedule);
  if (!lowered) return tl::unexpected(lowered.error());
  v.lowered = std::move(*lowered);
  if (auto ok = obeyed(v, options); !ok) return tl::unexpected(ok.error());
  place(v);
  return v;
}

PlanOptions naive_plan(PlanOptions options) {
  options.inline_contractions = false;
  return options;
}

std::vector<TensorId> inputs_of(const Graph& g) {
  std::vector<TensorId> result;
  for (size_t k = 0; k < g.tensors.size(); ++k)
    if (g.tensors[k].role == Role::input) result.push_back(static_cast<TensorId>(k));
  return result;
}

std::vector<int64_t> bound_shape(const Graph& g, TensorId t) {
  std::vector<int64_t> shape;
  for (const Poly& p : g[t].shape) shape.push_back(bound_value(g, p).value_or(0));
  return shape;
}

}  // namespace tang
