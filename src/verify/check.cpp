#include "verify/check.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/bind.h"
#include "run/memory.h"

namespace tang {

namespace {

class Checker {
 public:
  Checker(const Variant& variant, const std::vector<Array*>& inputs, ProgramMemory& memory,
          const CheckOptions& options)
      : v(variant), memory_(memory), options_(options), params_(bound_params(v.graph)) {
    const std::vector<TensorId> ids = inputs_of(v.graph);
    for (size_t k = 0; k < ids.size(); ++k) known_[ids[k]] = inputs[k];
    for (size_t k = 0; k < v.buffer_of.size(); ++k) {
      const auto t = static_cast<TensorId>(k);
      if (v.buffer_of[k]) memory_.array(*v.buffer_of[k]).shape = bound_shape(v.graph, t);
    }
    for (size_t k = 0; k < v.outputs.size(); ++k)
      memory_.array(v.outputs[k]).shape = bound_shape(v.graph, v.schedule.outputs[k].tensor);
  }

  Result<ProgramCheck> run(const std::map<std::string, const Values*>& want,
                           const KernelRunner& runner, const Preparer& prepare = {}) {
    memory_.poison();
    if (prepare)
      if (auto done = prepare(memory_.arguments(), memory_.buffers()); !done)
        return tl::unexpected(done.error());
    for (size_t k = 0; k < v.program().kernels.size(); ++k) {
      if (auto ran = runner(k, memory_.buffers()); !ran) return tl::unexpected(ran.error());
      if (auto checked = kernel(k); !checked) return tl::unexpected(checked.error());
    }
    outputs(want);
    return std::move(result_);
  }

  const Given& known() const { return known_; }

 private:
  Result<void> kernel(size_t k) {
    KernelCheck row;
    row.name = v.program().kernels[k].name;
    if (k >= v.schedule.kernels.size()) {  // copies of outputs, looked at with the outputs
      result_.kernels.push_back(row);
      return {};
    }
    const KernelPlan& plan = v.schedule.kernels[k];
    row.tolerance = options_.tolerance.value_or(tolerance_of(v.graph, plan));
    row.batch_invariant = plan.batch_invariant;
    auto want = evaluate_node(v.graph, plan.node, params_, known_, options_.oracle);
    if (!want) return tl::unexpected(want.error());
    for (const Target& t : v.graph[plan.node].targets) {
      const loop::BufferId id = *v.buffer_of[index(t.tensor)];
      const Comparison c = compare(want->at(t.tensor), memory_.array(id));
      row.error = std::max(row.error, c.error);
      row.compared += c.compared;
      row.elements += memory_.array(id).elements();
      if (!c.passes(row.tolerance)) {
        row.ok = false;
        blame(row.name, t.tensor, id, c, row.tolerance);
      }
      known_[t.tensor] = &memory_.array(id);
    }
    result_.error = std::max(result_.error, row.error);
    result_.compared += row.compared;
    result_.elements += row.elements;
    result_.kernels.push_back(std::move(row));
    return {};
  }

  void outputs(const std::map<std::string, const Values*>& want) {
    result_.tolerance = options_.tolerance.value_or(tolerance_of(v.graph));
    for (size_t k = 0; k < v.outputs.size(); ++k) {
      const TensorId t = v.schedule.outputs[k].tensor;
      const auto values = want.find(v.graph[t].name);
      if (values == want.end()) continue;
      const Comparison c = compare(*values->second, memory_.array(v.outputs[k]));
      result_.error = std::max(result_.error, c.error);
      result_.compared += c.compared;
      result_.elements += memory_.array(v.outputs[k]).elements();
      if (!c.passes(result_.tolerance)) blame("", t, v.outputs[k], c, result_.tolerance);
    }
  }

  void blame(const std::string& kernel, TensorId t, loop::BufferId id, const Comparison& c,
             double tolerance) {
    if (result_.fault) return;
    const std::vector<int64_t> shape = bound_shape(v.graph, t);
    std::string at = v.graph[t].name;
    if (!shape.empty())
      at += fmt::format("[{}]", coordinates_text(shape, std::max<int64_t>(0, c.worst)));
    result_.fault = Fault{kernel,    v.graph[t].name,       std::move(at), c,
                          tolerance, memory_.unwritten(id), provenance(id)};
  }

