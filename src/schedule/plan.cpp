#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/bind.h"
#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/batch.h"
#include "schedule/blocks.h"
#include "schedule/groups.h"
#include "schedule/inlining.h"
#include "schedule/kept.h"
#include "schedule/layout.h"
#include "schedule/pinned.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"
#include "schedule/streams.h"
#include "schedule/threads.h"

namespace tang {

namespace {

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& opts) : g(graph), options(opts) {}

  Result<Schedule> run() {
    const auto machine = find_machine(options.machine);
    if (!machine) return tl::unexpected(machine.error());
    machine_ = *machine;
    scratch_ = g;
    auto constants = constant_inputs(g, options.constants);
    if (!constants) return tl::unexpected(constants.error());
    constants_ = std::move(*constants);
    find_needed();
    for (NodeId id : order_)
      if (g[id].gradient)
        return error("E0690",
                     fmt::format("`{}`: gradients are not built yet", definition_name(g, id)));
    if (options.inline_contractions) {
      auto chosen = choose_inlined(g, order_, options, *machine_);
      if (!chosen) return tl::unexpected(chosen.error());
      inlined_ = std::move(*chosen);
    }
    Schedule s;
    for (NodeId id : order_) {
      if (inlined_.nodes.contains(id)) continue;
      auto k = kernel(id);
      if (!k) return tl::unexpected(k.error());
      s.kernels.push_back(std::move(*k));
    }
    if (auto known = kernels_exist(s); !known) return tl::unexpected(known.error());
    place_outputs(g, s);
    return s;
  }

 private:
  // Nodes the outputs reach, in launch order.
  void find_needed() {
    std::set<NodeId> needed;
    std::vector<TensorId> stack;
    for (const Output& o : g.outputs) stack.push_back(o.tensor);
    while (!stack.empty()) {
      const NodeId id = g[stack.back()].node;
      stack.pop_back();
      if (id == NodeId::none || !needed.insert(id).second) continue;
      for (TensorId t : tensors_read(g, g[id])) stack.push_back(t);
    }
    for (NodeId id : g.order())
      if (needed.contains(id)) order_.push_back(id);
  }

  // The kernel's outermost loops run along the rows; its plan has no other blocks.
  Result<void> add_rows(const Rows& of, KernelPlan& k, const Machine& machine) const {
    if (k.blocks.empty())
      for (DimId d : of.at) k.blocks.push_back({d, 1});
    KernelPlan rows;
    rows.node = of.node;
    rows.name = definition_name(g, of.node);
    rows.contract = options.contract;
    if (machine.kind == Machine::Kind::gpu) {
      Machine group = machine;
      group.threads = k.group;
      if (k.group > 1)
        plan_group_row(scratch_, rows, group);
      else
        plan_row(scratch_, rows, machine, false);
      k.rows.push_back(std::move(rows));
      StagePlan stage;
      stage.tensor = g[of.node].targets[0].tensor;
      stage.level = k.blocks.size();
      k.stages.push_back(std::move(stage));
      return {};
    }
    const KernelPins* kernel = options.pins.find(k.name);
    const KernelPins* pins = kernel ? kernel->row(rows.name) : nullptr;
    plan_row(scratch_, rows, machine, pins ? pins->pivot : std::nullopt);
    if (pins) {
      const Pinned pinned(scratch_, options.pins.source, k.name + ".rows." + rows.name, *pins);
      if (auto ok = pin_loops(pinned, *pins, rows); !ok) return ok;
    }
    rows.kept = pins && pins->kept ? *pins->kept : keeps_weights(scratch_, k, rows, machine);
    k.rows.push_back(std::move(rows));
    StagePlan stage;
    stage.tensor = g[of.node].targets[0].tensor;
    stage.level = k.blocks.size();
    k.stages.push_back(std::move(stage));
    return {};
  }

  void plan_on_gpu(KernelPlan& k, const Machine& machine, std::optional<bool> pivot) const {
    std::vector<DimId> at;
    for (const Rows& rows : inlined_.rows)
      if (rows.reader == k.node) at = rows.at;
    if (options.vectorise)
      plan_group(scratch_, k, machine, at, pivot);
    else
      plan_single(scratch_, k, machine);
  }

  // ---- pins ------------------------------------------------------------------------------------

