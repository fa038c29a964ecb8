// Laws 1 to 5 of algebra.md 10.1 on scalars.
#include <gtest/gtest.h>

#include "expr/canon.h"
#include "expr/diff.h"
#include "expr/range.h"
#include "expr/simplify.h"
#include "expr/trace.h"
#include "generator.h"

namespace tang::law {
namespace {

std::vector<double> wild_point(std::mt19937_64& random) {
  return {wild_value(random), wild_value(random), wild_value(random)};
}

// Every intermediate value, so that "defined and finite" can be asked of all of them.
bool defined_everywhere(const ExprPool& p, ExprId e, const std::vector<double>& x) {
  for (ExprId id : p.reachable(e))
    if (p[id].kind == Kind::real && p[id].op != Op::constant &&
        !std::isfinite(evaluate_at(p, id, x)))
      return false;
  return true;
}

bool well_conditioned(const ExprPool& p, ExprId e, const std::vector<double>& x) {
  for (ExprId id : p.reachable(e)) {
    if (p[id].kind == Kind::boolean || p[id].op == Op::floor || p[id].op == Op::cast) return false;
    const double v = std::abs(evaluate_at(p, id, x));
    if (v < 1e-2 || v > 1e2) return false;
  }
  return true;
}

// Law 1: simplify keeps the value where it is defined and finite, bitwise under --math ieee.
RC_GTEST_PROP(Simplify, KeepsTheValue, (uint64_t seed)) {
  ExprPool p;
  ExprGenerator make(p, seed);
  const ExprId e = make.real(6);
  const ExprId exact = simplify(p, e, MathMode::ieee), loose = simplify(p, e, MathMode::real);
  for (int k = 0; k < 8; ++k) {
    const std::vector<double> x = wild_point(make.engine());
    const double want = evaluate_at(p, e, x);
    const double same = evaluate_at(p, exact, x);
    RC_ASSERT(same_bits(Value::real(want), Value::real(same)));
    if (!defined_everywhere(p, e, x)) continue;
    const double got = evaluate_at(p, loose, x);
    RC_ASSERT(std::isfinite(got));
    // D rules drop roundings, which a jump or an ill-conditioned step would magnify.
    if (well_conditioned(p, e, x)) RC_ASSERT(std::abs(got - want) <= 1e-6 * std::abs(want));
  }
}

RC_GTEST_PROP(Simplify, IsIdempotent, (uint64_t seed)) {
  for (MathMode mode : {MathMode::ieee, MathMode::real}) {
    ExprPool p;
    const ExprId once = simplify(p, ExprGenerator(p, seed).real(6), mode);
    RC_ASSERT(simplify(p, once, mode) == once);
  }
}

// Each rule alone, on random operands, in its class. Left sides are built from the rule's own
// operation over operands that make it fire.
class RuleOperands {
 public:
  RuleOperands(ExprPool& pool, uint64_t seed) : p(pool), random(seed ^ 0x5bd1e995) {}

  ExprId operand(const ScalarRule& rule, size_t k, std::optional<ExprId> same) {
    const bool condition = info(rule.op).rule == KindRule::boolean
                               ? rule.op != Op::lt && rule.op != Op::le && rule.op != Op::eq
                               : rule.op == Op::select && k == 0;
    if (condition) return boolean();
    if (rule.op == Op::pow && k == 1) return p.integer(static_cast<int64_t>(random() % 4) - 1);
    if (same && random() % 4 == 0) return *same;
    return real();
  }

 private:
  ExprId boolean() {
    switch (random() % 4) {
      case 0:
        return p.boolean(random() % 2);
      case 1:
        return p.make(Op::logical_not, p.make(Op::lt, p.var(0, Kind::real), p.var(1, Kind::real)));
      default:
        return p.make(Op::lt, p.var(0, Kind::real), p.var(1, Kind::real));
    }
  }

