// Reads (language.md 1.6): positions as affine forms, gathers, ranges and fills.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "front/elaborator.h"
#include "ir/guards.h"
#include "ir/inside.h"
#include "ir/print.h"

namespace tang {

namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

}  // namespace

bool Elaborator::check_rank(const ast::Node& n, TensorId t, std::size_t positions) {
  const Tensor& tensor = g_[t];
  if (tensor.shape.size() == positions) return true;
  std::string axes =
      fmt::format("{} ax{}", tensor.shape.size(), tensor.shape.size() == 1 ? "is" : "es");
  report(n.span, "E0402",
         fmt::format("`{}` has {}, this read gives {}", spelt(tensor), axes, positions),
         tensor.shape.empty() ? fmt::format("a rank-0 tensor is read as `{}`", tensor.name)
                              : "write one position for each axis, in order");
  return false;
}

Val Elaborator::eval_read(const ast::Node& n, const Scope* scope) {
  if (const Local* local = find_local(n.name.text, scope)) {
    report(n.name.span, "E0209", fmt::format("`{}` is a value here, not a tensor", n.name.text),
           local->what == Local::What::closure
               ? "a parameter stands for an expression: index the argument where you call"
               : "it has no axes to index");
    return {};
  }
  std::optional<TensorId> t = find_tensor(n.name, "read");
  bool ok = t.has_value();
  std::vector<Form> forms;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    std::optional<Form> form = position(child(n, k), scope);
    ok = ok && form.has_value();
    forms.push_back(form.value_or(Form(0)));
  }
  if (!t || !check_rank(n, *t, n.count) || !ok) return {};
  bool gathers = false;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    gathers = gathers || !forms[k].is_affine();
    if (!n.guarded && forms[k].is_affine()) ok = check_range(n, *t, k, forms[k]) && ok;
  }
  std::optional<Value> fill = fill_of(n, *t, gathers, scope);
  if (!ok || !fill) return {};
  Leaf leaf;
  leaf.what = Leaf::What::read;
  leaf.kind = g_[*t].kind;
  leaf.tensor = *t;
  leaf.forms = std::move(forms);
  leaf.guarded = n.guarded;
  if (n.guarded) {
    leaf.set_fill(*fill);
  } else if (gathers &&
             (fill->kind == Kind::real ? !same_bits(*fill, Value::real(0)) : fill->i != 0)) {
    leaf.set_fill(*fill);
  }
  ExprId value = g_.variable(leaf);
  // A gather that serves as an index, or bounds a loop, is a tensor of its own.
  bool index = gathers && leaf.kind == Kind::integer && (in_position_ || in_condition_);
  return scalar(index ? lift_map(value) : value);
}

// One position as a form. Integer tensors read in it are gathered through; one that is itself
// gathered has become a definition of its own by then.
std::optional<Form> Elaborator::position(ast::NodeId id, const Scope* scope) {
  bool outer = std::exchange(in_position_, true);
  ExprId e = number(id, scope);
  in_position_ = outer;
  if (e == ExprId::none) return std::nullopt;
  if (std::optional<Form> form = g_.as_form(e, true)) return form;
  blame({id, scope});
  return std::nullopt;
}

void Elaborator::not_affine(const ast::Node& n, std::string_view what, std::string hint) {
  if (hint.empty()) {
    hint = fmt::format("define an integer tensor, `r[i] = {}`, and read through it: `x[r[i]]`",
                       n.span.end - n.span.begin < 40 ? std::string(text(n.span)) : "…");
  }
  report(n.span, "E0405", fmt::format("{} is not affine, so it cannot stand in a read", what),
         hint);
}

