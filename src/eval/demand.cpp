#include "eval/demand.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tang::oracle {

namespace {

class Demand {
 public:
  Demand(const Program& p, const Known& known, bool whole_indices,
         std::map<TensorId, PointSet>& needed);
  void add(const PointSet& points);

 private:
  PointSet& set_of(const ReadPlan& plan);
  void find_relevant();
  void mention(const ReadPlan& plan);
  void mention(const FormPlan& form);
  std::optional<int64_t> form_value(const FormPlan& form) const;
  std::optional<int64_t> gathered(int reg) const;
  void mark(const ReadPlan& plan);

  const Program& p_;
  Program box_;  // the reduce box with coordinates nothing here depends on cut to one value
  const Known& known_;
  std::map<TensorId, PointSet>& needed_;
  std::vector<const ReadPlan*> once_, each_;  // reads to mark once a point, once a term
  std::map<int, const ReadPlan*> of_register_;
  std::vector<char> lane_, reduce_;
  std::vector<int64_t> lane_at_;
  Walk walk_;
};

Demand::Demand(const Program& p, const Known& known, bool whole_indices,
               std::map<TensorId, PointSet>& needed)
    : p_(p), box_(p), known_(known), needed_(needed) {
  lane_.assign(p.lanes.size(), 0);
  reduce_.assign(p.reduce.size(), 0);
  lane_at_.assign(p.lanes.size(), 0);
  std::map<int, int> level;
  std::set<int> indices;  // registers that index an unguarded read
  for (const Instruction& in : p.term) {
    if (in.what != Instruction::What::read) continue;
    const ReadPlan& plan = p.reads[static_cast<size_t>(in.plan)];
    of_register_[in.target] = &plan;
    level[in.target] = in.level;
    if (!plan.guarded)
      for (int f : plan.forms)
        for (const auto& [reg, c] : p.forms[static_cast<size_t>(f)].gathers) indices.insert(reg);
  }
  for (const auto& [reg, plan] : of_register_) {
    if (known(plan->tensor)) continue;
    if (whole_indices && indices.contains(reg)) {
      set_of(*plan).add_all();
      continue;
    }
    // What does not depend on the loop is read even when no term holds.
    (level.at(reg) > 0 ? each_ : once_).push_back(plan);
  }
  find_relevant();
}

PointSet& Demand::set_of(const ReadPlan& plan) {
  const auto it = needed_.find(plan.tensor);
  if (it != needed_.end()) return it->second;
  return needed_.emplace(plan.tensor, PointSet(element_count(plan.shape).value_or(0)))
      .first->second;
}

void Demand::mention(const FormPlan& form) {
  for (const auto& [dim, c] : form.lanes) lane_[static_cast<size_t>(dim)] = 1;
  for (const auto& [dim, c] : form.reduce) reduce_[static_cast<size_t>(dim)] = 1;
  for (const auto& [reg, c] : form.gathers)
    if (const auto it = of_register_.find(reg); it != of_register_.end())
      for (int f : it->second->forms) {
        const FormPlan& inner = p_.forms[static_cast<size_t>(f)];
        for (const auto& [dim, k] : inner.lanes) lane_[static_cast<size_t>(dim)] = 1;
        for (const auto& [dim, k] : inner.reduce) reduce_[static_cast<size_t>(dim)] = 1;
      }
}

void Demand::mention(const ReadPlan& plan) {
  for (int f : plan.forms) mention(p_.forms[static_cast<size_t>(f)]);
}

void Demand::find_relevant() {
  for (const ReadPlan* plan : once_) mention(*plan);
  for (const ReadPlan* plan : each_) mention(*plan);
  for (const Restriction& r : p_.restrictions) mention(p_.forms[static_cast<size_t>(r.form)]);
  for (size_t d = 0; d < reduce_.size(); ++d)
    if (!reduce_[d]) box_.reduce_extent[d] = std::min<int64_t>(1, box_.reduce_extent[d]);
}

std::optional<int64_t> Demand::gathered(int reg) const {
  const auto it = of_register_.find(reg);
  if (it == of_register_.end()) return std::nullopt;
  const ReadPlan& plan = *it->second;
  const Source* source = known_(plan.tensor);
  if (!source || !plan.affine) return std::nullopt;
  int64_t address = 0;
  for (size_t a = 0; a < plan.forms.size(); ++a) {
    const FormPlan& form = p_.forms[static_cast<size_t>(plan.forms[a])];
    int64_t x = form.base;
    for (const auto& [dim, c] : form.lanes) x += c * lane_at_[static_cast<size_t>(dim)];
    for (const auto& [dim, c] : form.reduce) x += c * walk_.at()[static_cast<size_t>(dim)];
    if (x < 0 || x >= plan.shape[a]) return plan.fill.i;
    address += x * plan.strides[a];
  }
  return source->values ? source->values->at(address).i : source->array->integer_at(address);
}

std::optional<int64_t> Demand::form_value(const FormPlan& form) const {
  int64_t x = form.base;
  for (const auto& [dim, c] : form.lanes) x += c * lane_at_[static_cast<size_t>(dim)];
  for (const auto& [dim, c] : form.reduce) x += c * walk_.at()[static_cast<size_t>(dim)];
  for (const auto& [reg, c] : form.gathers) {
    const auto index = gathered(reg);
    if (!index) return std::nullopt;
    x = static_cast<int64_t>(static_cast<uint64_t>(x) +
                             static_cast<uint64_t>(c) * static_cast<uint64_t>(*index));
  }
  return x;
}

void Demand::mark(const ReadPlan& plan) {
  int64_t address = 0;
  for (size_t a = 0; a < plan.forms.size(); ++a) {
    const auto x = form_value(p_.forms[static_cast<size_t>(plan.forms[a])]);
    if (!x) return set_of(plan).add_all();
    if (*x < 0 || *x >= plan.shape[a]) return;
    address += *x * plan.strides[a];
  }
  set_of(plan).add(address);
}

void Demand::add(const PointSet& points) {
  if (once_.empty() && each_.empty()) return;
  std::vector<int64_t> before(lane_.size(), -1);
  for (int64_t flat : points.members()) {
    bool same = true;
    for (size_t k = lane_.size(); k-- > 0;) {
      const int64_t n = std::max<int64_t>(1, p_.lane_extent[k]);
      lane_at_[k] = flat % n;
      flat /= n;
      same = same && (!lane_[k] || lane_at_[k] == before[k]);
    }
    if (same && before != std::vector<int64_t>(lane_.size(), -1)) continue;
    before = lane_at_;
    walk_.start(box_, true);
    for (const ReadPlan* plan : once_) mark(*plan);
    for (size_t k = 0; k < p_.restrictions.size(); ++k) {
      constexpr int64_t unknown = int64_t{1} << 50;
      FormPlan form = p_.forms[static_cast<size_t>(p_.restrictions[k].form)];
      form.reduce.clear();
      const auto x = form_value(form);
      walk_.low[k] = std::clamp(x.value_or(-unknown), -unknown, unknown);
      walk_.high[k] = std::clamp(x.value_or(unknown), -unknown, unknown);
    }
    for (bool more = walk_.first(); more; more = walk_.next())
      for (const ReadPlan* plan : each_) mark(*plan);
  }
}

void form_dims(const Graph& g, const Form& f, std::set<DimId>& out) {
  for (const Form::Term& t : f.terms) out.insert(t.dim);
  for (const Form::Gather& x : f.gathers)
    for (const Form& inner : g.leaf(x.leaf).forms)
      for (const Form::Term& t : inner.terms) out.insert(t.dim);
}

std::set<DimId> guard_dims(const Graph& g, const Node& n) {
  std::set<DimId> out;
  for (const Guard& guard : n.guards) {
    if (guard.what == Guard::What::data) {
      const auto dims = dims_of(g, guard.condition);
      out.insert(dims.begin(), dims.end());
    } else {
      form_dims(g, guard.form, out);
    }
  }
  return out;
}

// Leaves of target values, scan states and conditions: no guard protects them.
std::set<LeafId> unprotected(const Graph& g, const Node& n) {
  std::set<LeafId> out;
  const auto add = [&](ExprId e) {
    if (e == ExprId::none) return;
    for (LeafId l : leaves_of(g, e)) out.insert(l);
  };
  for (const Target& t : n.targets) add(t.value);
  for (const Guard& guard : n.guards)
    if (guard.what == Guard::What::data) add(guard.condition);
  if (n.scan)
    for (ExprId e : n.scan->initial) add(e);
  return out;
}

Diagnostic outside(const Graph& g, LeafId id, size_t axis, const Machine& m, const Program& p,
                   int lane, int64_t value, int64_t extent) {
  const Leaf& l = g.leaf(id);
  std::string where;
  for (size_t k = 0; k < p.lanes.size(); ++k)
    where += fmt::format("{}{} = {}", k ? ", " : "", g[p.lanes[k]].name, m.coordinate(k, lane));
  std::string index;
  for (const Form::Gather& x : l.forms[axis].gathers) index = g[g.leaf(x.leaf).tensor].name;
  Diagnostic d;
  d.id = "E0417";
  d.message = fmt::format(
      "position {} on axis {} of `{}` is outside 0…{} at {} (gathered through `{}`)", value, axis,
      g[l.tensor].name, extent - 1, where.empty() ? "its only point" : where, index);
  d.hint = fmt::format("correct `{}`, or write `{}?[…]` to read the fill outside", index,
                       g[l.tensor].name);
  d.exit = Exit::wrong_result;
  return d;
}

}  // namespace

