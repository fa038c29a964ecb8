// Expressions over register tiles.
#include <algorithm>
#include <cctype>

#include "ir/guards.h"
#include "ir/inside.h"
#include "ir/monoids.h"
#include "ir/variance.h"
#include "tile/nest.h"

namespace tang::tile {

namespace {

using Scalar = tang::Op;

// A node over operands made in another pool. Integer literals among reals become reals, so that
// `0` and `0.0` make one program; an exponent stays what it is.
ExprId made_of(ExprPool& to, ExprNode n, const std::map<ExprId, ExprId>& made) {
  const size_t count = n.operands().size();
  bool real = n.kind == Kind::real;
  for (size_t k = 0; k < count; ++k) {
    n.args[k] = made.at(n.args[k]);
    real |= n.kind == Kind::boolean && to[n.args[k]].kind == Kind::real;
  }
  if (real && n.op != Scalar::pow && n.op != Scalar::cast)
    for (size_t k = 0; k < count; ++k)
      if (const ExprNode& x = to[n.args[k]]; x.op == Scalar::constant && x.kind == Kind::integer)
        n.args[k] = to.real(x.value().as_real());
  return rebuild(to, n);
}

// An expression of the graph in the kernel's pool; `leaf` gives what its variables become.
template <class LeafOf>
ExprId copied(const ExprPool& from, ExprPool& to, ExprId root, const LeafOf& leaf) {
  std::map<ExprId, ExprId> made;
  for (ExprId id : from.reachable(root)) {
    const ExprNode& n = from[id];
    if (n.op == Scalar::var) {
      made[id] = leaf(id);
      continue;
    }
    if (n.op == Scalar::constant) {
      made[id] = to.constant(n.value());
      continue;
    }
    made[id] = made_of(to, n, made);
  }
  return made.at(root);
}

void insert(std::vector<DimId>& into, const std::vector<DimId>& more) {
  for (DimId d : more)
    if (!contains(into, d)) into.push_back(d);
}

}  // namespace

// ---- what depends on what ----------------------------------------------------------------------

const NestLowering::Depends& NestLowering::depends(ExprId root) {
  if (const auto known = depends_.find(root); known != depends_.end()) return known->second;
  for (ExprId id : g.pool.reachable(root)) {
    if (depends_.contains(id)) continue;
    Depends d;
    const ExprNode n = g.pool[id];
    if (n.op == Scalar::var) {
      const tang::Leaf l = g.leaf(n.variable());
      if (l.what == tang::Leaf::What::left) d.left = {l.number};
      if (l.what == tang::Leaf::What::right) d.right = {l.number};
      for (const Form& f : l.forms) insert(d.dims, dims_of(g, f));
    }
    for (ExprId o : n.operands()) {
      const Depends& other = depends_.at(o);
      insert(d.dims, other.dims);
      d.left.insert(d.left.end(), other.left.begin(), other.left.end());
      d.right.insert(d.right.end(), other.right.begin(), other.right.end());
    }
    for (auto* list : {&d.left, &d.right}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    depends_[id] = std::move(d);
  }
  return depends_.at(root);
}

NestLowering::Key NestLowering::key_of(ExprId e) {
  const Depends& d = depends(e);
  Key key;
  std::vector<DimId> wanted = d.dims;
  for (uint32_t n : d.left) insert(wanted, left_[n].dims);
  for (uint32_t n : d.right) insert(wanted, right_[n].dims);
  if (!d.left.empty() || !d.right.empty()) key.scope = scopes_.size() - 1;
  for (DimId x : d.dims)
    if (const auto at = scope_of_.find(x); at != scope_of_.end())
      key.scope = std::max(key.scope, at->second);
  for (const TileDim& t : nest_->tile)
    if (open_tiles_.contains(t.dim) && contains(wanted, t.dim)) key.dims.push_back(t.dim);
  return key;
}

// ---- pieces ------------------------------------------------------------------------------------

Format NestLowering::format(Kind k) const {
  return k == Kind::real ? env_.real : k == Kind::integer ? Format::i64 : Format::boolean;
}

PlacementId NestLowering::placement(const std::vector<DimId>& dims) {
  Placement p(dims.size());
  std::vector<DimId> axes;
  for (uint32_t a = 0; a < dims.size(); ++a) {
    const TileDim& t = open_tiles_.at(dims[a]);
    axes.push_back(b.axis(g[dims[a]].name));
    const int64_t apart = t.elem * (t.packed ? 1 : t.threads);
    if (t.reg > 1) p.add(Level::reg, t.reg, Use::index, {{a, apart}});
    if (t.elem > 1) p.add(Level::elem, t.elem, Use::index, {{a, 1}});
  }
  if (env_.group > 1) add_threads(p, dims);
  return b.placement(axes, p);
}

// Digits of a thread's number: neighbours are neighbours along the nest's last tiled coordinate.
// What is left over, and coordinates that the value has no tile of, are replicas.
void NestLowering::add_threads(Placement& p, const std::vector<DimId>& dims) const {
  constexpr int64_t lanes = 32;
  int64_t before = 1;
  const auto add = [&](int64_t extent, std::optional<AxisTerm> term) {
    while (extent > 1) {
      const bool lane = before < lanes;
      const int64_t part = lane ? std::min(extent, lanes / before) : extent;
      p.add(lane ? Level::lane : Level::warp, part, term ? Use::index : Use::replica,
            term ? std::vector<AxisTerm>{*term} : std::vector<AxisTerm>{});
      if (term) term->coeff *= part;
      before *= part;
      extent /= part;
    }
  };
  for (size_t k = nest_->tile.size(); k-- > 0;) {
    const TileDim& t = nest_->tile[k];
    const auto axis = std::find(dims.begin(), dims.end(), t.dim);
    const auto number = static_cast<uint32_t>(axis - dims.begin());
    if (axis == dims.end()) {
      add(t.threads, std::nullopt);
      continue;
    }
    const TileDim& open = open_tiles_.at(t.dim);  // the last tile of a dim has fewer registers
    add(t.threads, AxisTerm{number, open.elem * (open.packed ? open.reg : 1)});
  }
  add(env_.group / before, std::nullopt);
}

ValueId NestLowering::define(Op op, std::string_view name, const std::vector<DimId>& dims,
                             Kind kind, size_t scope) {
  Type type;
  type.placement = placement(dims);
  type.format = format(kind);
  const ValueId v = b.value(name, type);
  op.results = {v};
  b.add(scopes_[scope].region, std::move(op));
  return v;
}

// Over indices and axes of the kernel; what is gathered becomes a tile.
Form NestLowering::form(const Form& f) {
  Form result = f.base;
  for (const Form::Term& t : f.terms) result = result + t.coeff * coordinate_.at(t.dim);
  for (const Form::Gather& x : f.gathers)
    result = result + x.coeff * Form::gathered(index_of(eval(g.pool.var(x.leaf, Kind::integer))));
  return result;
}

ExprId NestLowering::argument(Op& op, ValueId v, Kind kind) {
  for (uint32_t n = 0; n < op.leaves.size(); ++n)
    if (op.leaves[n].argument && op.args[*op.leaves[n].argument] == v)
      return b.kernel().pool.var(n, kind);
  Leaf leaf;
  leaf.argument = static_cast<uint32_t>(op.args.size());
  op.args.push_back(v);
  op.leaves.push_back(leaf);
  return b.kernel().pool.var(static_cast<uint32_t>(op.leaves.size() - 1), kind);
}

// The value of a form over indices, axes and values of the kernel.
ExprId NestLowering::position(Op& op, const Form& f) {
  ExprPool& pool = b.kernel().pool;
  if (!f.gathers.empty()) {
    Form affine = f;
    affine.gathers.clear();
    ExprId sum = position(op, affine);
    for (const Form::Gather& x : f.gathers) {
      const ExprId v = argument(op, static_cast<ValueId>(x.leaf), Kind::integer);
      sum = pool.make(Scalar::add, sum, pool.make(Scalar::mul, position(op, Form(x.coeff)), v));
    }
    return sum;
  }
  if (f.is_constant())
    if (const auto c = f.base.constant()) return pool.integer(*c);
  Leaf leaf;
  leaf.form = f;
  op.leaves.push_back(leaf);
  return pool.var(static_cast<uint32_t>(op.leaves.size() - 1), Kind::integer);
}

// A variable of a map's body.
ExprId NestLowering::leaf(Op& op, ExprId e) {
  const tang::Leaf l = g.leaf_of(e);
  if (l.what != tang::Leaf::What::iota) return argument(op, eval(e), g.pool[e].kind);
  return position(op, form(l.form()));
}

// The bounds that keep a read inside its tensor and that nothing proves.
std::vector<Form> NestLowering::bounds(const tang::Leaf& l) {
  std::vector<Form> result;
  if (env_.places.at(l.tensor).covers) return result;
  for (const Guard& bound : inside_bounds(g, l.tensor, l.forms))
    if (l.guarded || !bound.form.is_affine() || !implied(g, bound.form, enforced_))
      result.push_back(form(bound.form));
  return result;
}

// Whether whole tiles of a point are in a window that is larger than what is wanted of it.
bool NestLowering::has_room(DimId d, TensorId t, const std::vector<Form>& at) const {
  const Place& place = env_.places.at(t);
  const TileDim* tile = tile_of(d);
  if (!tile || contains(nest_->reduce, d)) return false;
  if (place.filled) {
    const auto fits = [&](size_t a) {
      const auto extent = b.kernel()[place.memory].extents[a].constant();
      const Span s = span(d);
      const int64_t n = s.size.value_or(s.most.value_or(INT64_MAX / 2));
      const int64_t tiles = (n + tile->size() - 1) / tile->size();
      return at[a] == Form::coordinate(d) && place.origin[a] == s.lo[0] &&
             tiles * tile->size() <= extent.value_or(0);
    };
    for (size_t a = 0; a < at.size(); ++a)
      if (contains(dims_of(g, at[a]), d) && !fits(a)) return false;
    return true;
  }
  for (size_t a = 0; a < at.size(); ++a)
    if (a != place.room_axis && contains(dims_of(g, at[a]), d)) return false;
  const Form& f = at[place.room_axis];
  const auto n = span(d).size;
  const int64_t beyond = n ? (tile->size() - *n % tile->size()) % tile->size() : place.slack + 1;
  if (f.is_affine() && f.coefficient(d) == Poly(place.step) && beyond <= place.slack) return true;
  return place.room > 0 && place.room % tile->size() == 0 && f == Form::coordinate(d) &&
         place.origin[place.room_axis] == span(d).lo[0];
}

// Adds the conditions under which elements along these coordinates are there, in memory that has
// no others.
void NestLowering::masked(std::vector<Form>& valid, const std::vector<DimId>& dims, TensorId t,
                          const std::vector<Form>& at) const {
  for (const Mask& m : masks_)
    if (contains(dims, m.dim) && !has_room(m.dim, t, at)) valid.push_back(m.holds);
}

// ---- evaluation --------------------------------------------------------------------------------

ValueId NestLowering::eval(ExprId e) {
  const ExprNode n = g.pool[e];
  if (n.op == Scalar::var) {
    const tang::Leaf l = g.leaf(n.variable());
    if (l.what == tang::Leaf::What::left) return left_[l.number].value;
    if (l.what == tang::Leaf::What::right) return right_[l.number].value;
  }
  const Key key = key_of(e);
  auto& known = scopes_[key.scope].values;
  if (const auto found = known.find(e); found != known.end()) return found->second;
  const bool read = n.op == Scalar::var && g.leaf(n.variable()).what == tang::Leaf::What::read;
  const ValueId v = read ? load(n.variable(), key) : map(e, key);
  scopes_[key.scope].values[e] = v;
  return v;
}

// Elements of the tensor's memory.
Ref NestLowering::reference(TensorId t, const std::vector<Form>& at) {
  const Place& place = env_.places.at(t);
  Ref ref;
  ref.what = Ref::What::memory;
  ref.memory = place.memory;
  for (size_t a = 0; a < at.size(); ++a)
    ref.at.push_back(place.origin.empty() ? form(at[a]) : form(at[a]) - place.origin[a]);
  return ref;
}

// Asks for the line that the read will want some steps of the last point but one later.
void NestLowering::fetch_ahead(const tang::Leaf& l, const Key& key) {
  if (b.kernel()[env_.places.at(l.tensor).memory].role == Memory::Role::local) return;
  const DimId outer = nest_->points[nest_->points.size() - 2];
  if (tile_of(outer)) return;
  std::vector<Form> later = l.forms;
  for (Form& f : later)
    f = substitute(f, [&](DimId d) -> std::optional<Form> {
      if (d == outer) return Form::coordinate(d) + Form(nest_->ahead);
      return std::nullopt;
    });
  Op op;
  op.kind = OpKind::prefetch;
  op.refs = {reference(l.tensor, later)};
  for (Form& f : op.refs[0].at)
    f = substitute(f, [&](DimId d) -> std::optional<Form> {
      if (b.kernel()[d].what == Index::What::axis) return Form(0);
      return std::nullopt;
    });
  b.add(scopes_[key.scope].region, std::move(op));
}

ValueId NestLowering::load(LeafId id, const Key& key) {
  const tang::Leaf l = g.leaf(id);
  if (nest_->ahead > 0 && nest_->points.size() > 1) fetch_ahead(l, key);
  Op op;
  op.kind = OpKind::load;
  op.refs = {reference(l.tensor, l.forms)};
  op.valid = bounds(l);
  masked(op.valid, key.dims, l.tensor, l.forms);
  if (l.guarded) op.fill = l.fill().as_real();
  return define(std::move(op), g[l.tensor].name, key.dims, l.kind, key.scope);
}

// One map for all that is computed at one place over one tile; what is shared, or less varied, is a
// value of its own.
ValueId NestLowering::map(ExprId root, const Key& key) {
  const std::vector<ExprId> order = g.pool.reachable(root);
  std::map<ExprId, int> uses;
  std::map<ExprId, bool> wanted = {{root, true}};
  for (size_t k = order.size(); k-- > 0;) {
    const ExprId e = order[k];
    if (!wanted[e]) continue;
    const ExprNode n = g.pool[e];
    for (ExprId o : n.operands()) {
      const bool here =
          key_of(o) == key || g.pool[o].op == Scalar::var || g.pool[o].op == Scalar::constant;
      if (here && g.pool[o].op != Scalar::var) wanted[o] = true;
      ++uses[o];
    }
  }
  Op op;
  op.kind = OpKind::map;
  std::map<ExprId, ExprId> made;
  for (ExprId e : order) {
    const ExprNode n = g.pool[e];
    const bool shared = e != root && uses[e] > 1;
    if (uses[e] == 0 && e != root) continue;
    if (n.op == Scalar::var) {
      made[e] = leaf(op, e);
    } else if (n.op == Scalar::constant) {
      made[e] = b.kernel().pool.constant(n.value());
    } else if (!wanted[e] || shared) {
      made[e] = argument(op, eval(e), n.kind);
    } else {
      made[e] = made_of(b.kernel().pool, n, made);
    }
  }
  op.body = made.at(root);
  return define(std::move(op), "t", key.dims, g.pool[root].kind, key.scope);
}

// The value over a tile of more coordinates.
ValueId NestLowering::expanded(ValueId v, const std::vector<DimId>& dims) {
  const PlacementId wanted = placement(dims);
  if (b.kernel()[v].type.placement == wanted) return v;
  Op op;
  op.kind = OpKind::map;
  const Format f = b.kernel()[v].type.format;
  op.body = argument(op, v, kind(f));
  return define(std::move(op), b.kernel()[v].name, dims, kind(f), scopes_.size() - 1);
}

// ---- folds -------------------------------------------------------------------------------------

// The two operands of a step that adds a product: its factors, by what they depend on.
std::optional<std::pair<ExprId, ExprId>> NestLowering::factors(uint32_t part) {
  const ExprNode n = g.pool[part_at(part).step];
  if (n.op != Scalar::add || n.kind != Kind::real || !env_.contract) return std::nullopt;
  for (int side = 0; side < 2; ++side) {
    const ExprNode s = g.pool[n.args[side]];
    if (s.op != Scalar::var) continue;
    const tang::Leaf l = g.leaf(s.variable());
    if (l.what != tang::Leaf::What::left || l.number != part) continue;
    if (!depends(n.args[1 - side]).left.empty()) continue;
    std::vector<ExprId> list = {n.args[1 - side]};
    for (size_t k = 0; k < list.size();) {
      const ExprNode m = g.pool[list[k]];
      if (m.op != Scalar::mul || m.kind != Kind::real) {
        ++k;
        continue;
      }
      list[k] = m.args[0];
      list.push_back(m.args[1]);
    }
    if (list.size() < 2) return std::nullopt;
    const std::vector<DimId> first = key_of(list[0]).dims;
    const auto other = std::stable_partition(list.begin() + 1, list.end(),
                                             [&](ExprId e) { return key_of(e).dims == first; });
    const auto split = other == list.end() ? list.begin() + 1 : other;
    const auto product = [&](auto from, auto to) {
      ExprId p = *from;
      for (++from; from != to; ++from) p = g.make(Scalar::mul, p, *from);
      return p;
    };
    const ExprId left = product(list.begin(), split), right = product(split, list.end());
    if (g.pool[left].kind != Kind::real || g.pool[right].kind != Kind::real) return std::nullopt;
    return std::pair(left, right);
  }
  return std::nullopt;
}

// Whether all factors of a product are reads that are 0 where they are left out, for which `zero`
// holds.
bool NestLowering::vanishes(ExprId product, const std::function<bool(const tang::Leaf&)>& zero) {
  std::vector<ExprId> work = {product};
  while (!work.empty()) {
    const ExprNode n = g.pool[work.back()];
    work.pop_back();
    if (n.op == Scalar::mul) {
      work.insert(work.end(), {n.args[0], n.args[1]});
      continue;
    }
    if (n.op != Scalar::var) return false;
    const tang::Leaf l = g.leaf(n.variable());
    if (l.what != tang::Leaf::What::read || (l.guarded && l.fill().as_real() != 0)) return false;
    if (!zero(l)) return false;
  }
  return true;
}

// Whether a lane of terms that is left out adds products of zeros.
bool NestLowering::masked_vanish(ExprId product) {
  return vanishes(product, [&](const tang::Leaf& l) {
    return std::all_of(masks_.begin(), masks_.end(), [&](const Mask& m) {
      return !contains(nest_->reduce, m.dim) ||
             std::any_of(l.forms.begin(), l.forms.end(),
                         [&](const Form& f) { return contains(dims_of(g, f), m.dim); });
    });
  });
}

// Whether terms beyond the end of a block are products of the zeros that windows are filled with.
bool NestLowering::beyond_vanish(DimId d, const Span& s) {
  if (!s.most || s.size || s.lo.size() != 1 || left_.empty()) return false;
  const auto zero = [&](const tang::Leaf& l) {
    const Place& place = env_.places.at(l.tensor);
    if (!place.filled) return false;
    bool moves = false;
    for (size_t a = 0; a < l.forms.size(); ++a) {
      if (!contains(dims_of(g, l.forms[a]), d)) continue;
      const auto extent = b.kernel()[place.memory].extents[a].constant();
      if (l.forms[a] != Form::coordinate(d) || place.origin[a] != s.lo[0] || extent < s.most)
        return false;
      moves = true;
    }
    return moves;
  };
  for (uint32_t part = 0; part < left_.size(); ++part) {
    const auto product = factors(part);
    if (!product || !vanishes(product->first, zero) || !vanishes(product->second, zero))
      return false;
  }
  return true;
}

// The part's state after the terms of a tile.
ValueId NestLowering::advance(uint32_t part, const std::vector<ExprId>& conditions) {
  const Part& p = part_at(part);
  const State before = left_[part];
  const bool lanes_left_out = std::any_of(
      masks_.begin(), masks_.end(), [&](const Mask& m) { return contains(nest_->reduce, m.dim); });
  const auto product = factors(part);
  ValueId next = ValueId::none;
  if (product) {
    Op op;
    op.kind = OpKind::contract;
    op.args = {eval(product->first), eval(product->second), before.value};
    op.refs.resize(2);
    next = define(std::move(op), b.kernel()[before.value].name, before.dims, p.kind,
                  scopes_.size() - 1);
  } else {
    next = expanded(eval(p.step), before.dims);
  }
  const bool zero =
      product && lanes_left_out && masked_vanish(product->first) && masked_vanish(product->second);
  if (conditions.empty() && (!lanes_left_out || zero)) return next;
  return chosen(conditions, next, before.value, before.dims);
}

// `yes` where the conditions hold and the term is there, `no` elsewhere.
ValueId NestLowering::chosen(const std::vector<ExprId>& conditions, ValueId yes, ValueId no,
                             const std::vector<DimId>& dims) {
  ExprPool& pool = b.kernel().pool;
  Op op;
  op.kind = OpKind::map;
  std::vector<ExprId> all;
  for (ExprId c : conditions) all.push_back(argument(op, eval(c), Kind::boolean));
  for (const Mask& m : masks_)
    if (contains(nest_->reduce, m.dim))
      all.push_back(pool.make(Scalar::le, pool.integer(0), position(op, m.holds)));
  ExprId holds = all[0];
  for (size_t k = 1; k < all.size(); ++k) holds = pool.make(Scalar::logical_and, holds, all[k]);
  const Kind k = kind(b.kernel()[yes].type.format);
  const ExprId first = argument(op, yes, k), second = argument(op, no, k);
  op.body = pool.make(Scalar::select, holds, first, second);
  return define(std::move(op), b.kernel()[no].name, dims, k, scopes_.size() - 1);
}

MonoidId NestLowering::monoid(size_t fold) {
  const tang::Monoid m = g[nest_->monoids[fold]];
  const MonoidFacts f = facts(g, nest_->monoids[fold]);
  if (f.sum) return b.builtin("sum");
  if (f.product) return b.builtin("prod");
  if (f.max) return b.builtin("max");
  if (f.min) return b.builtin("min");
  Monoid made;
  made.name = m.name;
  made.commutative = m.commutative;
  made.kinds = m.kinds;
  for (size_t k = 0; k < m.kinds.size(); ++k) {
    const std::string& field = m.fields[k];
    const bool is_name = !field.empty() && !std::isdigit(static_cast<unsigned char>(field[0]));
    made.fields.push_back(is_name ? field : "x" + std::to_string(k));
    made.identity.push_back(g.pool[m.identity[k]].value().as_real());
    made.combine.push_back(copied(g.pool, b.kernel().pool, m.combine[k], [&](ExprId e) {
      const tang::Leaf l = g.leaf_of(e);
      const bool right = l.what == tang::Leaf::What::right;
      return b.kernel().pool.var(2 * l.number + (right ? 1 : 0), l.kind);
    }));
  }
  return b.monoid(std::move(made));
}

}  // namespace tang::tile