  ExprId real() {
    static constexpr double numbers[] = {0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -infinity, infinity};
    static constexpr Op unary[] = {Op::neg, Op::recip, Op::sqrt, Op::exp,
                                   Op::log, Op::abs,   Op::relu};
    const ExprId x = p.var(static_cast<uint32_t>(random() % 3), Kind::real);
    const ExprId y = p.var(static_cast<uint32_t>(random() % 3), Kind::real);
    switch (random() % 9) {
      case 0:
      case 1:
        return p.real(numbers[random() % std::size(numbers)]);
      case 2:
        return p.make(unary[random() % std::size(unary)], x);
      case 3:
        return p.make(Op::mul, x, x);
      case 4:
        return p.make(Op::sub, x, y);
      case 5:
        return p.make(Op::mul, x, p.real(numbers[2 + random() % 4]));
      case 6:
        return p.make(Op::select, p.make(Op::lt, p.var(0, Kind::real), p.var(1, Kind::real)), x, y);
      case 7:
        return p.cast(random() % 2 ? Format::f16 : Format::f32, x);
      default:
        return x;
    }
  }

  ExprPool& p;
  std::mt19937_64 random;
};

std::optional<ExprId> left_side(ExprPool& p, const ScalarRule& rule, uint64_t seed) {
  RuleOperands operands(p, seed);
  ExprNode n;
  n.op = rule.op;
  std::optional<ExprId> first;
  for (size_t k = 0; k < static_cast<size_t>(info(rule.op).arity); ++k) {
    n.args[k] = operands.operand(rule, k, first);
    first = rule.op == Op::select && k == 0 ? std::nullopt : std::optional(n.args[k]);
  }
  if (rule.op == Op::cast)
    n.format = seed % 3 == 0 ? Format::f64 : seed % 3 == 1 ? Format::f16 : Format::f32;
  return rebuild(p, n);
}

bool agrees(RuleClass c, double l, double r) {
  if (c == RuleClass::exact) return same_bits(Value::real(l), Value::real(r));
  if (c == RuleClass::zero_sign) return same_bits(Value::real(l + 0.0), Value::real(r + 0.0));
  // Cancellation: a NaN, an infinity or a value that lost its digits may become the exact one.
  if (!std::isfinite(l) || l == 0) return true;
  const double scale = std::max(std::abs(l), std::abs(r));
  return std::abs(l - r) <= 1e-9 * scale;
}

TEST(Rules, EachHoldsAlone) {
  for (const ScalarRule& rule : scalar_rules()) {
    int fired = 0;
    for (uint64_t seed = 0; seed < 6000 && fired < 60; ++seed) {
      ExprPool p;
      const ExprId left = *left_side(p, rule, seed);
      const NodeBuilder build = [&p](const ExprNode& n) { return rebuild(p, n); };
      const ExprNode n = p[left];
      if (n.op != rule.op) continue;
      const ExprId right = rule.apply(p, n, build);
      if (right == ExprId::none || right == left) continue;
      ++fired;
      EXPECT_EQ(p[right].kind, p[left].kind) << rule.name;
      EXPECT_LE(cost(p, right), cost(p, left)) << rule.name;
      std::mt19937_64 random(seed);
      for (int k = 0; k < 12; ++k) {
        std::vector<double> x = wild_point(random);
        if (rule.rule_class == RuleClass::cancel)  // where roundings do not hide the equation
          for (double& v : x) v = std::clamp(v, -20.0, 20.0);
        const double l = evaluate_at(p, left, x), r = evaluate_at(p, right, x);
        EXPECT_TRUE(agrees(rule.rule_class, l, r))
            << rule.name << " (" << rule.equation << "): " << l << " became " << r << " at " << x[0]
            << " " << x[1] << " " << x[2] << " seed " << seed;
      }
    }
    EXPECT_GE(fired, 10) << rule.name << " did not fire";
  }
}

// Law 2 for keys: canon does not see associativity, commutativity or the order of building.
RC_GTEST_PROP(Canon, IgnoresOrder, (uint64_t seed)) {
  ExprPool p;
  Canon canon(p);
  std::mt19937_64 random(seed);
  std::vector<ExprId> terms;
  for (int k = 0; k < 5; ++k) {
    const ExprId a = p.var(static_cast<uint32_t>(random() % 3), Kind::real);
    const ExprId b = p.make(random() % 2 ? Op::exp : Op::sin,
                            p.var(static_cast<uint32_t>(random() % 3), Kind::real));
    terms.push_back(random() % 2 ? p.make(Op::mul, a, b) : b);
  }
  const auto fold = [&](Op op) {
    std::shuffle(terms.begin(), terms.end(), random);
    std::vector<ExprId> work = terms;
    while (work.size() > 1) {  // a random tree
      const size_t at = random() % (work.size() - 1);
      work[at] = p.make(op, work[at], work[at + 1]);
      work.erase(work.begin() + static_cast<long>(at) + 1);
    }
    return work[0];
  };
  RC_ASSERT(canon.key(fold(Op::add)) == canon.key(fold(Op::add)));
  RC_ASSERT(canon.key(fold(Op::mul)) == canon.key(fold(Op::mul)));
}

RC_GTEST_PROP(Canon, KeyIsAFixedPoint, (uint64_t seed)) {
  ExprPool p;
  Canon canon(p);
  const ExprId key = canon.key(ExprGenerator(p, seed).real(5));
  RC_ASSERT(canon.key(key) == key);
}

RC_GTEST_PROP(Canon, KeepsTheValue, (uint64_t seed)) {
  ExprPool p;
  Canon canon(p);
  ExprGenerator make(p, seed, 3, true);
  const ExprId e = make.real(4), key = canon.key(e);
  for (int k = 0; k < 4; ++k) {
    std::vector<double> x(3);
    for (double& v : x) v = std::uniform_real_distribution<double>(0.3, 1.7)(make.engine());
    if (!defined_everywhere(p, e, x)) continue;
    double scale = 1;
    for (ExprId id : p.reachable(e))
      if (p[id].kind == Kind::real) scale = std::max(scale, std::abs(evaluate_at(p, id, x)));
    if (scale > 1e3) continue;
    for (ExprId id : p.reachable(e))  // 1/small would magnify roundings
      if (p[id].kind == Kind::real && std::abs(evaluate_at(p, id, x)) < 1e-3) scale = 1e9;
    for (ExprId id : p.reachable(key))
      if (p[id].kind == Kind::real && std::abs(evaluate_at(p, id, x)) > 1e6) scale = 1e9;
    if (scale > 1e3) continue;
    RC_ASSERT(std::abs(evaluate_at(p, key, x) - evaluate_at(p, e, x)) <= 1e-7 * scale);
  }
}

// sqrt has no derivative at 0, nor atan2 at the origin.
bool at_domain_edge(const ExprPool& p, ExprId e, const std::vector<double>& x) {
  const auto is_zero = [&](ExprId id) { return evaluate_at(p, id, x) == 0; };
  const std::vector<ExprId> nodes = p.reachable(e);
  return std::any_of(nodes.begin(), nodes.end(), [&](ExprId id) {
    const ExprNode& n = p[id];
    return (n.op == Op::sqrt && is_zero(id)) ||
           (n.op == Op::atan2 && is_zero(n.args[0]) && is_zero(n.args[1]));
  });
}

// Law 3: the derivative is the limit of differences, away from kinks. Both step sizes must agree
// with each other before they are taken as the truth.
RC_GTEST_PROP(Diff, IsTheCentralDifference, (uint64_t seed)) {
  ExprPool p;
  ExprGenerator make(p, seed, 3, true);
  const ExprId e = make.real(5);
  for (uint32_t v = 0; v < 3; ++v) {
    const ExprId d = diff(p, e, v);
    std::vector<double> x(3);
    for (double& c : x) c = std::uniform_real_distribution<double>(0.4, 1.6)(make.engine());
    const auto difference = [&](double h) {
      std::vector<double> up = x, down = x;
      up[v] += h;
      down[v] -= h;
      return (evaluate_at(p, e, up) - evaluate_at(p, e, down)) / (2 * h);
    };
    const double coarse = difference(2e-4), fine = difference(1e-4);
    const double want = (4 * fine - coarse) / 3, got = evaluate_at(p, d, x);
    const double scale = std::max({1.0, std::abs(want), std::abs(evaluate_at(p, e, x))});
    if (at_domain_edge(p, e, x)) continue;
    if (!std::isfinite(want) || std::abs(coarse - fine) > 1e-6 * scale || scale > 1e4) continue;
    RC_ASSERT(std::abs(got - want) <= 1e-5 * scale);
  }
}

RC_GTEST_PROP(Diff, OfMacrosEqualsThatOfTheirDefinitions, (uint64_t seed)) {
  ExprPool p;
  ExprGenerator make(p, seed, 2, true);
  const ExprId x = p.var(0, Kind::real), y = p.var(1, Kind::real);
  for (int k = 0; k <= static_cast<int>(Op::pow); ++k) {
    const Op op = static_cast<Op>(k);
    if (!is_macro(op)) continue;
    const ExprId e = info(op).arity == 1 ? p.make(op, x) : p.make(op, x, y);
    const ExprId own = diff(p, e, 0), defined = diff(p, expand_macros(p, e), 0);
    const std::vector<double> at = {std::uniform_real_distribution<double>(0.05, 4)(make.engine()),
                                    std::uniform_real_distribution<double>(0.1, 3)(make.engine())};
    const double a = evaluate_at(p, own, at), b = evaluate_at(p, defined, at);
    RC_ASSERT(std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)));
  }
}

