// Loops in two. A processor looks some hundred operations ahead, which do not reach the next trip
// where a short fold is followed by a long chain of operations on its result. What the chain needs
// is kept in an array, and the chains have a loop of their own, in which several are under way.
#include <algorithm>

#include "loop/from_tile_impl.h"

namespace tang::loop {

namespace {

using tile::OpKind;

constexpr int least_cost = 8;  // of an expression (algebra.md 1.8)
constexpr int64_t least_trips = 4;
constexpr int64_t most_bytes = 4096;  // between the loops

bool has_gathers(const std::vector<Form>& forms) {
  return std::any_of(forms.begin(), forms.end(), [](const Form& f) { return !f.gathers.empty(); });
}

std::optional<int64_t> constant(const std::vector<Form>& bounds) {
  if (bounds.size() != 1 || !bounds[0].is_constant()) return std::nullopt;
  return bounds[0].base.constant();
}

}  // namespace

// Of a body without blocks: how many of its operations end with the last fold. 0 if there is
// something that has to stay in order.
size_t TileLowering::fold_end(const std::vector<uint32_t>& ops) const {
  size_t end = 0;
  for (size_t n = 0; n < ops.size(); ++n) {
    const tile::Op& o = k_.ops[ops[n]];
    const bool folds = o.kind == OpKind::contract || o.kind == OpKind::reduce;
    if (!folds && o.kind != OpKind::load && o.kind != OpKind::map && o.kind != OpKind::store)
      return 0;
    if (folds) end = n + 1;
  }
  return end;
}

// Whether the operations from `end` on may run after all earlier ones of every trip: no trip reads
// what another stores, and their places are known without values.
bool TileLowering::may_wait(const std::vector<uint32_t>& ops, size_t end) const {
  bool is_long = false;
  for (size_t n = 0; n < ops.size(); ++n) {
    const tile::Op& o = k_.ops[ops[n]];
    if (n < end && o.kind == OpKind::store) return false;
    if (n < end) continue;
    is_long |= o.kind == OpKind::map && cost(k_.pool, o.body) >= least_cost;
    if (has_gathers(o.valid)) return false;
    for (const tile::Ref& ref : o.refs) {
      if (has_gathers(ref.at)) return false;
      if (o.kind == OpKind::store && reads(ops, ref.memory)) return false;
    }
    for (const tile::Leaf& l : o.leaves)
      if (!l.argument && !l.form.gathers.empty()) return false;
  }
  return is_long;
}

bool TileLowering::reads(const std::vector<uint32_t>& ops, tile::MemoryId memory) const {
  return std::any_of(ops.begin(), ops.end(), [&](uint32_t id) {
    const tile::Op& o = k_.ops[id];
    return o.kind != OpKind::store &&
           std::any_of(o.refs.begin(), o.refs.end(),
                       [&](const tile::Ref& ref) { return ref.memory == memory; });
  });
}

// The values of the first `end` operations that later ones use.
std::vector<tile::ValueId> TileLowering::used_later(const std::vector<uint32_t>& ops,
                                                    size_t end) const {
  std::vector<tile::ValueId> made, used;
  for (size_t n = 0; n < ops.size(); ++n) {
    const tile::Op& o = k_.ops[ops[n]];
    if (n < end) made.insert(made.end(), o.results.begin(), o.results.end());
    if (n < end) continue;
    for (const tile::ValueId v : o.args)
      if (std::find(made.begin(), made.end(), v) != made.end() &&
          std::find(used.begin(), used.end(), v) == used.end())
        used.push_back(v);
  }
  return used;
}

std::optional<TileLowering::Apart> TileLowering::apart(const tile::Op& op) const {
  const tile::Op::Range& r = op.range;
  const auto lo = constant(r.lo), hi = constant(r.hi);
  if (!lo || !hi || r.parallel || threads_ > 1 || !op.carried.empty()) return std::nullopt;
  const std::vector<uint32_t>& ops = k_[op.body_region].ops;
  Apart a;
  a.end = fold_end(ops);
  a.trips = (*hi - *lo + r.step - 1) / r.step;
  if (a.end == 0 || a.trips < least_trips || !may_wait(ops, a.end)) return std::nullopt;
  a.kept = used_later(ops, a.end);
  int64_t bytes = 0;
  for (const tile::ValueId v : a.kept) {
    const tile::Type& type = k_[v].type;
    const int64_t width = static_cast<int64_t>(registers(type.placement)) * lanes(type.placement);
    if (compute_type(type.format) != Type::f32 || lanes(type.placement) == 1) return std::nullopt;
    if (width % r.step != 0) return std::nullopt;
    bytes += 4 * width * a.trips;
  }
  return a.kept.empty() || bytes > most_bytes ? std::nullopt : std::optional(a);
}

void TileLowering::loop_apart(const tile::Op& op, const Apart& a) {
  const std::vector<uint32_t>& ops = k_[op.body_region].ops;
  std::vector<Array> arrays;
  for (const tile::ValueId v : a.kept) {
    const tile::PlacementId id = k_[v].type.placement;
    arrays.push_back(
        b.array(k_[v].name, Type::f32, a.trips * static_cast<int64_t>(registers(id)) * lanes(id)));
  }
  const size_t named = conditions_.size();
  for (const bool later : {false, true}) {
    begin(op);
    const Value trip = b.sub(index_.at(op.range.indices[0]), form(op.range.lo[0]));
    for (size_t c = 0; later && c < a.kept.size(); ++c) keep(a.kept[c], arrays[c], trip, op, true);
    for (size_t n = later ? a.end : 0; n < (later ? ops.size() : a.end); ++n)
      if (failure_.empty()) operation(k_.ops[ops[n]]);
    for (size_t c = 0; !later && c < a.kept.size(); ++c)
      keep(a.kept[c], arrays[c], trip, op, false);
    end(op);
    conditions_.resize(named);
  }
}

// Moves the registers of a trip into the array, or back. `trip` counts in the loop's steps.
void TileLowering::keep(tile::ValueId v, Array array, Value trip, const tile::Op& op, bool back) {
  Tile& t = values_[v];
  const int n = lanes(k_[v].type.placement);
  const int64_t width = static_cast<int64_t>(registers(k_[v].type.placement)) * n;
  for (size_t r = 0; r < t.registers.size(); ++r) {
    const Value at = b.add(b.mul(trip, b.integer(width / op.range.step)),
                           b.integer(static_cast<int64_t>(r) * n));
    if (back)
      t.registers[r] = b.let(k_[v].name, b.at(array, at, {.lanes = n}));
    else
      b.set(array, at, t.registers[r]);
  }
}

}  // namespace tang::loop
