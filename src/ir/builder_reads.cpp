// Reads of the builder: positions as forms, gathers, and the fills of reads outside a tensor.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "ir/builder_impl.h"
#include "ir/print.h"

namespace tang {

namespace {

// Fills that wait for their reduction: no fill is a bool that is neither 0 nor 1.
constexpr uint64_t waiting = 2;

bool waits(const Leaf& l) {
  return l.what == Leaf::What::read && l.fill_kind == Kind::boolean && l.fill_bits == waiting;
}

bool gathers(const Leaf& l) {
  return std::any_of(l.forms.begin(), l.forms.end(), [](const Form& f) { return !f.is_affine(); });
}

}  // namespace

std::optional<Form> Builder::Impl::position(const Expr& e, const Tensor& t) {
  const ExprId id = node_of(e, fmt::format("a position of `{}`", t.name));
  if (id == ExprId::none) return std::nullopt;
  const auto f = g.as_form(id, true);
  if (!f) {
    const bool integer = g.pool[id].kind == Kind::integer;
    fail(integer ? "E0405" : "E0407",
         integer ? fmt::format("`{}` is not affine, so it cannot stand in a read of `{}`",
                               print_expr(g, id), t.name)
                 : fmt::format("a position of `{}` is an integer, and `{}` is {}", t.name,
                               print_expr(g, id), name(g.pool[id].kind)),
         "define an integer tensor and read through it");
    return std::nullopt;
  }
  for (const Form::Gather& x : f->gathers)
    if (gathers(g.leaf(x.leaf))) {
      fail("E0405", fmt::format("a read of `{}` gathers through a gathered index", t.name),
           "make the inner index a definition of its own");
      return std::nullopt;
    }
  return f;
}

std::optional<Value> Builder::Impl::constant_fill(const Expr& fill, const Tensor& t) {
  const ExprId id = node_of(fill, "a fill");
  if (id == ExprId::none) return std::nullopt;
  const bool constant = g.pool.is_constant(id);
  if (!constant || (g.pool[id].kind == Kind::real && t.kind != Kind::real)) {
    fail("E0406",
         constant ? fmt::format("`{}` is {}, and this fill is real", t.name, name(t.kind))
                  : fmt::format("the fill of a read of `{}` is no constant", t.name),
         "a fill is a constant of the tensor's kind");
    return std::nullopt;
  }
  return g.pool[id].value().to(t.kind);
}

ExprId Builder::Impl::read(TensorId id, const std::vector<Expr>& position_list, Outside outside,
                           const Expr& fill) {
  if (id == TensorId::none) return ExprId::none;
  const Tensor t = g[id];
  if (t.shape.size() != position_list.size()) {
    fail("E0402",
         fmt::format("`{}{}` has {} ax{}, this read gives {}", t.name,
                     t.shape.empty() ? "" : print_shape(g, t.shape), t.shape.size(),
                     t.shape.size() == 1 ? "is" : "es", position_list.size()),
         "give one position for each axis, in order");
    return ExprId::none;
  }
  Leaf l;
  l.what = Leaf::What::read;
  l.kind = t.kind;
  l.tensor = id;
  for (const Expr& e : position_list) {
    const auto f = position(e, t);
    if (!f) return ExprId::none;
    l.forms.push_back(*f);
  }
  l.guarded = outside == Outside::identity || outside == Outside::guard;
  if (outside == Outside::identity || (outside == Outside::none && gathers(l))) {
    l.fill_kind = Kind::boolean;
    l.fill_bits = waiting;
  } else if (outside != Outside::none) {
    if (!l.guarded && !gathers(l)) {
      fail("E0406", fmt::format("this read of `{}` has no outside to fill", t.name), "use at_or");
      return ExprId::none;
    }
    const auto v = constant_fill(fill, t);
    if (!v) return ExprId::none;
    set_fill(l, *v);
  }
  return g.variable(l);
}

void Builder::Impl::set_fill(Leaf& l, const Value& v) {
  const bool zero = v.kind == Kind::real ? same_bits(v, Value::real(0)) : v.i == 0;
  l.fill_kind = Kind::real;
  l.fill_bits = 0;
  if (l.guarded || !zero) l.set_fill(v);
}

Builder::Impl::Fill Builder::Impl::fill_of(std::string_view op, bool builtin) {
  const bool plain = builtin && (op == "sum" || op == "prod" || op == "max" || op == "min" ||
                                 op == "any" || op == "all");
  return {op, !plain};
}

Value Builder::Impl::identity(std::string_view op, Kind kind) {
  if (op == "prod" || op == "all") return Value::integer(1).to(kind);
  if (op != "max" && op != "min") return Value::integer(0).to(kind);
  const bool max = op == "max";
  const double infinity = std::numeric_limits<double>::infinity();
  if (kind == Kind::real) return Value::real(max ? -infinity : infinity);
  if (kind == Kind::boolean) return Value::boolean(!max);
  return Value::integer(max ? std::numeric_limits<int64_t>::min()
                            : std::numeric_limits<int64_t>::max());
}

LeafId Builder::Impl::settle_leaf(LeafId id, const Fill& fill, bool& ok) {
  Leaf l = g.leaf(id);
  for (Form& f : l.forms)
    f = substitute(f, {}, [&](uint32_t inner) { return settle_leaf(inner, fill, ok); });
  if (waits(l)) {
    if (fill.stated && l.guarded) {
      fail("E0504",
           fmt::format("a guarded read of `{}` inside `{}` must state its fill", g[l.tensor].name,
                       fill.operation),
           "write at_or(fill, …)");
      ok = false;
    }
    set_fill(l, identity(fill.stated ? "" : fill.operation, l.kind));
  }
  return g.intern(l);
}

ExprId Builder::Impl::settle(ExprId e, const Fill& fill) {
  bool ok = true;
  const ExprId result = substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
    const Leaf l = g.leaf(id);
    if (l.what == Leaf::What::iota && !l.form().is_affine())
      return g.iota(
          substitute(l.form(), {}, [&](uint32_t inner) { return settle_leaf(inner, fill, ok); }));
    if (l.what != Leaf::What::read) return std::nullopt;
    return g.pool.var(settle_leaf(id, fill, ok), l.kind);
  });
  return ok ? result : ExprId::none;
}

std::optional<std::vector<ExprId>> Builder::Impl::nodes_of(const Parts& parts, const Fill& fill,
                                                           std::string_view what) {
  std::vector<ExprId> out;
  for (const Expr& e : parts.list) {
    ExprId id = node_of(e, what);
    if (id != ExprId::none) id = settle(id, fill);
    if (id == ExprId::none) return std::nullopt;
    out.push_back(id);
  }
  return out;
}

}  // namespace tang
