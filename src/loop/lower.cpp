#include "loop/lower.h"

#include <map>

#include <fmt/format.h>

#include "ir/variance.h"
#include "loop/from_tile.h"
#include "tile/lower.h"
#include "tile/text.h"

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
    std::vector<tile::InPlace> in_place;
    for (const OutputPlan& o : s.outputs)
      if (o.place == Place::in_place && g[o.tensor].node == k.node)
        in_place.push_back({o.tensor, o.into});
    const auto machine = find_machine(k.machine);
    if (!machine) return machine.error();
    auto tiled = tile::lower(g, k, **machine, std::move(in_place));
    if (!tiled) return tiled.error();
    Tiled t{result_.tiles.kernels.size(), {}};
    size_t next = 0;
    for (const tile::Memory& m : tiled->kernel.memories) {
      if (m.role == tile::Memory::Role::local) continue;
      const TensorId id = tiled->arguments[next++];
      if (id == TensorId::none) {
        t.buffers.push_back(workspace(m.name, m.extents, m.format));
      } else if (m.life == tile::Life::program) {
        auto buffer = prepared(k, **machine, id, m);
        if (!buffer) return buffer.error();
        t.buffers.push_back(*buffer);
      } else {
        t.buffers.push_back(*buffers_[index(id)]);
      }
    }
    t.kernel = result_.tiles.kernels.size();
    if (std::string failure = loop::add_kernel(b, result_.tiles, tiled->kernel, t.buffers);
        !failure.empty())
      return error("E0590", fmt::format("`{}`: {}", k.name, failure)).value();
    result_.tiles.kernels.push_back(std::move(tiled->kernel));
    result_.tiled.emplace_back(std::move(t));
    return std::nullopt;
  }

  // The buffer of a prepared window, and the kernel that fills it.
  Result<BufferId> prepared(const KernelPlan& k, const Machine& machine, TensorId tensor,
                            const tile::Memory& window) {
    const auto stage = std::find_if(k.stages.begin(), k.stages.end(),
                                    [&](const StagePlan& x) { return x.tensor == tensor; });
    auto tiled = tile::lower_prepared(g, k, *stage, machine);
    if (!tiled) return tl::unexpected(tiled.error());
    // Windows that are filled in the same way are one, whatever their names.
    tile::Program alone{result_.tiles.params, {tiled->kernel}};
    for (tile::Memory& m : alone.kernels[0].memories)
      if (m.life == tile::Life::program) m.name = "window";
    std::string key = fmt::format("{} {}", index(tensor), tile::print(alone));
    if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
    Point box;
    for (const Poly& e : window.extents) box.push_back(e.constant().value_or(1));
    const int64_t size = info(window.format).bits / 8;
    const BufferId id = b.buffer(window.name, window.format,
                                 Poly(window.layout.bytes(box, size) / size), loop::Role::prepared);
    Tiled t{result_.tiles.kernels.size(), {}};
    size_t next = 0;
    for (const tile::Memory& m : tiled->kernel.memories) {
      if (m.role == tile::Memory::Role::local) continue;
      const bool own = m.life == tile::Life::program;
      const TensorId from = tiled->arguments[next++];
      t.buffers.push_back(own ? id : *buffers_[index(from)]);
    }
    if (std::string failure = loop::add_kernel(b, alone, tiled->kernel, t.buffers, true);
        !failure.empty())
      return error("E0590", fmt::format("`{}`: {}", tiled->kernel.name, failure));
    result_.tiles.kernels.push_back(std::move(tiled->kernel));
    result_.prepared.push_back(std::move(t));
    prepared_[std::move(key)] = id;
    return id;
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
  std::map<std::string, BufferId> prepared_;  // by what fills them
  Lowered result_;
};

}  // namespace

Result<Lowered> lower(const Graph& g, const Schedule& schedule) {
  return Lowering(g, schedule).run();
}

}  // namespace tang