// Law 4: a traced lambda evaluates to the bits of the lambda on the interpreter's numbers.
template <class F>
void trace_equals_call(const char* name, F f) {
  rc::check(name, [f](uint64_t seed) {
    ExprPool p;
    Tracer t(p);
    const ExprId e = trace(t, f, p.var(0, Kind::real), p.var(1, Kind::real));
    std::mt19937_64 random(seed);
    const std::vector<double> x = {wild_value(random), wild_value(random)};
    const double direct = Number(f(Number(x[0]), Number(x[1]))).value().as_real();
    RC_ASSERT(same_bits(Value::real(evaluate_at(p, e, x)), Value::real(direct)));
  });
}

TEST(Trace, EqualsTheDirectCall) {
  trace_equals_call("arithmetic", [](auto a, auto b) { return a * b + a / b - -a * 0.125; });
  trace_equals_call("softmax weight", [](auto a, auto b) {
    return tang::exp(a - tang::select(b > -infinity, b, 0.0));
  });
  trace_equals_call("activations", [](auto a, auto b) {
    return tang::gelu(a) + tang::silu(b) * tang::softplus(a) - tang::tanh(b) + tang::erf(a);
  });
  trace_equals_call("extremes", [](auto a, auto b) {
    return tang::select(a <= b, tang::max(a, tang::min(b, 1.0)), tang::abs(a) + tang::relu(b));
  });
  trace_equals_call("powers", [](auto a, auto b) {
    return tang::pow(a, 3) + tang::pow(b, -2) + tang::sqrt(tang::abs(a)) * tang::rsqrt(b);
  });
  trace_equals_call("loops", [](auto a, auto b) {
    auto total = a * 0.0;
    for (int k = 1; k < 6; ++k) total = total + tang::sin(a * k) * tang::cos(b / k);
    return total;
  });
}

