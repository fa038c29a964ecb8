#include "tile/lower.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/segment.h"
#include "tile/folds.h"
#include "tile/nest.h"

namespace tang::tile {

namespace {

using Comprehension = tang::Node;

class KernelLowering {
 public:
  KernelLowering(Graph& graph, const KernelPlan& plan)
      : g(graph), plan_(plan), node_(graph[plan.node]), b(plan.name, "cpu.avx2") {}

  Result<LoweredKernel> run() {
    if (const std::string missing = unsupported(); !missing.empty())
      return error("E0590", fmt::format("`{}`: {} has no tile form yet", plan_.name, missing));
    env_.contract = plan_.contract;
    env_.real = wide() ? Format::f64 : Format::f32;
    for (TensorId t : tensors_read(g, node_)) argument(t, Memory::Role::input);
    for (const Target& t : node_.targets) argument(t.tensor, Memory::Role::output);
    NestLowering(g, b, env_).run(nest());
    return LoweredKernel{b.finish(), std::move(arguments_)};
  }

 private:
  std::string unsupported() const {
    if (node_.scan) return "a scan";
    if (!plan_.inlined.empty()) return "a definition computed inside another";
    for (const Guard& guard : node_.guards)
      for (DimId d : node_.reduce)
        if (segment_of(g, guard, d)) return "a segment";
    for (const Fold& f : node_.folds) {
      const auto& kinds = g[f.monoid].kinds;
      if (std::any_of(kinds.begin(), kinds.end(), [&](Kind k) { return k != kinds[0]; }))
        return "a state of several kinds";
    }
    return {};
  }

  bool wide() const {
    for (TensorId t : tensors_read(g, node_))
      if (g[t].storage() == Format::f64) return true;
    return std::any_of(node_.targets.begin(), node_.targets.end(),
                       [&](const Target& t) { return g[t.tensor].storage() == Format::f64; });
  }

  // Axes have the names of extents or of the definition's points, where those are names.
  std::vector<std::string> axis_names(TensorId id) const {
    const Tensor& t = g[id];
    std::vector<std::string> names;
    for (size_t a = 0; a < t.shape.size(); ++a) {
      std::string name;
      if (t.node != NodeId::none)
        for (const Target& target : g[t.node].targets)
          if (target.tensor == id) name = g[target.points[a]].name;
      if (t.node == NodeId::none && a < t.axes.size()) name = t.axes[a];
      const bool plain = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                         std::all_of(name.begin(), name.end(), [](char c) {
                           return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
                         });
      if (!plain || std::find(names.begin(), names.end(), name) != names.end())
        name = fmt::format("x{}", a);
      names.push_back(name);
    }
    return names;
  }

  void argument(TensorId id, Memory::Role role) {
    if (env_.places.contains(id)) return;
    Memory m;
    m.name = g[id].name;
    m.role = role;
    m.format = g[id].storage();
    m.extents = g[id].shape;
    env_.places[id] = {b.memory(std::move(m), axis_names(id)), {}};
    arguments_.push_back(id);
  }

  Nest nest() {
    Nest n;
    n.points = plan_.nest.points;
    n.reduce = plan_.nest.reduce;
    n.tile = plan_.nest.tile;
    n.guards = node_.guards;
    Folds f = folds_of(g, node_);
    n.parts = std::move(f.parts);
    n.monoids = std::move(f.monoids);
    for (const Target& t : node_.targets) {
      Store s;
      s.tensor = t.tensor;
      for (DimId d : t.points) s.at.push_back(Form::coordinate(d));
      s.value = finished(g, node_, t.value);
      n.stores.push_back(std::move(s));
    }
    return n;
  }

  Graph& g;
  const KernelPlan& plan_;
  const Comprehension node_;
  KernelBuilder b;
  Environment env_;
  std::vector<TensorId> arguments_;
};

}  // namespace

Result<LoweredKernel> lower(Graph& g, const KernelPlan& plan) {
  return KernelLowering(g, plan).run();
}

}  // namespace tang::tile
