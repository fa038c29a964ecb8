#include "loop/lower_kernel.h"

#include <algorithm>

#include "ir/guards.h"
#include "ir/variance.h"

namespace tang::loop {

namespace {

using SOp = tang::Op;
constexpr int64_t private_bytes = 16 * 1024;

int64_t bytes_of(Type t) { return t == Type::f64 || t == Type::i64 ? 8 : 4; }

Format format_of(Type t) {
  switch (t) {
    case Type::f64:
      return Format::f64;
    case Type::f32:
      return Format::f32;
    case Type::i64:
      return Format::i64;
    case Type::i32:
      return Format::i32;
    case Type::boolean:
      return Format::boolean;
  }
  return Format::f32;
}

ExprId state_leaf(Graph& g, Leaf::What what, uint32_t number, Kind kind) {
  Leaf l;
  l.what = what;
  l.number = number;
  l.kind = kind;
  return g.variable(l);
}

}  // namespace

KernelLowering::KernelLowering(Graph& graph, Builder& builder, const KernelPlan& plan,
                               const std::vector<std::optional<BufferId>>& buffer_of,
                               Scratch scratch)
    : g(graph),
      b(builder),
      plan_(plan),
      node_(graph[plan.node]),
      buffers_(buffer_of),
      scratch_(std::move(scratch)),
      x(graph, builder, buffer_of, real_type()) {
  x.is_inlined = [this](TensorId t) {
    return g[t].node != NodeId::none &&
           std::any_of(plan_.inlined.begin(), plan_.inlined.end(),
                       [&](const InlinePlan& i) { return i.node == g[t].node; });
  };
  x.inline_read = [this](LeafId leaf, int level) { return inline_read(leaf, level); };
  for (DimId p : node_.points)
    if (contains(plan.inner, p) || plan.vector == p) inner_.push_back(p);
}

Type KernelLowering::real_type() const {
  const auto is_f64 = [&](const Comprehension& n) {
    for (TensorId t : tensors_read(g, n))
      if (g[t].storage() == Format::f64) return true;
    return std::any_of(n.targets.begin(), n.targets.end(),
                       [&](const Target& t) { return g[t.tensor].storage() == Format::f64; });
  };
  bool wide = is_f64(node_);
  for (const InlinePlan& i : plan_.inlined) wide |= is_f64(g[i.node]);
  return wide ? Type::f64 : Type::f32;
}

// ---- Blocks ----------------------------------------------------------------------------------

void KernelLowering::open_for(const std::string& name, Value lo, Value hi, ForOptions options,
                              Value* var) {
  *var = b.begin_for(name, lo, hi, options);
  x.open();
}

void KernelLowering::open_if(Value condition) {
  b.begin_if(condition);
  x.open();
}

void KernelLowering::close(int count) {
  for (int k = 0; k < count; ++k) {
    x.close();
    b.end();
  }
}

// ---- Folds -----------------------------------------------------------------------------------

// combine(left, lift(args)), or combine(left, right), with components numbered from `base`.
ExprId KernelLowering::step_of(const Fold& f, size_t k, uint32_t base, bool lifted) {
  const Monoid m = g[f.monoid];
  std::vector<ExprId> lift;
  for (ExprId e : m.lift)
    lift.push_back(substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
      const Leaf l = g.leaf(id);
      if (l.what == Leaf::What::argument) return f.args[l.number];
      return std::nullopt;
    }));
  return substitute_leaves(g, m.combine[k], [&](LeafId id) -> std::optional<ExprId> {
    const Leaf l = g.leaf(id);
    if (l.what == Leaf::What::left || l.what == Leaf::What::right) {
      if (lifted && l.what == Leaf::What::right) return lift[l.number];
      return state_leaf(g, l.what, base + l.number, l.kind);
    }
    return std::nullopt;
  });
}

