// Reductions and scans: building a fold from the text, and lifting one that stands inside a larger
// expression to a definition of its own (language.md 1.5, 1.9).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/print.h"

namespace tang {

bool Elaborator::is_scan(std::string_view name) const {
  return name == "scan" || name == "cumsum" || name == "matscan";
}

bool Elaborator::is_fold(const ast::Node& n) const {
  auto found = operations_.find(n.name.text);
  if (found != operations_.end()) return found->second.monoid != nullptr;
  return is_builtin_monoid(n.name.text) || is_scan(n.name.text);
}

// The scope and the bound indices inside a binder. In the body of a function an index that is not
// a parameter is renamed apart when an argument may use the caller's index of that name.
const Scope* Elaborator::open_binder(const ast::Node& n, const Scope* scope, Built& built) {
  bool ok = true;
  built.reduce = distinct_dims(binder(n).indices, scope, "in this binder", ok);
  if (!ok) return nullptr;
  Scope inner;
  inner.parent = scope;
  for (std::size_t k = 0; k < built.reduce.size(); ++k) {
    std::string_view text = binder(n).indices[k].text;
    const Local* local = find_local(text, scope);
    if (local != nullptr && local->what == Local::What::parameter_index) continue;
    auto global = values_.find(text);
    bool known = global != values_.end() && global->second.what == Symbol::What::dim;
    DimId d = known ? static_cast<DimId>(global->second.id) : built.reduce[k];
    if (local == nullptr && !captures(scope, d)) continue;
    built.reduce[k] = captures(scope, d) ? fresh_dim(d) : d;
    Local renamed;
    renamed.what = Local::What::renamed_index;
    renamed.dim = built.reduce[k];
    inner.names.emplace_back(text, renamed);
  }
  bound_.insert(bound_.end(), built.reduce.begin(), built.reduce.end());
  return new_scope(std::move(inner));
}

void Elaborator::close_binder(const Built& built) {
  bound_.resize(bound_.size() - built.reduce.size());
}

bool Elaborator::binder_condition(const ast::Node& n, const Scope* scope, Built& built) {
  ast::NodeId id = binder(n).condition;
  if (id == ast::kNoNode) return true;
  Frame outer = std::exchange(frame_, {});
  bool outer_condition = std::exchange(in_condition_, true);
  ExprId e = condition(id, scope);
  in_condition_ = outer_condition;
  frame_ = std::move(outer);
  if (e == ExprId::none) return false;
  built.guards = guards_from(g_, e);
  return true;
}

std::optional<std::vector<ExprId>> Elaborator::arguments(const ast::Node& n, const Scope* scope) {
  std::vector<ExprId> args;
  bool ok = true;
  bool position = std::exchange(in_position_, false);
  bool condition = std::exchange(in_condition_, false);
  for (std::uint32_t k = 0; k < n.count; ++k) {
    args.push_back(number(child(n, k), scope));
    ok = ok && args.back() != ExprId::none;
  }
  in_position_ = position;
  in_condition_ = condition;
  return ok ? std::optional(args) : std::nullopt;
}

std::optional<Built> Elaborator::build_fold(Closure e) {
  const ast::Node& n = node(e.node);
  if (in_monoid_) {
    report(n.span, "E0506", "a reduction cannot stand in a monoid", "reduce outside it");
    return std::nullopt;
  }
  if (n.name.text == "matscan") return build_matscan(n, e.scope);
  return is_scan(n.name.text) ? build_scan(n, e.scope) : build_reduction(n, e.scope);
}

std::optional<Built> Elaborator::build_reduction(const ast::Node& n, const Scope* scope) {
  Built built;
  built.span = n.span;
  if (n.name.text != "topk" && !binder(n).modifiers.empty()) {
    report(binder(n).modifiers[0].span, "E0503",
           fmt::format("`{}` takes no modifier after `;`", n.name.text),
           "only topk, scan, cumsum and matscan have one");
    return std::nullopt;
  }
  if (n.name.text == "topk" && !topk_entry(n, scope, built)) return std::nullopt;
  const Scope* inner = open_binder(n, scope, built);
  if (inner == nullptr) return std::nullopt;
  bool ok = binder_condition(n, inner, built);
  Frame frame{n.name.text, false, built.guards};
  std::string_view op = n.name.text;
  bool plain = op == "sum" || op == "prod" || op == "max" || op == "min" || op == "any" ||
               op == "all" || op == "mean";
  frame.stated = !plain;
  Frame outer = std::exchange(frame_, std::move(frame));
  std::optional<std::vector<ExprId>> args = arguments(n, inner);
  frame_ = std::move(outer);
  close_binder(built);
  if (!ok || !args) return std::nullopt;
  built.fold.args = std::move(*args);
  if (op == "mean" || op == "var") return built;  // expanded by the caller
  if (!choose_monoid(n, n.name, built)) return std::nullopt;
  if (built.fold.entry) {
    for (ExprId a : built.fold.args) {
      std::vector<DimId> used = dims_of(g_, a);
      if (std::find(used.begin(), used.end(), *built.fold.entry) == used.end()) continue;
      report(n.span, "E0505",
             fmt::format("the entry `{}` of topk is used inside it", g_[*built.fold.entry].name),
             "the values that are ranked do not depend on the entry");
      return std::nullopt;
    }
  }
  return built;
}

bool Elaborator::topk_entry(const ast::Node& n, const Scope* scope, Built& built) {
  const std::vector<ast::Name>& names = binder(n).modifiers;
  if (names.size() != 1) {
    report(binder(n).span, "E0505", "topk names the index of its entries after `;`",
           "write `topk[j; n](x)` with `n` on the left-hand side");
    return false;
  }
  std::optional<DimId> d = find_index(names[0], scope);
  if (!d || !require_bound(*d, names[0])) return false;
  std::optional<int64_t> k = g_.extent(*d).constant();
  if (!k) {
    report(names[0].span, "E0505",
           fmt::format("the number of entries, `{} = {}`, is not a constant", names[0].text,
                       print_poly(g_, g_.extent(*d))),
           "give the dim a constant extent");
    return false;
  }
  Poly count(1);
  for (const ast::Name& name : binder(n).indices) {
    std::optional<DimId> j = find_index(name, scope);
    if (!j) return false;
    count = count * g_.extent(*j);
  }
  if (std::optional<int64_t> all = count.constant(); all && *all < *k) {
    report(names[0].span, "E0505", fmt::format("topk keeps {} entries of {}", *k, *all),
           fmt::format("shrink `{}`", names[0].text));
    return false;
  }
  built.fold.entry = *d;
  return true;
}

bool Elaborator::choose_monoid(const ast::Node& n, const ast::Name& name, Built& built) {
  std::vector<Kind> kinds;
  for (ExprId e : built.fold.args) kinds.push_back(g_.pool[e].kind);
  auto found = operations_.find(name.text);
  if (found != operations_.end()) {
    if (found->second.monoid == nullptr) return false;
    std::optional<MonoidId> m = user_monoid(*found->second.monoid, kinds);
    if (!m) return false;
    built.fold.monoid = *m;
    return true;
  }
  std::optional<MonoidId> m = builtin_monoid(g_, name.text, kinds);
  if (!m) {
    bool one = kinds.size() == 1 && (name.text == "any" || name.text == "all");
    if (one) {
      report(node(child(n, 0)).span, "E0301",
             fmt::format("`{}` takes a condition, and this is {}", name.text, tang::name(kinds[0])),
             "compare it: `x != 0`");
    } else {
      report(n.span, "E0501",
             fmt::format("`{}` does not take {} argument{}", name.text, kinds.size(),
                         kinds.size() == 1 ? "" : "s"),
             name.text == "online"   ? "write online[j](score, value, …)"
             : name.text == "affine" ? "write affine[t](a, b)"
                                     : fmt::format("write `{}[j](x)`", name.text));
    }
    return false;
  }
  built.fold.monoid = *m;
  if (!g_[*m].flat_index) return true;
  Form flat(0);
  for (DimId d : built.reduce) flat = g_.extent(d) * flat + Form::coordinate(d);
  if (built.scan) flat = Form::coordinate(built.scan->along);
  built.fold.args.push_back(g_.iota(flat));
  return true;
}

// After `;`: a monoid (scan only), then `exclusive`, `reverse`.
bool Elaborator::scan_modifiers(const ast::Node& n, Scan& scan, ast::Name& monoid) {
  monoid = n.name;
  monoid.text = n.name.text == "cumsum" ? "sum" : "affine";
  const std::vector<ast::Name>& names = binder(n).modifiers;
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::string_view text = names[k].text;
    if (text == "exclusive" && !scan.exclusive && !scan.reverse) {
      scan.exclusive = true;
    } else if (text == "reverse" && !scan.reverse) {
      scan.reverse = true;
    } else if (k == 0 && n.name.text == "scan" &&
               (operations_.count(text) || is_builtin_monoid(text))) {
      monoid = names[k];
    } else {
      report(names[k].span, "E0503", fmt::format("`{}` cannot stand here", text),
             "after `;` come, in this order, a monoid, `exclusive`, `reverse`");
      return false;
    }
  }
  if (monoid.text != "topk") return true;
  report(monoid.span, "E0503", "topk has no scan", "reduce with `topk[j; n](x)`");
  return false;
}

