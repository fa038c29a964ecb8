// Limits of loops from conditions: affine ones are solved for a coordinate, those on a sorted key
// searched for.
#include <algorithm>
#include <bit>

#include "expr/apply.h"
#include "ir/guards.h"
#include "ir/variance.h"
#include "tile/nest.h"

namespace tang::tile {

using Scalar = tang::Op;

std::optional<Form> NestLowering::known(const Form& f) {
  static const Nest none;
  nest_ = &none;
  scopes_ = {{b.region(), {}}};
  coordinate_.clear();
  for (DimId d : dims_of(g, f)) {
    const Span s = span(d);
    if (s.size != 1) return std::nullopt;
    coordinate_[d] = s.lo[0];
    scope_of_[d] = 0;
  }
  return form(f);
}

// The span of a coordinate within the guards (algebra.md 2.3).
Span NestLowering::limited(DimId d, const std::vector<Guard>& guards) {
  Span s = span(d);
  for (const Guard& guard : guards) limit(d, guard, s);
  return s;
}

// Narrows a span by a guard, which is implied from here on if it involves nothing tiled.
void NestLowering::limit(DimId d, const Guard& guard, Span& s) {
  if (guard.what == Guard::What::data) return;
  if (to_segment(guard, d, s)) {
    enforced_.push_back(guard);
    return;
  }
  const auto c = guard.form.coefficient(d).constant();
  if (!c || *c == 0 || !is_known(guard.form.gathers)) return;
  Form affine = guard.form;
  affine.gathers.clear();
  const Form gathered = form(guard.form - affine);
  bool exact = true, all = true;
  for (const int sign : {1, -1}) {
    if (sign < 0 && guard.what != Guard::What::zero) break;
    const Form f = Poly(sign) * affine;
    const int64_t towards = *c * sign;
    const auto rest = easiest(f - Poly(towards) * Form::coordinate(d), &exact);
    all &= rest.has_value();
    if (!rest) continue;
    const Form parts = quotient(*rest + Poly(sign) * gathered, std::abs(towards));
    if (towards > 0)
      s.lo.push_back(Poly(-1) * parts);
    else
      s.hi.push_back(parts + Form(1));
    s.size.reset();
  }
  if (all && exact && !tile_of(d)) enforced_.push_back(guard);
}

// Whether all that is gathered is one element, of open coordinates without tiles.
bool NestLowering::is_known(const std::vector<Form::Gather>& gathers) const {
  for (const Form::Gather& x : gathers)
    for (const Form& f : g.leaf(x.leaf).forms)
      for (DimId d : dims_of(g, f))
        if (!coordinate_.contains(d) || open_tiles_.contains(d)) return false;
  return true;
}

// floor(f / by) as a form, of a value that is computed here unless it is a constant.
Form NestLowering::quotient(const Form& f, int64_t by) {
  if (by == 1) return f;
  if (f.is_constant())
    if (const auto c = f.base.constant()) return Form(floor_div(*c, by));
  ExprPool& pool = b.kernel().pool;
  Op op;
  op.kind = OpKind::map;
  op.body = pool.make(Scalar::div, position(op, f), pool.integer(by));
  return Form::gathered(
      index_of(define(std::move(op), "limit", {}, Kind::integer, scopes_.size() - 1)));
}

// Narrows the span by a guard that names a run of a sorted key; false if it is none.
bool NestLowering::to_segment(const Guard& guard, DimId d, Span& s) {
  const auto run = segment_of(g, guard, d);
  if (!run || tile_of(d)) return false;
  for (DimId other : dims_of(g, guard))
    if (other != d && (!coordinate_.contains(other) || open_tiles_.contains(other))) return false;
  if (run->first) s.lo.push_back(first_at_least(*run, d, run->least));
  if (run->last) s.hi.push_back(first_at_least(*run, d, run->past));
  s.size.reset();
  return true;
}

// The first position along d, 0 … extent, whose key is at least `wanted`: binary search.
Form NestLowering::first_at_least(const Segment& s, DimId d, const Form& wanted) {
  ExprPool& pool = b.kernel().pool;
  const ValueId key = eval(g.iota(wanted));
  const auto add_map = [&](std::string_view name, const std::vector<ValueId>& values,
                           const auto& body) {
    Op op;
    op.kind = OpKind::map;
    std::vector<ExprId> args;
    for (ValueId v : values) args.push_back(argument(op, v, kind(b.kernel()[v].type.format)));
    op.body = body(op, args);
    const Kind k = pool[op.body].kind;
    return define(std::move(op), name, {}, k, scopes_.size() - 1);
  };
  const auto place = [&](const Form& f) {
    return add_map("at", {}, [&](Op& op, const auto&) { return position(op, f); });
  };
  const auto form_of = [](ValueId v) { return Form::gathered(index_of(v)); };

  const Poly extent = g.extent(d);
  const auto known = extent.constant();
  Op::Range r;
  r.indices = {b.index("step", Index::What::loop)};
  r.lo = {Form(0)};
  r.hi = {Form(known ? std::bit_width(static_cast<uint64_t>(*known)) : 63)};
  const std::vector<ValueId> ends =
      b.open_loop(std::move(r), {place(Form(0)), place(Form(extent))});
  scopes_.push_back({b.region(), {}});
  const ValueId middle = add_map("middle", ends, [&](Op&, const auto& x) {
    return pool.make(Scalar::div, pool.make(Scalar::add, x[0], x[1]), pool.integer(2));
  });
  coordinate_[d] = form_of(middle);
  Op load;
  load.kind = OpKind::load;
  const tang::Leaf& leaf = g.leaf(s.key);
  load.refs = {reference(leaf.tensor, leaf.forms)};
  load.valid = {form_of(ends[1]) - form_of(ends[0]) - Form(1)};
  const ValueId found = define(std::move(load), "key", {}, Kind::integer, scopes_.size() - 1);
  coordinate_.erase(d);
  const ValueId less = add_map("less", {ends[0], ends[1], found, key}, [&](Op&, const auto& x) {
    return pool.make(Scalar::logical_and, pool.make(Scalar::lt, x[0], x[1]),
                     pool.make(Scalar::lt, x[2], x[3]));
  });
  const ValueId lo = add_map("lo", {less, middle, ends[0]}, [&](Op&, const auto& x) {
    return pool.make(Scalar::select, x[0], pool.make(Scalar::add, x[1], pool.integer(1)), x[2]);
  });
  const ValueId hi = add_map("hi", {less, middle, ends[0], ends[1]}, [&](Op&, const auto& x) {
    const ExprId stays = pool.make(Scalar::logical_or, x[0], pool.make(Scalar::le, x[3], x[2]));
    return pool.make(Scalar::select, stays, x[3], x[1]);
  });
  scopes_.pop_back();
  return form_of(b.close({lo, hi})[0]);
}

}  // namespace tang::tile
