// A kernel: block loops with windows at their levels, and nests of register tiles inside.
#include "tile/lower.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/segment.h"
#include "schedule/streams.h"
#include "tile/barriers.h"
#include "tile/lower_impl.h"
#include "tile/verify.h"

namespace tang::tile {

Result<LoweredKernel> lower(Graph& g, const KernelPlan& plan, const Machine& machine,
                            std::vector<InPlace> in_place) {
  return KernelLowering(g, plan, machine, std::move(in_place)).run();
}

Result<LoweredKernel> lower_prepared(Graph& g, const KernelPlan& plan, const StagePlan& window,
                                     const Machine& machine) {
  return KernelLowering(g, plan, machine, {}).prepare(window);
}

void KernelLowering::begin() {
  for (const Param& p : g.params) b.reserve(p.name);
  for (NodeId i : plan_->inlined) inlined_.push_back(g[i]);
  env_.contract = plan_->contract;
  env_.group = plan_->group;
  env_.line_bytes = machine_.line_bytes;
  env_.real = wide() ? Format::f64 : Format::f32;
}

Result<LoweredKernel> KernelLowering::prepare(const StagePlan& window) {
  begin();
  preparing_ = true;
  b.kernel().name = fmt::format("{}_prepare", g[window.tensor].name);
  if (g[window.tensor].node == NodeId::none)
    argument(window.tensor, Memory::Role::input);
  else
    for (TensorId t : tensors_read(g, g[g[window.tensor].node])) argument(t, Memory::Role::input);
  stage(window);
  if (!failure_.empty())
    return error("E0590", fmt::format("`{}`: {} has no tile form yet", plan_->name, failure_));
  return LoweredKernel{b.finish(), std::move(arguments_)};
}

Result<LoweredKernel> KernelLowering::run() {
  begin();
  gate();
  const auto inside = [&](TensorId t) {
    return std::any_of(inlined_.begin(), inlined_.end(), [&](const Comprehension& n) {
      return std::any_of(n.targets.begin(), n.targets.end(),
                         [t](const Target& x) { return x.tensor == t; });
    });
  };
  for (TensorId t : tensors_read(g, node_))
    if (!inside(t)) argument(t, Memory::Role::input);
  for (const Comprehension& n : inlined_)
    for (TensorId t : tensors_read(g, n)) argument(t, Memory::Role::input);
  for (const Guard& guard : gates_)
    for (LeafId l : leaves_of(g, condition_of(g, guard)))
      if (g.leaf(l).what == tang::Leaf::What::read) argument(g.leaf(l).tensor, Memory::Role::input);
  // What a gate leaves alone keeps its old value.
  for (const Target& t : node_.targets)
    argument(t.tensor, gates_.empty() ? Memory::Role::output : Memory::Role::work);
  begin_node(whole_);
  for (const StagePlan& s : whole_.stages)
    if (s.padded) unsafe_ = not_finite(factors_beside(s.tensor));
  block(0);
  if (!failure_.empty())
    return error("E0590", fmt::format("`{}`: {} has no tile form yet", plan_->name, failure_));
  const bool works = std::count(arguments_.begin(), arguments_.end(), TensorId::none) > 0;
  if (works || shared_store(b.kernel()))
    for (Op& op : b.kernel().ops) op.range.parallel = false;
  if (plan_->group > 1) add_barriers(b.kernel(), same_memory());
  return LoweredKernel{b.finish(), std::move(arguments_)};
}

// Of the arguments that are outputs in place, the inputs that they take the memory of.
std::map<MemoryId, MemoryId> KernelLowering::same_memory() {
  std::map<TensorId, MemoryId> memories;
  size_t next = 0;
  for (size_t m = 0; m < b.kernel().memories.size(); ++m)
    if (b.kernel().memories[m].role != Memory::Role::local)
      memories[arguments_[next++]] = static_cast<MemoryId>(m);
  std::map<MemoryId, MemoryId> same;
  for (const InPlace& p : in_place_)
    if (memories.contains(p.input)) same[memories.at(p.output)] = memories.at(p.input);
  return same;
}

// select(c, new, old[p]) over its own element writes under c only.
void KernelLowering::gate() {
  if (in_place_.empty() || !node_.folds.empty() || node_.targets.size() != 1) return;
  ExprId& value = node_.targets[0].value;
  const ExprNode n = g.pool[value];
  if (n.op != tang::Op::select) return;
  const auto is_old = [&](ExprId e) {
    const ExprNode& m = g.pool[e];
    return m.op == tang::Op::var && g.leaf(m.variable()).what == tang::Leaf::What::read &&
           g.leaf(m.variable()).tensor == in_place_[0].input;
  };
  const bool kept = is_old(n.args[1]);
  if (!kept && !is_old(n.args[2])) return;
  gates_ = guards_from(g, kept ? g.make(tang::Op::logical_not, n.args[0]) : n.args[0]);
  value = n.args[kept ? 2 : 1];
}

// The node at hand, outside of its loops.
void KernelLowering::begin_node(const KernelPlan& plan) {
  plan_ = &plan;
  states_.clear();
  pivot_.reset();
  if (plan.pivot) pivot_ = pivot_form(g, node_.folds[0].monoid);
  read_node();
}

void KernelLowering::read_node() {
  folds_ = folds_of(g, node_);
  values_.clear();
  for (const Target& t : node_.targets) values_.push_back(finished(g, node_, t.value));
}

bool KernelLowering::wide() const {
  const auto is_wide = [&](const Comprehension& n) {
    for (TensorId t : tensors_read(g, n))
      if (g[t].storage() == Format::f64) return true;
    return std::any_of(n.targets.begin(), n.targets.end(),
                       [&](const Target& t) { return g[t.tensor].storage() == Format::f64; });
  };
  return is_wide(node_) || std::any_of(inlined_.begin(), inlined_.end(), is_wide);
}

// ---- arguments ---------------------------------------------------------------------------------

// Axes have the names of extents or of the definition's points, where those are names.
std::vector<std::string> KernelLowering::axis_names(TensorId id) const {
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

void KernelLowering::argument(TensorId id, Memory::Role role) {
  if (env_.places.contains(id)) return;
  Memory m;
  m.name = g[id].name;
  m.role = role;
  m.format = g[id].storage();
  m.extents = g[id].shape;
  env_.places[id] = {b.memory(std::move(m), axis_names(id)), {}};
  arguments_.push_back(id);
}

// ---- blocks ------------------------------------------------------------------------------------

size_t KernelLowering::first_reduce() const {
  size_t k = 0;
  while (k < plan_->blocks.size() && !contains(node_.reduce, plan_->blocks[k].dim)) ++k;
  return k;
}

void KernelLowering::block(size_t level) {
  narrow(level);
  for (const StagePlan& s : plan_->stages)
    if (s.level == level) stage(s);
  const bool innermost =
      level == plan_->blocks.size() || (level == first_reduce() && holds_states());
  const bool states = level == first_reduce() && (pivot_ || !innermost);
  if (states) begin_states();
  if (!innermost) {
    open_block(plan_->blocks[level]);
    block(level + 1);
    close_block(plan_->blocks[level]);
  } else if (pivot_) {
    pivot_block();
  } else if (node_.scan && node_.scan->matrix) {
    matrix_scan();
  } else {
    terms();
  }
  if (states) end_states();
}

// The innermost loops. Conditions that zeros around a window stand for are tested only where those
// would meet what is not finite.
void KernelLowering::terms() {
  Nest nest = main_nest();
  if (holds_states()) nest.blocks = this;
  nest.parallel =
      std::all_of(nest.points.begin(), nest.points.end(), [&](DimId d) { return shares(d); });
  if (needless_.empty()) return run_stores(nest, true);
  Nest plain = nest;
  for (const Guard& guard : needless_) std::erase(plain.guards, guard);
  b.open_branch({Form(0) - Form::gathered(index_of(unsafe_))});
  run_stores(plain, true);
  b.open_else();
  run_stores(nest, true);
  b.close();
}

// ---- nests -------------------------------------------------------------------------------------

std::vector<Store> KernelLowering::target_stores(const std::vector<ExprId>& values) {
  std::vector<Store> stores;
  for (size_t k = 0; k < node_.targets.size(); ++k) {
    Store s;
    s.tensor = node_.targets[k].tensor;
    for (DimId d : node_.targets[k].points) s.at.push_back(Form::coordinate(d));
    s.value = values[k];
    const Tensor& t = g[s.tensor];
    if (strides_.contains(s.tensor) && t.format && t.kind == Kind::real)
      s.value = g.pool.cast(*t.format, s.value);  // a window does not round
    const auto& past = plan_->streamed;
    if (std::find(past.begin(), past.end(), s.tensor) != past.end()) {
      const int64_t elements = vector_elements(plan_->nest, node_.targets[k].points.back());
      s.row = streaming_row(machine_, t.storage(), elements);
      s.row_elements = elements;
    }
    stores.push_back(std::move(s));
  }
  return stores;
}

Nest KernelLowering::main_nest() {
  Nest n;
  n.points = plan_->nest.points;
  n.reduce = plan_->nest.reduce;
  n.tile = plan_->nest.tile;
  n.guards = node_.guards;
  n.gates = gates_;
  n.parts = folds_.parts;
  n.monoids = folds_.monoids;
  if (node_.scan) {
    n.scan = &*node_.scan;
    // affine composes maps (a, b); started at (1, h0), its b is the recurrence from h0.
    if (!node_.scan->initial.empty()) n.parts[1].initial = node_.scan->initial[0];
  }
  if (states_.empty()) {
    n.stores = target_stores(values_);
    return n;
  }
  for (uint32_t k = 0; k < n.parts.size(); ++k) {
    n.parts[k].initial = read(states_[k]);
    n.stores.push_back(
        store(states_[k], state_leaf(g, tang::Leaf::What::left, k, n.parts[k].kind)));
  }
  return n;
}

// Targets that lack a point which may have no elements are stored in a nest without it, and so are
// states that terms are added to, which happens once: after those that vary along more points,
// whose terms are combined with what they were before.
void KernelLowering::run_stores(const Nest& nest, bool planned) {
  std::vector<std::vector<DimId>> sets;
  std::vector<size_t> set_of;
  const bool adds = !states_.empty() && !nest.parts.empty();
  for (const Store& s : nest.stores) {
    std::vector<DimId> points;
    for (DimId d : nest.points) {
      const bool mentioned =
          std::any_of(s.at.begin(), s.at.end(), [d](const Form& f) { return f.mentions(d); });
      if (mentioned || (!adds && g.extent(d).constant().value_or(0) > 0)) points.push_back(d);
    }
    auto at = std::find(sets.begin(), sets.end(), points);
    set_of.push_back(static_cast<size_t>(at - sets.begin()));
    if (at == sets.end()) sets.push_back(points);
  }
  std::vector<size_t> order(sets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (adds)
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return sets[a].size() > sets[b].size(); });
  for (size_t k : order) {
    Nest part = nest;
    part.stores.clear();
    for (size_t s = 0; s < set_of.size(); ++s)
      if (set_of[s] == k) part.stores.push_back(nest.stores[s]);
    if (sets[k] != nest.points) restrict(part, sets[k]);
    if (planned)
      NestLowering(g, b, env_).run(part);
    else
      run_nest(std::move(part));
  }
}

// The nest without some of its points, and without the components that vary along them.
void KernelLowering::restrict(Nest& nest, const std::vector<DimId>& points) {
  std::vector<Part> parts;
  std::map<uint32_t, uint32_t> number;
  for (uint32_t k = 0; k < nest.parts.size(); ++k) {
    const auto& varies = nest.parts[k].varies;
    if (!std::all_of(varies.begin(), varies.end(), [&](DimId d) { return contains(points, d); }))
      continue;
    number[k] = static_cast<uint32_t>(parts.size());
    parts.push_back(nest.parts[k]);
  }
  const auto renamed = [&](ExprId e) {
    return substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
      const tang::Leaf l = g.leaf(id);
      if (l.what != tang::Leaf::What::left && l.what != tang::Leaf::What::right)
        return std::nullopt;
      return state_leaf(g, l.what, number.at(l.number), l.kind);
    });
  };
  for (Part& p : parts) p.step = renamed(p.step), p.combine = renamed(p.combine);
  for (Store& s : nest.stores) s.value = renamed(s.value);
  nest.parts = std::move(parts);
  nest.points = points;
  std::erase_if(nest.tile, [&](const TileDim& t) { return !contains(points, t.dim); });
}

