#include "schedule/prepared.h"

#include <algorithm>

#include "ir/variance.h"
#include "schedule/windows.h"

namespace tang {

namespace {

constexpr int64_t largest_prepared = int64_t{1} << 28;  // elements
constexpr int64_t often = 8;  // reads of an element that repay reading it from wider memory
constexpr int64_t most_registers = 8;  // of sums without another operand to hold

std::vector<size_t> all_axes(const Tensor& t) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < t.shape.size(); ++a) axes.push_back(a);
  return axes;
}

class Prepared {
 public:
  Prepared(Graph& graph, const KernelPlan& plan, const Machine& machine)
      : g(graph), k_(plan), m_(machine), n_(graph[plan.node]) {}

  // The axis of a constant operand that moves along the coordinate.
  std::optional<size_t> axis(LeafId l, DimId along) const {
    const Leaf& leaf = g.leaf(l);
    if (leaf.what != Leaf::What::read || leaf.guarded || g[leaf.tensor].node != NodeId::none ||
        !is_constant(g, k_, leaf.tensor) || Windows(g, k_).reads(leaf.tensor).size() != 1)
      return std::nullopt;
    std::optional<size_t> found;
    bool in_terms = false;
    for (size_t a = 0; a < leaf.forms.size(); ++a) {
      const Form& f = leaf.forms[a];
      for (DimId d : n_.reduce) in_terms |= f.mentions(d);
      if (!f.mentions(along)) continue;
      if (found || f.as_pick() != along) return std::nullopt;
      found = a;
    }
    if (!found || !in_terms || !is_known(leaf.tensor) || !is_worth_its_bytes(leaf))
      return std::nullopt;
    return found;
  }

  bool is_known(TensorId t) const {
    const auto count = Windows(g, k_).elements({.tensor = t}, 0);
    return count && *count <= largest_prepared;
  }

 private:
  // Bits of an element in a window.
  int64_t window_bits(TensorId t) const {
    const Format f = g[t].storage();
    return kind(f) == Kind::real ? 32 : std::max<int64_t>(8, info(f).bits);
  }

  // Panels are read as fast as what lies side by side along the terms, unless the first level holds
  // them; wider than what is stored they are read slower.
  bool is_worth_its_bytes(const Leaf& leaf) const {
    int64_t reads = 1;  // of an element, as many as matter
    for (DimId d : n_.points) {
      const bool moves = std::any_of(leaf.forms.begin(), leaf.forms.end(),
                                     [d](const Form& form) { return form.mentions(d); });
      if (!moves) reads *= std::min<int64_t>(often, g.extent(d).constant().value_or(often));
    }
    if (reads >= often) return true;
    const Format f = g[leaf.tensor].storage();
    if (is_block(f) || info(f).bits < window_bits(leaf.tensor)) return false;
    const auto count = Windows(g, k_).elements({.tensor = leaf.tensor}, 0);
    return reads > 1 || (count && *count * 4 <= m_.l1_bytes / 2);
  }

  Graph& g;
  const KernelPlan& k_;
  const Machine& m_;
  const Node n_;
};

class Preparer {
 public:
  Preparer(Graph& graph, KernelPlan& plan, const Machine& machine)
      : g(graph), k_(plan), m_(machine), n_(graph[plan.node]) {}

  void run() {
    if (n_.scan) return;
    if (!k_.pivot && k_.inlined.empty() && !n_.folds.empty())
      for (LeafId l : leaves_of(g, n_)) put_in_panels(l);
    for (StagePlan& s : k_.stages)
      if (is_computed(s.tensor)) prepare(s);
    for (StagePlan& s : k_.stages)
      if (!is_computed(s.tensor)) prepare(s);
    std::erase_if(k_.stages, [&](const StagePlan& s) { return !has_reader(s); });
    std::stable_partition(k_.stages.begin(), k_.stages.end(),
                          [](const StagePlan& s) { return s.prepared; });
  }

 private:
  bool is_computed(TensorId t) const { return g[t].node != NodeId::none; }

  // Blocks of the coordinate begin where panels do.
  bool fits_blocks(DimId d, int64_t panel) const {
    return std::all_of(k_.blocks.begin(), k_.blocks.end(), [&](const BlockLoop& b) {
      return b.dim != d || b.step % panel == 0 ||
             g.extent(d).constant().value_or(b.step + 1) <= b.step;
    });
  }

