#include "schedule/streams.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/variance.h"
#include "target/table.h"

namespace tang {

std::string streaming_row(const Machine& machine, Format format, int64_t elements) {
  const auto& tables = shipped_tables();
  if (!tables) return {};
  for (const Row& row : tables->rows) {
    if (row.computes.kind != Computes::Kind::move || !row.computes.result || !machine.runs(row))
      continue;
    const Operand& d = row.operands[*row.computes.result];
    const Operand& a = row.operands[row.computes.arguments[0]];
    if (d.streams && a.spaces == std::vector{Space::reg} && d.formats == std::vector{format} &&
        row.axes.size() == 1 && row.axes[0].sizes.allows(elements))
      return row.name_at({elements});
  }
  return {};
}

int64_t vector_elements(const NestPlan& nest, DimId d) {
  for (const TileDim& t : nest.tile)
    if (t.dim == d) return t.elem;
  return 1;
}

std::string streaming_fault(const Graph& g, const KernelPlan& k, TensorId t,
                            const Machine& machine) {
  const Node& n = g[k.node];
  const auto target = std::find_if(n.targets.begin(), n.targets.end(),
                                   [t](const Target& x) { return x.tensor == t; });
  if (target == n.targets.end()) return "the kernel does not store it";
  const bool terms = std::any_of(k.blocks.begin(), k.blocks.end(), [&](const BlockLoop& b) {
    return contains(n.reduce, b.dim) && g.extent(b.dim).constant().value_or(b.step + 1) > b.step;
  });
  if (n.scan || k.pivot || terms) return "its states are read while terms are left";
  for (const Output& o : g.outputs)
    if (o.tensor == t && o.into != TensorId::none) return "it takes the place of an input";
  const std::vector<DimId>& points = target->points;
  if (points.empty() || k.nest.points.empty() || k.nest.points.back() != points.back())
    return "the innermost loop is not along its last axis";
  const int64_t elements = vector_elements(k.nest, points.back());
  if (streaming_row(machine, g[t].storage(), elements).empty())
    return fmt::format("`{}` stores no {} of {} past the caches", machine.name, elements,
                       name(g[t].storage()));
  return {};
}

void plan_streams(const Graph& g, KernelPlan& k, const Machine& machine) {
  for (const Target& t : g[k.node].targets) {
    const Tensor& tensor = g[t.tensor];
    int64_t bytes = info(tensor.storage()).bits / 8;
    for (const Poly& extent : tensor.shape)
      if (__builtin_mul_overflow(bytes, extent.constant().value_or(0), &bytes)) bytes = INT64_MAX;
    const bool large = machine.l3_bytes > 0 && bytes >= machine.l3_bytes / 2;
    if (large && streaming_fault(g, k, t.tensor, machine).empty()) k.streamed.push_back(t.tensor);
  }
}

}  // namespace tang
