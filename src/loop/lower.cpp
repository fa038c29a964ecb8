#include "loop/lower.h"

#include <fmt/format.h>

#include "ir/variance.h"
#include "loop/from_tile.h"
#include "tile/lower.h"

namespace tang {

namespace {

using loop::BufferId;
using loop::Builder;
using Place = OutputPlan::Place;

class Lowering {
 public:
  Lowering(const Graph& graph, const Schedule& schedule)
      : g(graph), s(schedule), buffers_(graph.tensors.size()) {}

  Result<Lowered> run() {
    for (const Param& p : g.params) {
      b.symbol(p.name);
      result_.tiles.params.push_back(p.name);
    }
    for (const Dim& d : g.dims) b.require_nonnegative(d.extent);
    for (const Tensor& t : g.tensors)
      for (const Poly& extent : t.shape) b.require_nonnegative(extent);
    declare_inputs();
    declare_outputs();
    declare_workspace();
    for (const KernelPlan& k : s.kernels)
      if (auto failure = kernel(k)) return tl::unexpected(*failure);
    copy_outputs();
    result_.tiled.resize(s.kernels.size() + copies_.size());
    auto program = b.finish();
    if (!program) return tl::unexpected(program.error());
    result_.program = std::move(*program);
    return std::move(result_);
  }

 private:
  BufferId add(TensorId t, loop::Role role) {
    return b.buffer(g[t].name, g[t].storage(), volume(g[t].shape), role);
  }

  void declare_inputs() {
    for (size_t k = 0; k < g.tensors.size(); ++k)
      if (g.tensors[k].role == Role::input)
        buffers_[k] = add(static_cast<TensorId>(k), loop::Role::input);
  }

  // An output that is an input, an output listed before, or copied last gets a buffer of its own.
  void declare_outputs() {
    for (const OutputPlan& o : s.outputs) {
      const auto k = static_cast<size_t>(index(o.tensor));
      BufferId id{};
      if (o.place == Place::own)
        id = add(o.tensor, loop::Role::output);
      else
        id = b.output_into(g[o.tensor].name, *buffers_[index(o.into)]);
      if (o.place == Place::copied || buffers_[k])
        copies_.push_back({o.tensor, id});
      else
        buffers_[k] = id;
    }
  }

  BufferId workspace(const std::string& name, const std::vector<Poly>& shape, Format format) {
    const BufferId id = b.buffer(name, format, volume(shape), loop::Role::workspace);
    const int64_t bits = info(format).bits;
    Poly bytes = volume(shape) * Poly(std::max<int64_t>(bits / 8, 1));
    result_.allocations.push_back({name, shape, format, std::move(bytes)});
    return id;
  }

  void declare_workspace() {
    for (const KernelPlan& k : s.kernels)
      for (const Target& t : g[k.node].targets)
        if (auto& buffer = buffers_[index(t.tensor)]; !buffer)
          buffer = workspace(g[t.tensor].name, g[t.tensor].shape, g[t.tensor].storage());
  }

  std::optional<Diagnostic> kernel(const KernelPlan& k) {
    tile::InPlace in_place;
    for (const OutputPlan& o : s.outputs)
      if (o.place == Place::in_place && g[o.tensor].node == k.node) in_place = {o.tensor, o.into};
    const auto machine = find_machine(k.machine);
    if (!machine) return machine.error();
    auto tiled = tile::lower(g, k, **machine, in_place);
    if (!tiled) return tiled.error();
    Tiled t{result_.tiles.kernels.size(), {}};
    size_t next = 0;
    for (const tile::Memory& m : tiled->kernel.memories) {
      if (m.role == tile::Memory::Role::local) continue;
      const TensorId id = tiled->arguments[next++];
      t.buffers.push_back(id == TensorId::none ? workspace(m.name, m.extents, m.format)
                                               : *buffers_[index(id)]);
    }
    if (std::string failure = loop::add_kernel(b, result_.tiles, tiled->kernel, t.buffers);
        !failure.empty())
      return error("E0590", fmt::format("`{}`: {}", k.name, failure)).value();
    result_.tiles.kernels.push_back(std::move(tiled->kernel));
    result_.tiled.emplace_back(std::move(t));
    return std::nullopt;
  }

  void copy_outputs() {
    for (const auto& [tensor, to] : copies_) {
      b.begin_kernel(g[tensor].name + "_copy");
      b.for_("n", b.integer(0), b.poly(volume(g[tensor].shape)),
             [&, from = *buffers_[index(tensor)], to = to](loop::Value n) {
               b.store(to, n, b.load(from, n));
             },
             {.hint = loop::Hint::vector});
      b.end_kernel();
    }
  }

  Graph g;  // fresh coordinates and derived expressions are added to this copy
  const Schedule& s;
  Builder b;
  std::vector<std::optional<BufferId>> buffers_;
  std::vector<std::pair<TensorId, BufferId>> copies_;
  Lowered result_;
};

}  // namespace

Result<Lowered> lower(const Graph& g, const Schedule& schedule) {
  return Lowering(g, schedule).run();
}

}  // namespace tang