// Reports the innermost operation that keeps a position from being an affine form.
void Elaborator::blame(Closure e) {
  for (int k = 0; k < ast::kMaxDepth; ++k) {
    const ast::Node& n = node(e.node);
    switch (n.kind) {
      case ast::NodeKind::divide:
        return not_affine(n, "`/`", division_hint(n, e));
      case ast::NodeKind::real:
        return report(n.span, "E0407", "a position is an integer, and this is real",
                      "write an integer");
      case ast::NodeKind::boolean:
      case ast::NodeKind::compare:
      case ast::NodeKind::negation:
      case ast::NodeKind::conjunction:
      case ast::NodeKind::disjunction:
        return not_affine(n, "a condition", {});
      case ast::NodeKind::call:
        if (operations_.count(n.name.text) == 0) {
          return not_affine(n, fmt::format("`{}`", n.name.text), {});
        }
        break;
      default:
        break;
    }
    bool arithmetic = n.kind == ast::NodeKind::add || n.kind == ast::NodeKind::subtract ||
                      n.kind == ast::NodeKind::multiply || n.kind == ast::NodeKind::negate;
    Closure next;
    for (std::uint32_t c = 0; arithmetic && c < n.count && !next.ok(); ++c) {
      ExprId part = number(child(n, c), e.scope);
      if (part == ExprId::none) return;
      if (!g_.as_form(part, true)) next = {child(n, c), e.scope};
    }
    if (!next.ok() && n.kind == ast::NodeKind::multiply) {
      return not_affine(n, "a product of indices", {});
    }
    if (!next.ok()) {
      return report(n.span, "E0407", "a position is an integer, and this is not one",
                    "only integers, indices, params and integer tensors stand in a position");
    }
    e = next;
  }
}

// For `h / 4` with h = 32: the read with h made two dims.
std::string Elaborator::division_hint(const ast::Node& n, Closure e) const {
  const ast::Node& index = node(child(n, 0));
  const ast::Node& by = node(child(n, 1));
  auto found = values_.find(index.name.text);
  bool split = index.kind == ast::NodeKind::name && by.kind == ast::NodeKind::integer &&
               by.integer > 1 && find_local(index.name.text, e.scope) == nullptr &&
               found != values_.end() && found->second.what == Symbol::What::dim;
  if (!split) {
    return "make the index two dims, or read through an integer tensor: `r[i] = div(i, 4)`, "
           "`x[r[i]]`";
  }
  std::optional<int64_t> size = g_.extent(static_cast<DimId>(found->second.id)).constant();
  if (!size || *size % by.integer != 0) {
    return fmt::format(
        "define an integer tensor, `r[{0}] = div({0}, {1})`, and read through it: "
        "`x[r[{0}]]`",
        index.name.text, by.integer);
  }
  std::string what = index.name.text == "h" ? "the heads" : fmt::format("`{}`", index.name.text);
  return fmt::format("make {} two dims: `dim kv = {}, g = {}`, read {}", what, *size / by.integer,
                     by.integer, split_read(n));
}

// The reads of the statement that use the divided index h, respelled: h as `kv, g`, h / 4 as `kv`.
std::string Elaborator::split_read(const ast::Node& division) const {
  std::string_view index = node(child(division, 0)).name.text;
  std::string whole, divided;
  for (const ast::Node& r : module_.nodes) {
    if (r.kind != ast::NodeKind::read || r.span.begin < where_.begin || r.span.end > where_.end) {
      continue;
    }
    std::vector<std::string> positions;
    bool picks = false, divides = false;
    for (std::uint32_t k = 0; k < r.count; ++k) {
      const ast::Node& p = node(child(r, k));
      bool pick = p.kind == ast::NodeKind::name && p.name.text == index;
      bool quotient = p.span.begin == division.span.begin && p.span.end == division.span.end;
      picks = picks || pick;
      divides = divides || quotient;
      positions.push_back(pick ? "kv, g" : quotient ? "kv" : std::string(text(p.span)));
    }
    std::string spelt = fmt::format("`{}[{}]`", r.name.text, fmt::join(positions, ", "));
    if (picks && whole.empty()) whole = spelt;
    if (divides && divided.empty()) divided = spelt;
  }
  return whole.empty() ? divided : whole + " and " + divided;
}

// An unguarded affine position must be proved inside its axis, or be implied by the condition of
// the innermost binder. What symbols leave open is checked when the params are bound.
bool Elaborator::check_range(const ast::Node& n, TensorId t, std::uint32_t axis, const Form& form) {
  std::optional<Interval> r = range(form, [this](DimId d) { return g_.extent(d); });
  if (!r) return true;
  Poly size = g_[t].shape[axis];
  bool below = (Poly(-1) - r->lo).proved_nonnegative();
  bool above = (r->hi - size).proved_nonnegative();
  // An extent of 0 makes the box empty, and then there is nothing to read.
  for (const Form::Term& term : form.terms) {
    if (g_.extent(term.dim).is_zero()) return true;
  }
  if (below && !implied(g_, form, frame_.guards)) {
    out_of_range(n, t, axis, form, r->lo, r->hi, true);
    return false;
  }
  if (above && !implied(g_, Form(size - Poly(1)) - form, frame_.guards)) {
    out_of_range(n, t, axis, form, r->lo, r->hi, false);
    return false;
  }
  return true;
}

