#include "verify/tile_run.h"

#include <cstring>

#include "eval/oracle.h"
#include "ir/bind.h"
#include "tile/machine.h"

namespace tang {

Result<void> run_tile(const Variant& v, size_t k, std::span<void* const> buffers) {
  const Tiled& tiled = *v.lowered.tiled[k];
  const tile::Kernel& kernel = v.lowered.tiles.kernels[tiled.kernel];
  const std::vector<int64_t> params = bound_params(v.graph);
  std::vector<Array> arrays;
  std::vector<std::pair<bool, void*>> places;  // whether it is written, and where it lies
  for (const tile::Memory& m : kernel.memories) {
    if (m.role == tile::Memory::Role::local) continue;
    std::vector<int64_t> shape;
    for (const Poly& e : m.extents) shape.push_back(e.evaluate(params).value_or(0));
    auto array = make_array(m.format, std::move(shape));
    if (!array) return tl::unexpected(array.error());
    void* const memory = buffers[loop::index(tiled.buffers[arrays.size()])];
    places.emplace_back(m.role != tile::Memory::Role::input, memory);
    if (array->data.size() > 0) std::memcpy(array->data.data(), memory, array->data.size());
    arrays.push_back(std::move(*array));
  }
  std::vector<Array*> arguments;
  for (Array& a : arrays) arguments.push_back(&a);
  if (auto ran = tile::run(v.lowered.tiles, kernel, params, arguments); !ran) return ran;
  for (size_t a = 0; a < arrays.size(); ++a)
    if (places[a].first && arrays[a].data.size() > 0)
      std::memcpy(places[a].second, arrays[a].data.data(), arrays[a].data.size());
  return {};
}

double tile_work(const Variant& v, size_t k) {
  const auto terms = [&](const Node& n) {
    double count = 1;
    for (const auto* dims : {&n.points, &n.reduce})
      for (DimId d : *dims)
        count *= static_cast<double>(bound_value(v.graph, v.graph.extent(d)).value_or(0));
    return count;
  };
  const KernelPlan& plan = v.schedule.kernels[k];
  double work = terms(v.graph[plan.node]);
  for (NodeId i : plan.inlined) work += terms(v.graph[i]);
  return work;
}

}  // namespace tang