  Result<void> refuse(NodeId kernel, Refusal r) const {
    return tl::unexpected(refused(options.pins.source, definition_name(g, kernel), r));
  }

  Result<void> pin_loops(const Pinned& pinned, const KernelPins& pins, KernelPlan& k) const {
    if (auto ok = pinned.belongs(k); !ok) return ok;
    if (pins.contract == true && !options.contract)
      return tl::unexpected(
          refused(options.pins.source, pins.kernel,
                  {"contract", "true", "it rounds once where IEEE rounds twice", "contract_fma",
                   "it may be false, or true without --math ieee"}));
    k.contract = pins.contract.value_or(k.contract);
    k.pivot = pins.pivot.value_or(k.pivot);
    if (auto ok = pinned.nest(k); !ok) return ok;
    return pinned.blocks(k);
  }

  // Names in pins that nothing has.
  Result<void> kernels_exist(const Schedule& s) const {
    std::vector<std::string> names;
    for (const KernelPlan& k : s.kernels) names.push_back(k.name);
    for (const KernelPins& pins : options.pins.kernels) {
      if (std::find(names.begin(), names.end(), pins.kernel) != names.end()) continue;
      std::string hint = suggestion(pins.kernel, names);
      for (const KernelPlan& k : s.kernels) {
        for (NodeId i : k.inlined)
          if (definition_name(g, i) == pins.kernel)
            hint = fmt::format("`{}` recomputes it", k.name);
        for (const KernelPlan& r : k.rows)
          if (r.name == pins.kernel) hint = fmt::format("`{}` computes it by rows", k.name);
      }
      return error(
          "E0805",
          fmt::format("{}: the program has no kernel `{}`", options.pins.source, pins.kernel),
          hint.empty() ? "`tang derive` lists the kernels" : hint);
    }
    return {};
  }

  // The definitions that pins name are there to be computed in the kernel.
  Result<void> definitions_exist(const KernelPlan& k, const KernelPins& pins) const {
    std::vector<std::string> inlined, rows;
    for (NodeId i : k.inlined)
      if (!k.by_rows(i)) inlined.push_back(definition_name(g, i));
    for (const KernelPlan& r : k.rows) rows.push_back(r.name);
    const auto look = [&](const char* field, const std::string& name,
                          const std::vector<std::string>& names) -> Result<void> {
      if (std::find(names.begin(), names.end(), name) != names.end()) return {};
      std::vector<std::string> read;
      for (TensorId t : tensors_read(g, g[k.node]))
        if (g[t].node != NodeId::none) read.push_back(definition_name(g, g[t].node));
      std::string hint = suggestion(name, read);
      if (hint.empty())
        hint = read.empty() ? "it reads inputs alone"
                            : fmt::format("it reads {}", fmt::join(read, ", "));
      return refuse(k.node,
                    {field, "`" + name + "`", "the kernel reads no such definition", "", hint});
    };
    if (pins.inlined)
      for (const std::string& name : *pins.inlined)
        if (auto ok = look("inlined", name, inlined); !ok) return ok;
    if (pins.rows)
      for (const KernelPins& r : *pins.rows)
        if (auto ok = look("rows", r.kernel, rows); !ok) return ok;
    return {};
  }

  Result<const Machine*> machine_of(NodeId kernel, const KernelPins* pins) const {
    if (!pins || !pins->machine) return machine_;
    const auto machine = find_machine(*pins->machine);
    const auto no = [&](const std::string& rule, const std::string& hint) {
      return tl::unexpected(refused(options.pins.source, definition_name(g, kernel),
                                    {"machine", "`" + *pins->machine + "`", rule, "", hint}));
    };
    if (!machine) return no("there is none of this name", machine.error().hint);
    if ((*machine)->kind != machine_->kind)
      return no("it is another kind of machine than the device's", "cpu.avx2 is one");
    return *machine;
  }

  Result<void> check_threads(NodeId kernel, const KernelPins& pins) const {
    if (!pins.threads || *pins.threads == 1 || *pins.threads == options.threads) return {};
    return refuse(kernel,
                  {"threads", fmt::format("{}", *pins.threads),
                   fmt::format("kernels are run by 1 or by all of --threads, {}", options.threads),
                   "", "give the number with --threads too"});
  }

