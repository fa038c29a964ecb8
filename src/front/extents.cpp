// Extents and the values of params (language.md 1.3): integers, params and dims under `+ - *`;
// `/` is floor division, between constants or in the value of a param.
#include <algorithm>

#include <fmt/format.h>

#include "expr/apply.h"
#include "front/elaborator.h"

namespace tang {

namespace {

constexpr std::string_view kExtentHint =
    "an extent is built from integers, params and dims with + - *";

}  // namespace

std::optional<Poly> Elaborator::extent_name(const ast::Node& n) {
  const Symbol* symbol = find_value(n.name);
  if (symbol == nullptr) return std::nullopt;
  if (symbol->what == Symbol::What::param) return Poly::param(static_cast<ParamId>(symbol->id));
  if (symbol->what == Symbol::What::dim) return g_.extent(static_cast<DimId>(symbol->id));
  report(n.span, "E0403",
         fmt::format("`{}` is a tensor and cannot stand in an extent", n.name.text),
         "shapes do not depend on data: use a bound and a condition, `sum[j | j < len[b]](…)`");
  return std::nullopt;
}

// Recursion is bounded by the depth of the syntax tree.
std::optional<Poly> Elaborator::extent(ast::NodeId id) {
  const ast::Node& n = node(id);
  if (n.kind == ast::NodeKind::integer) return Poly(n.integer);
  if (n.kind == ast::NodeKind::name) return extent_name(n);
  bool binary = n.kind == ast::NodeKind::add || n.kind == ast::NodeKind::subtract ||
                n.kind == ast::NodeKind::multiply || n.kind == ast::NodeKind::divide;
  if (!binary && n.kind != ast::NodeKind::negate) {
    report(n.span, "E0403", "this is not an extent", std::string(kExtentHint));
    return std::nullopt;
  }
  std::optional<Poly> a = extent(child(n, 0));
  if (n.kind == ast::NodeKind::negate) return a ? std::optional(Poly(-1) * *a) : std::nullopt;
  std::optional<Poly> b = extent(child(n, 1));
  if (!a || !b) return std::nullopt;
  if (n.kind == ast::NodeKind::add) return *a + *b;
  if (n.kind == ast::NodeKind::subtract) return *a - *b;
  if (n.kind == ast::NodeKind::multiply) return *a * *b;
  if (b->is_zero()) return division_by_zero(n), std::nullopt;
  if (a->constant() && b->constant()) return Poly(floor_div(*a->constant(), *b->constant()));
  report(n.span, "E0403", "`/` with a param cannot stand in an extent",
         "give the quotient a name: `param half = seq / 2`");
  return std::nullopt;
}

void Elaborator::division_by_zero(const ast::Node& n) {
  report(n.span, "E0403", "division by zero", "the divisor of an extent is a positive integer");
}

ExprId Elaborator::param_division(const ast::Node& n, ExprId a, ExprId b) {
  std::optional<Form> x = g_.as_form(a), y = g_.as_form(b);
  if (y && y->base.constant() == 0) {
    division_by_zero(n);
    return ExprId::none;
  }
  if (x && y && x->base.constant() && y->base.constant()) {
    return g_.pool.integer(floor_div(*x->base.constant(), *y->base.constant()));
  }
  return g_.make(Op::div, a, b);
}

// The value of a param as an integer expression over earlier params; Op::div is the floor division.
ExprId Elaborator::param_value(ast::NodeId id) {
  const ast::Node& n = node(id);
  if (n.kind == ast::NodeKind::integer) return g_.pool.integer(n.integer);
  if (n.kind == ast::NodeKind::name) {
    std::optional<Poly> p = extent_name(n);
    return p ? g_.iota(Form(*p)) : ExprId::none;
  }
  bool division = n.kind == ast::NodeKind::divide ||
                  (n.kind == ast::NodeKind::call && n.name.text == "div" && n.count == 2);
  bool binary = n.kind == ast::NodeKind::add || n.kind == ast::NodeKind::subtract ||
                n.kind == ast::NodeKind::multiply || division;
  if (!binary && n.kind != ast::NodeKind::negate) {
    report(n.span, "E0403", "this is not the value of a param",
           "it is built from integers, params and dims with + - * and / (floor)");
    return ExprId::none;
  }
  ExprId a = param_value(child(n, 0));
  if (a == ExprId::none) return a;
  if (n.kind == ast::NodeKind::negate) return g_.make(Op::neg, a);
  ExprId b = param_value(child(n, 1));
  if (b == ExprId::none) return b;
  if (division) return param_division(n, a, b);
  Op op = n.kind == ast::NodeKind::add        ? Op::add
          : n.kind == ast::NodeKind::subtract ? Op::sub
                                              : Op::mul;
  return g_.make(op, a, b);
}

// An extent that is a number is at least 0; others are checked when the params are bound.
bool Elaborator::check_extent(const ast::Name& name, ast::NodeId id, const Poly& extent) {
  std::optional<int64_t> size = extent.constant();
  if (!size || *size >= 0) return true;
  report(node(id).span, "E0409", fmt::format("an extent of `{}` is {}", name.text, *size),
         "an extent is at least 0");
  return false;
}

// The extent as written, with the spacing of reads: `2*oh + 1`. strength is that of the context:
// 0 none, 1 an operand of + on the right, 2 an operand of *, 3 the right operand of * or /.
std::string Elaborator::extent_text(ast::NodeId id, int strength) const {
  const ast::Node& n = node(id);
  auto wrap = [&](int own, std::string s) { return own < strength ? "(" + s + ")" : s; };
  auto at = [&](std::uint32_t k, int s) { return extent_text(child(n, k), s); };
  switch (n.kind) {
    case ast::NodeKind::integer:
      return fmt::format("{}", n.integer);
    case ast::NodeKind::name:
      return std::string(n.name.text);
    case ast::NodeKind::negate:
      return wrap(2, "-" + at(0, 3));
    case ast::NodeKind::add:
      return wrap(0, at(0, 0) + " + " + at(1, 1));
    case ast::NodeKind::subtract:
      return wrap(0, at(0, 0) + " - " + at(1, 1));
    case ast::NodeKind::multiply:
      return wrap(2, at(0, 2) + "*" + at(1, 3));
    case ast::NodeKind::divide:
      return wrap(2, at(0, 2) + "/" + at(1, 3));
    default:
      return {};
  }
}

void Elaborator::extent_dims(ast::NodeId id, std::vector<DimId>& dims) const {
  const ast::Node& n = node(id);
  for (std::uint32_t k = 0; k < n.count; ++k) extent_dims(child(n, k), dims);
  if (n.kind != ast::NodeKind::name) return;
  auto found = values_.find(n.name.text);
  if (found == values_.end() || found->second.what != Symbol::What::dim) return;
  DimId d = static_cast<DimId>(found->second.id);
  if (std::find(dims.begin(), dims.end(), d) == dims.end()) dims.push_back(d);
}

}  // namespace tang
