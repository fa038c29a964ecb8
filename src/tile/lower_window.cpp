// Windows: what a block reads of a tensor, in memory of the kernel.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/kept.h"
#include "tile/lower_impl.h"

namespace tang::tile {

namespace {

int64_t rounded_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

}  // namespace

// Reads of a tensor in the node and in the definitions computed in windows.
std::vector<LeafId> KernelLowering::reads_of(TensorId t) const {
  std::vector<LeafId> result;
  const auto collect = [&](const Comprehension& n) {
    for (LeafId l : leaves_of(g, n))
      if (g.leaf(l).what == tang::Leaf::What::read && g.leaf(l).tensor == t) result.push_back(l);
  };
  collect(node_);
  for (const Comprehension& n : inlined_) collect(n);
  return result;
}

// Extents of a window; those that are not known follow from the first limits.
std::vector<Poly> KernelLowering::window_extents(const std::vector<Span>& spans, const StagePlan& s,
                                                 int64_t slack) const {
  std::vector<Poly> extents;
  for (size_t a = 0; a < spans.size(); ++a) {
    const Form between = spans[a].hi[0] - spans[a].lo[0];
    Poly extent = between.base;
    if (spans[a].most) {
      int64_t n = std::max<int64_t>(*spans[a].most, 1);
      if (s.panel > 0 && a == s.panel_axis) n = rounded_up(n, s.panel);
      if (s.padded && a + 1 == spans.size()) n = rounded_up(n + slack * s.phases, s.phases);
      extent = Poly(n);
    }
    extents.push_back(extent);
  }
  return extents;
}

// Of a thread's own memory there is little on a GPU.
double KernelLowering::most_bytes() const {
  if (machine_.kind == Machine::Kind::cpu) return most_window_bytes;
  return static_cast<double>(whole_.group > 1 ? machine_.shared_bytes : 16384);
}

// Memory for the part of a tensor that the spans, one an axis, give: the kernel's own, or
// workspace where it is large or its size is not known.
void KernelLowering::window(TensorId t, const std::vector<Span>& spans, const StagePlan& s) {
  Memory m;
  m.name = g[t].name;
  m.role = Memory::Role::local;
  m.space = plan_->group > 1 ? Space::shared : Space::packed;
  m.format = kind(g[t].storage()) == Kind::real ? env_.real : g[t].storage();
  if (info(m.format).bits < 8) m.format = Format::i8;
  int64_t slack = 0;  // what the last tile of vectors reads beyond its coordinate
  for (const TileDim& tile : plan_->nest.tile)
    if (const auto n = g.extent(tile.dim).constant(); n && tile.elem > 1)
      slack = rounded_up(*n, tile.size()) - *n;
  m.extents = window_extents(spans, s, slack);
  Place place;
  std::vector<int64_t> size;
  std::vector<std::string> axes;
  double all = info(m.format).bits / 8;
  bool known = true;
  for (size_t a = 0; a < spans.size(); ++a) {
    size.push_back(m.extents[a].constant().value_or(0));
    known &= m.extents[a].constant().has_value();
    all *= static_cast<double>(size.back());
    axes.push_back(fmt::format("w{}", a));
    place.origin.push_back(spans[a].lo[0]);
  }
  if (s.prepared) {
    m.role = preparing_ ? Memory::Role::output : Memory::Role::input;
    m.space = Space::global;
    m.life = Life::program;
    arguments_.push_back(s.tensor);
    if (!known) failure_ = "a prepared window whose extent is not known";
  } else if (!known || window_bytes_ + all > most_bytes()) {
    if (s.panel > 0) failure_ = fmt::format("panels of `{}` that do not fit", g[t].name);
    m.role = Memory::Role::work;
    m.space = Space::global;
    place.memory = b.memory(std::move(m), axes);
    env_.places[t] = std::move(place);
    arguments_.push_back(TensorId::none);
    return;
  }
  if (!s.prepared) window_bytes_ += all;
  const int64_t bytes = info(m.format).bits / 8;
  std::vector<int64_t> strides(spans.size(), 1);
  int64_t step = bytes;
  if (s.panel > 0) {
    m.layout.digits.push_back({{static_cast<uint32_t>(s.panel_axis), 1, s.panel}, bytes});
    step *= s.panel;
  }
  for (size_t k = s.axes.size(); k-- > 0;) {
    const size_t a = s.axes[k];
    if (s.panel > 0 && a == s.panel_axis) continue;
    strides[a] = step / bytes;
    if (s.phases > 1 && a + 1 == spans.size()) {
      const int64_t each = size[a] / s.phases;
      m.layout.digits.push_back({{static_cast<uint32_t>(a), s.phases, 0}, step});
      m.layout.digits.push_back({{static_cast<uint32_t>(a), 1, s.phases}, step * each});
      strides[a] *= each;
    } else {
      m.layout.digits.push_back({{static_cast<uint32_t>(a), 1, 0}, step});
    }
    step *= size[a];
    if (step == bytes * size[a]) step += s.skew * bytes;
  }
  if (s.panel > 0) {
    m.layout.digits.push_back({{static_cast<uint32_t>(s.panel_axis), s.panel, 0}, step});
    // A vector must not reach into the next panel.
    if (s.panel * bytes % machine_.vector_bytes != 0) strides[s.panel_axis] = step / bytes;
  }
  std::reverse(m.layout.digits.begin(), m.layout.digits.end());
  m.layout.align = 64;
  place.memory = b.memory(std::move(m), axes);
  place.room_axis = s.padded ? spans.size() - 1 : s.panel_axis;
  place.room = s.panel;
  if (s.padded) place.slack = slack, place.step = s.phases;
  env_.places[t] = std::move(place);
  strides_[t] = std::move(strides);
}

// From the least to the greatest value of forms that differ by constants, in the block at hand, or
// somewhat more: then `most` is known and `size` is not.
Span KernelLowering::range_of(const std::vector<Form>& forms) {
  if (forms.size() == 1)
    if (const auto d = forms[0].as_pick()) return span_of(*d);
  Span result;
  Form lo;
  int64_t extent = 1;
  bool known = forms[0].is_affine(), exact = true;
  for (const Form::Term& t : forms[0].terms) {
    const Span s = span_of(t.dim);
    const auto c = t.coeff.constant();
    known &= c && s.most;
    if (!known) break;
    exact &= s.size.has_value();
    lo = lo + t.coeff * (*c > 0 ? s.lo[0] : s.lo[0] + Form(*s.most - 1));
    extent += std::abs(*c) * (*s.most - 1);
  }
  int64_t least = 0, greatest = 0;
  for (const Form& f : forms) {
    const Form difference = f - forms[0];
    const auto c = difference.base.constant();
    known &= c && difference.terms.empty() && difference.gathers.empty();
    least = std::min(least, c.value_or(0));
    greatest = std::max(greatest, c.value_or(0));
  }
  lo = lo + Form(forms[0].base) + Form(least);
  extent += greatest - least;
  result.lo = {lo};
  result.hi = {lo + Form(extent)};
  result.most = extent;
  if (exact) result.size = extent;
  if (!known) failure_ = "a window whose extent is not known";
  return result;
}

void KernelLowering::stage(const StagePlan& s) {
  for (const KernelPlan& rows : plan_->rows)
    if (g[s.tensor].node == rows.node) return compute_rows(rows);
  const bool computed = std::any_of(inlined_.begin(), inlined_.end(), [&](const Comprehension& n) {
    return n.targets[0].tensor == s.tensor;
  });
  if (computed)
    compute_stage(s);
  else
    copy_stage(s);
}

// The last coordinate of a copy, from a constant on, as a phase and a step: vectors run along the
// steps, which lie side by side in the window.
bool KernelLowering::split_phases(const StagePlan& s, const Span& span, Nest& n,
                                  std::vector<Form>& at) {
  if (!span.lo[0].is_constant() || !span.most) return false;
  const DimId phase = g.add_dim("v", Poly(s.phases));
  const DimId step = g.add_dim("u", Poly((*span.most + s.phases - 1) / s.phases));
  n.points.back() = phase;
  n.points.push_back(step);
  at.back() =
      Poly(s.phases) * Form::coordinate(step) + Form::coordinate(phase) + Form(span.lo[0].base);
  n.tile = {{step, 1, machine_.vector_bytes / (env_.real == Format::f64 ? 8 : 4)}};
  return true;
}

void KernelLowering::copy_stage(const StagePlan& s) {
  const std::vector<LeafId> reads = reads_of(s.tensor);
  if (reads.empty()) return;
  const tang::Leaf first = g.leaf(reads[0]);
  std::vector<Span> spans;
  bool inside = true;
  for (LeafId l : reads) inside &= inside_bounds(g, s.tensor, g.leaf(l).forms).empty();
  for (size_t a = 0; a < first.forms.size(); ++a) {
    std::vector<Form> forms;
    for (LeafId l : reads) forms.push_back(g.leaf(l).forms[a]);
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    spans.push_back(range_of(forms));
    inside &= spans.back().size || forms[0].as_pick();
  }
  Tensor copy = g[s.tensor];
  copy.name = g.fresh_name(copy.name + "_w");
  copy.node = NodeId::none;
  copy.role = tang::Role::definition;
  const TensorId w = g.add_tensor(copy);
  window(w, spans, s);
  if (!failure_.empty()) return;
  env_.places[w].covers = true;
  std::vector<int64_t> beyond(spans.size(), 0);                    // the tensor's end
  for (size_t a = 0; a < spans.size() && plan_->group > 1; ++a) {  // so that whole tiles are there
    Span& span = spans[a];
    if (span.size || !span.most || span.lo.size() > 1) continue;
    span.size = span.most;
    span.hi = {span.lo[0] + Form(*span.most)};
    env_.places[w].filled = true;
    beyond[a] += *span.most;
  }
  if (s.padded) {  // whole tiles are read of it
    Span& last = spans.back();
    last.most = last.size = b.kernel()[env_.places[w].memory].extents.back().constant();
    last.hi = {last.lo[0] + Form(*last.most)};
  }
  if (s.prepared && s.panel > 0) {  // its last panel too is filled, with zeros
    Span& across = spans[s.panel_axis];
    const auto all = b.kernel()[env_.places[w].memory].extents[s.panel_axis].constant();
    inside &= across.size == all;
    across.most = across.size = all;
    across.hi = {across.lo[0] + Form(*all)};
  }
  const int64_t slack = std::exchange(env_.places[w].slack, 0);  // the copy takes all there is
  // A coordinate of its own for each axis; where the window may leave the tensor, shifted by one,
  // so that nothing is taken for granted about it.
  Nest n;
  std::vector<Form> at;
  for (size_t a = 0; a < spans.size(); ++a) {
    const int64_t shift = inside ? 0 : 1;
    const DimId d = g.add_dim(fmt::format("w{}", a), copy.shape[a] + Poly(2 * shift + beyond[a]));
    Span moved = spans[a];
    for (Form& f : moved.lo) f = f + Form(shift);
    for (Form& f : moved.hi) f = f + Form(shift);
    env_.spans[d] = moved;
    n.points.push_back(d);
    at.push_back(Form::coordinate(d) - Form(shift));
  }
  inside &= !env_.places[w].filled;
  const bool apart = s.phases > 1 && split_phases(s, spans.back(), n, at);
  Store store;
  store.tensor = w;
  store.at = at;
  store.value = inside ? g.read(s.tensor, at) : g.guarded_read(s.tensor, at, first.fill());
  n.stores = {store};
  if (!apart) {
    const NestPlan plan = plan_nest(g, shape(n), machine_);
    n.tile = plan.tile;
    // Panels are written whole.
    for (TileDim& t : n.tile)
      if (s.panel > 0 && t.dim == n.points[s.panel_axis] && s.panel % t.elem == 0)
        t.reg = s.panel / t.elem;
    n.points = plan.points;
  }
  // Short runs far apart come before they are wanted only if they are asked for.
  constexpr int64_t rows_ahead = 4;
  const auto run = spans.back().most, length = copy.shape.back().constant();
  if (run && length && *run < *length) n.ahead = rows_ahead;
  if (s.prepared == preparing_) NestLowering(g, b, env_).run(n);
  if (preparing_) return;
  env_.places[w].slack = slack;
  if (s.padded) needless_ = inside_bounds(g, s.tensor, first.forms);
  const auto staged = [&](ExprId e) {
    return substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
      const tang::Leaf l = g.leaf(id);
      if (l.what != tang::Leaf::What::read || l.tensor != s.tensor) return std::nullopt;
      return g.read(w, l.forms);
    });
  };
  map_exprs(node_, staged);
  for (Comprehension& n2 : inlined_) map_exprs(n2, staged);
  read_node();
}

