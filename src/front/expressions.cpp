// Expressions: values, functions expanded in place, casts and conditions.
#include <limits>

#include <fmt/format.h>

#include "front/elaborator.h"

namespace tang {

namespace {

// Depth of expansion: syntax may be 1000 deep, and functions nest.
constexpr int kMaxExpansionDepth = 1400;
// Nodes of syntax visited for one statement, functions expanded.
constexpr int kMaxSteps = 1'000'000;

Op binary_op(ast::NodeKind kind) {
  switch (kind) {
    case ast::NodeKind::add:
      return Op::add;
    case ast::NodeKind::subtract:
      return Op::sub;
    case ast::NodeKind::multiply:
      return Op::mul;
    case ast::NodeKind::divide:
      return Op::quot;
    case ast::NodeKind::conjunction:
      return Op::logical_and;
    default:
      return Op::logical_or;
  }
}

bool is_chain(ast::NodeKind kind) {
  return (kind >= ast::NodeKind::add && kind <= ast::NodeKind::divide) ||
         kind == ast::NodeKind::conjunction || kind == ast::NodeKind::disjunction;
}

}  // namespace

bool Elaborator::step(Span span) {
  if (steps_ < kMaxSteps && depth_ < kMaxExpansionDepth) {
    ++steps_;
    return true;
  }
  if (steps_ < kMaxSteps) {
    report(span, "E0107", fmt::format("functions expand deeper than {} here", kMaxExpansionDepth),
           "split the expression over several definitions");
  } else {
    report(where_, "E0107",
           fmt::format("this statement expands to more than {} operations", kMaxSteps),
           "make arguments that a function uses several times definitions of their own");
  }
  steps_ = kMaxSteps;  // everything else of the statement fails at once
  return false;
}

Val Elaborator::scalar(ExprId e) const {
  Val v;
  if (e != ExprId::none) v.parts = {e};
  return v;
}

// Recursion is bounded by kMaxExpansionDepth.
Val Elaborator::eval(Closure e) {
  if (!step(node(e.node).span)) return {};
  ++depth_;
  Val value = eval_here(node(e.node), e);
  --depth_;
  return value;
}

Val Elaborator::eval_here(const ast::Node& n, Closure e) {
  switch (n.kind) {
    case ast::NodeKind::integer:
      return scalar(g_.pool.integer(n.integer));
    case ast::NodeKind::real:
      return scalar(g_.pool.real(n.real));
    case ast::NodeKind::boolean:
      return scalar(g_.pool.boolean(n.integer != 0));
    case ast::NodeKind::name:
      return eval_name(n, e);
    case ast::NodeKind::negate: {
      ExprId a = number(child(n, 0), e.scope);
      return a == ExprId::none ? Val{} : scalar(g_.make(Op::neg, a));
    }
    case ast::NodeKind::negation: {
      ExprId a = condition(child(n, 0), e.scope);
      return a == ExprId::none ? Val{} : scalar(g_.make(Op::logical_not, a));
    }
    case ast::NodeKind::compare:
      return eval_compare(n, e.scope);
    case ast::NodeKind::field:
      return eval_field(n, e);
    case ast::NodeKind::read:
      return eval_read(n, e.scope);
    case ast::NodeKind::reduce:
      return eval_reduce(n, e);
    case ast::NodeKind::call:
      return eval_call(n, e);
    case ast::NodeKind::tuple:
      return eval_tuple(n, e.scope);
    default:
      return eval_chain(e);
  }
}

Val Elaborator::eval_name(const ast::Node& n, Closure e) {
  if (const Local* local = find_local(n.name.text, e.scope)) {
    if (local->what == Local::What::value) return local->value;
    if (local->what == Local::What::closure) return eval(local->closure);
    if (!require_bound(local->dim, n.name)) return {};
    return scalar(g_.iota(Form::coordinate(local->dim)));
  }
  const Symbol* symbol = find_value(n.name);
  if (symbol == nullptr) return {};
  if (symbol->what == Symbol::What::param) {
    return scalar(g_.iota(Form(Poly::param(static_cast<ParamId>(symbol->id)))));
  }
  if (symbol->what == Symbol::What::dim) {
    DimId d = static_cast<DimId>(symbol->id);
    if (!require_bound(d, n.name)) return {};
    return scalar(g_.iota(Form::coordinate(d)));
  }
  TensorId t = static_cast<TensorId>(symbol->id);
  if (!check_rank(n, t, 0)) return {};
  return scalar(g_.read(t, {}));
}

// A left-associative chain of + - * / and or, without recursion along its left spine.
Val Elaborator::eval_chain(Closure e) {
  std::vector<ast::NodeId> spine;
  ast::NodeId id = e.node;
  while (is_chain(node(id).kind)) {
    spine.push_back(id);
    id = child(node(id), 0);
  }
  auto operand = [&](ast::NodeId user, ast::NodeId at) {
    bool logical = node(user).kind == ast::NodeKind::conjunction ||
                   node(user).kind == ast::NodeKind::disjunction;
    return logical ? condition(at, e.scope) : number(at, e.scope);
  };
  ExprId left = operand(spine.back(), id);
  for (std::size_t k = spine.size(); k-- > 0;) {
    const ast::Node& n = node(spine[k]);
    Op op = binary_op(n.kind);
    bool logical = op == Op::logical_and || op == Op::logical_or;
    if (logical && left != ExprId::none && k + 1 < spine.size() &&
        !as_condition(left, node(spine[k + 1]).span)) {
      left = ExprId::none;
    }
    ExprId right = operand(spine[k], child(n, 1));
    bool ok = left != ExprId::none && right != ExprId::none;
    left = ok ? g_.make(op, left, right) : ExprId::none;
  }
  return scalar(left);
}

Val Elaborator::eval_compare(const ast::Node& n, const Scope* scope) {
  std::vector<ExprId> operands;
  bool ok = true;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    operands.push_back(number(child(n, k), scope));
    ok = ok && operands.back() != ExprId::none;
  }
  if (!ok) return {};
  ExprId all = ExprId::none;
  for (std::uint32_t k = 0; k + 1 < n.count; ++k) {
    ExprId a = operands[k], b = operands[k + 1];
    ExprId link = ExprId::none;
    switch (module_.relations[n.extra + k]) {
      case ast::Relation::less:
        link = g_.make(Op::lt, a, b);
        break;
      case ast::Relation::less_equal:
        link = g_.make(Op::le, a, b);
        break;
      case ast::Relation::greater:
        link = g_.make(Op::lt, b, a);
        break;
      case ast::Relation::greater_equal:
        link = g_.make(Op::le, b, a);
        break;
      case ast::Relation::equal:
        link = g_.make(Op::eq, a, b);
        break;
      case ast::Relation::not_equal:
        link = g_.make(Op::logical_not, g_.make(Op::eq, a, b));
        break;
    }
    all = all == ExprId::none ? link : g_.make(Op::logical_and, all, link);
  }
  return scalar(all);
}