void KernelLowering::run_nest(Nest nest) {
  if (nest.points.size() + nest.reduce.size() > 0) {
    const NestPlan p = plan_nest(g, shape(nest), machine_);
    nest.points = p.points, nest.reduce = p.reduce, nest.tile = p.tile;
  }
  NestLowering(g, b, env_).run(nest);
}

NestShape KernelLowering::shape(const Nest& nest) const {
  NestShape s;
  s.points = nest.points, s.reduce = nest.reduce;
  s.wide = env_.real == Format::f64;
  s.inside = true;
  const auto access = [&](TensorId t, const std::vector<Form>& forms, bool is_store) {
    Access a = access_of(g, t, forms);
    if (const auto window = strides_.find(t); window != strides_.end()) {
      a.strides.clear();
      for (size_t k = 0; k < forms.size(); ++k)
        for (const Form::Term& term : forms[k].terms)
          a.strides[term.dim] = a.strides[term.dim] + term.coeff * Poly(window->second[k]);
      a.local = true;
    }
    a.store = is_store;
    s.accesses.push_back(std::move(a));
  };
  std::vector<ExprId> roots;
  for (const Part& p : nest.parts) roots.push_back(p.step);
  for (const Store& x : nest.term_stores) roots.push_back(x.value);
  if (nest.parts.empty())
    for (const Store& x : nest.stores) roots.push_back(x.value);
  std::set<LeafId> seen;
  for (ExprId e : roots)
    for (LeafId l : leaves_of(g, e))
      if (g.leaf(l).what == tang::Leaf::What::read && seen.insert(l).second)
        access(g.leaf(l).tensor, g.leaf(l).forms, false);
  for (const Store& x : nest.term_stores) access(x.tensor, x.at, true);
  for (const Store& x : nest.stores) access(x.tensor, x.at, true);
  for (tang::MonoidId m : nest.monoids) s.commutative &= g[m].commutative;
  s.states = std::max<size_t>(1, nest.parts.size());
  for (const auto* dims : {&nest.points, &nest.reduce})
    for (DimId d : *dims) {
      const Span span = span_of(d);
      s.sizes[d] = span.size ? span.size : span.most;
    }
  return s;
}