std::optional<Built> Elaborator::build_scan(const ast::Node& n, const Scope* scope) {
  const ast::Binder& b = binder(n);
  Built built;
  built.span = n.span;
  built.scan.emplace();
  ast::Name monoid;
  if (b.condition != ast::kNoNode) {
    report(node(b.condition).span, "E0502", "a scan takes no condition",
           "select on the argument: `select(c, x, 0)`");
    return std::nullopt;
  }
  if (b.indices.size() != 1) {
    report(b.span, "E0503", "a scan runs along one index", "scan over one, reduce over the others");
    return std::nullopt;
  }
  if (!scan_modifiers(n, *built.scan, monoid)) return std::nullopt;
  std::optional<DimId> t = find_index(b.indices[0], scope);
  if (!t || !require_bound(*t, b.indices[0])) return std::nullopt;
  built.scan->along = *t;
  std::string_view op = monoid.text;
  bool plain =
      op == "sum" || op == "prod" || op == "max" || op == "min" || op == "any" || op == "all";
  Frame outer = std::exchange(frame_, Frame{op, !plain, {}});
  ast::Node steps = n;
  bool initial = op == "affine" && n.count == 3;
  if (initial) steps.count = 2;
  std::optional<std::vector<ExprId>> args = arguments(steps, scope);
  frame_ = {};
  ExprId start = initial && args ? number(child(n, 2), scope) : ExprId::none;
  frame_ = std::move(outer);
  if (!args || (initial && start == ExprId::none)) return std::nullopt;
  built.fold.args = std::move(*args);
  if (!choose_monoid(n, monoid, built)) return std::nullopt;
  if (!initial) return built;
  std::vector<DimId> used = dims_of(g_, start);
  if (std::find(used.begin(), used.end(), *t) != used.end()) {
    report(node(child(n, 2)).span, "E0505",
           fmt::format("the initial state of a scan cannot use `{}`", b.indices[0].text),
           "it is the value before the first step");
    return std::nullopt;
  }
  built.scan->initial = {start};
  return built;
}

