#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/bind.h"
#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/blocks.h"
#include "schedule/inlining.h"
#include "schedule/layout.h"
#include "schedule/pinned.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"
#include "schedule/threads.h"

namespace tang {

namespace {

constexpr size_t most_lane_states = 8;  // components of folds that are kept lane by lane

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& opts) : g(graph), options(opts) {}

  Result<Schedule> run() {
    const auto machine = find_machine(options.machine);
    if (!machine) return tl::unexpected(machine.error());
    machine_ = *machine;
    scratch_ = g;
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
    const KernelPins* kernel = options.pins.find(k.name);
    const KernelPins* pins = kernel ? kernel->row(rows.name) : nullptr;
    plan_row(scratch_, rows, machine, pins ? pins->pivot : std::nullopt);
    if (pins) {
      const Pinned pinned(scratch_, options.pins.source, k.name + ".rows." + rows.name, *pins);
      if (auto ok = pin_loops(pinned, *pins, rows); !ok) return ok;
    }
    k.rows.push_back(std::move(rows));
    StagePlan stage;
    stage.tensor = g[of.node].targets[0].tensor;
    stage.level = k.blocks.size();
    k.stages.push_back(std::move(stage));
    return {};
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
        for (const InlinePlan& i : k.inlined)
          if (definition_name(g, i.node) == pins.kernel)
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
    for (const InlinePlan& i : k.inlined)
      if (!k.by_rows(i.node)) inlined.push_back(definition_name(g, i.node));
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

  // A point that some target lacks is looped inside, so that this target is stored outside of it.
  static bool in_all_targets(const Node& n, DimId p) {
    return std::all_of(n.targets.begin(), n.targets.end(),
                       [p](const Target& t) { return contains(t.points, p); });
  }

  Result<KernelPlan> kernel(NodeId id) const {
    const KernelPins* pins = options.pins.find(definition_name(g, id));
    const auto machine = machine_of(id, pins);
    if (!machine) return tl::unexpected(machine.error());
    KernelPlan k = first_plan(id);
    k.machine = (*machine)->name;
    if (options.vectorise) plan_blocks(scratch_, k, **machine, pins ? pins->pivot : std::nullopt);
    for (const Rows& rows : inlined_.rows)
      if (rows.reader == id)
        if (auto ok = add_rows(rows, k, **machine); !ok) return tl::unexpected(ok.error());
    if (!pins) {
      plan_threads(g, k, options);
      return k;
    }
    const Pinned pinned(scratch_, options.pins.source, k.name, *pins);
    if (auto ok = definitions_exist(k, *pins); !ok) return tl::unexpected(ok.error());
    if (auto ok = pin_loops(pinned, *pins, k); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_threads(id, *pins); !ok) return tl::unexpected(ok.error());
    plan_threads(g, k, options, pins);
    if (auto ok = pinned.stages(k); !ok) return tl::unexpected(ok.error());
    if (auto ok = pinned.legal(k); !ok) return tl::unexpected(ok.error());
    return k;
  }

  // What is computed inside, and the loops of a kernel without a tile form.
  KernelPlan first_plan(NodeId id) const {
    const Node& n = g[id];
    KernelPlan k;
    k.node = id;
    k.name = definition_name(g, id);
    k.contract = options.contract;
    for (TensorId t : tensors_read(g, n)) {
      const NodeId operand = g[t].node;
      const bool seen = std::any_of(k.inlined.begin(), k.inlined.end(),
                                    [&](const InlinePlan& i) { return i.node == operand; });
      if (operand != NodeId::none && inlined_.nodes.contains(operand) && !seen)
        k.inlined.push_back({operand, options.vectorise ? nested_lanes(g[operand]) : 0});
    }
    const std::vector<Component> all = components(g, n);
    const std::vector<DimId> invariant =
        n.folds.empty() ? std::vector<DimId>{} : invariant_points(n, all);
    for (DimId p : n.points)
      if (contains(invariant, p) || !in_all_targets(n, p)) k.inner.push_back(p);
    if (n.scan && n.scan->matrix) k.inner = {n.scan->matrix->first};
    for (DimId p : n.points)
      if (!contains(k.inner, p) && !(n.scan && n.scan->along == p)) k.outer.push_back(p);
    const bool scalar_body = std::all_of(all.begin(), all.end(), [&](const Component& c) {
      return std::none_of(k.inner.begin(), k.inner.end(),
                          [&](DimId d) { return contains(c.varies, d); });
    });
    const bool loops = !n.reduce.empty() || n.scan;
    if (options.vectorise && !n.folds.empty() && loops && (scalar_body || n.scan)) shape_loop(n, k);
    k.nest = {n.points, n.reduce, {}};
    return k;
  }

  std::vector<LeafId> plain_reads(const Node& n, bool inlined) const {
    std::set<LeafId> result;
    for (const Fold& f : n.folds)
      for (ExprId e : f.args)
        for (LeafId l : leaves_of(g, e)) {
          if (g.leaf(l).what != Leaf::What::read) continue;
          const NodeId operand = g[g.leaf(l).tensor].node;
          const bool is_inlined = operand != NodeId::none && inlined_.nodes.contains(operand);
          if (is_inlined == inlined) result.insert(l);
        }
    return {result.begin(), result.end()};
  }

  // How a read moves along d: 0 not at all, 1 by one element, 2 otherwise.
  int motion(LeafId leaf, DimId d) const {
    const Leaf& l = g.leaf(leaf);
    const Form a = address(g[l.tensor].shape, l.forms);
    for (const Form::Gather& x : a.gathers)
      for (const Form& f : g.leaf(x.leaf).forms)
        if (contains(dims_of(g, f), d)) return 2;
    const Poly c = a.coefficient(d);
    return c.is_zero() ? 0 : c == Poly(1) ? 1 : 2;
  }

  bool commutes(const Node& n) const {
    return std::all_of(n.folds.begin(), n.folds.end(),
                       [&](const Fold& f) { return g[f.monoid].commutative; });
  }

  // As many lanes as leave each at least four terms, halved down to 8, which take two; none for
  // very short loops.
  int64_t lanes_for(DimId d) const {
    const auto extent = g.extent(d).constant();
    int64_t lanes = options.lanes;
    while (extent && lanes > 8 && *extent < 4 * lanes) lanes /= 2;
    return lanes >= 8 && (!extent || *extent >= 2 * lanes) ? lanes : 0;
  }

  bool data_guarded(const Node& n, DimId d) const {
    return std::any_of(n.guards.begin(), n.guards.end(), [&](const Guard& guard) {
      return guard.what == Guard::What::data && contains(dims_of(g, guard), d);
    });
  }

  int64_t nested_lanes(const Node& n) const {
    if (n.reduce.empty() || !commutes(n) || data_guarded(n, n.reduce.back())) return 0;
    return lanes_for(n.reduce.back());
  }

  // By forms, since the stride of an axis is 0 where a later one has no elements.
  bool mentioned(const std::vector<LeafId>& leaves, DimId d) const {
    return std::any_of(leaves.begin(), leaves.end(), [&](LeafId l) {
      const std::vector<Form>& forms = g.leaf(l).forms;
      return std::any_of(forms.begin(), forms.end(),
                         [&](const Form& f) { return contains(dims_of(g, f), d); });
    });
  }

  // Chooses lanes along the innermost reduce loop or a vector of points inside it.
  void shape_loop(const Node& n, KernelPlan& k) const {
    const DimId last = n.scan ? n.scan->along : n.reduce.back();
    const std::vector<LeafId> reads = plain_reads(n, false), nested = plain_reads(n, true);
    const bool contiguous =
        std::all_of(reads.begin(), reads.end(), [&](LeafId l) { return motion(l, last) < 2; });
    const bool can_stride = !n.scan && commutes(n) && lanes_for(last) > 0 &&
                            components(g, n).size() <= most_lane_states &&
                            !mentioned(nested, last) && !data_guarded(n, last);
    if (contiguous && can_stride) {
      k.lanes = lanes_for(last);
      return;
    }
    int best = 0;
    for (DimId p : k.outer) {
      const int score = vector_score(n, p, reads, nested);
      if (score > best) {
        best = score;
        k.vector = p;
      }
    }
    if (k.vector) {
      k.block = block_for(*k.vector, nested.empty());
      k.outer.erase(std::find(k.outer.begin(), k.outer.end(), *k.vector));
    } else if (can_stride) {
      k.lanes = lanes_for(last);
    }
  }

  // The guards that mention p are bounds of its loop, and what is read outside of that loop stays
  // inside its tensors without them.
  bool guards_bound(const Node& n, DimId p, const std::vector<LeafId>& reads) const {
    bool any = false;
    for (const Guard& guard : n.guards) {
      if (!contains(dims_of(g, guard), p)) continue;
      any = true;
      if (guard.what != Guard::What::bound || !guard.form.is_affine() ||
          !guard.form.coefficient(p).constant())
        return false;
    }
    if (!any) return true;
    if (reads_in_guards(n)) return false;
    return std::all_of(reads.begin(), reads.end(), [&](LeafId l) {
      const Leaf& leaf = g.leaf(l);
      const bool inside_loop = std::any_of(leaf.forms.begin(), leaf.forms.end(),
                                           [p](const Form& f) { return f.mentions(p); });
      return inside_loop || leaf.guarded || inside_bounds(g, leaf.tensor, leaf.forms).empty();
    });
  }

  static bool reads_in_guards(const Node& n) {
    return std::any_of(n.guards.begin(), n.guards.end(), [](const Guard& guard) {
      return guard.what == Guard::What::data || !guard.form.is_affine();
    });
  }

  int vector_score(const Node& n, DimId p, const std::vector<LeafId>& reads,
                   const std::vector<LeafId>& nested) const {
    const auto extent = g.extent(p).constant();
    if ((extent && *extent < 4) || mentioned(nested, p) || !guards_bound(n, p, reads)) return 0;
    int score = 0;
    for (LeafId l : reads) {
      const int m = motion(l, p);
      score += m == 1 ? 3 : m == 2 ? -4 : 0;
    }
    if (score > 0 && !n.targets.empty() && !n.targets[0].points.empty() &&
        n.targets[0].points.back() == p)
      ++score;
    return score;
  }

  int64_t block_for(DimId p, bool plain) const {
    const auto extent = g.extent(p).constant();
    const int64_t limit = plain ? 2 * options.block : 16 * options.block;
    if (extent && *extent <= limit) return *extent;
    return plain ? options.block : 4 * options.block;
  }

  const Graph& g;
  const PlanOptions& options;
  const Machine* machine_ = nullptr;
  mutable Graph scratch_;  // what recognition adds goes here
  std::vector<NodeId> order_;
  Inlined inlined_;
};

}  // namespace

Result<Schedule> plan(const Graph& g, const PlanOptions& options) {
  return Planner(g, options).run();
}

}  // namespace tang
