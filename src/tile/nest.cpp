// Loops over tiles, states and stores.
#include "tile/nest.h"

#include <algorithm>
#include <utility>

#include "ir/guards.h"
#include "ir/variance.h"

namespace tang::tile {

using Scalar = tang::Op;

void NestLowering::run(const Nest& nest) {
  nest_ = &nest;
  scopes_ = {{b.region(), {}}};
  scope_of_.clear(), coordinate_.clear(), open_tiles_.clear();
  masks_.clear(), enforced_.clear(), left_.clear(), right_.clear();
  dim(0);
}

const TileDim* NestLowering::tile_of(DimId d) const {
  for (const TileDim& t : nest_->tile)
    if (t.dim == d && t.size() > 1) return &t;
  return nullptr;
}

// ---- loops -------------------------------------------------------------------------------------

void NestLowering::dim(size_t k) {
  if (k == nest_->points.size() && !folding_) {
    folding_ = true;
    if (!nest_->parts.empty()) {
      start();
      term_block(0);
    }
    finish();
    folding_ = false;
    return;
  }
  if (k == nest_->points.size() + nest_->reduce.size()) return step();
  const DimId d = dim_at(k);
  const size_t enforced = enforced_.size();
  const bool scans = reduces(k) && nest_->scan;
  Span s = scans ? span(d) : limited(d, reduces(k) ? nest_->guards : nest_->gates);
  if (reduces(k))
    for (const Guard& guard : nest_->limits) limit(d, guard, s);
  if (reduces(k) && env_.group > 1 && beyond_vanish(d, s)) {
    s.size = s.most;
    s.hi = {s.lo[0] + Form(*s.most)};
  }
  if (const TileDim* t = tile_of(d))
    tiled(k, s, *t);
  else
    whole(k, s);
  enforced_.resize(enforced);
}

// Loops over blocks of terms from number n on, and the terms inside of them.
void NestLowering::term_block(size_t n) {
  if (!nest_->blocks || n == nest_->blocks->count()) return dim(nest_->points.size());
  const auto range = nest_->blocks->range(n);
  if (range) {
    keep(b.open_loop(*range, kept()));
    scopes_.push_back({b.region(), {}});
  }
  nest_->blocks->enter(n, range ? &*range : nullptr);
  const std::vector<Part>* outer = std::exchange(parts_, &nest_->blocks->parts());
  scopes_.push_back({b.region(), {}});
  term_block(n + 1);
  scopes_.pop_back();
  parts_ = outer;
  nest_->blocks->leave(n, range.has_value());
  if (!range) return;
  scopes_.pop_back();
  keep(b.close(kept()));
}

Span NestLowering::span(DimId d) const {
  const auto found = env_.spans.find(d);
  if (found != env_.spans.end()) return found->second;
  return {{Form(0)}, {Form(g.extent(d))}, g.extent(d).constant()};
}

// The value of a form over the nest's coordinates, with those that are tiled or not open yet where
// they make it greatest.
std::optional<Form> NestLowering::easiest(const Form& rest, bool* exact) const {
  Form result = rest.base;
  for (const Form::Term& t : rest.terms) {
    const bool up = t.coeff.proved_nonnegative();
    if (!up && !t.coeff.proved_nonpositive()) return std::nullopt;
    const auto at = coordinate_.find(t.dim);
    Form x;
    if (at == coordinate_.end()) {
      const Span s = span(t.dim);
      x = up ? s.hi[0] - Form(1) : s.lo[0];
      *exact &= s.size == 1;
    } else {
      x = at->second;
      if (const auto tile = open_tiles_.find(t.dim); tile != open_tiles_.end()) {
        x = x - Form::coordinate(b.axis(g[t.dim].name));
        if (up) x = x + Form(tile->second.size() - 1);
        *exact = false;
      }
    }
    result = result + t.coeff * x;
  }
  return result;
}

// Whether a loop over coordinate k stands outermost in a nest that is shared.
bool NestLowering::shares(size_t k) const {
  return nest_->parallel && !reduces(k) && b.region() == static_cast<RegionId>(0);
}

DimId NestLowering::open_loop(size_t k, std::vector<Form> lo, std::vector<Form> hi, int64_t step) {
  Op::Range r;
  const DimId index = b.index(g[dim_at(k)].name + "0", Index::What::loop);
  r.indices = {index};
  r.lo = std::move(lo), r.hi = std::move(hi);
  r.step = step;
  r.parallel = shares(k);
  keep(b.open_loop(std::move(r), reduces(k) ? kept() : std::vector<ValueId>{}));
  scopes_.push_back({b.region(), {}});
  return index;
}

void NestLowering::close_loop(size_t k) {
  scopes_.pop_back();
  keep(b.close(reduces(k) ? kept() : std::vector<ValueId>{}));
}

std::vector<ValueId> NestLowering::kept() const {
  std::vector<ValueId> values;
  for (const State& s : left_) values.push_back(s.value);
  return values;
}

void NestLowering::keep(std::vector<ValueId> values) {
  for (size_t k = 0; k < values.size(); ++k) left_[k].value = values[k];
}

// Everything inside coordinate k, which stands at a place.
void NestLowering::inside(size_t k, const Form& coordinate) {
  const DimId d = dim_at(k);
  scopes_.push_back({b.region(), {}});
  scope_of_[d] = scopes_.size() - 1;
  coordinate_[d] = coordinate;
  dim(k + 1);
  coordinate_.erase(d);
  scope_of_.erase(d);
  scopes_.pop_back();
}

void NestLowering::whole(size_t k, const Span& s) {
  if (s.size == 1) return inside(k, s.lo[0]);
  const DimId index = open_loop(k, s.lo, s.hi, 1);
  const bool reverse = reduces(k) && nest_->scan && nest_->scan->reverse;
  inside(k,
         reverse ? s.lo[0] + s.hi[0] - Form(1) - Form::coordinate(index) : Form::coordinate(index));
  close_loop(k);
}

// A tile of the coordinate from `at` on; `masks` gives the limits of one that is not all inside.
void NestLowering::segment(size_t k, const TileDim& t, const Form& at, const Span* masks) {
  const DimId d = t.dim;
  const auto old =
      open_tiles_.find(d) == open_tiles_.end() ? std::nullopt : std::optional(open_tiles_[d]);
  open_tiles_[d] = t;
  const bool is_tile = t.size() > 1;
  if (!is_tile) open_tiles_.erase(d);
  const Form x = is_tile ? at + Form::coordinate(b.axis(g[d].name)) : at;
  const size_t masked = masks_.size();
  if (masks)
    for (const Form& hi : masks->hi) masks_.push_back({d, hi - Form(1) - x});
  inside(k, x);
  masks_.resize(masked);
  open_tiles_.erase(d);
  if (old) open_tiles_[d] = *old;
}

// Whole tiles, then what is left: of known size a smaller tile, otherwise one by one, or a vector
// of which some elements are left out.
void NestLowering::tiled(size_t k, const Span& s, const TileDim& t) {
  const int64_t size = t.size();
  if (s.size) {
    const int64_t count = *s.size / size, rest = *s.size % size;
    const Form& lo = s.lo[0];
    if (count == 1) segment(k, t, lo, nullptr);
    if (count > 1) {
      const DimId index = open_loop(k, {lo}, {lo + Form(count * size)}, size);
      segment(k, t, Form::coordinate(index), nullptr);
      close_loop(k);
    }
    if (rest == 0) return;
    TileDim last = t;  // a packed tile keeps its registers: they are whole vectors
    if (!reduces(k) && !t.packed) {
      if (rest == 1 && t.threads == 1) last.elem = 1;
      const int64_t each = last.elem * last.threads;
      last.reg = (rest + each - 1) / each;
    }
    const bool whole = !reduces(k) && rest == last.size();
    const Form from = lo + Form(count * size);
    const bool apart = shares(k);  // one of those who share the loop takes what is left
    if (apart) open_loop(k, {from}, {from + Form(1)}, 1);
    segment(k, last, from, whole ? nullptr : &s);
    if (apart) close_loop(k);
    return;
  }
  if (s.most.value_or(size + 1) <= size && s.lo.size() == 1 && t.threads > 1)
    return one_tile(k, s, t);
  const DimId index = open_loop(k, s.lo, s.hi, size);
  if (t.threads > 1 && !repays_branch(k, t)) {
    segment(k, t, Form::coordinate(index), &s);
    return close_loop(k);
  }
  std::vector<Form> holds;
  for (const Form& hi : s.hi) holds.push_back(hi - Form::coordinate(index) - Form(size));
  const std::vector<ValueId> before = kept();
  b.open_branch(std::move(holds));
  segment(k, t, Form::coordinate(index), nullptr);
  b.open_else(reduces(k) ? kept() : std::vector<ValueId>{});
  if (reduces(k)) keep(before);
  if (t.elem == 1 && t.threads == 1 && !reduces(k)) {
    const DimId one = open_loop(k, {Form::coordinate(index)}, s.hi, 1);
    segment(k, {t.dim, 1, 1}, Form::coordinate(one), nullptr);
    close_loop(k);
  } else {
    segment(k, t, Form::coordinate(index), &s);
  }
  keep(b.close(reduces(k) ? kept() : std::vector<ValueId>{}));
  close_loop(k);
}

// Vectors that are all there need no tests, which repays a branch if there is little inside of it,
// and no fold over threads.
bool NestLowering::repays_branch(size_t k, const TileDim& t) const {
  if (t.elem == 1 || nest_->blocks) return false;
  return reduces(k) || std::none_of(nest_->tile.begin(), nest_->tile.end(), [&](const TileDim& x) {
           return x.threads > 1 && contains(nest_->reduce, x.dim);
         });
}

// At most one tile: threads whose elements are not there leave them out.
void NestLowering::one_tile(size_t k, const Span& s, const TileDim& t) {
  if (!repays_branch(k, t)) return segment(k, t, s.lo[0], &s);
  std::vector<Form> holds;
  for (const Form& hi : s.hi) holds.push_back(hi - s.lo[0] - Form(t.size()));
  const std::vector<ValueId> before = kept();
  b.open_branch(std::move(holds));
  segment(k, t, s.lo[0], nullptr);
  b.open_else(reduces(k) ? kept() : std::vector<ValueId>{});
  if (reduces(k)) keep(before);
  segment(k, t, s.lo[0], &s);
  keep(b.close(reduces(k) ? kept() : std::vector<ValueId>{}));
}

// ---- states and stores -------------------------------------------------------------------------

// Tiled coordinates of a state: the points it varies along and, while terms are kept apart, lanes.
// Where there are lanes, which are folded together, all components of a state have the same.
std::vector<DimId> NestLowering::state_dims(const Part& p, bool lanes) const {
  std::vector<DimId> dims, varies = p.varies;
  const bool any = std::any_of(nest_->reduce.begin(), nest_->reduce.end(),
                               [&](DimId d) { return tile_of(d) != nullptr; });
  for (const Part& other : nest_->parts)
    if (any && other.fold == p.fold)
      varies.insert(varies.end(), other.varies.begin(), other.varies.end());
  for (const TileDim& t : nest_->tile) {
    if (!open_tiles_.contains(t.dim)) continue;
    const bool lane = contains(nest_->reduce, t.dim);
    if (lane ? lanes : contains(varies, t.dim)) dims.push_back(t.dim);
  }
  return dims;
}

void NestLowering::start() {
  bool lanes = false;
  for (DimId d : nest_->reduce)
    if (const TileDim* t = tile_of(d)) {
      open_tiles_[d] = *t;
      lanes = true;
    }
  left_.clear();
  std::vector<State> states;
  late_ = !lanes && std::any_of(nest_->parts.begin(), nest_->parts.end(),
                                [&](const Part& p) { return starts_far(p); });
  for (const Part& p : nest_->parts) {
    const std::vector<DimId> dims = state_dims(p, true);
    if (late_) fetch(p);
    const ExprId first = p.initial != ExprId::none && !lanes && !late_ ? p.initial : p.identity;
    states.push_back({expanded(eval(first), dims), dims});
  }
  left_ = std::move(states);
}

// The conditions that the loops around do not imply.
std::vector<ExprId> NestLowering::conditions(const std::vector<Guard>& guards) {
  std::vector<ExprId> result;
  for (const Guard& guard : guards)
    if (std::find(enforced_.begin(), enforced_.end(), guard) == enforced_.end())
      result.push_back(condition_of(g, guard));
  return result;
}

// Whether a state starts from memory that others than the kernel have too: too far to wait for. The
// line of a place that is gathered is not known soon enough to be asked for.
bool NestLowering::starts_far(const Part& p) const {
  if (env_.group > 1 || nest_->scan || p.initial == ExprId::none ||
      g.pool[p.initial].op != tang::Op::var)
    return false;
  const tang::Leaf l = g.leaf(g.pool[p.initial].variable());
  const bool affine =
      std::all_of(l.forms.begin(), l.forms.end(), [](const Form& f) { return f.is_affine(); });
  return l.what == tang::Leaf::What::read && affine &&
         b.kernel()[env_.places.at(l.tensor).memory].role != Memory::Role::local;
}

// Asks for the lines of what a tile of states starts from.
void NestLowering::fetch(const Part& p) {
  if (!starts_far(p)) return;
  const tang::Leaf l = g.leaf(g.pool[p.initial].variable());
  std::vector<std::vector<Form>> places = {reference(l.tensor, l.forms).at};
  const int64_t line = std::max<int64_t>(1, env_.line_bytes * 8 / info(g[l.tensor].storage()).bits);
  for (const auto& [d, tile] : open_tiles_) {
    const DimId axis = b.axis(g[d].name);
    const int64_t step = places[0].back().mentions(axis) ? line : 1;
    std::vector<std::vector<Form>> next;
    for (const std::vector<Form>& at : places)
      for (int64_t e = 0; e < tile.size() - 1 + step; e += step) {
        next.push_back(at);
        for (Form& f : next.back())
          f = substitute(f, [&](DimId x) {
            return x == axis ? std::optional(Form(std::min(e, tile.size() - 1))) : std::nullopt;
          });
      }
    if (contains(p.varies, d)) places = std::move(next);
  }
  constexpr size_t many = 24;
  if (places.size() > many) return;
  for (std::vector<Form>& at : places) {
    Op op;
    op.kind = OpKind::prefetch;
    op.refs = {reference(l.tensor, l.forms)};
    op.refs[0].at = std::move(at);
    b.add(std::move(op));
  }
}

// All states after a term are computed from those before it.
void NestLowering::step() {
  const bool scans = nest_->scan != nullptr;
  if (scans && nest_->scan->exclusive) store_step();
  const std::vector<ExprId> holds = conditions(nest_->guards);
  scopes_.push_back({b.region(), {}});
  std::vector<ValueId> next;
  for (uint32_t k = 0; k < nest_->parts.size(); ++k) next.push_back(advance(k, holds));
  store_all(nest_->term_stores);
  scopes_.pop_back();
  keep(std::move(next));
  if (scans && !nest_->scan->exclusive) store_step();
}

void NestLowering::store_step() {
  scopes_.push_back({b.region(), {}});
  store_all(nest_->stores);
  scopes_.pop_back();
}

void NestLowering::finish() {
  if (!nest_->scan) {
    scopes_.push_back({b.region(), {}});
    fold_lanes();
    store_all(nest_->stores);
    scopes_.pop_back();
  }
  left_.clear();
}

// Rows of states whose terms lie in the lanes of vectors: once folded, the rows fill a vector
// themselves, and what is computed from them is.
void NestLowering::rows_to_lanes(const std::vector<DimId>& lanes) {
  if (lanes.size() != 1 || env_.group > 1) return;
  std::optional<DimId> rows;
  for (const auto& [d, t] : open_tiles_) {
    if (d == lanes[0]) continue;
    const bool power = (t.reg & (t.reg - 1)) == 0;
    if (rows || t.elem != 1 || !power || t.reg > tile_of(lanes[0])->elem) return;
    rows = d;
  }
  if (!rows) return;
  for (const Part& p : nest_->parts)
    if (!contains(p.varies, *rows) || p.kind != Kind::real) return;
  TileDim& t = open_tiles_.at(*rows);
  t = {*rows, 1, t.reg};
  for (size_t s = scope_of_.at(*rows); s < scopes_.size(); ++s) scopes_[s].values.clear();
}

// The fold over the lanes, and what the states started from before it.
void NestLowering::fold_lanes() {
  std::vector<DimId> lanes;
  for (DimId d : nest_->reduce)
    if (tile_of(d)) lanes.push_back(d);
  if (nest_->parts.empty() || (lanes.empty() && !late_)) return;
  rows_to_lanes(lanes);
  for (size_t k = 0; k < left_.size() && !lanes.empty();) {
    Op op;
    op.kind = OpKind::reduce;
    op.monoid = monoid(nest_->parts[k].fold);
    for (DimId d : lanes) op.over.push_back(b.axis(g[d].name));
    size_t end = k;
    for (; end < left_.size() && nest_->parts[end].fold == nest_->parts[k].fold; ++end)
      op.args.push_back(left_[end].value);
    for (size_t n = k; n < end; ++n) {
      left_[n].dims = state_dims(nest_->parts[n], false);
      Type type;
      type.placement = placement(left_[n].dims);
      type.format = format(nest_->parts[n].kind);
      left_[n].value = b.value("s", type);
      op.results.push_back(left_[n].value);
    }
    b.add(std::move(op));
    k = end;
  }
  for (DimId d : lanes) open_tiles_.erase(d);
  const auto begins = [](const Part& p) { return p.initial != ExprId::none; };
  if (std::none_of(nest_->parts.begin(), nest_->parts.end(), begins)) return;
  right_ = left_;
  std::vector<State> before;
  for (size_t k = 0; k < right_.size(); ++k) {
    const Part& p = nest_->parts[k];
    before.push_back(
        {expanded(eval(begins(p) ? p.initial : p.identity), right_[k].dims), right_[k].dims});
  }
  left_ = std::move(before);
  std::vector<State> after;
  for (size_t k = 0; k < right_.size(); ++k)
    after.push_back({expanded(eval(nest_->parts[k].combine), right_[k].dims), right_[k].dims});
  left_ = std::move(after);
  right_.clear();
  scopes_.back().values.clear();
}

// Every value is computed before any is stored, since an output may lie where an input does.
void NestLowering::store_all(const std::vector<Store>& stores) {
  std::vector<Op> ops;
  for (const Store& s : stores) {
    Op op;
    op.kind = OpKind::store;
    std::vector<DimId> dims;
    for (const TileDim& t : nest_->tile)
      if (open_tiles_.contains(t.dim) &&
          std::any_of(s.at.begin(), s.at.end(), [&](const Form& f) { return f.mentions(t.dim); }))
        dims.push_back(t.dim);
    op.args = {expanded(eval(s.value), dims)};
    op.refs = {reference(s.tensor, s.at)};
    masked(op.valid, dims, s.tensor, s.at);
    const bool whole = op.valid.empty() && nest_->gates.empty();
    for (DimId d : dims)
      if (whole && tile_of(d)->elem == s.row_elements && s.at.back() == Form::coordinate(d))
        op.row = s.row;
    for (ExprId holds : conditions(nest_->gates)) {
      const ExprId one = g.pool.make(Scalar::select, holds, g.pool.integer(1), g.pool.integer(0));
      op.valid.push_back(Form::gathered(index_of(eval(one))) - Form(1));
    }
    ops.push_back(std::move(op));
  }
  for (Op& op : ops) b.add(std::move(op));
}

}  // namespace tang::tile
