// Reads, scalar expressions and conditions of random programs.
#include <fmt/format.h>

#include "fuzz/random_graphs/generator.h"

namespace tang::fuzz {

namespace {

bool contains(const Dims& dims, int d) {
  for (int x : dims)
    if (x == d) return true;
  return false;
}

std::string plus(const std::string& form, int64_t c) {
  if (c == 0) return form;
  return c < 0 ? fmt::format("{} - {}", form, -c) : fmt::format("{} + {}", form, c);
}

}  // namespace

// A form over the scope that stays inside the axis: a coordinate, shifted, strided or turned round,
// a sum of two, or a constant. None if nothing fits.
std::optional<std::string> Generator::inside(int axis, const Dims& scope) {
  const DimInfo& a = dims_[static_cast<size_t>(axis)];
  std::vector<std::string> forms;
  for (int d : scope) {
    const DimInfo& x = dims_[static_cast<size_t>(d)];
    if (x.extent == a.extent) forms.insert(forms.end(), d == axis ? 4 : 1, x.name);
    if (x.symbolic || a.symbolic || x.size == 0) continue;
    if (x.size <= a.size) {
      forms.push_back(plus(x.name, choice_.between(0, static_cast<int>(a.size - x.size))));
      forms.push_back(fmt::format("{} - {}", a.size - 1, x.name));
    }
    if (2 * x.size - 1 <= a.size) {
      const int slack = static_cast<int>(a.size - (2 * x.size - 1));
      forms.push_back(plus("2*" + x.name, choice_.between(0, slack)));
    }
    for (int e : scope)
      if (e < d && !dims_[static_cast<size_t>(e)].symbolic && size(e) > 0 &&
          size(e) + x.size - 1 <= a.size)
        forms.push_back(fmt::format("{} + {}", name(e), x.name));
  }
  if (!a.symbolic && a.size > 0 && (forms.empty() || choice_.chance(8)))
    forms.push_back(fmt::format("{}", choice_.below(static_cast<int>(a.size))));
  if (forms.empty()) return std::nullopt;
  if (contains(scope, axis) && choice_.chance(60)) return a.name;
  return choice_.of(forms);
}

// A form that may leave the axis, for guarded reads.
std::string Generator::anywhere(int axis, const Dims& scope) {
  if (scope.empty()) return fmt::format("{}", choice_.between(-1, 5));
  const std::string& d =
      contains(scope, axis) && choice_.chance(50) ? name(axis) : name(choice_.of(scope));
  switch (choice_.below(5)) {
    case 0:
      return fmt::format("2*{} - 1", d);
    case 1:
      return fmt::format("{} - {}", choice_.between(1, 4), d);
    case 2:
      return fmt::format("{} + {} - 1", d, name(choice_.of(scope)));
    default:
      return plus(d, choice_.between(-2, 2));
  }
}

std::string Generator::read(const TensorInfo& t, const Dims& scope, Fill fill) {
  if (t.dims.empty()) return t.name;
  std::vector<std::string> forms;
  bool guarded = choice_.chance(10);
  for (int axis : t.dims) {
    const TensorInfo* by = nullptr;
    if (choice_.chance(t.kind == Kind::real ? 12 : 0))
      for (const TensorInfo& x : tensors_)
        if (x.gathers && (by == nullptr || choice_.chance(40))) by = &x;
    if (by != nullptr) {
      std::vector<std::string> places;
      for (int d : by->dims) places.push_back(inside(d, scope).value_or(""));
      bool fits = true;
      for (const std::string& p : places) fits &= !p.empty();
      if (fits) {
        std::string form = by->name + "[" + places[0];
        for (size_t k = 1; k < places.size(); ++k) form += ", " + places[k];
        form += "]";
        if (guarded && choice_.chance(50)) form = plus(form, choice_.between(-2, 2));
        forms.push_back(form);
        guarded |= size(axis) == 0;  // no index is inside
        continue;
      }
    }
    auto form = guarded ? std::optional(anywhere(axis, scope)) : inside(axis, scope);
    guarded |= !form.has_value();
    forms.push_back(form ? *form : anywhere(axis, scope));
  }
  std::string text = t.name + (guarded ? "?[" : "[") + forms[0];
  for (size_t k = 1; k < forms.size(); ++k) text += ", " + forms[k];
  if (guarded && (fill == Fill::stated || choice_.chance(50))) {
    static const std::vector<std::string> reals = {"0", "1", "-0.5", "2"},
                                          integers = {"0", "1", "-1"};
    text += "; " + (t.kind == Kind::real      ? choice_.of(reals)
                    : t.kind == Kind::integer ? choice_.of(integers)
                                              : std::string(choice_.chance(50) ? "true" : "false"));
  }
  return text + "]";
}

// A read that is the same on every device, or a constant.
std::string Generator::exact_read(Kind kind, const Dims& scope) {
  std::vector<const TensorInfo*> fit;
  for (const TensorInfo& t : tensors_)
    if (t.exact && t.kind == kind) fit.push_back(&t);
  if (fit.empty()) return kind == Kind::boolean ? "true" : "1";
  return read(*choice_.of(fit), scope, Fill::stated);
}

Real Generator::leaf(const Dims& scope, Fill fill) {
  static const std::vector<std::string> constants = {"0.5", "2.0", "-1.25", "0.1", "1.0", "3.0"};
  const int kind = choice_.below(100);
  if (kind < 8) return {choice_.of(constants), 3};
  if (kind < 14 && !scope.empty()) return {fmt::format("0.25 * {}", name(choice_.of(scope))), 2};
  if (kind < 16 && !scope.empty())
    return {fmt::format("0.5 * size({})", name(choice_.of(scope))), 4};
  if (kind < 20) return {fmt::format("0.25 * ({})", integer(1, scope)), 5};
  std::vector<const TensorInfo*> reals;
  for (const TensorInfo& t : tensors_)
    if (t.kind == Kind::real) reals.push_back(&t);
  // Later tensors more often: chains are what fusion is about.
  const size_t n = reals.size();
  const size_t k = std::max(static_cast<size_t>(choice_.below(static_cast<int>(n))),
                            static_cast<size_t>(choice_.below(static_cast<int>(n))));
  const TensorInfo& t = *reals[k];
  const std::string text = read(t, scope, fill);
  if (t.finite && t.size <= 8) return {text, t.size};
  return {fmt::format("tanh({})", text), 1};
}

Real Generator::unary(const Real& x) {
  const std::string& a = x.text;
  const auto apply = [&](const char* f, double bound) {
    return Real{fmt::format("{}({})", f, a), bound};
  };
  switch (choice_.below(24)) {
    case 0:
      return apply("tanh", 1);
    case 1:
      return apply("sigmoid", 1);
    case 2:
      return {fmt::format("exp(min({}, 3))", a), 20};
    case 3:
      return {fmt::format("exp(-abs({}))", a), 1};
    case 4:
      return {fmt::format("log(abs({}) + 1)", a), 3};
    case 5:
      return {fmt::format("sqrt(abs({}) + 1)", a), 4};
    case 6:
      return {fmt::format("rsqrt(1 + {0} * {0})", "(" + a + ")"), 1};
    case 7:
      return {fmt::format("recip(abs({}) + 1)", a), 1};
    case 8:
      return apply("sin", 1);
    case 9:
      return apply("cos", 1);
    case 10:
      return apply("silu", x.size);
    case 11:
      return apply("gelu", x.size);
    case 12:
      return apply("gelu_tanh", x.size);
    case 13:
      return apply("relu", x.size);
    case 14:
      return apply("softplus", x.size);
    case 15:
      return apply("abs", x.size);
    case 16:
      return {fmt::format("pow({}, {})", a, choice_.between(2, 3)), x.size * x.size * x.size};
    case 17:
      return {fmt::format("pow(abs({}) + 0.5, 0.75)", a), x.size};
    case 18:
      return apply("erf", 1);
    case 19:
      return apply("erfc", 2);
    case 20:
      return {fmt::format("-({})", a), x.size};
    case 21:
      return apply(choice_.chance(50) ? "f16" : "bf16", x.size);
    case 22:
      return {fmt::format("atan2({}, abs({}) + 1)", a, a), 2};
    default:
      return {
          fmt::format("30 * tanh({} / 30)", a.find(' ') == std::string::npos ? a : "(" + a + ")"),
          x.size};
  }
}

Real Generator::binary(const Real& x, const Real& y) {
  const std::string a = "(" + x.text + ")", b = "(" + y.text + ")";
  switch (choice_.below(8)) {
    case 0:
    case 1:
      return {fmt::format("{} + {}", a, b), x.size + y.size};
    case 2:
      return {fmt::format("{} - {}", a, b), x.size + y.size};
    case 3:
      return {fmt::format("{} / (abs{} + 1)", a, b), x.size};
    case 4:
      return {fmt::format("min({}, {})", x.text, y.text), std::max(x.size, y.size)};
    case 5:
      return {fmt::format("max({}, {})", x.text, y.text), std::max(x.size, y.size)};
    default:
      return {fmt::format("{} * {}", a, b), x.size * y.size};
  }
}

Real Generator::real(int depth, const Dims& scope, Fill fill) {
  if (depth <= 0) return leaf(scope, fill);
  const int kind = choice_.below(100);
  Real r;
  if (kind < 30) {
    r = unary(real(depth - 1, scope, fill));
  } else if (kind < 85) {
    const Real x = real(depth - 1, scope, fill);
    r = binary(x, real(choice_.below(depth), scope, fill));
  } else if (kind < 95) {
    const std::string c = condition(1, scope);
    const Real x = real(depth - 1, scope, Fill::stated), y = leaf(scope, Fill::stated);
    r = {fmt::format("select({}, {}, {})", c, x.text, y.text), std::max(x.size, y.size)};
  } else {
    return leaf(scope, fill);
  }
  return r.size <= 30 ? r : Real{fmt::format("tanh({})", r.text), 1};
}

std::string Generator::integer(int depth, const Dims& scope) {
  if (depth <= 0 || choice_.chance(20)) {
    const int kind = choice_.below(10);
    if (kind < 3 && !scope.empty()) return name(choice_.of(scope));
    if (kind < 4 && !program_.sizes.empty()) return program_.sizes.begin()->first;
    if (kind < 5) return fmt::format("{}", choice_.between(-2, 5));
    return exact_read(Kind::integer, scope);
  }
  const std::string a = integer(depth - 1, scope), b = integer(choice_.below(depth), scope);
  switch (choice_.below(9)) {
    case 0:
      return fmt::format("({}) * ({})", a, b);
    case 1:
      return fmt::format("div({}, {})", a, choice_.between(1, 4));
    case 2:
      return fmt::format("mod({}, {})", a, choice_.between(1, 4));
    case 3:
      return fmt::format("min({}, {})", a, b);
    case 4:
      return fmt::format("max({}, {})", a, b);
    case 5:
      return fmt::format("select({}, {}, {})", condition(0, scope), a, b);
    case 6:
      return fmt::format("i32(floor({}))", exact_read(Kind::real, scope));
    case 7:
      return fmt::format("({}) - ({})", a, b);
    default:
      return fmt::format("({}) + ({})", a, b);
  }
}

std::string Generator::affine_condition(const Dims& scope) {
  const std::string a = name(choice_.of(scope)), b = name(choice_.of(scope));
  switch (choice_.below(7)) {
    case 0:
      return fmt::format("{} <= {}", a, b);
    case 1:
      return fmt::format("{} < {} + 2", a, b);
    case 2:
      return fmt::format("{} + {} < {}", a, b, choice_.between(2, 6));
    case 3:
      return fmt::format("{} - 1 <= {} and {} <= {} + 1", a, b, b, a);
    case 4:
      return fmt::format("2*{} + {} - 1 == {}", b, name(choice_.of(scope)), a);
    case 5:
      return fmt::format("{} < {}", choice_.between(0, 3), a);
    default:
      return fmt::format("{} != {}", a, b);
  }
}

std::string Generator::condition(int depth, const Dims& scope) {
  if (depth > 0 && choice_.chance(25)) {
    const std::string a = condition(depth - 1, scope), b = condition(depth - 1, scope);
    switch (choice_.below(3)) {
      case 0:
        return fmt::format("({}) and ({})", a, b);
      case 1:
        return fmt::format("({}) or ({})", a, b);
      default:
        return fmt::format("not ({})", a);
    }
  }
  switch (choice_.below(5)) {
    case 0:
      return fmt::format("{} < {}", exact_read(Kind::real, scope),
                         choice_.chance(50) ? "0.25" : "0");
    case 1:
      return fmt::format("{} == {}", exact_read(Kind::integer, scope), choice_.between(0, 3));
    case 2:
      return exact_read(Kind::boolean, scope);
    default:
      return scope.empty() ? exact_read(Kind::boolean, scope) : affine_condition(scope);
  }
}

// " | …", or nothing: a condition on the terms of a reduction.
std::string Generator::binder_condition(const Dims& scope, const Dims& reduce) {
  const int kind = choice_.below(100);
  const std::string j = name(choice_.of(reduce));
  if (kind < 50) return "";
  if (kind < 72) return " | " + affine_condition(scope);
  if (kind < 82) return fmt::format(" | {} < {}", j, exact_read(Kind::integer, scope));
  if (kind < 88)
    return fmt::format(" | {} == {}", exact_read(Kind::integer, scope), name(choice_.of(scope)));
  if (kind < 94) return " | " + condition(0, scope);
  return fmt::format(" | {} and {} < {}", affine_condition(scope), exact_read(Kind::real, scope),
                     "0.5");
}

}  // namespace tang::fuzz
