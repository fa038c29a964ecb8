#include "expr/range.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "expr/apply.h"

namespace tang {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double i64_limit = 9223372036854775808.0;

using Range = ScalarRange;

double below(double x, int steps = 1) {
  for (int k = 0; k < steps; ++k) x = std::nextafter(x, -infinity);
  return x;
}
double above(double x, int steps = 1) {
  for (int k = 0; k < steps; ++k) x = std::nextafter(x, infinity);
  return x;
}

Range widened(Range r, int steps) {
  if (r.empty()) return r;
  return {below(r.lo, steps), above(r.hi, steps), r.minus_infinity, r.plus_infinity, r.undefined};
}

// Cuts the finite part to [lo, hi].
Range within(Range r, double lo, double hi) {
  r.lo = std::max(r.lo, lo);
  r.hi = std::min(r.hi, hi);
  return r;
}

Range joined(const Range& a, const Range& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), a.minus_infinity || b.minus_infinity,
          a.plus_infinity || b.plus_infinity, a.undefined || b.undefined};
}

bool may_be_zero(const Range& r) { return r.lo <= 0 && r.hi >= 0; }
bool may_be_positive(const Range& r) { return r.plus_infinity || (!r.empty() && r.hi > 0); }
bool may_be_negative(const Range& r) { return r.minus_infinity || (!r.empty() && r.lo < 0); }
bool may_be_infinite(const Range& r) { return r.minus_infinity || r.plus_infinity; }

Range negated(const Range& a) {
  return {-a.hi, -a.lo, a.plus_infinity, a.minus_infinity, a.undefined};
}

Range sum(const Range& a, const Range& b) {
  Range r = Range::none();
  if (!a.empty() && !b.empty()) r = widened(Range::between(a.lo + b.lo, a.hi + b.hi), 1);
  r.minus_infinity = a.minus_infinity || b.minus_infinity;
  r.plus_infinity = a.plus_infinity || b.plus_infinity;
  r.undefined = a.undefined || b.undefined || (a.minus_infinity && b.plus_infinity) ||
                (a.plus_infinity && b.minus_infinity);
  return r;
}