FoldNest KernelLowering::nest_of(const Comprehension& n, const std::vector<DimId>& inner) {
  FoldNest f;
  f.base = static_cast<uint32_t>(x.slots.size());
  f.reduce = n.reduce;
  f.guards = n.guards;
  f.contract = plan_.contract;
  const std::vector<Component> all = components(g, n);
  uint32_t fold_base = f.base;
  for (size_t c = 0; c < all.size(); ++c) {
    const Fold& fold = n.folds[all[c].fold];
    const Monoid m = g[fold.monoid];
    if (c > 0 && all[c].fold != all[c - 1].fold) fold_base = f.base + static_cast<uint32_t>(c);
    FoldNest::Part p;
    const uint32_t k = all[c].number;
    p.kind = m.kinds[k];
    p.identity = m.identity[k];
    p.step = step_of(fold, k, fold_base, true);
    p.combine = step_of(fold, k, fold_base, false);
    for (DimId d : inner)
      if (contains(all[c].varies, d) || plan_.vector == d) p.inner.push_back(d);
    f.parts.push_back(p);
    Slot s;
    s.kind = p.kind;
    s.inner = p.inner;
    x.slots.push_back(s);
  }
  if (!n.scan) return f;
  f.scan = &*node_.scan;
  f.reduce = {n.scan->along};
  // affine composes maps (a, b); started at (1, h0), its b is the recurrence from h0.
  if (!n.scan->initial.empty()) f.parts[1].initial = n.scan->initial[0];
  return f;
}

// A target's value with the fold's outputs written over its state.
ExprId KernelLowering::finished(ExprId value, const Comprehension& n, uint32_t base) {
  const auto outputs = g.state_outputs(n);
  std::vector<uint32_t> first;
  uint32_t next = base;
  for (const Fold& f : n.folds) {
    first.push_back(next);
    next += static_cast<uint32_t>(g[f.monoid].kinds.size());
  }
  return substitute_leaves(g, value, [&](LeafId id) -> std::optional<ExprId> {
    const Leaf l = g.leaf(id);
    if (l.what != Leaf::What::state) return std::nullopt;
    const auto [fold, output] = outputs[l.number];
    return substitute_leaves(g, g[n.folds[fold].monoid].fin[output],
                             [&, at = first[fold]](LeafId s) -> std::optional<ExprId> {
                               const Leaf inner = g.leaf(s);
                               if (inner.what != Leaf::What::left) return std::nullopt;
                               return state_leaf(g, Leaf::What::left, at + inner.number,
                                                 inner.kind);
                             });
  });
}

// Levels: reduce loops from `level` + 1, then one for states, then inner points.
void KernelLowering::plan_levels(FoldNest& f, int level) {
  f.level = level;
  for (size_t k = 0; k < f.reduce.size(); ++k)
    x.level_of[f.reduce[k]] = level + 1 + static_cast<int>(k);
  const int bottom = level + static_cast<int>(f.reduce.size());
  for (const FoldNest::Part& p : f.parts)
    for (DimId d : p.inner) x.level_of[d] = bottom + 2;
  if (f.scan && f.scan->matrix) return;  // it has steps of its own
  std::vector<ExprId> roots;
  for (const FoldNest::Part& p : f.parts) roots.push_back(p.step);
  f.steps = x.region(roots, bottom, bottom + 1);
}

// Private arrays for rows of constant size while they are small, workspace for the others.
void KernelLowering::choose_storage(const FoldNest& f, const std::string& name) {
  int64_t total = 0;
  for (size_t k = 0; k < f.parts.size(); ++k) {
    Slot& s = x.slots[f.base + k];
    if (f.lanes > 0) {
      s.where = Slot::Where::lane;
      continue;
    }
    if (s.inner.empty()) continue;
    std::vector<Poly> shape;
    for (DimId d : s.inner) shape.push_back(plan_.vector == d ? Poly(plan_.block) : g.extent(d));
    const auto count = volume(shape).constant();
    const int64_t bytes = count ? *count * bytes_of(x.type_of(s.kind)) : 0;
    if (count && total + bytes <= private_bytes) {
      s.where = Slot::Where::array;
      total += bytes;
    } else {
      s.where = Slot::Where::buffer;
      s.buffer = scratch_(name + "_state", shape, format_of(x.type_of(s.kind)));
    }
  }
}

