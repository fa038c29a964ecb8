#include "verify/variant.h"

#include <nlohmann/json.hpp>

#include "ir/bind.h"
#include "ir/reading.h"
#include "schedule/legal.h"
#include "schedule/partition.h"
#include "schedule/text.h"
#include "target/machine.h"

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

}  // namespace

Result<Variant> make_variant(const Graph& g, const PlanOptions& options) {
  Variant v{reading(g), {}, {}, {}, {}};
  const auto machine = find_machine(options.machine);
  if (!machine) return tl::unexpected(machine.error());
  if ((*machine)->buffers > 0) fit_buffers(v.graph, (*machine)->buffers);
  auto schedule = plan(v.graph, options);
  if (!schedule) return tl::unexpected(schedule.error());
  v.schedule = std::move(*schedule);
  auto lowered = lower(v.graph, v.schedule);
  if (!lowered) return tl::unexpected(lowered.error());
  v.lowered = std::move(*lowered);
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