// matscan[t; x, y](A, B, H0): H(t)[x] = sum_y A * H(t-1)[y] + B, with x a point and y bound here.
std::optional<Built> Elaborator::build_matscan(const ast::Node& n, const Scope* scope) {
  const ast::Binder& b = binder(n);
  if (b.condition != ast::kNoNode) {
    report(node(b.condition).span, "E0502", "a scan takes no condition", "select on the arguments");
    return std::nullopt;
  }
  if (b.indices.size() != 1 || b.modifiers.size() != 2 || n.count != 3) {
    report(n.span, "E0505", "matscan takes one index, two more after `;`, and three arguments",
           "write `matscan[t; x, y](A, B, H0)`");
    return std::nullopt;
  }
  std::optional<DimId> t = find_index(b.indices[0], scope);
  std::optional<DimId> x = find_index(b.modifiers[0], scope);
  std::optional<DimId> y = find_index(b.modifiers[1], scope);
  if (!t || !x || !y || !require_bound(*t, b.indices[0]) || !require_bound(*x, b.modifiers[0])) {
    return std::nullopt;
  }
  std::optional<int64_t> difference = (g_.extent(*x) - g_.extent(*y)).constant();
  if (*x == *y || (difference && *difference != 0)) {
    report(b.modifiers[1].span, "E0505",
           fmt::format("`{} = {}` and `{} = {}` must be two dims of equal extent", g_[*x].name,
                       print_poly(g_, g_.extent(*x)), g_[*y].name, print_poly(g_, g_.extent(*y))),
           "they are the row and the column of a square matrix");
    return std::nullopt;
  }
  Built built;
  built.span = n.span;
  built.reduce = {*y};
  built.scan.emplace();
  built.scan->along = *t;
  built.scan->matrix = std::pair(*x, *y);
  Frame outer = std::exchange(frame_, Frame{"matscan", true, {}});
  bound_.push_back(*y);
  ast::Node matrix = n;
  matrix.count = 1;
  std::optional<std::vector<ExprId>> args = arguments(matrix, scope);
  bound_.pop_back();
  ExprId offset = number(child(n, 1), scope);
  frame_ = {};
  ExprId start = number(child(n, 2), scope);
  frame_ = std::move(outer);
  if (!args || offset == ExprId::none || start == ExprId::none) return std::nullopt;
  built.fold.args = {(*args)[0], offset};
  built.scan->initial = {start};
  ast::Name affine = n.name;
  affine.text = "affine";
  return choose_monoid(n, affine, built) ? std::optional(built) : std::nullopt;
}