// A field of a reduction lifts only that output of it.
Val Elaborator::eval_field(const ast::Node& n, Closure e) {
  Closure of = resolve({child(n, 0), e.scope});
  if (!of.ok()) return {};
  const ast::Node& inner = node(of.node);
  if (inner.kind == ast::NodeKind::reduce && is_fold(inner)) {
    std::optional<Built> built = build_fold(of);
    if (!built) return {};
    const Monoid& m = g_[built->fold.monoid];
    Val outputs;
    outputs.fields = m.outputs;
    std::optional<std::uint32_t> k = find_field(n.name, outputs);
    return k ? scalar(lift(*built, static_cast<int>(*k))) : Val{};
  }
  Val value = eval(of);
  if (!value.ok()) return {};
  std::optional<std::uint32_t> k = find_field(n.name, value);
  return k ? scalar(value.parts[*k]) : Val{};
}

Val Elaborator::eval_tuple(const ast::Node& n, const Scope* scope) {
  Val value;
  value.value = -1;
  bool ok = true;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    ExprId part = number(child(n, k), scope);
    ok = ok && part != ExprId::none;
    value.parts.push_back(part);
  }
  return ok ? value : Val{};
}

ExprId Elaborator::as_number(const Val& value, Span span) {
  if (!value.ok()) return ExprId::none;
  if (value.value >= 0) return value.parts[value.value];
  std::string hint = "write one of its components";
  if (!value.fields.empty()) {
    hint = fmt::format("pick a field: .{}", fmt::join(value.fields, ", ."));
  }
  report(span, "E0305",
         fmt::format("a tuple of {} stands where a number is needed", value.parts.size()), hint);
  return ExprId::none;
}

