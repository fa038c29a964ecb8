// Definitions: targets and their points, and whether the right-hand side is one fold of the node
// itself, or a map over lifted folds (language.md 1.9).
#include <algorithm>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tang {

void Elaborator::declare(const ast::Definition& d) {
  base_ = d.targets[0].name.text;
  Node n;
  n.where = source_.location(d.targets[0].name.span);
  bool ok = targets(d, n);
  if (ok) {
    bound_ = n.points;
    ok = d.state.empty() ? define(d, n) : define_with_state(d, n);
  }
  if (ok) {
    g_.add_node(std::move(n));
  } else {
    for (const ast::Target& t : d.targets) mark_broken(t.name);
  }
}

bool Elaborator::targets(const ast::Definition& d, Node& n) {
  std::set<std::string_view> names;
  bool ok = true;
  for (const ast::Target& t : d.targets) ok = target_points(t, names) && ok;
  return ok && merge_points(d, n);
}

bool Elaborator::target_points(const ast::Target& target, std::set<std::string_view>& names) {
  bool ok = is_free_value(target.name);
  if (!names.insert(target.name.text).second) {
    report(target.name.span, "E0202", fmt::format("`{}` is defined twice", target.name.text),
           "a name is defined once");
    ok = false;
  }
  distinct_dims(target.indices, nullptr, "on the left-hand side", ok);
  if (target.format.text.empty()) return ok;
  std::optional<Format> f = find_format(target.format);
  if (f && is_block(*f)) {
    report(target.format.span, "E0303",
           fmt::format("`{}` is a format of inputs only", target.format.text),
           "store a definition in a plain format: f16, bf16, i8, …");
  }
  return ok && f && !is_block(*f);
}

namespace {

// The indices in an order that every list keeps, the earliest listed first where it is free; lists
// that contradict each other leave theirs for the end.
std::vector<DimId> common_order(const std::vector<std::vector<DimId>>& lists) {
  std::vector<DimId> listed, order;
  const auto in = [](const std::vector<DimId>& all, DimId d) {
    return std::find(all.begin(), all.end(), d) != all.end();
  };
  for (const auto& list : lists)
    for (DimId d : list)
      if (!in(listed, d)) listed.push_back(d);
  // Free: everything before it in any list is placed already.
  const auto is_free = [&](DimId d) {
    return std::all_of(lists.begin(), lists.end(), [&](const std::vector<DimId>& list) {
      const auto at = std::find(list.begin(), list.end(), d);
      return at == list.end() ||
             std::all_of(list.begin(), at, [&](DimId before) { return in(order, before); });
    });
  };
  while (order.size() < listed.size()) {
    const auto next = std::find_if(listed.begin(), listed.end(),
                                   [&](DimId d) { return !in(order, d) && is_free(d); });
    if (next != listed.end()) {
      order.push_back(*next);
      continue;
    }
    for (DimId d : listed)
      if (!in(order, d)) order.push_back(d);
  }
  return order;
}

}  // namespace

// The node's points: every index of a target, in an order that all targets keep.
bool Elaborator::merge_points(const ast::Definition& d, Node& n) {
  std::vector<const ast::Target*> longest_first;
  for (const ast::Target& t : d.targets) longest_first.push_back(&t);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](auto* a, auto* b) { return a->indices.size() > b->indices.size(); });
  std::vector<std::vector<DimId>> lists;
  for (const ast::Target* t : longest_first) {
    bool ok = true;
    lists.push_back(distinct_dims(t->indices, nullptr, "on the left-hand side", ok));
  }
  n.points = common_order(lists);
  for (const ast::Target& t : d.targets) {
    auto next = n.points.begin();
    for (const ast::Name& name : t.indices) {
      auto found = std::find(next, n.points.end(), *find_index(name, nullptr));
      if (found == n.points.end()) {
        report(name.span, "E0404",
               fmt::format("the targets disagree on the order of `{}`", name.text),
               "name the indices of all targets in one order");
        return false;
      }
      next = found + 1;
    }
  }
  return true;
}