// Declares states and sets them to the identity.
void KernelLowering::declare(const FoldNest& f) {
  for (size_t k = 0; k < f.parts.size(); ++k) {
    Slot& s = x.slots[f.base + k];
    if (f.parts[k].initial != ExprId::none) {
      start(f, k);
      continue;
    }
    const Type type = x.type_of(s.kind);
    const Value identity = x.convert(x.eval(f.parts[k].identity, f.level), s.kind);
    if (s.where == Slot::Where::var) {
      s.var = b.var("state", identity);
      continue;
    }
    if (s.where == Slot::Where::lane) {
      s.array = b.array("lanes", type, f.lanes);
      b.for_("u", b.integer(0), b.integer(f.lanes), [&](Value u) { b.set(s.array, u, identity); },
             {.hint = Hint::vector});
      continue;
    }
    if (s.where == Slot::Where::array) s.array = b.array("states", type, elements(s));
    Value count = b.integer(1);
    for (DimId d : s.inner)
      count = b.mul(count, plan_.vector == d ? *block_size_ : b.poly(g.extent(d)));
    b.for_("u", b.integer(0), count,
           [&](Value u) {
             if (s.where == Slot::Where::array)
               b.set(s.array, u, identity);
             else
               b.store(s.buffer, u, identity);
           },
           {.hint = Hint::vector});
  }
}

// A state that starts at a value of its points.
void KernelLowering::start(const FoldNest& f, size_t part) {
  Slot& s = x.slots[f.base + part];
  const ExprId initial = f.parts[part].initial;
  for (size_t k = 0; k < s.inner.size(); ++k)
    x.level_of[s.inner[k]] = f.level + 2 + static_cast<int>(k);
  Region r = x.region({initial}, f.level, f.level + 1);
  if (s.where == Slot::Where::var) {
    x.prepare(r, f.level + 1);
    s.var = b.var("state", x.convert(x.value(r, initial), s.kind));
    return;
  }
  if (s.where == Slot::Where::array) s.array = b.array("states", x.type_of(s.kind), elements(s));
  inner_loops(s.inner, f.level + 1, r, [&] { x.store_slot(s, x.value(r, initial)); });
}

// Of a private array of states.
int64_t KernelLowering::elements(const Slot& s) const {
  int64_t count = 1;
  for (DimId d : s.inner)
    count *= plan_.vector == d ? plan_.block : g.extent(d).constant().value_or(1);
  return std::max<int64_t>(count, 1);
}

void KernelLowering::fold(FoldNest& f) {
  x.open();  // what is computed from states is not kept beyond the fold
  // The vector's loop is inside all others, and its guards are bounds of it (schedule/plan.cpp).
  std::vector<DimId> nest = f.reduce;
  if (plan_.vector && &f == &fold_) nest.push_back(*plan_.vector);
  std::vector<Placed> placed = place(f.guards, nest);
  int opened = open_conditions(placed, -1, f.level);
  x.prepare(f.steps, f.level);
  const size_t loops = f.reduce.size();
  for (size_t k = 0; k < loops; ++k) {
    const int level = f.level + 1 + static_cast<int>(k);
    if (k + 1 == loops && f.lanes > 0) {
      lane_loops(f, k, placed, level);
      break;
    }
    const Bounds at = bounds(placed, nest, k, level - 1);
    Value var;
    open_for(g[f.reduce[k]].name, at.lo, at.hi, {}, &var);
    ++opened;
    const bool reverse = f.scan && f.scan->reverse;
    x.value_of[f.reduce[k]] = reverse ? b.sub(b.sub(at.hi, b.integer(1)), var) : var;
    opened += open_conditions(placed, static_cast<int>(k), level);
    x.prepare(f.steps, level);
  }
  if (nest.size() > loops) bound_vector(f, placed, nest);
  if (f.scan && f.scan->exclusive) store_targets();
  if (loops == 0 || f.lanes == 0) body(f);
  if (f.scan && !f.scan->exclusive) store_targets();
  close(opened);
  x.close();
  if (f.lanes > 0) combine_lanes(f);
}