// What the reads of a tensor are multiplied by in the terms.
std::vector<ExprId> KernelLowering::factors_beside(TensorId t) const {
  std::vector<ExprId> factors = {node_.folds[0].args[0]};
  for (size_t k = 0; k < factors.size();) {
    const ExprNode e = g.pool[factors[k]];
    const bool read = e.op == tang::Op::var && g.leaf(e.variable()).tensor == t &&
                      g.leaf(e.variable()).what == tang::Leaf::What::read;
    if (e.op == tang::Op::mul) {
      factors[k] = e.args[0];
      factors.push_back(e.args[1]);
    } else if (read) {
      factors.erase(factors.begin() + static_cast<long>(k));
    } else {
      ++k;
    }
  }
  return factors;
}

// A definition at the coordinates that the block reads of it.
void KernelLowering::compute_stage(const StagePlan& s) {
  const std::vector<LeafId> reads = reads_of(s.tensor);
  const auto found = std::find_if(inlined_.begin(), inlined_.end(), [&](const Comprehension& n) {
    return n.targets[0].tensor == s.tensor;
  });
  if (reads.empty()) return;
  Comprehension n = *found;
  std::map<DimId, Form> image;
  Nest nest;
  std::vector<Span> spans;
  std::vector<Form> at;
  const bool within = std::all_of(reads.begin(), reads.end(), [&](LeafId l) {
    return !g.leaf(l).guarded && inside_bounds(g, s.tensor, g.leaf(l).forms).empty();
  });
  for (size_t a = 0; a < n.targets[0].points.size(); ++a) {
    std::vector<Form> forms;
    for (LeafId l : reads) forms.push_back(g.leaf(l).forms[a]);
    std::sort(forms.begin(), forms.end());
    forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
    spans.push_back(range_of(forms));
    const DimId d = g.fresh_dim(n.targets[0].points[a]);
    Span& inside = env_.spans[d] = spans.back();
    if ((!within || !inside.size) && !forms[0].as_pick()) {
      inside.size.reset();
      inside.lo.push_back(Form(0));
      inside.hi.push_back(Form(g[s.tensor].shape[a]));
    }
    image[n.targets[0].points[a]] = Form::coordinate(d);
    nest.points.push_back(d);
    at.push_back(Form::coordinate(d));
  }
  for (DimId& d : n.reduce) {
    const DimId fresh = g.fresh_dim(d);
    image[d] = Form::coordinate(fresh);
    d = fresh;
  }
  const DimMap map = [&](DimId d) -> std::optional<Form> {
    const auto where = image.find(d);
    return where == image.end() ? std::nullopt : std::optional(where->second);
  };
  map_exprs(n, [&](ExprId e) { return substitute_dims(g, e, map); });
  for (Guard& guard : n.guards) guard = substitute_dims(g, guard, map);
  n.points = nest.points;
  for (Target& t : n.targets) t.points = nest.points;
  window(s.tensor, spans, s);
  if (!failure_.empty()) return;
  nest.reduce = n.reduce;
  nest.guards = n.guards;
  Folds f = folds_of(g, n);
  nest.parts = std::move(f.parts);
  nest.monoids = std::move(f.monoids);
  Store store;
  store.tensor = s.tensor;
  store.at = at;
  if (s.prepared != preparing_) return;
  store.value = finished(g, n, n.targets[0].value);
  if (const auto format = g[s.tensor].format; format && kind(*format) == Kind::real)
    store.value = g.pool.cast(*format, store.value);
  nest.stores = {store};
  run_nest(std::move(nest));
}