  Result<KernelPlan> kernel(NodeId id) const {
    const KernelPins* pins = options.pins.find(definition_name(g, id));
    const auto machine = machine_of(id, pins);
    if (!machine) return tl::unexpected(machine.error());
    KernelPlan k = first_plan(id);
    k.machine = (*machine)->name;
    if ((*machine)->kind == Machine::Kind::gpu)
      plan_on_gpu(k, **machine, pins ? pins->pivot : std::nullopt);
    else if (options.vectorise)
      plan_blocks(scratch_, k, **machine, pins ? pins->pivot : std::nullopt);
    else
      plan_plain(scratch_, k, **machine);
    for (const Rows& rows : inlined_.rows)
      if (rows.reader == id)
        if (auto ok = add_rows(rows, k, **machine); !ok) return tl::unexpected(ok.error());
    if (!pins && (*machine)->kind == Machine::Kind::gpu) return k;
    if (!pins) {
      plan_streams(g, k, **machine);
      plan_threads(g, k, options);
      return k;
    }
    const Pinned pinned(scratch_, options.pins.source, k.name, *pins);
    if (auto ok = definitions_exist(k, *pins); !ok) return tl::unexpected(ok.error());
    if (auto ok = pin_loops(pinned, *pins, k); !ok) return tl::unexpected(ok.error());
    plan_streams(g, k, **machine);
    if (auto ok = pinned.streamed(k); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_threads(id, *pins); !ok) return tl::unexpected(ok.error());
    plan_threads(g, k, options, pins);
    if (auto ok = pinned.stages(k); !ok) return tl::unexpected(ok.error());
    if (auto ok = pinned.legal(k); !ok) return tl::unexpected(ok.error());
    return k;
  }

  // What is computed inside, and loops as the program is written.
  KernelPlan first_plan(NodeId id) const {
    const Node& n = g[id];
    KernelPlan k;
    k.node = id;
    k.name = definition_name(g, id);
    k.contract = options.contract;
    for (TensorId t : tensors_read(g, n)) {
      const NodeId operand = g[t].node;
      const bool seen = std::find(k.inlined.begin(), k.inlined.end(), operand) != k.inlined.end();
      if (operand != NodeId::none && inlined_.nodes.contains(operand) && !seen)
        k.inlined.push_back(operand);
    }
    const auto reads = [&](TensorId t) {
      const auto in = [&](NodeId reader) {
        const std::vector<TensorId> all = tensors_read(g, g[reader]);
        return std::find(all.begin(), all.end(), t) != all.end();
      };
      return in(id) || std::any_of(k.inlined.begin(), k.inlined.end(), in);
    };
    for (TensorId t : constants_)
      if (reads(t)) k.constants.push_back(t);
    const NestShape shape = shape_of(g, n);
    k.nest = {shape.points, shape.reduce, {}};
    return k;
  }

  const Graph& g;
  const PlanOptions& options;
  const Machine* machine_ = nullptr;
  mutable Graph scratch_;  // what recognition adds goes here
  std::vector<NodeId> order_;
  std::vector<TensorId> constants_;
  Inlined inlined_;
};

}  // namespace

Result<std::vector<TensorId>> constant_inputs(const Graph& g,
                                              const std::vector<std::string>& names) {
  std::vector<std::string> inputs;
  for (const Tensor& t : g.tensors)
    if (t.role == Role::input) inputs.push_back(t.name);
  for (const std::string& name : names) {
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) {
      const std::string near = suggestion(name, inputs);
      return error("E0809", fmt::format("constant `{}`: the program has no such input", name),
                   near.empty() ? fmt::format("its inputs are {}", fmt::join(inputs, ", ")) : near);
    }
    for (const Output& o : g.outputs)
      if (o.into != TensorId::none && g[o.into].name == name)
        return error(
            "E0809",
            fmt::format("constant `{}`: output `{}` takes its memory", name, g[o.tensor].name),
            "what a run writes is not constant");
  }
  std::vector<TensorId> result;
  for (size_t k = 0; k < g.tensors.size(); ++k)
    if (g.tensors[k].role == Role::input &&
        std::find(names.begin(), names.end(), g.tensors[k].name) != names.end())
      result.push_back(static_cast<TensorId>(k));
  return result;
}

Result<Schedule> plan(const Graph& g, const PlanOptions& options) {
  if (!options.batch_invariant) return Planner(g, options).run();
  const Graph unknown = without_batch(g);
  return Planner(unknown, options).run();
}

}  // namespace tang
