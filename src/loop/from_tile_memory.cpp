// Loads and stores: addresses, and which elements are there.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/variance.h"
#include "loop/from_tile_impl.h"
#include "tile/text.h"
#include "tile/verify_rows.h"

namespace tang::loop {

// ---- addresses ---------------------------------------------------------------------------------

TileLowering::Address TileLowering::address(const tile::Ref& ref, const tile::NamedPlacement& at,
                                            size_t r) {
  if (ref.what != tile::Ref::What::memory) {
    fail("only memories have addresses in a loop program");
    return {};
  }
  return is_row_major(ref.memory) ? buffer_address(ref, at, r) : local_address(ref, at, r);
}

TileLowering::Address TileLowering::buffer_address(const tile::Ref& ref,
                                                   const tile::NamedPlacement& at, size_t r) {
  const tile::Memory& m = k_[ref.memory];
  Form f = tang::address(m.extents, ref.at);
  const std::vector<Form::Gather> gathers = std::move(f.gathers);
  f.gathers.clear();
  const Lane l = lane(f, at, r);
  const int width = static_cast<int>(at.placement.count(Level::elem));
  Address a;
  a.index = l.base;
  a.contiguous = l.step == 1;
  if (!a.contiguous) a.stride = b.poly(l.step_poly);
  if (gathers.empty()) return a;
  for (const Form::Gather& x : gathers) {
    const Value v = b.mul(b.poly(x.coeff), b.cast(Type::i64, gathered(x.leaf, at, r)));
    if (b.lanes(v) > 1 && b.lanes(a.index) == 1)
      a.index =
          b.add(b.spread(a.index, width),
                l.step_poly.is_zero() ? b.spread(b.integer(0), width)
                                      : b.mul(b.ramp(b.integer(0), width), b.poly(l.step_poly)));
    a.index = b.add(a.index, v);
  }
  a.index = b.let("at", a.index);
  a.gathered = b.lanes(a.index) > 1;
  return a;
}

Value TileLowering::gathered(uint32_t leaf, const tile::NamedPlacement& at_, size_t r) {
  return at(static_cast<tile::ValueId>(leaf), at_, r);
}

namespace {

int64_t floor_div(int64_t x, int64_t by) { return x / by - (x % by != 0 && (x < 0) != (by < 0)); }
int64_t floor_mod(int64_t x, int64_t by) { return x - by * floor_div(x, by); }

}  // namespace

// A digit of a coordinate whose constant parts, for each element of a register, stand in `lanes`:
// what the loops add to it. The digit of each constant part replaces it. Nothing if they mix.
std::optional<Value> TileLowering::digit(const Form& f, const AxisDigit& d,
                                         std::vector<int64_t>& lanes) {
  Form moving = f;
  moving.base = moving.base - Poly(moving.base.constant_term());
  const int64_t of = multiple(moving);
  const bool still = moving == Form(0);
  const bool splits = still || of % d.stride == 0;
  const int64_t unit = still || !splits || d.extent == 0 ? 0 : std::gcd(of / d.stride, d.extent);
  std::vector<int64_t> fixed;
  bool mixes = !splits;
  for (int64_t c : lanes) {
    fixed.push_back(floor_div(c, d.stride));
    if (d.extent == 0) continue;
    fixed.back() = floor_mod(fixed.back(), d.extent);
    mixes |= !still && fixed.back() >= unit;
  }
  // Whole steps of the digit may be taken out of the division.
  const bool whole_steps = !still && d.extent == 0 &&
                           std::all_of(lanes.begin(), lanes.end(),
                                       [&](int64_t c) { return floor_mod(c, d.stride) == 0; });
  if (mixes && whole_steps) {
    lanes = std::move(fixed);
    return b.div(form(moving), b.integer(d.stride));
  }
  if (mixes && lanes.size() > 1) return std::nullopt;
  if (mixes) {
    lanes[0] = 0;
    const Value whole = d.stride == 1 ? form(f) : b.div(form(f), b.integer(d.stride));
    return d.extent == 0 ? whole : b.mod(whole, b.integer(d.extent));
  }
  lanes = std::move(fixed);
  if (still) return b.integer(0);
  bool divides = moving.base.terms().empty();
  for (Form::Term& t : moving.terms) {
    const auto c = t.coeff.constant();
    divides = divides && c && *c % d.stride == 0;
    if (divides) t.coeff = Poly(*c / d.stride);
  }
  Value v;
  if (divides) {
    v = form(moving);
  } else {
    moving = f;
    moving.base = moving.base - Poly(moving.base.constant_term());
    v = b.div(form(moving), b.integer(d.stride));
  }
  if (d.extent != 0 && unit != d.extent) v = b.mod(v, b.integer(d.extent));
  if (d.extent != 0 && unit == d.extent) v = b.integer(0);
  return v;
}

// Of one element of a register.
Value TileLowering::element_address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r,
                                    int64_t e) {
  const tile::Memory& m = k_[ref.memory];
  const int64_t size = info(m.format).bits / 8;
  Value index = b.integer(m.layout.origin / size);
  for (const StorageDigit& d : m.layout.digits) {
    const Form& axis = ref.at[d.of.axis];
    const Form f = placed(axis, at, r) + Form(Poly(e) * step_of(axis, at));
    std::vector<int64_t> lanes = {f.base.constant_term()};
    const Value v = *digit(f, d.of, lanes);
    index = b.add(index, b.mul(b.add(v, b.integer(lanes[0])), b.integer(d.bytes / size)));
  }
  return b.let("at", index);
}