// One term, in two cases where a running max often stays as it is.
void KernelLowering::body(FoldNest& f) {
  x.open();
  if (f.unchanged == ExprId::none) {
    steps(f, false);
  } else {
    const int bottom = f.level + static_cast<int>(f.reduce.size());
    Region test = x.region({f.unchanged}, bottom, bottom + 1);
    x.prepare(test, bottom + 1);
    const Value holds = b.let("unchanged", x.value(test, f.unchanged));
    for (const bool unchanged : {true, false}) {
      open_if(unchanged ? holds : b.op(Op::logical_not, {holds}));
      steps(f, unchanged);
      close();
    }
  }
  x.close();
}

// Components that vary along more inner points first, since they use the others' states.
void KernelLowering::steps(FoldNest& f, bool unchanged) {
  const int bottom = f.level + static_cast<int>(f.reduce.size());
  std::vector<ExprId> all = f.unchanged_steps;
  if (!unchanged) {
    all.clear();
    for (const FoldNest::Part& p : f.parts) all.push_back(p.step);
  }
  // What varies along inner points belongs to their loops.
  for (const FoldNest::Part& p : f.parts)
    for (size_t k = 0; k < p.inner.size(); ++k)
      x.level_of[p.inner[k]] = bottom + 2 + static_cast<int>(k);
  for (const FoldNest::Part& p : f.parts)
    for (DimId d : p.inner) x.level_of[d] = bottom + 2;
  Region whole = unchanged ? x.region(all, bottom, bottom + 1) : f.steps;
  x.prepare(whole, bottom + 1);
  std::vector<std::pair<std::vector<DimId>, std::vector<size_t>>> groups;
  for (size_t k = 0; k < f.parts.size(); ++k) {
    auto same = std::find_if(groups.begin(), groups.end(),
                             [&](const auto& q) { return q.first == f.parts[k].inner; });
    if (same == groups.end())
      groups.push_back({f.parts[k].inner, {k}});
    else
      same->second.push_back(k);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& p, const auto& q) { return p.first.size() > q.first.size(); });
  for (const auto& group : groups) {
    const auto& inner = group.first;
    const auto& parts = group.second;
    for (size_t k = 0; k < inner.size(); ++k)
      x.level_of[inner[k]] = bottom + 2 + static_cast<int>(k);
    std::vector<ExprId> roots;
    for (size_t k : parts) roots.push_back(all[k]);
    Region r = x.region(roots, bottom, bottom + 1);
    inner_loops(
        inner, bottom + 1, r, [&] { update(f, r, parts, all); }, f.vector_range);
  }
}

void KernelLowering::update(FoldNest& f, Region& r, const std::vector<size_t>& parts,
                            const std::vector<ExprId>& steps) {
  std::vector<Value> next;
  for (size_t k : parts) {
    const Value v = x.convert(x.step(r, steps[k], f.contract), f.parts[k].kind);
    next.push_back(parts.size() > 1 ? b.let("next", v) : v);
  }
  for (size_t k = 0; k < parts.size(); ++k) x.store_slot(x.slots[f.base + parts[k]], next[k]);
}

// ---- Kernels ---------------------------------------------------------------------------------