void Elaborator::out_of_range(const ast::Node& n, TensorId t, std::uint32_t axis, const Form& form,
                              const Poly& lo, const Poly& hi, bool below) {
  const Tensor& tensor = g_[t];
  std::optional<int64_t> size = tensor.shape[axis].constant();
  std::string has = size == 0
                        ? "has no elements"
                        : fmt::format("has 0…{}", print_poly(g_, tensor.shape[axis] - Poly(1)));
  std::string runs = lo == hi
                         ? fmt::format("is {}", print_poly(g_, lo))
                         : fmt::format("runs over {}…{}", print_poly(g_, lo), print_poly(g_, hi));
  std::string label = fmt::format("{}, `{}` {}", runs, spelt(tensor), has);
  std::string place = fmt::format("{}?[{}{}{}", tensor.name, axis > 0 ? "…, " : "",
                                  text(node(child(n, axis)).span), axis + 1 < n.count ? ", …" : "");
  std::optional<Value> fill = default_fill_of(tensor.kind);
  std::string write =
      fill ? fmt::format("write `{}]` to read {} outside", place, print_value(*fill, false))
           : fmt::format("write `{}; fill]` to read a fill outside", place);
  if (!below && form.terms.size() == 1) {
    write = fmt::format("shrink `{}`, or {}", g_[form.terms[0].dim].name, write);
  }
  report(node(child(n, axis)).span, "E0401",
         below ? fmt::format("axis {} of `{}` starts at 0, and this read goes below", axis,
                             tensor.name)
               : fmt::format("axis {} of `{}` is too short for this read", axis, tensor.name),
         write, label);
}

// What a guarded or gathering read yields outside the tensor: the stated fill, otherwise the
// identity of the innermost reduction. nullopt: reported.
std::optional<Value> Elaborator::fill_of(const ast::Node& n, TensorId t, bool gathers,
                                         const Scope* scope) {
  Kind kind = g_[t].kind;
  if (n.extra != ast::kNoNode) {
    if (n.guarded || gathers) return stated_fill(n, t, scope);
    report(node(n.extra).span, "E0406", "this read has no outside to fill",
           fmt::format("guard it, `{}?[…; fill]`, or leave the fill out", n.name.text));
    return std::nullopt;
  }
  if (!n.guarded && !gathers) return Value::real(0);
  std::optional<Value> fill = default_fill_of(kind);
  if (fill || !n.guarded) return fill.value_or(Value::real(0).to(kind));
  report(n.span, "E0504",
         fmt::format("a guarded read inside `{}` must state its fill", frame_.operation),
         fmt::format("write `{}?[…; 0]`, or the value it should read outside", n.name.text));
  return std::nullopt;
}

std::optional<Value> Elaborator::stated_fill(const ast::Node& n, TensorId t, const Scope* scope) {
  Kind kind = g_[t].kind;
  ExprId e = number(n.extra, scope);
  if (e == ExprId::none) return std::nullopt;
  Span span = node(n.extra).span;
  if (!g_.pool.is_constant(e)) {
    report(span, "E0406", "a fill is a constant", "select on the coordinate instead");
    return std::nullopt;
  }
  Value v = g_.pool[e].value();
  if (v.kind == Kind::real && kind != Kind::real) {
    report(span, "E0406", fmt::format("`{}` is {}, and this fill is real", g_[t].name, name(kind)),
           "write an integer");
    return std::nullopt;
  }
  return v.to(kind);
}

// The identity of the innermost reduction for a tensor of this kind; 0 outside of reductions;
// nullopt where the text must state it.
std::optional<Value> Elaborator::default_fill_of(Kind kind) const {
  double infinity = std::numeric_limits<double>::infinity();
  if (frame_.stated) return std::nullopt;
  std::string_view op = frame_.operation;
  if (op == "prod" || op == "all") return Value::integer(1).to(kind);
  if (op != "max" && op != "min") return Value::integer(0).to(kind);
  bool max = op == "max";
  if (kind == Kind::real) return Value::real(max ? -infinity : infinity);
  if (kind == Kind::boolean) return Value::boolean(!max);
  return Value::integer(max ? kLowest : kHighest);
}

}  // namespace tang