// ---- values of folds inside expressions -------------------------------------------------------

Val Elaborator::eval_reduce(const ast::Node& n, Closure e) {
  auto found = operations_.find(n.name.text);
  if (found != operations_.end() && found->second.monoid == nullptr) {
    Closure body = resolve(e);
    return body.ok() ? eval(body) : Val{};
  }
  if (n.name.text == "mean" || n.name.text == "var") {
    return eval_mean(n, e.scope, n.name.text == "var");
  }
  if (!is_fold(n)) {
    if (function_named(n.name.text)) {
      report(n.name.span, "E0501", fmt::format("`{}` is not a reduction", n.name.text),
             fmt::format("write `{}(…)` without an index", n.name.text));
    } else {
      unknown_operation(n.name);
    }
    return {};
  }
  std::optional<Built> built = build_fold(e);
  if (!built) return {};
  const Monoid& m = g_[built->fold.monoid];
  if (m.value < 0) {
    report(n.span, "E0305",
           fmt::format("`{}` has {} fields, and one number is needed here", n.name.text,
                       m.outputs.size()),
           fmt::format("pick a field: .{}", fmt::join(m.outputs, ", .")));
    return {};
  }
  return scalar(lift(*built, m.value));
}

// mean = sum(x) * rn and var = sum((x - mean)^2) * rn, rn the reciprocal of the number of terms
// that hold, 0 if there are none (algebra.md 11.4).
Val Elaborator::eval_mean(const ast::Node& n, const Scope* scope, bool variance) {
  if (n.count != 1) {
    report(n.span, "E0501", fmt::format("`{}` takes one argument", n.name.text),
           fmt::format("write `{}[j](x)`", n.name.text));
    return {};
  }
  std::optional<Built> built = build_reduction(n, scope);
  if (!built) return {};
  ExprId x = built->fold.args[0];
  ExprId total = lift_sum(*built, x);
  if (total == ExprId::none) return {};
  ExprId rn = reciprocal_count(*built);
  ExprId mean = g_.make(Op::mul, total, rn);
  if (!variance) return scalar(mean);
  ExprId deviation = g_.make(Op::sub, x, mean);
  ExprId squares = lift_sum(*built, g_.make(Op::mul, deviation, deviation));
  return scalar(g_.make(Op::mul, squares, rn));
}

