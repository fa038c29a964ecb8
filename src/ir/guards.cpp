#include "ir/guards.h"

#include <algorithm>

namespace tang {

namespace {

// The form difference b - a of two integer operands, if both are forms.
std::optional<Form> difference(Graph& g, ExprId b, ExprId a) {
  const auto x = g.as_form(b, true), y = g.as_form(a, true);
  if (!x || !y) return std::nullopt;
  return *x - *y;
}

// A zero guard's form with its first coefficient positive, so equal conditions are equal guards.
Form positive_lead(const Form& f) {
  const Poly& lead = !f.terms.empty()     ? f.terms[0].coeff
                     : !f.gathers.empty() ? f.gathers[0].coeff
                                          : f.base;
  return !lead.is_zero() && lead.terms()[0].coeff < 0 ? Poly(-1) * f : f;
}

Guard data_guard(Graph& g, ExprId condition, bool negated) {
  Guard guard;
  guard.what = Guard::What::data;
  guard.condition = negated ? g.make(Op::logical_not, condition) : condition;
  return guard;
}

Guard bound_guard(Form f) {
  Guard guard;
  guard.form = std::move(f);
  return guard;
}

// The guard of one comparison, or data.
Guard comparison(Graph& g, ExprId condition, bool negated) {
  const ExprNode n = g.pool[condition];
  const bool integers = n.arity() == 2 && g.pool[n.args[0]].kind != Kind::real &&
                        g.pool[n.args[1]].kind != Kind::real;
  if (!integers) return data_guard(g, condition, negated);
  if (n.op == Op::lt || n.op == Op::le) {
    // a < b is b - a - 1 >= 0; its negation is a - b >= 0. a <= b likewise.
    if (auto d = difference(g, n.args[1], n.args[0])) {
      const int64_t strict = n.op == Op::lt ? 1 : 0;
      return bound_guard(negated ? Poly(-1) * *d + Form(strict - 1) : *d - Form(strict));
    }
  } else if (n.op == Op::eq && !negated) {
    if (auto d = difference(g, n.args[0], n.args[1])) {
      Guard guard;
      guard.what = Guard::What::zero;
      guard.form = positive_lead(*d);
      return guard;
    }
  }
  return data_guard(g, condition, negated);
}

}  // namespace

std::vector<Guard> guards_from(Graph& g, ExprId condition) {
  std::vector<Guard> result;
  struct Item {
    ExprId e;
    bool negated;
  };
  std::vector<Item> stack = {{condition, false}};
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const ExprNode n = g.pool[item.e];
    if (n.op == Op::constant && n.value().as_bool() != item.negated) continue;
    if (n.op == Op::logical_not) {
      stack.push_back({n.args[0], !item.negated});
    } else if (n.op == (item.negated ? Op::logical_or : Op::logical_and)) {
      stack.push_back({n.args[1], item.negated});
      stack.push_back({n.args[0], item.negated});
    } else {
      result.push_back(comparison(g, item.e, item.negated));
    }
  }
  normalise_guards(g, result);
  return result;
}

Sides sides(const Form& form) {
  Sides s;
  const auto put = [&s](const Poly& c, const Form& unit) {
    if (!c.terms().empty() && c.terms()[0].coeff < 0)
      s.left = s.left + (Poly(-1) * c) * unit;
    else
      s.right = s.right + c * unit;
  };
  for (const Form::Term& t : form.terms) put(t.coeff, Form::coordinate(t.dim));
  for (const Form::Gather& t : form.gathers) put(t.coeff, Form::gathered(t.leaf));
  for (const Poly::Term& t : form.base.terms()) {
    Poly p(t.coeff);
    for (ParamId id : t.params) p = p * Poly::param(id);
    put(p, Form(1));
  }
  return s;
}

ExprId condition_of(Graph& g, const Guard& guard) {
  if (guard.what == Guard::What::data) return guard.condition;
  auto [left, right] = sides(guard.form);
  const bool strict = guard.what == Guard::What::bound && left.base.constant_term() >= 1;
  if (strict) left = left - Form(1);
  const ExprId a = g.iota(left), b = g.iota(right);
  if (guard.what == Guard::What::zero) return g.make(Op::eq, b, a);
  return g.make(strict ? Op::lt : Op::le, a, b);
}

ExprId condition_of(Graph& g, const std::vector<Guard>& guards) {
  ExprId all = ExprId::none;
  for (const Guard& guard : guards) {
    const ExprId c = condition_of(g, guard);
    all = all == ExprId::none ? c : g.make(Op::logical_and, all, c);
  }
  return all;
}

std::vector<Guard> inside_bounds(const Graph& g, TensorId t, const std::vector<Form>& forms) {
  std::vector<Guard> result;
  for (size_t axis = 0; axis < forms.size(); ++axis) {
    result.push_back(bound_guard(forms[axis]));
    result.push_back(bound_guard(Form(g[t].shape[axis] - Poly(1)) - forms[axis]));
  }
  normalise_guards(g, result);
  return result;
}

bool proved_nonnegative(const Graph& g, const Form& f) {
  const auto r = range(f, [&g](DimId d) { return g.extent(d); });
  return r && r->lo.proved_nonnegative();
}

void normalise_guards(const Graph& g, std::vector<Guard>& guards) {
  std::erase_if(guards, [&g](const Guard& guard) {
    return (guard.what == Guard::What::bound && proved_nonnegative(g, guard.form)) ||
           (guard.what == Guard::What::zero && guard.form == Form(0));
  });
  std::sort(guards.begin(), guards.end());
  guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
}

}  // namespace tang