// The components of a tuple, or the value alone.
std::vector<Closure> Elaborator::components(Closure value) const {
  const ast::Node& n = node(value.node);
  if (n.kind != ast::NodeKind::tuple) return {value};
  std::vector<Closure> parts;
  for (std::uint32_t k = 0; k < n.count; ++k) parts.push_back({child(n, k), value.scope});
  return parts;
}

std::optional<Elaborator::Part> Elaborator::part_of(Closure value) {
  Closure head = resolve(value);
  if (!head.ok()) return std::nullopt;
  Part part;
  const ast::Node* n = &node(head.node);
  const ast::Name* field = nullptr;
  Closure fold = head;
  if (n->kind == ast::NodeKind::field) {
    field = &n->name;
    fold = resolve({child(*n, 0), head.scope});
    if (!fold.ok()) return std::nullopt;
    n = &node(fold.node);
  }
  if (n->kind != ast::NodeKind::reduce || !is_fold(*n)) {
    part.value = number(head.node, head.scope);
    return part.value == ExprId::none ? std::nullopt : std::optional(part);
  }
  part.built = build_fold(fold);
  if (!part.built) return std::nullopt;
  if (field == nullptr) return part;
  Val outputs;
  outputs.fields = g_[part.built->fold.monoid].outputs;
  std::optional<std::uint32_t> k = find_field(*field, outputs);
  if (!k) return std::nullopt;
  part.output = static_cast<int>(*k);
  return part;
}

// Which output each target takes: one a part, or all fields of all parts in order.
std::optional<std::vector<Elaborator::Pick>> Elaborator::picks(const ast::Definition& d,
                                                               const std::vector<Part>& parts) {
  std::vector<Pick> single, flat;
  bool numbers = true;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p].built || parts[p].output >= 0) {
      single.push_back({p, parts[p].output});
      flat.push_back({p, parts[p].output});
      continue;
    }
    const Monoid& m = g_[parts[p].built->fold.monoid];
    numbers = numbers && m.value >= 0;
    single.push_back({p, m.value});
    for (int k = 0; k < static_cast<int>(m.outputs.size()); ++k) flat.push_back({p, k});
  }
  if (numbers && single.size() == d.targets.size()) return single;
  if (flat.size() == d.targets.size()) return flat;
  Span span = node(d.value).span;
  if (d.targets.size() == 1 && parts.size() == 1) {
    const Monoid& m = g_[parts[0].built->fold.monoid];
    report(
        span, "E0305",
        fmt::format("`{}` has {} fields, and one number is needed here", m.name, m.outputs.size()),
        fmt::format("pick a field: .{}", fmt::join(m.outputs, ", .")));
  } else {
    report(span, "E0305",
           fmt::format("{} target{} for {} component{}", d.targets.size(),
                       d.targets.size() == 1 ? "" : "s", flat.size(), flat.size() == 1 ? "" : "s"),
           "name one target for each component, in order");
  }
  return std::nullopt;
}

// Whether the parts are folds over one index set that the node itself can run.
bool Elaborator::one_node(const std::vector<Part>& parts, const Node& n) const {
  for (const Part& p : parts) {
    if (!p.built) return false;
    if (p.built->scan && parts.size() > 1) return false;
    if (p.built->reduce != parts[0].built->reduce || p.built->guards != parts[0].built->guards) {
      return false;
    }
    for (DimId r : p.built->reduce) {
      if (std::find(n.points.begin(), n.points.end(), r) != n.points.end()) return false;
    }
  }
  return true;
}

void Elaborator::place(const std::vector<Part>& parts, Node& n) {
  n.reduce = parts[0].built->reduce;
  n.guards = parts[0].built->guards;
  n.scan = parts[0].built->scan;
  for (const Part& p : parts) n.folds.push_back(p.built->fold);
}