// ---- states that outlive a block of terms ------------------------------------------------------

// A sum whose value is the target itself stays in the target's memory.
bool KernelLowering::in_output() const {
  if (node_.targets.size() != 1 || folds_.parts.size() != 1) return false;
  const TensorId t = node_.targets[0].tensor;
  if (!in_place_.empty() && t == in_place_[0].output) return false;
  return g[t].storage() == env_.real && node_.targets[0].points == node_.points &&
         folds_.parts[0].varies == node_.points && folds_.parts[0].kind == Kind::real;
}

KernelLowering::State KernelLowering::new_state(const std::string& name,
                                                const std::vector<DimId>& dims, Kind kind) {
  Tensor t;
  t.name = g.fresh_name(name);
  t.kind = kind;
  t.format = kind == Kind::real ? env_.real : kind == Kind::integer ? Format::i64 : Format::boolean;
  State s;
  std::vector<Span> spans;
  for (DimId d : dims) {
    t.shape.push_back(g.extent(d));
    spans.push_back(span_of(d));
  }
  s.tensor = g.add_tensor(t);
  s.dims = dims;
  StagePlan plain;
  for (size_t a = 0; a < dims.size(); ++a) plain.axes.push_back(a);
  window(s.tensor, spans, plain);
  return s;
}