TileLowering::Address TileLowering::uneven_address(const tile::Ref& ref,
                                                   const tile::NamedPlacement& at, size_t r) {
  Address a;
  for (int64_t e = 0; e < at.placement.count(Level::elem); ++e)
    a.each.push_back(element_address(ref, at, r, e));
  return a;
}

TileLowering::Address TileLowering::local_address(const tile::Ref& ref,
                                                  const tile::NamedPlacement& at, size_t r) {
  const tile::Memory& m = k_[ref.memory];
  const int64_t size = info(m.format).bits / 8;
  const int64_t width = at.placement.count(Level::elem);
  std::vector<int64_t> offsets(static_cast<size_t>(width), m.layout.origin / size);
  Value base = b.integer(0);
  for (const StorageDigit& d : m.layout.digits) {
    const Form f = placed(ref.at[d.of.axis], at, r);
    const auto step = step_of(ref.at[d.of.axis], at).constant();
    if (!step || !f.is_affine()) {
      fail(fmt::format("no constant stride in `{}`", m.name));
      return {};
    }
    std::vector<int64_t> lanes;
    for (int64_t e = 0; e < width; ++e) lanes.push_back(f.base.constant_term() + e * *step);
    const auto v = digit(f, d.of, lanes);
    if (!v) return uneven_address(ref, at, r);
    base = b.add(base, b.mul(*v, b.integer(d.bytes / size)));
    for (size_t e = 0; e < lanes.size(); ++e) offsets[e] += lanes[e] * (d.bytes / size);
  }
  Address a;
  a.index = b.add(base, b.integer(offsets[0]));
  const int64_t stride = width > 1 ? offsets[1] - offsets[0] : 1;
  for (size_t e = 1; e < offsets.size(); ++e)
    if (offsets[e] - offsets[e - 1] != stride) return uneven_address(ref, at, r);
  a.contiguous = stride == 1;
  if (!a.contiguous) a.stride = b.integer(stride);
  return a;
}

// ---- loads and stores --------------------------------------------------------------------------

Value TileLowering::element_index(const Address& a, int64_t e) {
  if (!a.each.empty()) return a.each[static_cast<size_t>(e)];
  if (a.gathered) return b.lane(a.index, e);
  if (e == 0) return a.index;
  return b.add(a.index, a.contiguous ? b.integer(e) : b.mul(a.stride, b.integer(e)));
}

// One element of a register.
Value TileLowering::element(const tile::Ref& ref, const Address& a, int64_t e) {
  const Memory& m = memories_[index_of(ref.memory)];
  const Value index = element_index(a, e);
  return m.buffer ? b.load(*m.buffer, index) : b.at(m.array, index);
}