// Law 5: values lie in the range, and infinities and NaNs are flagged.
RC_GTEST_PROP(Range, IsSound, (uint64_t seed)) {
  ExprPool p;
  ExprGenerator make(p, seed);
  const ExprId e = make.real(6);
  std::vector<ScalarRange> inputs;
  for (int k = 0; k < 3; ++k) {
    const double a = std::normal_distribution<double>(0, 3)(make.engine());
    const double b = std::normal_distribution<double>(0, 3)(make.engine());
    inputs.push_back(ScalarRange::between(std::min(a, b), std::max(a, b)));
    inputs.back().minus_infinity = make.engine()() % 4 == 0;
  }
  const ScalarRange r = scalar_range(p, e, [&](uint32_t v) { return inputs[v]; });
  for (int k = 0; k < 12; ++k) {
    std::vector<double> x;
    for (const ScalarRange& in : inputs)
      x.push_back(in.minus_infinity && make.engine()() % 3 == 0
                      ? -infinity
                      : std::uniform_real_distribution<double>(
                            in.lo, std::nextafter(in.hi, infinity))(make.engine()));
    const double v = evaluate_at(p, e, x);
    if (r.undefined) continue;
    // A finite value beyond the largest double evaluates to an infinity.
    bool overflow = false;
    for (ExprId id : p.reachable(e))
      overflow |= p[id].kind == Kind::real && std::abs(evaluate_at(p, id, x)) > 1e290;
    if (overflow) continue;
    RC_ASSERT(r.contains(v));
  }
}

}  // namespace
}  // namespace tang::law