void KernelLowering::begin_states() {
  if (pivot_ || !in_output()) {
    for (const Part& p : folds_.parts)
      states_.push_back(new_state(fmt::format("{}_state", plan_->name), p.varies, p.kind));
  } else {
    states_ = {{node_.targets[0].tensor, node_.points}};
  }
  for (size_t k = 0; k < states_.size(); ++k) fill(states_[k], folds_.parts[k].identity);
}

void KernelLowering::fill(const State& s, ExprId value) {
  Nest n;
  n.points = s.dims;
  n.stores = {store(s, value)};
  run_nest(std::move(n));
}

ExprId KernelLowering::read(const State& s) {
  std::vector<Form> at;
  for (DimId d : s.dims) at.push_back(Form::coordinate(d));
  return g.read(s.tensor, std::move(at));
}

Store KernelLowering::store(const State& s, ExprId value) const {
  Store to;
  to.tensor = s.tensor;
  for (DimId d : s.dims) to.at.push_back(Form::coordinate(d));
  to.value = value;
  return to;
}

// An expression over left leaves, with the states for them.
ExprId KernelLowering::from_states(ExprId value) {
  return substitute_leaves(g, value, [&](LeafId id) -> std::optional<ExprId> {
    const tang::Leaf l = g.leaf(id);
    if (l.what != tang::Leaf::What::left) return std::nullopt;
    return read(states_[l.number]);
  });
}

void KernelLowering::end_states() {
  Nest n;
  n.points = node_.points;
  std::vector<ExprId> values;
  bool same = true;
  for (ExprId v : values_) {
    values.push_back(from_states(v));
    same &= values.back() == read(states_[0]);
  }
  if (states_[0].tensor == node_.targets[0].tensor && same) return;
  n.stores = target_stores(values);
  run_stores(n, false);
}

}  // namespace tang::tile