  // A tensor that lies well as it is and stays in the first level has nothing to gain.
  bool gains(LeafId l, DimId d) const {
    const Leaf& leaf = g.leaf(l);
    const Access a = access_of(g, leaf.tensor, leaf.forms);
    const auto stride = a.strides.find(d);
    if (stride == a.strides.end() || !(stride->second == Poly(1))) return true;
    const auto count = Windows(g, k_).elements({.tensor = leaf.tensor}, 0);
    return !count || *count * 4 > m_.l1_bytes / 2;
  }

  // Along vectors; along rows, whose elements are read one by one, where a window stands anyhow.
  void put_in_panels(LeafId l) {
    for (size_t k = k_.nest.tile.size(); k-- > 0;) {
      const TileDim& t = k_.nest.tile[k];
      if (!contains(n_.points, t.dim) || t.size() < 2 || !fits_blocks(t.dim, t.size())) continue;
      const auto axis = Prepared(g, k_, m_).axis(l, t.dim);
      const auto old = std::find_if(k_.stages.begin(), k_.stages.end(), [&](const StagePlan& x) {
        return x.tensor == g.leaf(l).tensor;
      });
      const bool stands = old != k_.stages.end();
      if (!axis || !gains(l, t.dim) || (stands && old->padded) || (t.elem == 1 && !stands))
        continue;
      StagePlan s;
      s.tensor = g.leaf(l).tensor;
      s.axes = all_axes(g[s.tensor]);
      s.panel_axis = *axis;
      s.panel = t.size();
      s.prepared = true;
      if (stands)
        *old = std::move(s);
      else
        k_.stages.push_back(std::move(s));
      return;
    }
  }

  void prepare(StagePlan& s) {
    if (s.prepared || s.padded || s.axes.empty() || !is_constant(g, k_, s.tensor) ||
        !Prepared(g, k_, m_).is_known(s.tensor))
      return;
    s.level = 0;
    s.prepared = true;
  }

  // Whether something reads the window that is not prepared itself.
  bool has_reader(const StagePlan& s) const {
    if (!s.prepared || is_computed(s.tensor)) return true;
    const Windows windows(g, k_);
    const std::vector<LeafId> reads = windows.reads(s.tensor);
    return std::any_of(reads.begin(), reads.end(), [&](LeafId l) {
      const NodeId reader = windows.reader(l);
      return std::none_of(k_.stages.begin(), k_.stages.end(), [&](const StagePlan& x) {
        return x.prepared && is_computed(x.tensor) && g[x.tensor].node == reader;
      });
    });
  }

  Graph& g;
  KernelPlan& k_;
  const Machine& m_;
  const Node n_;
};

}  // namespace

bool may_lie_in_panels(Graph& g, const KernelPlan& k, LeafId read, DimId along,
                       const Machine& machine) {
  return Prepared(g, k, machine).axis(read, along).has_value();
}

NestPlan plan_nest_in_panels(Graph& g, const KernelPlan& k, const NestShape& shape,
                             const Machine& machine) {
  const Node n = g[k.node];
  NestPlan plain = plan_nest(g, shape, machine);
  if (k.constants.empty() || n.targets[0].points.empty()) return plain;
  const DimId along = n.targets[0].points.back();
  NestShape changed = shape;
  bool any = false;
  for (LeafId l : leaves_of(g, n)) {
    if (!may_lie_in_panels(g, k, l, along, machine)) continue;
    const Access is = access_of(g, g.leaf(l).tensor, g.leaf(l).forms);
    for (Access& a : changed.accesses) {
      if (a.store || a.strides != is.strides) continue;
      for (auto& [d, stride] : a.strides) stride = stride * Poly(machine.vector_bytes);
      a.strides[along] = Poly(1);
      any = true;
    }
  }
  if (!any) return plain;
  NestPlan plan = plan_nest(g, changed, machine);
  if (plan.tile.empty() || plan.tile.back().dim != along || plan.tile.back().elem == 1)
    return plain;
  if (plan.tile.size() == 1) {
    TileDim& t = plan.tile[0];
    const auto extent = g.extent(along).constant();
    const int64_t states = static_cast<int64_t>(shape.states);
    const int64_t most = std::max<int64_t>(1, most_registers / states);
    t.reg = extent ? std::clamp<int64_t>((*extent + t.elem - 1) / t.elem, 1, most) : most;
  }
  return plan;
}

void prepare_windows(Graph& g, KernelPlan& k, const Machine& machine) {
  if (!k.constants.empty()) Preparer(g, k, machine).run();
}

}  // namespace tang