void KernelLowering::run(TensorId in_place, TensorId old) {
  fold_ = nest_of(node_, inner_);
  fold_.lanes = plan_.lanes;
  choose_storage(fold_, plan_.name);
  if (plan_.contract && fold_.lanes == 0 && !inner_.empty() && !fold_.scan) split_cases(fold_);
  for (const Target& t : node_.targets) {
    values_.push_back(finished(t.value, node_, fold_.base));
    if (t.tensor == in_place && node_.folds.empty() && node_.targets.size() == 1) {
      gate_ = gate_of(t, old);
      if (gate_.value != ExprId::none) values_.back() = gate_.value;
    }
  }
  b.begin_kernel(plan_.name);
  outer_count_ = static_cast<int>(plan_.outer.size());
  for (int k = 0; k < outer_count_; ++k) x.level_of[plan_.outer[static_cast<size_t>(k)]] = k + 1;
  plan_levels(fold_, outer_count_);
  store_level_ = outer_count_ + (fold_.scan ? 1 : 0);
  for (DimId d : inner_) x.level_of[d] = store_level_ + 2;
  stores_ = x.region(values_, store_level_, store_level_ + 1);
  outer_loops([&] {
    blocks([&] {
      if (fold_.scan && fold_.scan->matrix) return matrix_scan();
      if (!fold_.parts.empty()) {
        declare(fold_);
        fold(fold_);
      }
      if (!fold_.scan) store_targets();
    });
  });
  b.end_kernel();
}

void KernelLowering::outer_loops(const std::function<void()>& inside) {
  std::vector<Placed> placed = place(gate_.guards, plan_.outer);
  int opened = open_conditions(placed, -1, 0);
  const bool map = fold_.parts.empty();
  x.prepare(fold_.steps, 0);
  x.prepare(stores_, 0);
  for (size_t k = 0; k < plan_.outer.size(); ++k) {
    const DimId d = plan_.outer[k];
    const Bounds at = bounds(placed, plan_.outer, k, static_cast<int>(k));
    const bool last = k + 1 == plan_.outer.size();
    Value var;
    open_for(g[d].name, at.lo, at.hi, {.hint = map && last ? Hint::vector : Hint::none}, &var);
    x.value_of[d] = var;
    const int level = static_cast<int>(k) + 1;
    opened += 1 + open_conditions(placed, static_cast<int>(k), level);
    x.prepare(fold_.steps, level);
    x.prepare(stores_, level);
  }
  inside();
  close(opened);
}

// The vector point's blocks: whole ones of constant size, then the rest.
void KernelLowering::blocks(const std::function<void()>& inside) {
  if (!plan_.vector) {
    inside();
    return;
  }
  const DimId d = *plan_.vector;
  const Poly extent = g.extent(d);
  const auto known = extent.constant();
  const Value total = b.poly(extent), width = b.integer(plan_.block);
  const Value whole = known ? b.integer(*known - *known % plan_.block)
                            : b.let("whole", b.sub(total, b.mod(total, width)));
  Value start;
  if (!known || *known >= plan_.block) {
    open_for(g[d].name + "0", b.integer(0), whole, {.step = plan_.block}, &start);
    block_start_ = start;
    block_size_ = width;
    inside();
    close();
  }
  if (known && *known % plan_.block == 0) return;
  block_start_ = whole;
  block_size_ = known ? b.integer(*known % plan_.block) : b.let("rest", b.sub(total, whole));
  open_if(b.lt(whole, total));
  inside();
  close();
}

void KernelLowering::store_targets() {
  x.open();
  std::vector<std::pair<std::vector<DimId>, std::vector<size_t>>> groups;
  for (size_t k = 0; k < node_.targets.size(); ++k) {
    std::vector<DimId> inner;
    for (DimId d : inner_)
      if (contains(node_.targets[k].points, d)) inner.push_back(d);
    auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& q) { return q.first == inner; });
    if (same == groups.end())
      groups.push_back({inner, {k}});
    else
      same->second.push_back(k);
  }
  for (DimId d : inner_) x.level_of[d] = store_level_ + 2;
  x.prepare(stores_, store_level_ + 1);
  for (const auto& [inner, targets] : groups) store_group(targets, inner);
  x.close();
}