void add_demand(const Program& p, const PointSet& points, const Known& known, bool whole_indices,
                std::map<TensorId, PointSet>& needed) {
  Demand(p, known, whole_indices, needed).add(points);
}

namespace {

Result<void> verify_axis(const Graph& g, const Node& n, std::span<const int64_t> params,
                         const Known& source, int64_t limit, LeafId id, size_t axis, bool guarded) {
  const Leaf& l = g.leaf(id);
  std::set<DimId> over;
  form_dims(g, l.forms[axis], over);
  if (guarded) over.merge(guard_dims(g, n));
  std::vector<DimId> dims;
  for (const auto* declared : {&n.points, &n.reduce})
    for (DimId d : *declared)
      if (over.contains(d)) dims.push_back(d);
  const auto p = compile_position(g, n, params, id, axis, dims, guarded);
  if (!p) return tl::unexpected(p.error());
  const auto extent = extent_value(g, g[l.tensor].shape[axis], params);
  if (!extent) return tl::unexpected(extent.error());
  const auto count = element_count(p->lane_extent);
  if (!count || *count > limit) return {};
  std::vector<Source> sources;
  for (const ReadPlan& plan : p->reads) {
    const Source* s = source(plan.tensor);
    if (!s || (s->values && s->values->points)) return {};
    sources.push_back(*s);
  }
  Machine m(*p, sources, false);
  const int position = p->results[0].second;
  for (int64_t first = 0; first < *count; first += block_lanes) {
    m.run(first, static_cast<int>(std::min<int64_t>(block_lanes, *count - first)));
    for (int lane = 0; lane < m.lanes(); ++lane) {
      const int64_t x = m.column(position)[lane].i;
      if (m.holds(lane) && (x < 0 || x >= *extent))
        return tl::unexpected(outside(g, id, axis, m, *p, lane, x, *extent));
    }
  }
  return {};
}

}  // namespace

Result<void> verify_gathers(const Graph& g, const Node& n, std::span<const int64_t> params,
                            const Known& source, int64_t limit) {
  const std::set<LeafId> bare = unprotected(g, n);
  for (LeafId id : leaves_of(g, n)) {
    const Leaf& l = g.leaf(id);
    if (l.what != Leaf::What::read || l.guarded) continue;
    for (size_t axis = 0; axis < l.forms.size(); ++axis) {
      if (l.forms[axis].gathers.empty()) continue;
      const bool guarded = !n.guards.empty() && !bare.contains(id);
      const auto ok = verify_axis(g, n, params, source, limit, id, axis, guarded);
      if (!ok) return ok;
    }
  }
  return {};
}

}  // namespace tang::oracle