ExprId Elaborator::number(ast::NodeId id, const Scope* scope) {
  return as_number(eval({id, scope}), node(id).span);
}

bool Elaborator::as_condition(ExprId e, Span span) {
  Kind k = g_.pool[e].kind;
  if (k == Kind::boolean) return true;
  report(span, "E0301", fmt::format("a condition must be bool, and this is {}", name(k)),
         "compare it: `x != 0`");
  return false;
}

ExprId Elaborator::condition(ast::NodeId id, const Scope* scope) {
  ExprId e = number(id, scope);
  return e != ExprId::none && as_condition(e, node(id).span) ? e : ExprId::none;
}

Closure Elaborator::resolve(Closure e) {
  while (e.ok()) {
    const ast::Node& n = node(e.node);
    if (n.kind == ast::NodeKind::name) {
      const Local* local = find_local(n.name.text, e.scope);
      if (local == nullptr || local->what != Local::What::closure) return e;
      if (!step(n.span)) return {};
      e = local->closure;
    } else if (n.kind == ast::NodeKind::call || n.kind == ast::NodeKind::reduce) {
      auto found = operations_.find(n.name.text);
      if (found == operations_.end() || found->second.monoid != nullptr) return e;
      if (found->second.function == nullptr || !step(n.span)) return {};
      e = enter_function(n, e.scope);
    } else {
      return e;
    }
  }
  return e;
}

// The body of the function that n calls, in a scope with its parameters.
Closure Elaborator::enter_function(const ast::Node& n, const Scope* scope) {
  const ast::Function& f = *operations_[n.name.text].function;
  std::size_t indices = n.kind == ast::NodeKind::reduce ? binder(n).indices.size() : 0;
  if (n.count != f.parameters.size() || indices != f.indices.size()) {
    auto shape = [](std::size_t i, std::size_t p) {
      std::string brackets = i > 0 ? fmt::format("{} in `[…]` and ", i) : "";
      return fmt::format("{}{} in `(…)`", brackets, p);
    };
    report(n.span, "E0213",
           fmt::format("`{}` takes {}, this call gives {}", f.name.text,
                       shape(f.indices.size(), f.parameters.size()), shape(indices, n.count)),
           fmt::format("it is defined on line {}", source_.line_of(f.name.span.begin)));
    return {};
  }
  Scope inner, caller;
  caller.parent = scope;
  if (n.kind == ast::NodeKind::reduce && !bind_index_arguments(n, f, scope, inner, caller))
    return {};
  const Scope* arguments = caller.names.empty() ? scope : new_scope(std::move(caller));
  for (std::uint32_t k = 0; k < n.count; ++k) {
    Local local;
    local.what = Local::What::closure;
    local.closure = {child(n, k), arguments};
    inner.names.emplace_back(f.parameters[k].text, local);
  }
  return {f.body, new_scope(std::move(inner))};
}