void KernelLowering::store_group(const std::vector<size_t>& targets,
                                 const std::vector<DimId>& inner) {
  for (size_t k = 0; k < inner.size(); ++k)
    x.level_of[inner[k]] = store_level_ + 2 + static_cast<int>(k);
  std::vector<ExprId> roots;
  for (size_t k : targets) roots.push_back(values_[k]);
  Region r = x.region(roots, store_level_, store_level_ + 1);
  inner_loops(inner, store_level_ + 1, r, [&] {
    // Every value is computed before any is stored.
    std::vector<Value> values;
    for (size_t k : targets) {
      const Value v = x.convert(x.value(r, values_[k]), g[node_.targets[k].tensor].kind);
      values.push_back(targets.size() > 1 ? b.let("value", v) : v);
    }
    for (size_t k = 0; k < targets.size(); ++k) {
      const Target& t = node_.targets[targets[k]];
      std::vector<Form> forms;
      for (DimId p : t.points) forms.push_back(Form::coordinate(p));
      b.store(*buffers_[index(t.tensor)], x.address(t.tensor, forms, r), values[k]);
    }
  });
}

// select(c, new, old[p]) over its own element writes under c only.
KernelLowering::Gate KernelLowering::gate_of(const Target& t, TensorId old) {
  const ExprNode n = g.pool[t.value];
  if (n.op != SOp::select) return {};
  const auto is_old = [&](ExprId e) {
    const ExprNode& m = g.pool[e];
    return m.op == SOp::var && g.leaf(m.variable()).what == Leaf::What::read &&
           g.leaf(m.variable()).tensor == old;
  };
  if (is_old(n.args[2])) return {n.args[1], guards_from(g, n.args[0])};
  if (is_old(n.args[1])) return {n.args[2], guards_from(g, g.make(SOp::logical_not, n.args[0]))};
  return {};
}

// A read of an inlined definition: its fold, computed here for the read's coordinates.
Value KernelLowering::inline_read(LeafId id, int level) {
  const Leaf l = g.leaf(id);
  Comprehension n = g[g[l.tensor].node];
  const auto planned =
      std::find_if(plan_.inlined.begin(), plan_.inlined.end(),
                   [&](const InlinePlan& i) { return i.node == g[l.tensor].node; });
  std::map<DimId, Form> image;
  for (size_t a = 0; a < l.forms.size(); ++a) image[n.targets[0].points[a]] = l.forms[a];
  for (DimId& d : n.reduce) {
    const DimId fresh = x.level_of.contains(d) ? g.fresh_dim(d) : d;
    image[d] = Form::coordinate(fresh);
    d = fresh;
  }
  const DimMap map = [&](DimId d) -> std::optional<Form> {
    const auto at = image.find(d);
    return at == image.end() ? std::nullopt : std::optional(at->second);
  };
  map_exprs(n, [&](ExprId e) { return substitute_dims(g, e, map); });
  for (Guard& guard : n.guards)
    if (guard.what != Guard::What::data) guard.form = substitute_dims(g, guard.form, map);

  const std::vector<ExprId> conditions = x.tests(id, true);
  const auto compute = [&] {
    x.open();
    FoldNest f = nest_of(n, {});
    f.lanes = planned->lanes;
    choose_storage(f, "");
    plan_levels(f, level);
    declare(f);
    fold(f);
    const ExprId e = finished(n.targets[0].value, n, f.base);
    Region r = x.region({e}, level, level + 1);
    x.prepare(r, level + 1);
    Value v = x.convert(x.value(r, e), l.kind);
    if (const auto format = g[l.tensor].format; format && kind(*format) != Kind::boolean)
      v = b.round(*format, v);
    v = b.let(g[l.tensor].name, v);
    for (DimId d : n.reduce) {
      x.level_of.erase(d);
      x.value_of.erase(d);
    }
    x.close();
    return v;
  };
  if (conditions.empty()) return compute();
  const tang::Value fill = l.fill().to(l.kind);
  const Value start = l.kind == Kind::real      ? b.real(x.type_of(Kind::real), fill.r)
                      : l.kind == Kind::integer ? b.integer(fill.i)
                                                : b.boolean(fill.i != 0);
  const Value result = b.var(g[l.tensor].name, start);
  ExprId all = conditions[0];
  for (size_t k = 1; k < conditions.size(); ++k)
    all = g.pool.make(SOp::logical_and, all, conditions[k]);
  open_if(x.eval(all, level));
  b.assign(result, compute());
  close();
  return result;
}

}  // namespace tang::loop
