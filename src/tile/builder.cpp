#include "tile/builder.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "tile/names.h"

namespace tang::tile {

KernelBuilder::KernelBuilder(std::string_view name, std::string_view target, int64_t warps) {
  k_.name = fresh(name);
  k_.target = target;
  k_.roles.push_back({fresh("all"), 0, warps, 0, std::nullopt, 1});
  k_.regions.emplace_back();
  open_.push_back({{}, static_cast<RegionId>(0)});
}

// A name that the text may have, that no other thing of the kernel has.
std::string KernelBuilder::fresh(std::string_view wanted) {
  static const std::set<std::string, std::less<>> reserved = {
      "none",   "inf", "nan",  "fill",    "row",   "valid", "carry",  "to",   "partial",
      "and",    "or",  "not",  "true",    "false", "axis",  "arg",    "out",  "work",
      "memory", "map", "role", "channel", "turn",  "place", "monoid", "order"};
  std::string base;
  for (char c : wanted)
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') base += c;
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0])) || reserved.contains(base))
    base = "v" + base;
  std::string name = base;
  for (int k = 1; !names_.insert(name).second; ++k) name = fmt::format("{}_{}", base, k);
  return name;
}

void KernelBuilder::reserve(std::string_view name) { names_.emplace(name); }

DimId KernelBuilder::index(std::string_view name, Index::What what) {
  const auto id = static_cast<DimId>(k_.indices.size());
  k_.indices.push_back({fresh(name), what});
  return id;
}

DimId KernelBuilder::axis(std::string_view name) {
  const auto found = axes_.find(name);
  if (found != axes_.end()) return found->second;
  return axes_.emplace(name, index(name, Index::What::axis)).first->second;
}

MemoryId KernelBuilder::memory(Memory m, const std::vector<std::string>& axes) {
  m.name = fresh(m.name);
  for (const std::string& a : axes) m.axes.push_back(axis(a));
  k_.memories.push_back(std::move(m));
  return static_cast<MemoryId>(k_.memories.size() - 1);
}

PlacementId KernelBuilder::placement(const std::vector<DimId>& axes, const Placement& p) {
  for (size_t n = 0; n < k_.placements.size(); ++n)
    if (k_.placements[n].axes == axes && k_.placements[n].placement == p)
      return static_cast<PlacementId>(n);
  std::string name = axes.empty() ? "one" : "at";
  for (DimId d : axes) name += "_" + k_[d].name;
  k_.placements.push_back({fresh(name), axes, p});
  return static_cast<PlacementId>(k_.placements.size() - 1);
}

MonoidId KernelBuilder::monoid(Monoid m) {
  for (size_t n = 0; n < k_.monoids.size(); ++n) {
    const Monoid& other = k_.monoids[n];
    if (!other.builtin && other.identity == m.identity && other.combine == m.combine)
      return static_cast<MonoidId>(n);
  }
  m.name = fresh(m.name.empty() ? "state" : m.name);
  k_.monoids.push_back(std::move(m));
  return static_cast<MonoidId>(k_.monoids.size() - 1);
}

MonoidId KernelBuilder::builtin(std::string_view name) { return builtin_monoid(k_, name); }

ValueId KernelBuilder::value(std::string_view name, Type type) {
  k_.values.push_back({fresh(name), type});
  return static_cast<ValueId>(k_.values.size() - 1);
}

void KernelBuilder::add(Op op) { add(region(), std::move(op)); }

void KernelBuilder::add(RegionId region, Op op) {
  op.roles = 1;
  k_.ops.push_back(std::move(op));
  k_.regions[index_of(region)].ops.push_back(static_cast<uint32_t>(k_.ops.size() - 1));
}

bool KernelBuilder::in_parallel() const {
  return std::all_of(open_.begin() + 1, open_.end(), [&](const Open& o) {
    return o.op.kind == OpKind::loop && o.op.range.parallel && k_[o.body].ops.empty();
  });
}

RegionId KernelBuilder::new_region() {
  k_.regions.emplace_back();
  return static_cast<RegionId>(k_.regions.size() - 1);
}

std::vector<ValueId> KernelBuilder::open_loop(Op::Range range,
                                              const std::vector<ValueId>& initial) {
  Op op;
  op.kind = OpKind::loop;
  op.range = std::move(range);
  op.args = initial;
  for (ValueId v : initial) op.carried.push_back(value(k_[v].name, k_[v].type));
  op.body_region = new_region();
  open_.push_back({op, op.body_region});
  return op.carried;
}

void KernelBuilder::open_branch(std::vector<Form> holds) {
  Op op;
  op.kind = OpKind::branch;
  op.holds = std::move(holds);
  op.body_region = new_region();
  open_.push_back({op, op.body_region});
}

void KernelBuilder::end_body(const std::vector<ValueId>& yields) {
  if (yields.empty()) return;
  Op next;
  next.kind = OpKind::next;
  next.args = yields;
  add(std::move(next));
}

void KernelBuilder::open_else(const std::vector<ValueId>& yields) {
  end_body(yields);
  Open& top = open_.back();
  top.op.other_region = top.body = new_region();
}

std::vector<ValueId> KernelBuilder::close(const std::vector<ValueId>& yields) {
  end_body(yields);
  Op op = std::move(open_.back().op);
  open_.pop_back();
  for (ValueId v : yields) op.results.push_back(value(k_[v].name, k_[v].type));
  const std::vector<ValueId> results = op.results;
  add(std::move(op));
  return results;
}

}  // namespace tang::tile
