// What a kernel moves and computes, read off its plan.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "ir/print.h"
#include "ir/variance.h"

namespace tang::cli {

namespace {

double size(const Graph& g, const std::vector<DimId>& dims) {
  double product = 1;
  for (DimId d : dims) product *= static_cast<double>(bound_value(g, g.extent(d)).value_or(1));
  return product;
}

double terms(const Graph& g, const Node& n, std::vector<DimId> points) {
  points.insert(points.end(), n.reduce.begin(), n.reduce.end());
  return size(g, points);
}

// Arguments are computed once for the points they mention; a component that mentions others is a
// multiplication and an addition a term, otherwise one operation.
double node_flops(const Graph& g, const Node& n) {
  double total = 0;
  for (const Fold& f : n.folds)
    for (ExprId e : f.args) {
      std::vector<DimId> points;
      for (DimId d : dims_of(g, e))
        if (contains(n.points, d)) points.push_back(d);
      total += operation_count(g.pool, e) * terms(g, n, points);
    }
  for (const Component& c : components(g, n)) {
    const Monoid& m = g[n.folds[c.fold].monoid];
    std::set<uint32_t> mentioned;
    for (LeafId l : leaves_of(g, m.combine[c.number])) mentioned.insert(g.leaf(l).number);
    total += (mentioned.size() > 1 ? 2 : 1) * terms(g, n, c.varies);
  }
  for (const Target& t : n.targets) total += operation_count(g.pool, t.value) * size(g, t.points);
  return total;
}

}  // namespace

Poly buffer_bytes(const loop::Buffer& b) {
  const FormatInfo& f = info(b.format);
  if (const auto n = b.count.constant(); n && bytes_for(b.format, *n))
    return *bytes_for(b.format, *n);
  if (is_block(b.format)) return b.count * Poly((f.block_bytes + f.block - 1) / f.block);
  return b.count * Poly(std::max<int64_t>(1, f.bits / 8));
}

nlohmann::json poly_json(const Graph& g, const Poly& p) {
  if (const auto n = bound_value(g, p)) return *n;
  return print_poly(g, p);
}

nlohmann::json shape_json(const Graph& g, const std::vector<Poly>& shape) {
  nlohmann::json list = nlohmann::json::array();
  for (const Poly& p : shape) list.push_back(poly_json(g, p));
  return list;
}

nlohmann::json allocations_json(const Variant& v) {
  nlohmann::json list = nlohmann::json::array();
  for (const Allocation& a : v.lowered.allocations)
    list.push_back({{"name", a.name},
                    {"shape", shape_json(v.graph, a.shape)},
                    {"format", name(a.format)},
                    {"bytes", poly_json(v.graph, a.bytes)}});
  return list;
}

Poly bytes_written(const LoopProgram& program) {
  Poly total;
  for (const loop::Kernel& k : program.kernels)
    for (loop::BufferId id : k.writes) total = total + buffer_bytes(program[id]);
  return total;
}

int64_t kernel_bytes(const Variant& v, size_t kernel) {
  const loop::Kernel& k = v.program().kernels[kernel];
  Poly total;
  for (loop::BufferId id : k.reads) total = total + buffer_bytes(v.program()[id]);
  for (loop::BufferId id : k.writes) total = total + buffer_bytes(v.program()[id]);
  return bound_value(v.graph, total).value_or(0);
}

double kernel_flops(const Variant& v, size_t kernel) {
  if (kernel >= v.schedule.kernels.size()) return 0;
  const KernelPlan& k = v.schedule.kernels[kernel];
  double total = node_flops(v.graph, v.graph[k.node]);
  for (NodeId i : k.inlined) total += node_flops(v.graph, v.graph[i]);
  return total;
}

}  // namespace tang::cli
