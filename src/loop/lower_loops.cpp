// Loop bounds and conditions of a kernel's guards, the loops over inner points, and lanes.
#include <algorithm>

#include "ir/guards.h"
#include "ir/variance.h"
#include "loop/lower_kernel.h"

namespace tang::loop {

namespace {

using SOp = tang::Op;
constexpr int64_t vector_lanes = 8;  // halves of fewer lanes are added as plain values

}  // namespace

std::vector<KernelLowering::Placed> KernelLowering::place(const std::vector<Guard>& guards,
                                                          const std::vector<DimId>& loops) {
  std::vector<Placed> result;
  for (const Guard& guard : guards) {
    Placed p{guard, -1, false};
    for (DimId d : dims_of(g, guard)) {
      const auto at = std::find(loops.begin(), loops.end(), d);
      if (at != loops.end()) p.deepest = std::max(p.deepest, static_cast<int>(at - loops.begin()));
    }
    result.push_back(std::move(p));
  }
  return result;
}

// Bounds of loop k that the guards imply, whatever the loops inside it do: their coordinates are
// replaced by those of their box that make the guard easiest. A guard whose deepest coordinate is
// this one is then exact, unless it gathers through it or its coefficient is not a constant.
KernelLowering::Bounds KernelLowering::bounds(std::vector<Placed>& placed,
                                              const std::vector<DimId>& loops, size_t k,
                                              int level) {
  const DimId d = loops[k];
  const auto position = [&](DimId other) {
    const auto at = std::find(loops.begin(), loops.end(), other);
    return at == loops.end() ? -1 : static_cast<int>(at - loops.begin());
  };
  const auto limit = [&](const Form& f, std::optional<ExprId>& lo, std::optional<ExprId>& hi) {
    const auto c = f.coefficient(d).constant();
    if (!c || *c == 0) return false;
    Form rest = f - Poly(*c) * Form::coordinate(d);
    for (const Form::Gather& x_ : f.gathers)
      for (const Form& inner : g.leaf(x_.leaf).forms)
        for (DimId other : dims_of(g, inner))
          if (position(other) >= static_cast<int>(k)) return false;
    for (const Form::Term& t : f.terms) {
      if (position(t.dim) <= static_cast<int>(k)) continue;
      rest = rest - t.coeff * Form::coordinate(t.dim);
      if (t.coeff.proved_nonnegative())
        rest = rest + Form(t.coeff * (g.extent(t.dim) - Poly(1)));
      else if (!t.coeff.proved_nonpositive())
        return false;
    }
    const ExprId quotient = *c == 1 || *c == -1
                                ? g.iota(rest)
                                : g.pool.make(SOp::div, g.iota(rest), g.pool.integer(std::abs(*c)));
    if (*c > 0) {
      const ExprId least = g.make(SOp::neg, quotient);
      lo = lo ? g.pool.make(SOp::max, *lo, least) : least;
    } else {
      const ExprId past = g.make(SOp::add, quotient, g.pool.integer(1));
      hi = hi ? g.pool.make(SOp::min, *hi, past) : past;
    }
    return true;
  };
  std::optional<ExprId> lo, hi;
  for (Placed& p : placed) {
    if (p.guard.what == Guard::What::data || p.deepest < static_cast<int>(k)) continue;
    bool all = limit(p.guard.form, lo, hi);
    if (p.guard.what == Guard::What::zero) all &= limit(Poly(-1) * p.guard.form, lo, hi);
    if (p.deepest == static_cast<int>(k)) p.exact = all;
  }
  Bounds result{b.integer(0), b.poly(g.extent(d)), !lo && !hi};
  const ExprId zero = g.pool.integer(0), extent = g.iota(Form(g.extent(d)));
  if (lo) result.lo = b.let("lo", x.eval(g.pool.make(SOp::max, *lo, zero), level));
  if (hi) result.hi = b.let("hi", x.eval(g.pool.make(SOp::min, *hi, extent), level));
  for (Placed& p : placed)
    if (!p.exact && p.deepest == static_cast<int>(k))
      p.exact = narrow_to_segment(p.guard, d, level, result);
  return result;
}

// Opens an `if` for each guard decided at this position that no bound expresses.
int KernelLowering::open_conditions(const std::vector<Placed>& placed, int position, int level) {
  int opened = 0;
  for (const Placed& p : placed) {
    if (p.deepest != position || p.exact) continue;
    open_if(x.eval(condition_of(g, p.guard), level));
    ++opened;
  }
  return opened;
}

// The part of the vector's block where the guards that mention it hold: the interior of a mask, so
// that its border costs nothing and its terms no test (algebra.md 5.13).
void KernelLowering::bound_vector(FoldNest& f, std::vector<Placed>& placed,
                                  const std::vector<DimId>& loops) {
  const Bounds at =
      bounds(placed, loops, loops.size() - 1, f.level + static_cast<int>(f.reduce.size()));
  f.vector_range.reset();
  if (at.plain) return;
  const Value lo = b.op(Op::max, {b.sub(at.lo, *block_start_), b.integer(0)});
  const Value hi = b.op(Op::min, {b.sub(at.hi, *block_start_), *block_size_});
  f.vector_range = {b.let("first", lo), b.let("past", hi)};
}

void KernelLowering::inner_loops(const std::vector<DimId>& inner, int level, Region& r,
                                 const std::function<void()>& inside,
                                 const std::optional<std::pair<Value, Value>>& range) {
  x.prepare(r, level);
  for (size_t k = 0; k < inner.size(); ++k) {
    const DimId d = inner[k];
    const bool blocked = plan_.vector == d;
    const Value size = blocked ? *block_size_ : b.poly(g.extent(d));
    Value var;
    const auto [lo, hi] = blocked && range ? *range : std::pair(b.integer(0), size);
    open_for(g[d].name, lo, hi, {.hint = k + 1 == inner.size() ? Hint::vector : Hint::none}, &var);
    x.inner_index[d] = {var, size};
    x.value_of[d] = blocked ? b.add(*block_start_, var) : var;
    x.prepare(r, level + 1 + static_cast<int>(k));
  }
  inside();
  close(static_cast<int>(inner.size()));
}

// The innermost loop in strides of `lanes`: partial state u takes the terms lo + u, lo + u + lanes,
// …
void KernelLowering::lane_loops(FoldNest& f, size_t k, const std::vector<Placed>& placed_in,
                                int level) {
  std::vector<Placed> placed = placed_in;
  const DimId d = f.reduce[k];
  Bounds at = bounds(placed, f.reduce, k, level - 1);
  const Value width = b.integer(f.lanes);
  if (!at.plain) at.hi = b.let("hi", b.max(at.hi, at.lo));
  const Value count = b.sub(at.hi, at.lo);
  const auto known = b.constant(count);
  const Value whole = known ? b.add(at.lo, b.integer(*known - *known % f.lanes))
                            : b.let("whole", b.sub(at.hi, b.mod(count, width)));
  Value start, u;
  const auto inside = [&] {
    x.lane = u;
    const int conditions = open_conditions(placed, static_cast<int>(k), level);
    x.prepare(f.steps, level);
    body(f);
    close(conditions);
  };
  open_for(g[d].name + "0", at.lo, whole, {.step = f.lanes}, &start);
  open_for("u", b.integer(0), width, {.hint = Hint::vector}, &u);
  x.value_of[d] = b.add(start, u);
  inside();
  close(2);
  if (known && *known % f.lanes == 0) return;
  Value rest;
  open_for(g[d].name, whole, at.hi, {.hint = Hint::vector}, &rest);
  x.value_of[d] = rest;
  u = b.sub(rest, whole);
  inside();
  close();
}

// A fixed tree over the lanes: halves of the arrays while they are vectors, then plain values,
// which the states are from here on.
void KernelLowering::combine_lanes(FoldNest& f) {
  x.open();
  std::vector<ExprId> roots;
  for (const FoldNest::Part& p : f.parts) roots.push_back(p.combine);
  int64_t half = f.lanes / 2;
  for (; half >= vector_lanes; half /= 2) {
    Value u;
    open_for("u", b.integer(0), b.integer(half), {.hint = Hint::vector}, &u);
    x.lane = u;
    x.right_lane = b.add(u, b.integer(half));
    const std::vector<Value> next = combined(f, roots);
    for (size_t k = 0; k < next.size(); ++k) x.store_slot(x.slots[f.base + k], next[k]);
    close();
  }
  std::vector<std::vector<Value>> lanes;
  for (int64_t lane = 0; lane < 2 * half; ++lane) {
    lanes.emplace_back(f.base);
    for (size_t k = 0; k < f.parts.size(); ++k)
      lanes.back().push_back(b.let("lane", b.at(x.slots[f.base + k].array, b.integer(lane))));
  }
  for (; half >= 1; half /= 2)
    for (size_t lane = 0; lane < static_cast<size_t>(half); ++lane) {
      x.open();
      x.left = lanes[lane], x.right = lanes[lane + static_cast<size_t>(half)];
      const std::vector<Value> next = combined(f, roots);
      std::copy(next.begin(), next.end(), lanes[lane].begin() + f.base);
      x.close();
    }
  x.left.clear(), x.right.clear();
  for (size_t k = 0; k < f.parts.size(); ++k) {
    Slot& s = x.slots[f.base + k];
    s.var = lanes[0][f.base + k];
    s.where = Slot::Where::var;
  }
  x.close();
}

// The states of two lanes as one, in the innermost block.
std::vector<Value> KernelLowering::combined(const FoldNest& f, const std::vector<ExprId>& roots) {
  Region r = x.region(roots, f.level, f.level + 1);
  x.prepare(r, f.level + 1);
  std::vector<Value> next;
  for (ExprId e : roots)
    next.push_back(b.let("next", x.convert(x.value(r, e), x.slots[f.base + next.size()].kind)));
  return next;
}

}  // namespace tang::loop