bool Elaborator::define(const ast::Definition& d, Node& n) {
  Closure value = resolve({d.value, nullptr});
  if (!value.ok()) return false;
  std::vector<Part> parts;
  bool ok = true;
  for (Closure c : components(value)) {
    std::optional<Part> part = part_of(c);
    ok = ok && part.has_value();
    if (part) parts.push_back(std::move(*part));
  }
  if (!ok) return false;
  std::optional<std::vector<Pick>> chosen = picks(d, parts);
  if (!chosen) return false;
  bool own = one_node(parts, n);
  if (own) place(parts, n);
  std::vector<std::uint32_t> first;  // state number of the first output of each part
  std::uint32_t states = 0;
  for (const Part& p : parts) {
    first.push_back(states);
    if (p.built) states += static_cast<std::uint32_t>(g_[p.built->fold.monoid].outputs.size());
  }
  std::vector<ExprId> values;
  for (const Pick& pick : *chosen) {
    const Part& p = parts[pick.part];
    if (!p.built) {
      values.push_back(p.value);
    } else if (own) {
      Kind k = g_[p.built->fold.monoid].output_kinds[pick.output];
      values.push_back(g_.state(first[pick.part] + static_cast<std::uint32_t>(pick.output), k));
    } else {
      values.push_back(lift(*p.built, pick.output));
    }
  }
  return assign(d, values, n);
}

// ---- `where` ----------------------------------------------------------------------------------

bool Elaborator::define_with_state(const ast::Definition& d, Node& n) {
  Closure fold = resolve({d.fold, nullptr});
  if (!fold.ok()) return false;
  std::vector<Part> parts;
  bool ok = true;
  for (Closure c : components(fold)) {
    Closure head = resolve(c);
    if (!head.ok()) return false;
    const ast::Node& at = node(head.node);
    if (at.kind != ast::NodeKind::reduce || !is_fold(at)) {
      report(at.span, "E0507", "`where` names the state of a reduction, and this is none",
             "a value that is no reduction is a definition of its own");
      return false;
    }
    std::optional<Part> part = part_of(head);
    ok = ok && part.has_value();
    if (part) parts.push_back(std::move(*part));
  }
  if (!ok) return false;
  Node bare;  // hidden points are renamed below, so only the binders must agree here
  if (!one_node(parts, bare)) {
    report(node(d.fold).span, "E0507", "these reductions do not run over the same indices",
           "one definition has one fold: give each binder the same indices and condition");
    return false;
  }
  place(parts, n);
  rename_hidden(n);
  const Scope* scope = state_scope(d, n);
  return scope != nullptr && assign_state_values(d, scope, n);
}

// A binder that hides a point of its own node takes a new index: `j_1`.
void Elaborator::rename_hidden(Node& n) {
  for (DimId& r : n.reduce) {
    if (std::find(n.points.begin(), n.points.end(), r) == n.points.end()) continue;
    DimId hidden = r, fresh = fresh_dim(r);
    DimMap image = [&](DimId d) {
      return d == hidden ? std::optional(Form::coordinate(fresh)) : std::nullopt;
    };
    for (Fold& f : n.folds) {
      for (ExprId& e : f.args) e = substitute_dims(g_, e, image);
    }
    for (Guard& guard : n.guards) guard = substitute_dims(g_, guard, image);
    if (n.scan && n.scan->matrix && n.scan->matrix->second == hidden)
      n.scan->matrix->second = fresh;
    r = fresh;
  }
}

const Scope* Elaborator::state_scope(const ast::Definition& d, const Node& n) {
  Val all;
  for (auto [fold, output] : g_.state_outputs(n)) {
    const Monoid& m = g_[n.folds[fold].monoid];
    all.parts.push_back(
        g_.state(static_cast<std::uint32_t>(all.parts.size()), m.output_kinds[output]));
    all.fields.push_back(m.outputs[output]);
  }
  all.value = n.folds.size() == 1 ? g_[n.folds[0].monoid].value : -1;
  std::set<std::string_view> names;
  if (!check_distinct(d.state, names)) return nullptr;
  Scope scope;
  auto name = [&](const ast::Name& at, Val value) {
    Local local;
    local.value = std::move(value);
    scope.names.emplace_back(at.text, std::move(local));
  };
  if (d.state.size() == all.parts.size()) {
    for (std::size_t k = 0; k < d.state.size(); ++k) name(d.state[k], scalar(all.parts[k]));
  } else if (d.state.size() == 1) {
    name(d.state[0], all);
  } else {
    report(cover(d.state.front().span, d.state.back().span), "E0305",
           fmt::format("{} names for a state of {} component{}", d.state.size(), all.parts.size(),
                       all.parts.size() == 1 ? "" : "s"),
           "name every component, in order");
    return nullptr;
  }
  return new_scope(std::move(scope));
}