// 0 times a bound that is not attained is 0.
double bound_product(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

Range product(const Range& a, const Range& b) {
  Range r = Range::none();
  if (!a.empty() && !b.empty()) {
    const double p[] = {bound_product(a.lo, b.lo), bound_product(a.lo, b.hi),
                        bound_product(a.hi, b.lo), bound_product(a.hi, b.hi)};
    r = widened(Range::between(*std::min_element(p, p + 4), *std::max_element(p, p + 4)), 1);
  }
  const auto infinite = [](const Range& x, const Range& y, bool positive) {
    return (x.plus_infinity && (positive ? may_be_positive(y) : may_be_negative(y))) ||
           (x.minus_infinity && (positive ? may_be_negative(y) : may_be_positive(y)));
  };
  r.plus_infinity = infinite(a, b, true) || infinite(b, a, true);
  r.minus_infinity = infinite(a, b, false) || infinite(b, a, false);
  r.undefined = a.undefined || b.undefined || (may_be_infinite(a) && may_be_zero(b)) ||
                (may_be_infinite(b) && may_be_zero(a));
  return r;
}

Range reciprocal(const Range& a) {
  Range r = Range::none();
  if (may_be_infinite(a)) r = joined(r, Range::exactly(0));
  if (!a.empty()) {
    if (a.hi > 0) r = joined(r, Range::between(1 / a.hi, a.lo > 0 ? 1 / a.lo : infinity));
    if (a.lo < 0) r = joined(r, Range::between(a.hi < 0 ? 1 / a.hi : -infinity, 1 / a.lo));
  }
  r = widened(r, 1);
  r.undefined = a.undefined || may_be_zero(a);
  return r;
}

Range square_root(const Range& a) {
  Range r = Range::none();
  if (!a.empty() && a.hi >= 0)
    r = widened(Range::between(std::sqrt(std::max(a.lo, 0.0)), std::sqrt(a.hi)), 1);
  r.plus_infinity = a.plus_infinity;
  r.undefined = a.undefined || may_be_negative(a);
  return r;
}

Range exponential(const Range& a) {
  Range r = Range::none();
  if (!a.empty()) r = widened(Range::between(std::exp(a.lo), std::exp(a.hi)), 2);
  if (a.minus_infinity) r = joined(r, Range::exactly(0));
  r = within(r, 0, infinity);
  r.plus_infinity = a.plus_infinity;
  r.undefined = a.undefined;
  return r;
}

Range logarithm(const Range& a) {
  Range r = Range::none();
  if (!a.empty() && a.hi > 0)
    r = widened(Range::between(std::log(std::max(a.lo, 0.0)), std::log(a.hi)), 2);
  r.minus_infinity = may_be_zero(a);
  r.plus_infinity = a.plus_infinity;
  r.undefined = a.undefined || may_be_negative(a);
  return r;
}

Range sine(const Range& a) {
  Range r = Range::between(-1, 1);
  r.undefined = a.undefined || may_be_infinite(a);
  return r;
}

// A non-decreasing function that is finite at -inf and +inf.
Range bounded_monotone(Op op, const Range& a) {
  const auto f = [op](double x) {
    return apply(op, Format::f64, Value::real(x), {}, {}, Kind::real).r;
  };
  // Values of erf and tanh are accurate to a few units of 1, not of themselves.
  Range r = Range::between(f(a.lowest()) - 1e-12, f(a.highest()) + 1e-12);
  r.undefined = a.undefined;
  return within(r, op == Op::sigmoid ? 0 : -1, 1);
}

// softplus, log1p: non-decreasing, +inf at +inf.
Range softplus(Op op, const Range& a) {
  const auto f = [op](double x) {
    return apply(op, Format::f64, Value::real(x), {}, {}, Kind::real).r;
  };
  Range r = Range::none();
  if (!a.empty()) r = widened(Range::between(f(a.lo), a.hi == infinity ? infinity : f(a.hi)), 8);
  if (op == Op::softplus && a.minus_infinity) r = joined(r, Range::exactly(0));
  if (op == Op::softplus) r = within(r, 0, infinity);
  r.plus_infinity = a.plus_infinity;
  r.undefined = a.undefined || (op == Op::log1p && may_be_negative(a));
  return r;
}

// silu, gelu, gelu_tanh: a dip of at most `dip` below 0, at most max(x, 0) above.
Range gated(const Range& a, double dip) {
  Range r = Range::between(may_be_negative(a) ? -dip : 0, a.empty() ? 0 : std::max(a.hi, 0.0));
  r = widened(r, 8);
  r.plus_infinity = a.plus_infinity;
  r.undefined = a.undefined;
  return r;
}

Range larger(const Range& a, const Range& b) {
  Range r = Range::none();
  const double lo = std::max(a.lowest(), b.lowest());
  const double hi = std::max(a.empty() ? -infinity : a.hi, b.empty() ? -infinity : b.hi);
  if (!a.empty() || !b.empty()) r = Range::between(lo, hi);
  r.minus_infinity = a.minus_infinity && b.minus_infinity;
  r.plus_infinity = a.plus_infinity || b.plus_infinity;
  r.undefined = a.undefined || b.undefined;
  return r;
}

Range magnitude(const Range& a) {
  Range r = Range::none();
  if (!a.empty())
    r = Range::between(may_be_zero(a) ? 0 : std::min(std::abs(a.lo), std::abs(a.hi)),
                       std::max(std::abs(a.lo), std::abs(a.hi)));
  r.plus_infinity = may_be_infinite(a);
  r.undefined = a.undefined;
  return r;
}

Range floored(const Range& a) {
  Range r = a;
  if (!a.empty()) r.lo = std::floor(a.lo), r.hi = std::floor(a.hi);
  return r;
}

// Floor division and its remainder by a divisor of one sign; anything otherwise.
Range divided(const ExprNode& n, const Range& a, const Range& b) {
  const bool integer = n.kind == Kind::integer;
  if (!integer && may_be_zero(b)) return {-infinity, infinity, true, true, true};
  if (n.op == Op::div && !may_be_zero(b)) return floored(product(a, reciprocal(b)));
  if (n.op == Op::mod && b.lo > 0 && b.finite() && (integer || a.finite())) {
    const double reach = std::max(std::abs(a.lo), std::abs(a.hi));
    const double slack = integer ? 0 : 4 * (above(reach) - reach) + 4 * (above(b.hi) - b.hi);
    if (std::isfinite(reach) || integer) return Range::between(-slack, b.hi + slack);
  }
  return integer ? Range::between(-i64_limit, i64_limit)
                 : Range{-infinity, infinity, true, true, true};
}

Range converted(const ExprNode& n, const Range& a) {
  if (kind(n.format) == Kind::boolean) return Range::between(0, 1);
  Range r = Range::none();
  if (!a.empty()) r = Range::between(round_to(n.format, a.lo), round_to(n.format, a.hi));
  if (kind(n.format) == Kind::real) {
    r.minus_infinity = a.minus_infinity || (r.lo == -infinity && a.lo != -infinity);
    r.plus_infinity = a.plus_infinity || (r.hi == infinity && a.hi != infinity);
    r.undefined = a.undefined;
    return r;
  }
  if (a.minus_infinity) r = joined(r, Range::exactly(static_cast<double>(integer_min(n.format))));
  if (a.plus_infinity) r = joined(r, Range::exactly(static_cast<double>(integer_max(n.format))));
  return a.undefined ? joined(r, Range::exactly(0)) : r;
}

Range decided(bool can_be_false, bool can_be_true, bool undefined) {
  Range r = Range::between(can_be_false ? 0 : 1, can_be_true ? 1 : 0);
  r.undefined = undefined;
  return r;
}

// True if every value of a is below every value of b. Equal infinite bounds count when one of them
// is no value.
bool always_less(const Range& a, const Range& b) {
  const double hi = a.highest(), lo = b.lowest();
  if (hi < lo) return true;
  if (hi != lo || !std::isinf(hi)) return false;
  return hi < 0 ? !b.minus_infinity : !a.plus_infinity;
}

Range comparison(const ExprNode& n, const Range& a, const Range& b) {
  const bool undefined = a.undefined || b.undefined;
  const bool above_all = a.lowest() >= b.highest();
  switch (n.op) {
    case Op::lt:
      return decided(!always_less(a, b) || undefined, !above_all, undefined);
    case Op::le: {
      const bool always = a.highest() <= b.lowest();
      return decided(!always || undefined, !always_less(b, a), undefined);
    }
    default: {
      const bool apart = always_less(a, b) || always_less(b, a);
      const bool same = a.lowest() == a.highest() && b.lowest() == b.highest() &&
                        a.lowest() == b.lowest() && !undefined;
      return decided(!same, !apart, undefined);
    }
  }
}

Range logical(const ExprNode& n, const Range& a, const Range& b) {
  const bool undefined = a.undefined || (n.arity() > 1 && b.undefined);
  if (n.op == Op::logical_not) return decided(a.hi > 0, a.lo < 1, undefined);
  if (n.op == Op::logical_and) return decided(a.lo < 1 || b.lo<1, a.hi> 0 && b.hi > 0, undefined);
  return decided(a.lo < 1 && b.lo<1, a.hi> 0 || b.hi > 0, undefined);
}

// Integer arithmetic wraps beyond 64 bits.
Range wrapped(const ExprNode& n, Range r) {
  if (n.kind != Kind::integer || r.empty()) return r;
  if (r.lo <= -i64_limit || r.hi >= i64_limit) return Range::between(-i64_limit, i64_limit);
  return r;
}

class Analysis {
 public:
  Analysis(ExprPool& pool, const std::function<Range(uint32_t)>& variable)
      : pool_(pool), variable_(variable) {}

  // Expansions are analysed by the same loop: a definition is at most three macros deep.
  Range of(ExprId root) {
    for (ExprId id : pool_.reachable(root))
      if (!known_.contains(id)) {
        const ExprNode n = pool_[id];
        const Range r = wrapped(n, transfer(n, id));
        known_[id] = r;
      }
    return known_.at(root);
  }

 private:
  Range transfer(const ExprNode& n, ExprId id) {
    if (n.op == Op::constant) return Range::exactly(n.value().as_real());
    if (n.op == Op::var) return variable_(n.variable());
    const Range a = known_.at(n.args[0]);
    const Range b = n.arity() > 1 ? known_.at(n.args[1]) : Range{};
    switch (n.op) {
      case Op::add:
        return sum(a, b);
      case Op::sub:
        return sum(a, negated(b));
      case Op::mul:
        return n.args[0] == n.args[1] ? within(product(a, b), 0, infinity) : product(a, b);
      case Op::neg:
        return negated(a);
      case Op::recip:
        return reciprocal(a);
      case Op::sqrt:
        return square_root(a);
      case Op::sin:
      case Op::cos:
        return sine(a);
      case Op::atan2:
        return angle(a, b);
      case Op::exp:
        return exponential(a);
      case Op::log:
        return logarithm(a);
      case Op::floor:
        return floored(a);
      case Op::div:
      case Op::mod:
        return divided(n, a, b);
      case Op::cast:
        return converted(n, a);
      case Op::select:
        return selected(a, b, known_.at(n.args[2]));
      case Op::lt:
      case Op::le:
      case Op::eq:
        return comparison(n, a, b);
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_not:
        return logical(n, a, b);
      case Op::max:
        return larger(a, b);
      case Op::min:
        return negated(larger(negated(a), negated(b)));
      case Op::abs:
        return magnitude(a);
      case Op::relu:
        return larger(a, Range::exactly(0));
      case Op::sigmoid:
      case Op::tanh:
      case Op::erf:
        return bounded_monotone(n.op, a);
      case Op::erfc:
        return within(widened(sum(Range::exactly(1), negated(bounded_monotone(Op::erf, a))), 1), 0,
                      2);
      case Op::softplus:
      case Op::log1p:
        return softplus(n.op, a);
      case Op::silu:
        return gated(a, 0.2785);
      case Op::gelu:
        return gated(a, 0.17);
      case Op::gelu_tanh:
        return gated(a, 0.171);
      default:
        return of(expand_macro(pool_, id));
    }
  }

  static Range angle(const Range& a, const Range& b) {
    Range r = Range::between(below(-std::numbers::pi), above(std::numbers::pi));
    r.undefined = a.undefined || b.undefined;
    return r;
  }

  static Range selected(const Range& c, const Range& t, const Range& f) {
    Range r = c.lo > 0 ? t : c.hi < 1 ? f : joined(t, f);
    r.undefined = r.undefined || c.undefined;
    return r;
  }

  ExprPool& pool_;
  const std::function<Range(uint32_t)>& variable_;
  std::unordered_map<ExprId, Range> known_;
};

}  // namespace

ScalarRange ScalarRange::none() { return {infinity, -infinity}; }

ScalarRange ScalarRange::mask() {
  ScalarRange r;
  r.minus_infinity = true;
  return r;
}

ScalarRange ScalarRange::exactly(double x) {
  ScalarRange r = none();
  if (std::isnan(x))
    r.undefined = true;
  else if (std::isinf(x))
    (x < 0 ? r.minus_infinity : r.plus_infinity) = true;
  else
    r.lo = r.hi = x;
  return r;
}

bool ScalarRange::contains(double x) const {
  if (std::isnan(x)) return undefined;
  if (std::isinf(x)) return x < 0 ? minus_infinity : plus_infinity;
  return lo <= x && x <= hi;
}

double ScalarRange::lowest() const {
  if (minus_infinity) return -infinity;
  return empty() ? infinity : lo;
}

double ScalarRange::highest() const {
  if (plus_infinity) return infinity;
  return empty() ? -infinity : hi;
}

ScalarRange scalar_range(ExprPool& pool, ExprId e,
                         const std::function<ScalarRange(uint32_t variable)>& variable) {
  return Analysis(pool, variable).of(e);
}

}  // namespace tang
