#include "verify/tile_run.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "eval/oracle.h"
#include "ir/bind.h"
#include "tile/machine.h"

namespace tang {

namespace {

struct Placed {
  const tile::Memory* memory = nullptr;
  void* at = nullptr;
};

// Copies all elements between the row-major array of the machine and the buffer, which may have a
// layout of its own.
void move(const Placed& place, Array& array, bool out) {
  const tile::Memory& m = *place.memory;
  auto* const memory = static_cast<std::byte*>(place.at);
  std::byte* const data = array.data.data();
  const auto copy = [&](std::byte* here, std::byte* there, size_t bytes) {
    std::memcpy(out ? there : here, out ? here : there, bytes);
  };
  if (m.layout.digits.empty()) {
    if (array.data.size() > 0) copy(data, memory, array.data.size());
    return;
  }
  const int64_t size = info(m.format).bits / 8;
  Point x(array.shape.size(), 0);
  for (int64_t e = 0; e < array.elements(); ++e) {
    copy(data + e * size, memory + m.layout.address(x), static_cast<size_t>(size));
    for (size_t a = x.size(); a-- > 0 && ++x[a] == array.shape[a];) x[a] = 0;
  }
}

Result<void> run_tiled(const Variant& v, const Tiled& tiled, std::span<void* const> buffers) {
  const tile::Kernel& kernel = v.lowered.tiles.kernels[tiled.kernel];
  const std::vector<int64_t> params = bound_params(v.graph);
  std::vector<Placed> places;
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<Array*> arguments;  // an output in place is its input's array
  for (const tile::Memory& m : kernel.memories) {
    if (m.role == tile::Memory::Role::local) continue;
    places.push_back({&m, buffers[loop::index(tiled.buffers[places.size()])]});
    const auto same = std::find_if(places.begin(), places.end(),
                                   [&](const Placed& p) { return p.at == places.back().at; });
    if (const auto first = static_cast<size_t>(same - places.begin()); first < arguments.size()) {
      arguments.push_back(arguments[first]);
      continue;
    }
    std::vector<int64_t> shape;
    for (const Poly& e : m.extents) shape.push_back(e.evaluate(params).value_or(0));
    auto array = make_array(m.format, std::move(shape));
    if (!array) return tl::unexpected(array.error());
    move(places.back(), *array, false);
    arrays.push_back(std::make_unique<Array>(std::move(*array)));
    arguments.push_back(arrays.back().get());
  }
  if (auto ran = tile::run(v.lowered.tiles, kernel, params, arguments); !ran) return ran;
  for (size_t a = 0; a < places.size(); ++a)
    if (places[a].memory->role != tile::Memory::Role::input) move(places[a], *arguments[a], true);
  return {};
}

}  // namespace

Result<void> run_tile(const Variant& v, size_t k, std::span<void* const> buffers) {
  return run_tiled(v, *v.lowered.tiled[k], buffers);
}

Result<void> run_prepare_tile(const Variant& v, size_t k, std::span<void* const> buffers) {
  return run_tiled(v, v.lowered.prepared[k], buffers);
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
