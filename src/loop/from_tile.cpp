#include "loop/from_tile.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "loop/from_tile_impl.h"
#include "target/machine.h"
#include "tile/text.h"

namespace tang::loop {

using tile::OpKind;

std::string add_kernel(Builder& b, const tile::Program& program, const tile::Kernel& kernel,
                       const std::vector<BufferId>& buffers, bool prepares) {
  return TileLowering(b, program, kernel).run(buffers, prepares);
}

void TileLowering::fail(std::string text) {
  if (failure_.empty()) failure_ = std::move(text);
}

std::string TileLowering::run(const std::vector<BufferId>& buffers, bool prepares) {
  for (const tile::NamedPlacement& p : k_.placements)
    if (p.placement.count(Level::lane) > 1) threads_ = 32 * k_.roles[0].warps;
  if (const auto machine = find_machine(k_.target)) {
    subgroup_ = (*machine)->lanes;
    vector_bytes_ = (*machine)->vector_bytes;
  }
  b.begin_kernel(k_.name, prepares, threads_);
  size_t next = 0;
  for (const tile::Memory& m : k_.memories) {
    Memory made;
    if (m.role == tile::Memory::Role::local) {
      Point box;
      for (const Poly& e : m.extents) box.push_back(e.constant().value_or(1));
      const int64_t size = info(m.format).bits / 8;
      made.array =
          b.array(m.name, compute_type(m.format), m.layout.bytes(box, size) / size, threads_ > 1);
    } else {
      made.buffer = buffers[next++];
    }
    memories_.push_back(made);
  }
  number_threads();
  declare_scratch();
  region(static_cast<tile::RegionId>(0));
  b.end_kernel();
  return failure_;
}

void TileLowering::region(tile::RegionId id) {
  const size_t named = conditions_.size();
  for (uint32_t op : k_[id].ops)
    if (failure_.empty()) operation(k_.ops[op]);
  conditions_.resize(named);
}

void TileLowering::operation(const tile::Op& op) {
  switch (op.kind) {
    case OpKind::load:
      return load(op);
    case OpKind::store:
      return store(op);
    case OpKind::prefetch:
      return prefetch(op);
    case OpKind::map:
      return map(op);
    case OpKind::contract:
      return contract(op);
    case OpKind::reduce:
      return reduce(op);
    case OpKind::loop:
      return loop(op);
    case OpKind::barrier:
      return b.barrier();
    case OpKind::branch:
      return branch(op);
    case OpKind::next:
      return next(op);
    default:
      fail(fmt::format("`{}` has no form in a loop program", print_op(p_, k_, op)));
  }
}

// ---- control -----------------------------------------------------------------------------------

std::vector<TileLowering::Tile> TileLowering::variables(const std::vector<tile::ValueId>& values,
                                                        const std::vector<tile::ValueId>& initial) {
  std::vector<Tile> tiles;
  for (size_t c = 0; c < values.size(); ++c) {
    Tile t = values_.at(initial[c]);
    for (Value& v : t.registers) v = b.var(k_[values[c]].name, v);
    tiles.push_back(std::move(t));
  }
  return tiles;
}

void TileLowering::begin(const tile::Op& op) {
  const tile::Op::Range& r = op.range;
  Value lo = form(r.lo[0]), hi = form(r.hi[0]);
  for (size_t k = 1; k < r.lo.size(); ++k) lo = b.max(lo, form(r.lo[k]));
  for (size_t k = 1; k < r.hi.size(); ++k) hi = b.min(hi, form(r.hi[k]));
  const DimId d = r.indices[0];
  index_[d] = b.begin_for(k_[d].name, lo, hi,
                          {.step = r.step, .hint = r.parallel ? Hint::parallel : Hint::none});
  open_.push_back({d, r.step, r.lo.size() == 1 ? std::optional(r.lo[0]) : std::nullopt});
  if (r.lo.size() != 1 || r.lo[0] != Form(0)) return;
  for (const Form& end : r.hi)
    if (const auto c = end.is_constant() ? end.base.constant() : std::nullopt; c && *c > 0)
      extents_[d] = (*c - 1) / r.step * r.step + 1;
}

void TileLowering::end(const tile::Op& op) {
  b.end();
  open_.pop_back();
  index_.erase(op.range.indices[0]);
  extents_.erase(op.range.indices[0]);
}

void TileLowering::loop(const tile::Op& op) {
  const tile::Op::Range& r = op.range;
  if (r.tiles || r.down) return fail(fmt::format("no loop like `{}`", print_op(p_, k_, op)));
  if (const auto two = apart(op)) return loop_apart(op, *two);
  const std::vector<Tile> carried = variables(op.carried, op.args);
  for (size_t c = 0; c < carried.size(); ++c) values_[op.carried[c]] = carried[c];
  begin(op);
  carried_.push_back(carried);
  region(op.body_region);
  carried_.pop_back();
  end(op);
  for (size_t c = 0; c < carried.size(); ++c) values_[op.results[c]] = carried[c];
}

void TileLowering::branch(const tile::Op& op) {
  const auto read = [&](uint32_t leaf) {
    return values_.at(static_cast<tile::ValueId>(leaf)).registers[0];
  };
  const std::optional<Value> holds = all_hold(op.holds, read);
  const Value condition = holds ? *holds : b.let("inside", b.boolean(true));
  std::vector<Tile> results;
  for (tile::ValueId v : op.results) {
    Tile t;
    t.placement = k_[v].type.placement;
    const Type type = compute_type(k_[v].type.format);
    for (size_t r = 0; r < registers(t.placement); ++r) {
      const Value zero = type == Type::boolean ? b.boolean(false)
                         : is_real(type)       ? b.real(type, 0)
                                               : b.integer(0, type);
      t.registers.push_back(b.var(k_[v].name, b.spread(zero, lanes(t.placement))));
    }
    results.push_back(std::move(t));
  }
  carried_.push_back(results);
  b.begin_if(condition);
  region(op.body_region);
  b.end();
  if (op.other_region != tile::RegionId::none) {
    b.begin_if(b.logical_not(condition));
    region(op.other_region);
    b.end();
  }
  carried_.pop_back();
  for (size_t c = 0; c < results.size(); ++c) values_[op.results[c]] = results[c];
}

// All values are known before any is assigned.
void TileLowering::next(const tile::Op& op) {
  std::vector<std::vector<Value>> all;
  for (tile::ValueId v : op.args) {
    all.push_back(values_.at(v).registers);
    for (Value& x : all.back())
      if (op.args.size() > 1) x = b.let("next", x);
  }
  for (size_t c = 0; c < all.size(); ++c)
    for (size_t r = 0; r < all[c].size(); ++r)
      if (!(carried_.back()[c].registers[r] == all[c][r]))
        b.assign(carried_.back()[c].registers[r], all[c][r]);
}

// ---- placements --------------------------------------------------------------------------------

int TileLowering::lanes(tile::PlacementId id) const {
  return static_cast<int>(k_[id].placement.count(Level::elem));
}

size_t TileLowering::registers(tile::PlacementId id) const {
  return static_cast<size_t>(k_[id].placement.count(Level::reg));
}

// The coordinate of a register's first element, or of another.
Point TileLowering::point(const tile::NamedPlacement& at, size_t r, int64_t element) const {
  Position position{};
  position[static_cast<size_t>(Level::elem)] = element;
  position[static_cast<size_t>(Level::reg)] = static_cast<int64_t>(r);
  return at.placement.coordinates(position);
}

void TileLowering::define(tile::ValueId v, std::vector<Value> registers) {
  const Format format = k_[v].type.format;
  const Type type = compute_type(format);
  const bool rounds = format != Format::f64 && format != Format::f32 && format != Format::i64 &&
                      format != Format::i32 && format != Format::boolean;
  for (Value& x : registers) {
    x = b.cast(type, b.spread(x, lanes(k_[v].type.placement)));
    if (rounds || !b.stays(x)) x = b.let(k_[v].name, rounds ? b.round(format, x) : x);
  }
  values_[v] = {k_[v].type.placement, std::move(registers)};
}

// The register of `v` that holds what register r of `to` has the coordinates of.
Value TileLowering::at(tile::ValueId v, const tile::NamedPlacement& to, size_t r) {
  const Tile& t = values_.at(v);
  const tile::NamedPlacement& from = k_[t.placement];
  if (&from == &to) return t.registers[r];
  const Point x = point(to, r);
  for (size_t k = 0; k < t.registers.size(); ++k) {
    const Point y = point(from, k);
    bool same = true;
    for (size_t a = 0; a < from.axes.size() && same; ++a) {
      const auto axis = std::find(to.axes.begin(), to.axes.end(), from.axes[a]);
      same = axis != to.axes.end() && x[static_cast<size_t>(axis - to.axes.begin())] == y[a];
    }
    if (same) return t.registers[k];
  }
  fail(fmt::format("`{}` has no register for `{}`", k_[v].name, to.name));
  return t.registers[0];
}

// ---- forms -------------------------------------------------------------------------------------

// Over open loops and params.
Value TileLowering::form(const Form& f) {
  Value sum = b.integer(0);
  for (const Form::Term& t : f.terms) {
    const auto at = index_.find(t.dim);
    if (at == index_.end()) {
      fail(fmt::format("`{}` has no value here", k_[t.dim].name));
      continue;
    }
    sum = b.add(sum, b.mul(b.poly(t.coeff), at->second));
  }
  for (const Form::Gather& x : f.gathers)
    sum = b.add(
        sum, b.mul(b.poly(x.coeff),
                   b.cast(Type::i64, values_.at(static_cast<tile::ValueId>(x.leaf)).registers[0])));
  if (const auto c = f.base.constant(); c && *c < 0 && *c != INT64_MIN)
    return b.sub(sum, b.integer(-*c));
  return b.add(sum, b.poly(f.base));
}

// The form with the axes of the placement at register r's first element.
Form TileLowering::placed(const Form& f, const tile::NamedPlacement& at, size_t r) const {
  const Point x = point(at, r);
  return substitute(f, [&](DimId d) -> std::optional<Form> {
    const auto axis = std::find(at.axes.begin(), at.axes.end(), d);
    if (axis != at.axes.end()) {
      const auto number = static_cast<uint32_t>(axis - at.axes.begin());
      Form where(x[number]);
      for (const Digit& digit : at.placement.digits)
        for (const AxisTerm& t : digit.terms)
          if (is_thread(digit) && t.axis == number)
            where = where + Poly(t.coeff) *
                                Form::coordinate(digits_.at({thread_stride(digit), digit.extent}));
      return where;
    }
    if (k_[d].what == tile::Index::What::axis) return Form(0);
    return std::nullopt;
  });
}

Poly step_of(const Form& f, const tile::NamedPlacement& at) {
  Poly step;
  for (const Digit& d : at.placement.digits)
    if (d.level == Level::elem)
      for (const AxisTerm& t : d.terms)
        step = step + f.coefficient(at.axes[t.axis]) * Poly(t.coeff);
  return step;
}

TileLowering::Lane TileLowering::lane(const Form& f, const tile::NamedPlacement& at, size_t r) {
  Lane l;
  l.base = form(placed(f, at, r));
  l.step_poly = step_of(f, at);
  l.step = l.step_poly.constant();
  return l;
}

// A number that the form's value is a multiple of: each index is where its loop starts and a
// multiple of its step.
int64_t TileLowering::multiple(Form f) const {
  int64_t of = 0;
  for (size_t k = open_.size(); k-- > 0;) {
    const OpenLoop& loop = open_[k];
    const Poly coeff = f.coefficient(loop.index);
    if (coeff.is_zero()) continue;
    f = f - coeff * Form::coordinate(loop.index);
    of = std::gcd(of, coeff.constant().value_or(1) * loop.step);
    if (loop.lo && loop.lo->gathers.empty())
      f = f + coeff * *loop.lo;
    else
      of = std::gcd(of, coeff.constant().value_or(1));
  }
  for (const Form::Term& t : f.terms) of = std::gcd(of, t.coeff.constant().value_or(1));
  for (const Poly::Term& t : f.base.terms()) of = std::gcd(of, t.coeff);
  return of;
}

}  // namespace tang::loop