bool Elaborator::assign_state_values(const ast::Definition& d, const Scope* scope, Node& n) {
  Closure value = resolve({d.value, scope});
  if (!value.ok()) return false;
  std::vector<Closure> parts = components(value);
  std::vector<ExprId> values;
  bool ok = true;
  if (parts.size() == d.targets.size()) {
    for (Closure c : parts) {
      values.push_back(number(c.node, c.scope));
      ok = ok && values.back() != ExprId::none;
    }
    return ok && assign(d, values, n);
  }
  Val all = parts.size() == 1 ? eval(value) : Val{};
  if (parts.size() == 1 && !all.ok()) return false;
  if (all.parts.size() == d.targets.size()) return assign(d, all.parts, n);
  std::size_t count = parts.size() == 1 ? all.parts.size() : parts.size();
  report(node(d.value).span, "E0305",
         fmt::format("{} target{} for {} component{}", d.targets.size(),
                     d.targets.size() == 1 ? "" : "s", count, count == 1 ? "" : "s"),
         "name one target for each component, in order");
  return false;
}

// ---- targets ----------------------------------------------------------------------------------

bool Elaborator::assign(const ast::Definition& d, const std::vector<ExprId>& values, Node& n) {
  bool ok = true;
  for (std::size_t k = 0; k < values.size(); ++k) {
    ok = values[k] != ExprId::none && assign_one(d.targets[k], values[k], n) && ok;
  }
  if (!ok) return false;
  for (std::size_t k = 0; k < values.size(); ++k) {
    ok = check_projection(d.targets[k], n.targets[k], n) && ok;
  }
  if (!ok) {
    for (const Target& t : n.targets) values_.erase(g_[t.tensor].name);
  }
  return ok;
}

bool Elaborator::assign_one(const ast::Target& target, ExprId value, Node& n) {
  Tensor t;
  t.name = std::string(target.name.text);
  t.where = source_.location(target.name.span);
  t.kind = g_.pool[value].kind;
  if (!target.format.text.empty()) {
    t.format = parse_format(target.format.text);
    if (kind(*t.format) == Kind::boolean && t.kind != Kind::boolean) {
      report(target.format.span, "E0306",
             fmt::format("`{}` is {} and cannot be stored as bool", t.name, name(t.kind)),
             "compare it: `x != 0`");
      return false;
    }
    t.kind = kind(*t.format);
  }
  Target made;
  made.value = value;
  for (const ast::Name& name : target.indices) {
    made.points.push_back(*find_index(name, nullptr));
    t.shape.push_back(g_.extent(made.points.back()));
  }
  made.tensor = g_.add_tensor(std::move(t));
  if (!declare_value(target.name, Symbol::What::tensor, index(made.tensor))) return false;
  n.targets.push_back(std::move(made));
  return true;
}

// A target may leave out an index only if its value does not depend on it.
bool Elaborator::check_projection(const ast::Target& target, const Target& made, const Node& n) {
  if (made.points.size() == n.points.size()) return true;
  for (DimId d : value_dependencies(g_, n, made.value)) {
    bool point = std::find(n.points.begin(), n.points.end(), d) != n.points.end();
    bool kept = std::find(made.points.begin(), made.points.end(), d) != made.points.end();
    if (!point || kept) continue;
    report(target.name.span, "E0408",
           fmt::format("`{}` leaves out `{}`, and its value depends on it", target.name.text,
                       g_[d].name),
           fmt::format("write `{}` among its indices", g_[d].name));
    return false;
  }
  return true;
}

}  // namespace tang