// All targets of a definition at the rows of the block, in windows: a kernel within the kernel.
void KernelLowering::compute_rows(const KernelPlan& rows) {
  const Comprehension outer = node_;
  const KernelPlan* outer_plan = plan_;
  const Comprehension n = g[rows.node];
  const std::map<DimId, Span> spans = env_.spans;
  for (size_t a = 0; a < n.points.size(); ++a)
    env_.spans[n.points[a]] = span_of(outer_plan->blocks[a].dim);
  for (const Target& t : n.targets) {
    std::vector<Span> at;
    StagePlan plain;
    for (size_t a = 0; a < t.points.size(); ++a) {
      at.push_back(span_of(t.points[a]));
      plain.axes.push_back(a);
    }
    window(t.tensor, at, plain);
  }
  node_ = n;
  begin_node(rows);
  if (rows.kept) {
    std::vector<DimId> dims = n.points;
    dims.insert(dims.end(), n.reduce.begin(), n.reduce.end());
    kept_ = new_state(plan_->name + "_weight", dims);
  }
  block(0);
  node_ = outer;
  if (rows.kept) read_kept(n);
  begin_node(*outer_plan);
  env_.spans = spans;
}

// The node reads the weights of a row where it would compute them.
void KernelLowering::read_kept(const Comprehension& row) {
  const auto kept = kept_weights(g, node_, row);
  if (!kept) {
    failure_ = "weights that are kept and that nothing reads";
    return;
  }
  std::vector<Form> at;
  for (const auto* dims : {&kept->points, &kept->terms})
    for (DimId d : *dims) at.push_back(Form::coordinate(d));
  const ExprId read = g.read(kept_.tensor, at);
  map_exprs(node_, [&](ExprId e) {
    return rewrite_expr(g, e, [&](ExprId old, const ExprNode&) -> std::optional<ExprId> {
      return old == kept->weight ? std::optional(read) : std::nullopt;
    });
  });
  kept_ = {};
}

}  // namespace tang::tile