ExprId Elaborator::reciprocal_count(const Built& built) {
  Poly all(1);
  for (DimId d : built.reduce) all = all * g_.extent(d);
  bool counted = !built.guards.empty();
  ExprId count = counted ? lift_sum(built, g_.pool.integer(1)) : g_.iota(Form(all));
  ExprId reciprocal = g_.make(Op::recip, count);
  if (!counted && (all - Poly(1)).proved_nonnegative()) return reciprocal;
  ExprId some = g_.make(Op::lt, g_.pool.integer(0), count);
  return g_.make(Op::select, some, reciprocal, g_.pool.real(0));
}

ExprId Elaborator::lift_sum(const Built& like, ExprId body) {
  Built sum = like;
  Kind k = g_.pool[body].kind;
  sum.fold = Fold{*builtin_monoid(g_, "sum", std::span(&k, 1)), {body}, std::nullopt};
  return lift(sum, 0);
}

std::vector<DimId> Elaborator::bound_order(const std::set<DimId>& dims) const {
  std::vector<DimId> order;
  for (std::size_t k = 0; k < bound_.size(); ++k) {
    bool last = std::find(bound_.begin() + k + 1, bound_.end(), bound_[k]) == bound_.end();
    if (last && dims.count(bound_[k])) order.push_back(bound_[k]);
  }
  return order;
}

// The outside indices a fold uses, in the order they were bound.
std::vector<DimId> Elaborator::outside(const Built& built) {
  std::set<DimId> dims;
  auto add = [&](ExprId e) {
    for (DimId d : dims_of(g_, e)) dims.insert(d);
  };
  for (ExprId e : built.fold.args) add(e);
  for (const Guard& guard : built.guards) add(condition_of(g_, guard));
  for (DimId d : built.reduce) dims.erase(d);
  if (built.fold.entry) dims.insert(*built.fold.entry);
  if (built.scan) {
    for (ExprId e : built.scan->initial) add(e);
    dims.insert(built.scan->along);
    if (built.scan->matrix) dims.insert(built.scan->matrix->first);
  }
  return bound_order(dims);
}

TensorId Elaborator::lifted_tensor(const std::vector<DimId>& points, Kind kind) {
  Tensor t;
  t.name = fresh_name(base_);
  made_.insert(t.name);
  t.kind = kind;
  t.where = source_.location(where_);
  for (DimId d : points) t.shape.push_back(g_.extent(d));
  return g_.add_tensor(std::move(t));
}

// A definition of its own for output `output` of the fold; its value is a read of it.
ExprId Elaborator::lift(const Built& built, int output) {
  for (ExprId e : built.fold.args) {
    for (LeafId leaf : leaves_of(g_, e)) {
      if (g_.leaf(leaf).what != Leaf::What::state) continue;
      report(built.span, "E0507", "a reduction cannot use the state that `where` names",
             "make the fold a definition of its own and reduce over it");
      return ExprId::none;
    }
  }
  Node n;
  n.where = source_.location(built.span);
  n.points = outside(built);
  n.reduce = built.reduce;
  n.guards = built.guards;
  n.folds = {built.fold};
  n.scan = built.scan;
  Kind k = g_[built.fold.monoid].output_kinds[output];
  TensorId t = lifted_tensor(n.points, k);
  n.targets = {{t, n.points, g_.state(static_cast<std::uint32_t>(output), k)}};
  std::vector<Form> forms;
  for (DimId d : n.points) forms.push_back(Form::coordinate(d));
  g_.add_node(std::move(n));
  return g_.read(t, std::move(forms));
}

// A definition of its own for an index that is read by a gather.
ExprId Elaborator::lift_map(ExprId value) {
  std::vector<DimId> used = dims_of(g_, value);
  Node n;
  n.where = source_.location(where_);
  n.points = bound_order({used.begin(), used.end()});
  Kind k = g_.pool[value].kind;
  TensorId t = lifted_tensor(n.points, k);
  n.targets = {{t, n.points, value}};
  std::vector<Form> forms;
  for (DimId d : n.points) forms.push_back(Form::coordinate(d));
  g_.add_node(std::move(n));
  return g_.read(t, std::move(forms));
}

}  // namespace tang
