// Loops over blocks: where they run, which are shared, and which states registers hold meanwhile.
#include <algorithm>

#include "ir/guards.h"
#include "ir/variance.h"
#include "tile/lower_impl.h"

namespace tang::tile {

// Whether a loop over the coordinate is parallel: nothing but windows stands around it, and each of
// its points has elements of its own in all that is stored.
bool KernelLowering::shares(DimId point) const {
  if (plan_->threads == 1 || !states_.empty()) return false;
  const bool outermost = b.region() == static_cast<RegionId>(0);
  if (!outermost && !(plan_->group > 1 && b.in_parallel())) return false;
  return std::all_of(node_.targets.begin(), node_.targets.end(),
                     [&](const Target& t) { return contains(t.points, point); });
}

// Whether the states of a tile stay in registers while blocks of terms pass: one tile has all
// points of the block.
bool KernelLowering::holds_states() const {
  if (plan_->group == 1 || pivot_ || node_.scan || first_reduce() == plan_->blocks.size())
    return false;
  return std::all_of(node_.points.begin(), node_.points.end(), [&](DimId d) {
    int64_t size = 1;
    for (const TileDim& t : plan_->nest.tile)
      if (t.dim == d) size = t.size();
    for (const BlockLoop& loop : plan_->blocks)
      if (loop.dim == d) return loop.step <= size;
    return g.extent(d).constant().value_or(size + 1) <= size;
  });
}

std::optional<Op::Range> KernelLowering::range(size_t k) {
  const BlockLoop& loop = plan_->blocks[first_reduce() + k];
  if (whole(loop)) return std::nullopt;
  return block_range(loop);
}

void KernelLowering::enter(size_t k, const Op::Range* range) {
  const size_t level = first_reduce() + k;
  if (range) set_span(plan_->blocks[level], *range);
  for (const StagePlan& s : plan_->stages)
    if (s.level == level + 1) stage(s);
}

void KernelLowering::leave(size_t k, bool loop) {
  if (loop) forget_span(plan_->blocks[first_reduce() + k]);
}

// The greatest value of an affine form in the block at hand.
Form KernelLowering::easiest(const Form& rest) const {
  Form result = rest.base;
  for (const Form::Term& t : rest.terms) {
    const Span s = span_of(t.dim);
    result = result + t.coeff * (t.coeff.proved_nonnegative() ? s.hi[0] - Form(1) : s.lo[0]);
  }
  return result;
}

// Whether one block has all of the coordinate: then it needs no loop.
bool KernelLowering::whole(const BlockLoop& loop) const {
  const auto extent = g.extent(loop.dim).constant();
  return extent && *extent > 0 && *extent <= loop.step;
}

// What the terms' guards say of a summed coordinate in the block at hand.
std::vector<KernelLowering::Bound> KernelLowering::bounds_of(DimId d) {
  std::vector<Bound> bounds;
  if (!contains(node_.reduce, d)) return bounds;
  for (const Guard& guard : node_.guards) {
    if (guard.what == Guard::What::data) continue;
    const auto& terms = guard.form.terms;
    const bool monotone = std::all_of(terms.begin(), terms.end(), [](const Form::Term& t) {
      return t.coeff.proved_nonnegative() || t.coeff.proved_nonpositive();
    });
    const auto c = guard.form.coefficient(d).constant();
    if (!monotone || (c != 1 && c != -1)) continue;
    Form affine = guard.form;
    affine.gathers.clear();
    const auto gathered = NestLowering(g, b, env_).known(guard.form - affine);
    if (!gathered) continue;
    const bool alone = std::all_of(terms.begin(), terms.end(), [&](const Form::Term& t) {
      return t.dim == d || span_of(t.dim).size == 1;
    });
    for (const int sign : {1, -1}) {
      if (sign < 0 && guard.what != Guard::What::zero) break;
      const int64_t towards = *c * sign;
      const Form rest = easiest(Poly(sign) * affine - Poly(towards) * Form::coordinate(d)) +
                        Poly(sign) * *gathered;
      const Form at = towards > 0 ? Poly(-1) * rest : rest + Form(1);
      bounds.push_back({guard, towards < 0, at, alone && !guard.form.is_affine()});
    }
  }
  return bounds;
}

// Summed coordinates that no loop around runs along are kept within the bounds that are their
// guards' whole meaning; these need no test then.
void KernelLowering::narrow(size_t level) {
  const auto end = plan_->blocks.begin() + static_cast<long>(level);
  for (DimId d : node_.reduce) {
    const bool runs = std::any_of(plan_->blocks.begin(), end, [&](const BlockLoop& loop) {
      return loop.dim == d && !whole(loop);
    });
    if (runs) continue;
    for (const Bound& bound : bounds_of(d)) {
      if (!bound.whole) continue;
      Span s = span_of(d);
      (bound.upper ? s.hi : s.lo).push_back(bound.at);
      s.size.reset();
      env_.spans[d] = std::move(s);
      std::erase(node_.guards, bound.guard);
    }
  }
}

// Blocks in which no guard can hold are left out.
Op::Range KernelLowering::block_range(const BlockLoop& loop) {
  const DimId d = loop.dim;
  const Poly extent = g.extent(d);
  Op::Range r;
  r.lo = {Form(0)}, r.hi = {Form(extent)};
  if (const auto around = env_.spans.find(d); around != env_.spans.end()) {
    r.lo = around->second.lo, r.hi = around->second.hi;
    around_.emplace_back(d, around->second);
  }
  limits_ = r.hi;
  for (const Bound& bound : bounds_of(d)) (bound.upper ? r.hi : r.lo).push_back(bound.at);
  r.step = loop.step;
  const DimId index = b.index(g[d].name + "b", Index::What::loop);
  r.indices = {index};
  return r;
}

// Where the coordinate runs in one of these blocks.
void KernelLowering::set_span(const BlockLoop& loop, const Op::Range& range) {
  const DimId index = range.indices[0];
  const Poly extent = g.extent(loop.dim);
  const bool from_zero = range.lo.size() == 1;
  const std::vector<Form>& limits = limits_;
  Span s;
  s.lo = {Form::coordinate(index)};
  s.hi = {Form::coordinate(index) + Form(loop.step)};
  s.most = loop.step;
  const auto known = extent.constant();
  if (loop.step == 1 ||
      (known && *known % loop.step == 0 && from_zero && limits == std::vector{Form(extent)}))
    s.size = loop.step;
  else
    s.hi.insert(s.hi.end(), limits.begin(), limits.end());
  env_.spans[loop.dim] = std::move(s);
}

void KernelLowering::open_block(const BlockLoop& loop) {
  if (whole(loop)) return;
  Op::Range r = block_range(loop);
  r.parallel = shares(loop.dim);
  const Op::Range opened = r;
  b.open_loop(std::move(r), {});
  set_span(loop, opened);
}

void KernelLowering::close_block(const BlockLoop& loop) {
  if (whole(loop)) return;
  forget_span(loop);
  b.close();
}

void KernelLowering::forget_span(const BlockLoop& loop) {
  env_.spans.erase(loop.dim);
  if (!around_.empty() && around_.back().first == loop.dim) {
    env_.spans[loop.dim] = std::move(around_.back().second);
    around_.pop_back();
  }
}

Span KernelLowering::span_of(DimId d) const {
  const auto found = env_.spans.find(d);
  if (found != env_.spans.end()) return found->second;
  const auto size = g.extent(d).constant();
  return {{Form(0)}, {Form(g.extent(d))}, size, size};
}

}  // namespace tang::tile