Value TileLowering::loaded(const tile::Op& op, const Address& a, size_t r, int lanes, Type type) {
  const tile::Ref& ref = op.refs[0];
  const tile::NamedPlacement& at_ = k_[k_[op.results[0]].type.placement];
  const Memory& m = memories_[index_of(ref.memory)];
  const Valid v = valid(op.valid, at_, r, lanes);
  const Value fill = zero_based(op.fill, type);
  if (lanes == 1) {
    const Value x = b.cast(type, element(ref, a, 0));
    return v.always() ? x : b.select(holds(v, 0), x, fill);
  }
  const auto vector = [&](std::optional<Value> first) {
    if (!a.each.empty()) {
      std::vector<Value> parts;
      for (int64_t e = 0; e < lanes; ++e)
        parts.push_back(b.let("x", b.cast(type, element(ref, a, e))));
      return joined(std::move(parts));
    }
    if (a.gathered) return b.cast(type, b.gather(*m.buffer, a.index));
    LoadOptions o{lanes, std::nullopt, first};
    if (!a.contiguous) o.stride = a.stride;
    return b.cast(type, m.buffer ? b.load(*m.buffer, a.index, o) : b.at(m.array, a.index, o));
  };
  const bool even = a.each.empty() && !a.gathered;
  const bool same = even && !a.contiguous && b.constant(a.stride) == 0;
  if (same && v.always()) return b.spread(b.cast(type, element(ref, a, 0)), lanes);
  if (v.always()) return vector(std::nullopt);
  if (threads_ > 1 && even && v.all_or_none()) {
    const Value whole = b.var("x", b.spread(fill, lanes));
    b.begin_if(*v.all);
    b.assign(whole, vector(std::nullopt));
    b.end();
    return whole;
  }
  if (v.others.empty() && even) {
    const Value n = count(v, lanes);
    const Value x = vector(n);
    if (op.fill == 0) return x;
    return b.select(b.lt(b.ramp(b.integer(0), lanes), n), x, fill);
  }
  // All at once where all are there, one by one elsewhere.
  const Value whole = b.var("x", b.spread(fill, lanes));
  Value all = b.boolean(true);
  for (const int64_t e : {int64_t{0}, int64_t{lanes - 1}}) {
    const Value one = holds(v, e);
    all = e == 0 ? one : b.logical_and(all, one);
  }
  bool monotone = true;
  for (const auto& [base, step] : v.others) monotone &= b.lanes(base) == 1;
  all = b.let("all", monotone ? all : b.boolean(false));
  b.begin_if(all);
  b.assign(whole, vector(std::nullopt));
  b.end();
  b.begin_if(b.logical_not(all));
  std::vector<Value> parts;
  for (int64_t e = 0; e < lanes; ++e)
    parts.push_back(b.let("x", b.select(holds(v, e), b.cast(type, element(ref, a, e)), fill)));
  b.assign(whole, joined(std::move(parts)));
  b.end();
  return whole;
}

// A vector of scalars, a power of two of them.
Value TileLowering::joined(std::vector<Value> parts) {
  while (parts.size() > 1) {
    std::vector<Value> pairs;
    for (size_t k = 0; k < parts.size(); k += 2) pairs.push_back(b.join(parts[k], parts[k + 1]));
    parts = std::move(pairs);
  }
  return parts[0];
}

Value TileLowering::zero_based(double fill, Type type) {
  if (type == Type::boolean) return b.boolean(fill != 0);
  return is_real(type) ? b.real(type, fill) : b.integer(static_cast<int64_t>(fill), type);
}

// Whether registers from r on, as many as they have elements, lie side by side in a buffer where
// the elements of one do not.
bool TileLowering::turned(const tile::Op& op, size_t r) const {
  const tile::Ref& ref = op.refs[0];
  const tile::PlacementId id = k_[op.results[0]].type.placement;
  const tile::NamedPlacement& at_ = k_[id];
  const size_t n = static_cast<size_t>(lanes(id));
  if (n < 4 || r + n > registers(id) || !op.valid.empty() || !is_row_major(ref.memory))
    return false;
  const Form f = tang::address(k_[ref.memory].extents, ref.at);
  if (!f.is_affine() || step_of(f, at_).constant().value_or(2) <= 1) return false;
  const Form first = placed(f, at_, r);
  for (size_t k = 1; k < n; ++k)
    if (!(placed(f, at_, r + k) - first == Form(static_cast<int64_t>(k)))) return false;
  return true;
}

// Reads them in vectors along the registers, and turns the square.
std::vector<Value> TileLowering::turn(const tile::Op& op, size_t r, Type type) {
  const tile::Ref& ref = op.refs[0];
  const tile::PlacementId id = k_[op.results[0]].type.placement;
  const int n = lanes(id);
  const Lane l = lane(tang::address(k_[ref.memory].extents, ref.at), k_[id], r);
  std::vector<Value> rows;
  for (int e = 0; e < n; ++e) {
    const Value at = e == 0 ? l.base : b.add(l.base, b.mul(b.integer(e), b.poly(l.step_poly)));
    const BufferId buffer = *memories_[index_of(ref.memory)].buffer;
    rows.push_back(b.let("row", b.cast(type, b.load(buffer, at, {n, std::nullopt, std::nullopt}))));
  }
  for (int run = 1; run < n; run *= 2)
    for (size_t k = 0; k < rows.size(); ++k) {
      if ((k & static_cast<size_t>(run)) != 0) continue;
      Value &x = rows[k], &y = rows[k + static_cast<size_t>(run)];
      const Value low = b.let("row", b.even(x, y, run)), high = b.let("row", b.odd(x, y, run));
      x = low, y = high;
    }
  return rows;
}