// Gives the index parameters of `inner` their indices. An index of a function's own body that the
// callee binds is renamed apart like one that the body binds, in the arguments of the call too:
// `caller` takes its new meaning.
bool Elaborator::bind_index_arguments(const ast::Node& n, const ast::Function& f,
                                      const Scope* scope, Scope& inner, Scope& caller) {
  const ast::Binder& b = binder(n);
  if (b.condition != ast::kNoNode || !b.modifiers.empty()) {
    report(b.span, "E0213",
           fmt::format("`{}` is a function and takes index names only", f.name.text),
           "put the condition into its argument: `select(c, x, 0)`");
    return false;
  }
  bool ok = true;
  std::vector<DimId> dims = distinct_dims(b.indices, scope, "in these brackets", ok);
  for (std::size_t k = 0; ok && k < dims.size(); ++k) {
    Local local;
    local.what = Local::What::parameter_index;
    local.dim = dims[k];
    bool own = find_local(b.indices[k].text, scope) == nullptr;
    if (own && captures(scope, dims[k])) {
      local.dim = fresh_dim(dims[k]);
      Local renamed = local;
      renamed.what = Local::What::renamed_index;
      caller.names.emplace_back(b.indices[k].text, renamed);
    }
    inner.names.emplace_back(f.indices[k].text, local);
  }
  return ok;
}

Val Elaborator::eval_call(const ast::Node& n, Closure e) {
  auto found = operations_.find(n.name.text);
  if (found != operations_.end()) {
    if (found->second.monoid != nullptr) {
      report(n.name.span, "E0501", fmt::format("the monoid `{}` needs an index", n.name.text),
             fmt::format("write `{}[j](…)`", n.name.text));
      return {};
    }
    Closure body = resolve(e);
    return body.ok() ? eval(body) : Val{};
  }
  if (n.name.text == "size") return eval_size(n, e.scope);
  if (std::optional<Format> f = parse_format(n.name.text)) return eval_cast(n, *f, e.scope);
  if (std::optional<Op> op = function_named(n.name.text)) return eval_builtin(n, *op, e.scope);
  ast::Node as_reduce = n;
  if (is_fold(as_reduce) || n.name.text == "mean" || n.name.text == "var") {
    report(n.name.span, "E0501", fmt::format("the reduction `{}` needs an index", n.name.text),
           fmt::format("write `{}[j](…)`", n.name.text));
    return {};
  }
  unknown_operation(n.name);
  return {};
}

Val Elaborator::eval_size(const ast::Node& n, const Scope* scope) {
  if (n.count != 1 || node(child(n, 0)).kind != ast::NodeKind::name) {
    report(n.span, "E0213", "`size` takes one index", "write `size(j)`");
    return {};
  }
  std::optional<DimId> d = find_index(node(child(n, 0)).name, scope);
  return d ? scalar(g_.iota(Form(g_.extent(*d)))) : Val{};
}

Val Elaborator::eval_cast(const ast::Node& n, Format format, const Scope* scope) {
  if (is_block(format)) {
    report(n.name.span, "E0303", fmt::format("`{}` is a format of inputs only", n.name.text),
           "blocks are quantised outside the program");
    return {};
  }
  if (n.count != 1) {
    report(n.span, "E0213", fmt::format("the cast `{}` takes one argument", n.name.text),
           fmt::format("write `{}(x)`", n.name.text));
    return {};
  }
  ExprId a = number(child(n, 0), scope);
  return a == ExprId::none ? Val{} : scalar(g_.pool.cast(format, a));
}

Val Elaborator::eval_builtin(const ast::Node& n, Op op, const Scope* scope) {
  int arity = info(op).arity;
  if (n.count != static_cast<std::uint32_t>(arity)) {
    report(n.span, "E0213",
           fmt::format("`{}` takes {} argument{}, this call gives {}", n.name.text, arity,
                       arity == 1 ? "" : "s", n.count),
           op == Op::max || op == Op::min
               ? fmt::format("nest it, or reduce over an index: `{}[j](…)`", n.name.text)
               : fmt::format("write `{}({})`", n.name.text,
                             arity == 1   ? "x"
                             : arity == 2 ? "x, y"
                                          : "condition, x, y"));
    return {};
  }
  ExprId args[3] = {ExprId::none, ExprId::none, ExprId::none};
  bool ok = true;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    bool test = op == Op::select && k == 0;
    args[k] = test ? condition(child(n, k), scope) : number(child(n, k), scope);
    ok = ok && args[k] != ExprId::none;
  }
  return ok ? scalar(g_.make(op, args[0], args[1], args[2])) : Val{};
}

}  // namespace tang
