// Tiles: loads and stores, maps, reductions, changes of placement.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tile/machine_impl.h"
#include "tile/names.h"

namespace tang::tile {

// ---- elements ----------------------------------------------------------------------------------

namespace {

// Of the threads that hold the same, whether this is the first.
bool leads(const Placement& p, const Position& at) {
  for (size_t k = 0; k < p.digits.size(); ++k) {
    const Digit& d = p.digits[k];
    const bool thread = d.level == Level::lane || d.level == Level::warp;
    if (thread && d.use == Use::replica && p.digit(k, at) != 0) return false;
  }
  return true;
}

}  // namespace

int64_t Machine::Flat::at(const std::vector<int64_t>& index) const {
  int64_t x = base;
  for (const auto& [dim, coeff] : terms) x += coeff * index[dim];
  return x;
}

Machine::Flat Machine::flat(const Form& f) const {
  Flat result;
  result.base = f.base.evaluate(params_).value_or(0);
  for (const Form::Term& t : f.terms)
    result.terms.emplace_back(index(t.dim), t.coeff.evaluate(params_).value_or(0));
  for (const Form::Gather& t : f.gathers)
    result.terms.emplace_back(static_cast<uint32_t>(k_.indices.size()) + t.leaf,
                              t.coeff.evaluate(params_).value_or(0));
  return result;
}

std::vector<Machine::Flat> Machine::flat(const std::vector<Form>& forms) const {
  std::vector<Flat> result;
  for (const Form& f : forms) result.push_back(flat(f));
  return result;
}

Machine::Gathers Machine::gathers(Warp& w, const Op& op, PlacementId at) {
  Gathers result;
  std::set<uint32_t> seen;
  const auto add = [&](const std::vector<Form>& forms) {
    for (const Form& f : forms)
      for (const Form::Gather& t : f.gathers) {
        if (!seen.insert(t.leaf).second) continue;
        Instance v = tile_of(w, static_cast<ValueId>(t.leaf));
        if (!v.part) return;
        result.where.push_back(&aligned(w, v.part->placement, at));
        result.values.emplace_back(k_.indices.size() + t.leaf, std::move(v));
      }
  };
  for (const Ref& r : op.refs) add(r.at);
  add(op.valid);
  return result;
}

void Machine::set_index(std::vector<int64_t>& index, PlacementId at, const Layout& l, size_t e,
                        Gathers& gathers) const {
  for (size_t a = 0; a < l.rank; ++a)
    index[tang::index(k_[at].axes[a])] = l.coordinates[e * l.rank + a];
  for (size_t k = 0; k < gathers.values.size(); ++k) {
    const auto& [number, v] = gathers.values[k];
    const size_t from = (*gathers.where[k])[e];
    gathers.held &= from != SIZE_MAX;
    if (from != SIZE_MAX) index[number] = tang::Value::real(v.part->elements[from]).as_integer();
  }
}

const Machine::Layout& Machine::layout(PlacementId id, int64_t within) {
  const Placement& p = k_[id].placement;
  const int64_t warp = within % p.count(Level::warp);
  auto& known = layouts_[{index_of(id), warp}];
  if (!known.at.empty()) return known;
  known.rank = p.rank();
  const int64_t registers = p.count(Level::reg) * p.count(Level::elem);
  known.registers = static_cast<size_t>(registers);
  for (int64_t lane = 0; lane < p.count(Level::lane); ++lane)
    for (int64_t r = 0; r < registers; ++r) {
      Position at{};
      at[static_cast<size_t>(Level::warp)] = warp;
      at[static_cast<size_t>(Level::lane)] = lane;
      at[static_cast<size_t>(Level::reg)] = r / p.count(Level::elem);
      at[static_cast<size_t>(Level::elem)] = r % p.count(Level::elem);
      const Point x = p.coordinates(at);
      known.coordinates.insert(known.coordinates.end(), x.begin(), x.end());
      known.at.push_back(at);
      known.leads.push_back(leads(p, at));
    }
  return known;
}

std::shared_ptr<Part> Machine::new_part(PlacementId p, int64_t within) {
  auto part = std::make_shared<Part>();
  part->placement = p;
  part->elements.assign(layout(p, within).at.size(), 0);
  return part;
}

View Machine::view(const Warp& w, int32_t lane) const {
  return {w.id, w.knows[w.id], &w.knows, &w.fenced, false, w.part, w.synced, lane};
}

// A value that is a tile here, and whose elements have come.
Instance Machine::tile_of(Warp& w, ValueId v, bool by_matrix_unit) {
  Instance t = lookup(w, v);
  const std::string name = v == ValueId::none ? "none" : k_[v].name;
  if (t.what != Instance::What::tile) {
    fault(&w, w.waiting, fmt::format("uninitialised: `{}` has no value in this trip", name));
    t.part = nullptr;
    return t;
  }
  if (t.in_flight && !by_matrix_unit && w.knows[t.in_flight->agent] < t.in_flight->number)
    fault(&w, w.waiting,
          fmt::format("registers: `{}` is read before its operation was waited for", name));
  return t;
}

void Machine::result(Warp& w, const Op& op, size_t k, std::shared_ptr<Part> part) {
  const Format format = k_[op.results[k]].type.format;
  if (format != Format::f64)
    for (double& x : part->elements) x = round_to(format, x);
  Instance t;
  t.what = Instance::What::tile;
  t.part = std::move(part);
  t.touched = ++w.sequence;
  define(w, op.results[k], std::move(t));
}

Machine::Place Machine::place(Warp& w, const Ref& ref) {
  Place p;
  p.id = ref.memory;
  p.memory = &k_[ref.memory];
  p.at = flat(ref.at);
  for (const Poly& e : p.memory->extents) p.extents.push_back(e.evaluate(params_).value_or(0));
  if (ref.what == Ref::What::memory) p.base = memory_base_[index_of(ref.memory)];
  if (ref.what != Ref::What::member) return p;
  const Instance s = lookup(w, ref.slot);
  if (s.what != Instance::What::slot) {
    fault(&w, w.waiting, "uninitialised: there is no slot in this trip");
    return p;
  }
  const Channel& c = k_[s.channel];
  const auto m = std::find(c.members.begin(), c.members.end(), ref.memory) - c.members.begin();
  const size_t slot = s.ring * static_cast<size_t>(c.depth) + static_cast<size_t>(s.slot);
  p.base = slot_base_[index_of(s.channel)][slot * c.members.size() + static_cast<size_t>(m)];
  return p;
}

// Sets x to the coordinate that the forms give; false if it lies outside of the memory.
bool Machine::inside(const Place& p, const std::vector<int64_t>& index, Point& x) {
  x.resize(p.at.size());
  for (size_t a = 0; a < p.at.size(); ++a) {
    x[a] = p.at[a].at(index);
    if (x[a] < 0 || x[a] >= p.extents[a]) return false;
  }
  return true;
}

namespace {

int64_t row_major_index(const Point& x, const Point& extents) {
  int64_t at = 0;
  for (size_t a = 0; a < x.size(); ++a) at = at * extents[a] + x[a];
  return at;
}

}  // namespace

double Machine::read(const Place& p, const Point& x, const View& view) {
  if (p.memory->role == Memory::Role::local)
    return shared_->load(view, p.base + p.memory->layout.address(x), p.memory->format);
  const int64_t at = row_major_index(x, p.extents);
  if (const std::string wrong = globals_[global_of_[index_of(p.id)]].read(at, view); !wrong.empty())
    fault(nullptr, nullptr, fmt::format("`{}`: {}", p.memory->name, wrong));
  return arguments_[index_of(p.id)]->at(at);
}

void Machine::write(const Place& p, const Point& x, double value, const View& view) {
  if (p.memory->role == Memory::Role::local)
    return shared_->store(view, p.base + p.memory->layout.address(x), p.memory->format, value);
  const int64_t at = row_major_index(x, p.extents);
  arguments_[index_of(p.id)]->set(at, value);
  if (const std::string wrong = globals_[global_of_[index_of(p.id)]].write(at, view);
      !wrong.empty())
    fault(nullptr, nullptr, fmt::format("`{}`: {}", p.memory->name, wrong));
}

// An atomic sum in global memory.
void Machine::add(const Place& p, const Point& x, double value, const View& view) {
  const int64_t at = row_major_index(x, p.extents);
  Array& memory = *arguments_[index_of(p.id)];
  memory.set(at, memory.at(at) + value);
  if (const std::string wrong = globals_[global_of_[index_of(p.id)]].add(at, view.part);
      !wrong.empty())
    fault(nullptr, nullptr, fmt::format("`{}`: {}", p.memory->name, wrong));
}

void Machine::check_memory(const Warp& w, const Op& op) {
  if (const std::string text = shared_->take_fault(); !text.empty()) fault(&w, &op, text);
}

// ---- operations --------------------------------------------------------------------------------

namespace {

constexpr const char* not_held = "this thread does not hold an element that it needs";

// The digits of one use at a position.
Point digits_of(const Placement& p, const Position& at, Use use) {
  Point values;
  for (size_t k = 0; k < p.digits.size(); ++k)
    if (p.digits[k].use == use) values.push_back(p.digit(k, at));
  return values;
}

}  // namespace

bool Machine::data_op(Warp& w, const Op& op) {
  ++w.knows[w.id];
  switch (op.kind) {
    case OpKind::load:
      load(w, op);
      break;
    case OpKind::store:
      store(w, op);
      break;
    case OpKind::copy:
      return copy(w, op);
    case OpKind::map:
      map(w, op);
      break;
    case OpKind::reduce:
    case OpKind::fold:
      return combine(w, op, op.kind == OpKind::fold);
    case OpKind::scan:
      scan(w, op);
      break;
    case OpKind::solve:
      solve(w, op);
      break;
    case OpKind::convert:
    case OpKind::slice:
      convert(w, op);
      break;
    case OpKind::contract:
      return contract(w, op);
    default:
      break;  // prefetch
  }
  check_memory(w, op);
  return true;
}

void Machine::load(Warp& w, const Op& op) {
  const PlacementId id = k_[op.results[0]].type.placement;
  const Layout& l = layout(id, w.within);
  const Place from = place(w, op.refs[0]);
  const std::vector<Flat> valid = flat(op.valid);
  Gathers gathered = gathers(w, op, id);
  auto part = new_part(id, w.within);
  std::vector<int64_t> index = w.index;
  if (!gathered.values.empty()) index.resize(k_.indices.size() + k_.values.size());
  Point x;
  for (size_t e = 0; e < l.at.size() && !fault_; ++e) {
    set_index(index, id, l, e, gathered);
    if (!gathered.held) return fault(&w, &op, not_held);
    const bool holds =
        std::all_of(valid.begin(), valid.end(), [&](const Flat& f) { return f.at(index) >= 0; });
    if (holds && !inside(from, index, x))
      return fault(&w, &op, fmt::format("out of bounds: outside of `{}`", from.memory->name));
    part->elements[e] = holds ? read(from, x, view(w, l.lane(e))) : op.fill;
  }
  result(w, op, 0, std::move(part));
}

void Machine::store(Warp& w, const Op& op) {
  const Instance t = tile_of(w, op.args[0]);
  if (!t.part) return;
  const PlacementId id = t.part->placement;
  const Layout& l = layout(id, w.within);
  const Place to = place(w, op.refs[0]);
  const std::vector<Flat> valid = flat(op.valid);
  Gathers gathered = gathers(w, op, id);
  std::vector<int64_t> index = w.index;
  if (!gathered.values.empty()) index.resize(k_.indices.size() + k_.values.size());
  Point x;
  for (size_t e = 0; e < l.at.size() && !fault_; ++e) {
    if (!l.leads[e]) continue;
    set_index(index, id, l, e, gathered);
    if (!gathered.held) return fault(&w, &op, not_held);
    if (!std::all_of(valid.begin(), valid.end(), [&](const Flat& f) { return f.at(index) >= 0; }))
      continue;
    if (!inside(to, index, x))
      return fault(&w, &op, fmt::format("out of bounds: outside of `{}`", to.memory->name));
    write(to, x, t.part->elements[e], view(w, l.lane(e)));
  }
}

void Machine::map(Warp& w, const Op& op) {
  const PlacementId id = k_[op.results[0]].type.placement;
  const Layout& l = layout(id, w.within);
  const std::vector<DimId>& axes = k_[id].axes;
  std::vector<Instance> args;
  for (ValueId v : op.args) {
    args.push_back(tile_of(w, v));
    if (!args.back().part) return;
  }
  // An argument with fewer registers is read where its placement has the element's coordinates.
  std::vector<const Table*> where;
  for (const Instance& t : args) where.push_back(&aligned(w, t.part->placement, id));
  std::vector<Flat> forms;
  for (const Leaf& leaf : op.leaves) forms.push_back(flat(leaf.form));
  const auto is_wide = [&](ValueId v) { return k_[v].type.format == Format::f64; };
  const bool wide = is_wide(op.results[0]) || std::any_of(op.args.begin(), op.args.end(), is_wide);
  auto& body = bodies_.try_emplace(&op, k_.pool, op.body, !wide).first->second;
  auto part = new_part(id, w.within);
  std::vector<int64_t> index = w.index;
  bool held = true;
  const auto variable = [&](uint32_t v) -> double {
    const Leaf& leaf = op.leaves[v];
    if (!leaf.argument) return static_cast<double>(forms[v].at(index));
    const size_t from = (*where[*leaf.argument])[element_];
    held &= from != SIZE_MAX;
    return from == SIZE_MAX ? 0 : args[*leaf.argument].part->elements[from];
  };
  for (element_ = 0; element_ < l.at.size(); ++element_) {
    for (size_t a = 0; a < l.rank; ++a)
      index[tang::index(axes[a])] = l.coordinates[element_ * l.rank + a];
    part->elements[element_] = body.value(variable);
  }
  if (!held) return fault(&w, &op, not_held);
  result(w, op, 0, std::move(part));
}

// For each element of `to` the element of `from` that the same thread holds at its coordinates (of
// the axes that `from` has), of terms kept apart in both the same; SIZE_MAX where it holds none.
const Machine::Table& Machine::aligned(const Warp& w, PlacementId from, PlacementId to) {
  const Layout &a = layout(from, w.within), &b = layout(to, w.within);
  Table& result = tables_[{index_of(from), index_of(to), w.within, {-1}}];
  if (!result.empty()) return result;
  result.assign(b.at.size(), SIZE_MAX);
  std::vector<size_t> axis;  // of `to`, for each axis of `from`
  for (DimId d : k_[from].axes) {
    const auto& axes = k_[to].axes;
    const auto at = std::find(axes.begin(), axes.end(), d);
    if (at == axes.end()) return result;
    axis.push_back(static_cast<size_t>(at - axes.begin()));
  }
  const Placement &p = k_[from].placement, &q = k_[to].placement;
  const bool apart = p.has(Use::partial) && q.has(Use::partial);
  const size_t lanes = a.at.size() / a.registers;
  for (size_t e = 0; e < b.at.size(); ++e)
    for (size_t r = 0; r < a.registers && result[e] == SIZE_MAX; ++r) {
      const size_t other = e / b.registers % lanes * a.registers + r;
      bool same =
          !apart || digits_of(p, a.at[other], Use::partial) == digits_of(q, b.at[e], Use::partial);
      for (size_t k = 0; k < axis.size(); ++k)
        same &= a.coordinates[other * a.rank + k] == b.coordinates[e * b.rank + axis[k]];
      if (same) result[e] = other;
    }
  return result;
}

// For each element of `to` one of `from` that the warp holds, `offset` further on.
const Machine::Table& Machine::moved(const Warp& w, PlacementId from, PlacementId to,
                                     const Point& offset) {
  const Layout &a = layout(from, w.within), &b = layout(to, w.within);
  Table& result = tables_[{index_of(from), index_of(to), w.within, offset}];
  if (!result.empty()) return result;
  std::map<Point, size_t> held;
  for (size_t e = 0; e < a.at.size(); ++e) held.emplace(a.point(e), e);
  for (size_t e = 0; e < b.at.size(); ++e) {
    Point x = b.point(e);
    for (size_t k = 0; k < offset.size(); ++k) x[k] += offset[k];
    const auto found = held.find(x);
    result.push_back(found == held.end() ? SIZE_MAX : found->second);
  }
  return result;
}

// Whether a digit of the warp's number is folded, and not kept apart in the result.
bool Machine::is_across_warps(PlacementId from, PlacementId to, bool folds) const {
  const auto& kept = k_[to].axes;
  const auto is_folded = [&](const AxisTerm& t) {
    return std::find(kept.begin(), kept.end(), k_[from].axes[t.axis]) == kept.end();
  };
  const auto& apart = k_[to].placement.digits;
  if (std::any_of(apart.begin(), apart.end(),
                  [](const Digit& d) { return d.level == Level::warp && d.use == Use::partial; }))
    return false;
  const auto& digits = k_[from].placement.digits;
  return std::any_of(digits.begin(), digits.end(), [&](const Digit& d) {
    if (d.level != Level::warp) return false;
    return folds ? d.use == Use::partial : std::any_of(d.terms.begin(), d.terms.end(), is_folded);
  });
}

// A reduction gathers the elements that agree on the axes kept; partial digits of the result keep
// apart what each of their values folds. Folding partial digits gathers the elements that differ in
// them only. Terms stand in the order of what they differ in; replicas count once.
const Machine::Plan& Machine::plan(const Warp& w, PlacementId from, PlacementId to, bool folds) {
  Plan& result = plans_[{index_of(from), index_of(to), w.within, folds}];
  if (!result.group_of.empty()) return result;
  result.across = is_across_warps(from, to, folds);
  std::vector<size_t> kept;  // axes of `from`, for each of `to`
  for (DimId d : k_[to].axes)
    kept.push_back(static_cast<size_t>(std::find(k_[from].axes.begin(), k_[from].axes.end(), d) -
                                       k_[from].axes.begin()));
  const Placement &p = k_[from].placement, &q = k_[to].placement;
  std::map<std::pair<Point, Point>, std::map<Point, size_t>> groups;
  const int64_t warps = warps_per_copy_[w.role];
  for (int64_t v = result.across ? 0 : w.within; v < (result.across ? warps : w.within + 1); ++v) {
    const Layout& a = layout(from, v);
    const size_t first = result.across ? static_cast<size_t>(v) * a.at.size() : 0;
    for (size_t e = 0; e < a.at.size(); ++e) {
      const Point x = a.point(e);
      Point key;
      for (size_t k : kept) key.push_back(x[k]);
      const Point apart = folds ? Point() : digits_of(q, a.at[e], Use::partial);
      groups[{key, apart}].emplace(folds ? digits_of(p, a.at[e], Use::partial) : x, first + e);
    }
  }
  std::map<std::pair<Point, Point>, size_t> number;
  for (const auto& [key, terms] : groups) {
    number[key] = result.groups.size();
    result.groups.emplace_back();
    for (const auto& [order, e] : terms) result.groups.back().push_back(e);
  }
  const Layout& b = layout(to, w.within);
  for (size_t e = 0; e < b.at.size(); ++e) {
    const Point apart = folds ? Point() : digits_of(q, b.at[e], Use::partial);
    const auto found = number.find({b.point(e), apart});
    result.group_of.push_back(found == number.end() ? SIZE_MAX : found->second);
  }
  return result;
}

// The state of each group of terms, which the warps in `args` hold.
std::vector<std::vector<double>> Machine::folded(
    const Op& op, const Plan& p, const std::map<int64_t, std::vector<Instance>>& args) {
  const auto& first = args.begin()->second;
  const size_t size = first[0].part->elements.size();
  std::vector<std::vector<double>> states;
  for (const Table& terms : p.groups) {
    std::vector<double> state, term(first.size());
    for (size_t e : terms) {
      const auto& held = p.across ? args.at(static_cast<int64_t>(e / size)) : first;
      for (size_t c = 0; c < term.size(); ++c) term[c] = held[c].part->elements[e % size];
      state = state.empty() ? term : combined(k_[op.monoid], state, term);
    }
    states.push_back(std::move(state));
  }
  return states;
}

// Warps that fold each other's terms come together for it, which orders nothing else.
bool Machine::combine(Warp& w, const Op& op, bool folds) {
  const PlacementId to = k_[op.results[0]].type.placement;
  std::map<int64_t, std::vector<Instance>> args;
  std::vector<Instance>& mine = args[w.within];
  for (ValueId v : op.args) {
    mine.push_back(tile_of(w, v));
    if (!mine.back().part) return true;
  }
  const Plan& p = plan(w, mine[0].part->placement, to, folds);
  std::vector<std::vector<double>> states;
  if (!p.across) {
    states = folded(op, p, args);
  } else {
    if (w.phase == 0) {
      w.generation = w.visits[op_number(op)]++;
      w.phase = 1;
      Gathering& g = gatherings_[{op_number(op), w.role, w.copy, w.generation}];
      g.args[w.within] = mine;
      if (static_cast<int64_t>(g.args.size()) == warps_per_copy_[w.role]) {
        g.states = folded(op, p, g.args);
        g.issued = true;
        g.left = warps_per_copy_[w.role];
      }
    }
    const auto at = gatherings_.find({op_number(op), w.role, w.copy, w.generation});
    if (!at->second.issued) return false;
    states = at->second.states;
    if (--at->second.left == 0) gatherings_.erase(at);
  }
  for (size_t c = 0; c < op.results.size(); ++c) {
    auto part = new_part(to, w.within);
    for (size_t e = 0; e < part->elements.size(); ++e) {
      if (p.group_of[e] == SIZE_MAX)
        return fault(&w, &op, "this warp holds no term of an element of the result"), true;
      part->elements[e] = states[p.group_of[e]][c];
    }
    result(w, op, c, std::move(part));
  }
  return true;
}

// Another placement within a warp, another format, or the part of a tile at `from`.
void Machine::convert(Warp& w, const Op& op) {
  const Instance t = tile_of(w, op.args[0]);
  if (!t.part) return;
  const PlacementId to = k_[op.results[0]].type.placement;
  Point offset;
  for (const Flat& f : flat(op.from)) offset.push_back(f.at(w.index));
  const Table& from = moved(w, t.part->placement, to, offset);
  auto part = new_part(to, w.within);
  for (size_t e = 0; e < from.size(); ++e) {
    if (from[e] == SIZE_MAX)
      return fault(&w, &op, "an element of the result is held by another warp, or by none");
    part->elements[e] = t.part->elements[from[e]];
  }
  result(w, op, 0, std::move(part));
}

}  // namespace tang::tile