// How many registers from r on, of one element each, a group's thread loads as a vector.
size_t TileLowering::side_by_side(const tile::Op& op, size_t r) const {
  const tile::Ref& ref = op.refs[0];
  const tile::Memory& m = k_[ref.memory];
  const tile::PlacementId id = k_[op.results[0]].type.placement;
  const int64_t size = info(m.format).bits / 8;
  const auto n = static_cast<size_t>(vector_bytes_ / std::max<int64_t>(size, 4));
  if (threads_ == 1 || lanes(id) > 1 || n < 2 || r + n > registers(id) || !op.valid.empty())
    return 1;
  Form at = tang::address(m.extents, ref.at);
  if (!is_row_major(ref.memory)) {
    at = Form(0);
    for (const StorageDigit& d : m.layout.digits) {
      if (d.of.stride != 1 || d.of.extent != 0) return 1;
      at = at + Poly(d.bytes / size) * ref.at[d.of.axis];
    }
  }
  if (!at.is_affine()) return 1;
  const Form first = placed(at, k_[id], r);
  for (size_t k = 1; k < n; ++k)
    if (!(placed(at, k_[id], r + k) - first == Form(static_cast<int64_t>(k)))) return 1;
  return n;
}

void TileLowering::load(const tile::Op& op) {
  const tile::Value& v = k_[op.results[0]];
  const Type type = compute_type(v.type.format);
  std::vector<Value> all;
  for (size_t r = 0; r < registers(v.type.placement); ++r) {
    if (turned(op, r)) {
      for (Value x : turn(op, r, type)) all.push_back(x);
      r = all.size() - 1;
      continue;
    }
    const Address a = address(op.refs[0], k_[v.type.placement], r);
    if (!failure_.empty()) return;
    if (const size_t n = side_by_side(op, r); n > 1) {
      const Memory& m = memories_[index_of(op.refs[0].memory)];
      const LoadOptions o{static_cast<int>(n), std::nullopt, std::nullopt};
      const Value x = b.let(
          "x", b.cast(type, m.buffer ? b.load(*m.buffer, a.index, o) : b.at(m.array, a.index, o)));
      for (size_t k = 0; k < n; ++k) all.push_back(b.lane(x, static_cast<int64_t>(k)));
      r += n - 1;
      continue;
    }
    all.push_back(loaded(op, a, r, lanes(v.type.placement), type));
  }
  define(op.results[0], std::move(all));
}

void TileLowering::prefetch(const tile::Op& op) {
  const tile::Ref& ref = op.refs[0];
  const Memory& m = memories_[index_of(ref.memory)];
  if (is_row_major(ref.memory))
    b.prefetch(*m.buffer, form(tang::address(k_[ref.memory].extents, ref.at)));
}

void TileLowering::store(const tile::Op& op) {
  const Tile& t = values_.at(op.args[0]);
  const tile::NamedPlacement& at_ = k_[t.placement];
  const tile::Ref& ref = op.refs[0];
  const int n = lanes(t.placement);
  const std::optional<Value> leads = this->leads(at_);
  const size_t named = conditions_.size();
  if (leads) b.begin_if(*leads);
  for (size_t r = 0; r < t.registers.size(); ++r) {
    const Address a = address(ref, at_, r);
    if (!failure_.empty()) return;
    const Memory& m = memories_[index_of(ref.memory)];
    const Valid v = valid(op.valid, at_, r, n);
    const Value x = b.cast(compute_type(k_[ref.memory].format), t.registers[r]);
    const auto write = [&](Value index, Value value, StoreOptions o) {
      if (m.buffer)
        b.store(*m.buffer, index, value, o);
      else
        b.set(m.array, index, value, o);
    };
    if (a.gathered || !a.each.empty() || !v.others.empty()) {
      for (int64_t e = 0; e < n; ++e) {
        b.begin_if(holds(v, e));
        write(element_index(a, e), n == 1 ? x : b.lane(x, e), {});
        b.end();
      }
      continue;
    }
    StoreOptions o;
    if (n > 1 && !a.contiguous) o.stride = a.stride;
    if ((n == 1 && v.all) || (threads_ > 1 && v.all_or_none())) {
      b.begin_if(*v.all);
      write(a.index, x, o);
      b.end();
      continue;
    }
    if (!v.always()) o.first = count(v, n);
    o.streams = m.buffer && n > 1 && v.always() && a.contiguous && tile::streams(op);
    write(a.index, x, o);
  }
  if (leads) {
    b.end();
    conditions_.resize(named);
  }
}

}  // namespace tang::loop