  // The input or the result of an earlier kernel that the memory holds instead of its own values.
  std::string provenance(loop::BufferId id) {
    const Array& found = memory_.array(id);
    for (const auto& [t, array] : known_)
      if (array != &found && array->format == found.format && found.data.size() > 1 &&
          array->data.size() == found.data.size() &&
          std::memcmp(array->data.data(), found.data.data(), found.data.size()) == 0)
        return v.graph[t].name;
    return "";
  }

  const Variant& v;
  ProgramMemory& memory_;
  const CheckOptions& options_;
  std::vector<int64_t> params_;
  Given known_;
  ProgramCheck result_;
};

double coarsest(const Graph& g, const Node& n) {
  double tolerance = 0;
  const auto add = [&](Format f) {
    if (kind(f) == Kind::real) tolerance = std::max(tolerance, default_tolerance(f));
  };
  for (const Target& t : n.targets) add(g[t.tensor].storage());
  if (n.operand) add(*n.operand);
  for_each_expr(n, [&](ExprId root) {
    for (ExprId e : g.pool.reachable(root))
      if (g.pool[e].op == Op::cast) add(g.pool[e].format);
  });
  return tolerance;
}

Result<ProgramMemory> memory_for(const Variant& v, const std::vector<Array*>& inputs) {
  return ProgramMemory::make(v.program(), bound_params(v.graph), inputs,
                             ProgramMemory::Workspace::separate, 0);
}

}  // namespace

size_t ProgramCheck::passed() const {
  return static_cast<size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const KernelCheck& k) { return k.ok; }));
}

Result<ProgramCheck> check_program(const Variant& v, const std::vector<Array*>& inputs,
                                   const std::map<std::string, const Values*>& want,
                                   const KernelRunner& run, const CheckOptions& options,
                                   const Preparer& prepare) {
  auto memory = memory_for(v, inputs);
  if (!memory) return tl::unexpected(memory.error());
  return Checker(v, inputs, *memory, options).run(want, run, prepare);
}

Result<ProgramCheck> check_oracle(const Variant& v, const std::vector<Array*>& inputs,
                                  const std::map<std::string, const Values*>& want,
                                  const CheckOptions& options) {
  auto memory = memory_for(v, inputs);
  if (!memory) return tl::unexpected(memory.error());
  Checker checker(v, inputs, *memory, options);
  OracleOptions full = options.oracle;
  full.extent = OracleOptions::Extent::full;
  const auto run = [&](size_t k, std::span<void* const>) -> Result<void> {
    std::vector<std::pair<TensorId, loop::BufferId>> targets;
    if (k < v.schedule.kernels.size()) {
      for (const Target& t : v.graph[v.schedule.kernels[k].node].targets)
        targets.emplace_back(t.tensor, *v.buffer_of[index(t.tensor)]);
    } else {
      const loop::Kernel& copy = v.program().kernels[k];
      for (size_t o = 0; o < v.outputs.size(); ++o)
        if (copy.writes == std::vector{v.outputs[o]})
          targets.emplace_back(v.schedule.outputs[o].tensor, v.outputs[o]);
    }
    std::vector<TensorId> wanted;
    for (const auto& [t, id] : targets) wanted.push_back(t);
    Given known = checker.known();
    if (k < v.schedule.kernels.size())
      for (TensorId t : wanted) known.erase(t);
    auto values = evaluate_tensors(v.graph, bound_params(v.graph), known, wanted, full);
    if (!values) return tl::unexpected(values.error());
    for (const auto& [t, id] : targets) {
      auto array = encode(values->at(t), v.graph[t].storage());
      if (!array) return tl::unexpected(array.error());
      std::copy_n(array->data.data(), array->data.size(), memory->array(id).data.data());
    }
    return {};
  };
  return checker.run(want, run);
}

double tolerance_of(const Graph& g, const KernelPlan& k) {
  double tolerance = coarsest(g, g[k.node]);
  for (NodeId i : k.inlined) {
    const Node& n = g[i];
    for (const Target& t : n.targets)
      if (g[t.tensor].format && g[t.tensor].kind == Kind::real)
        tolerance = std::max(tolerance, default_tolerance(*g[t.tensor].format));
    tolerance = std::max(tolerance, n.operand ? default_tolerance(*n.operand) : 0.0);
  }
  return tolerance > 0 ? tolerance : default_tolerance(Format::f32);
}

double tolerance_of(const Graph& g) {
  double tolerance = 0;
  for (NodeId id : g.order()) tolerance = std::max(tolerance, coarsest(g, g[id]));
  return tolerance > 0 ? tolerance : default_tolerance(Format::f32);
}

}  // namespace tang
