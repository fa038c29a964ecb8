// Definitions of the macros (algebra.md 1.3) over simpler operations. Evaluating the expansion
// gives the bits that `apply` gives.
#include <numbers>

#include "expr/expr.h"

namespace tang {

namespace {

class Expander {
 public:
  Expander(ExprPool& pool, const ExprNode& n) : p(pool), n(n), a(n.args[0]), b(n.args[1]) {}

  ExprId body() {
    switch (n.op) {
      case Op::sub:
        return op(Op::add, a, op(Op::neg, b));
      case Op::quot:
        return op(Op::mul, a, op(Op::recip, b));
      case Op::max:
        return extreme(op(Op::lt, a, b));
      case Op::min:
        return extreme(op(Op::lt, b, a));
      case Op::abs:
        return op(Op::select, negative(a), op(Op::neg, a), a);
      case Op::relu:
        return op(Op::select, negative(a), zero(), a);
      case Op::cos:
        return op(Op::sin, op(Op::add, a, num(std::numbers::pi / 2)));
      case Op::sigmoid:
        return op(Op::recip, op(Op::add, num(1), op(Op::exp, op(Op::neg, a))));
      case Op::tanh:
        return tanh();
      case Op::silu:
        return unless_low(op(Op::mul, a, op(Op::sigmoid, a)));
      case Op::log1p:
        return log1p();
      case Op::softplus:
        return op(Op::add, op(Op::max, a, num(0)),
                  op(Op::log1p, op(Op::exp, op(Op::neg, op(Op::abs, a)))));
      case Op::erf:
        return minus(num(1), op(Op::erfc, a));
      case Op::erfc:
        return erfc();
      case Op::gelu:
        return unless_low(gelu());
      case Op::gelu_tanh:
        return unless_low(op(Op::mul, a, op(Op::sigmoid, gelu_argument())));
      case Op::rsqrt:
        return op(Op::recip, op(Op::sqrt, a));
      case Op::pow:
        return power();
      default:
        return ExprId::none;
    }
  }

 private:
  ExprId op(Op o, ExprId x, ExprId y = ExprId::none, ExprId z = ExprId::none) {
    return p.make(o, x, y, z);
  }
  ExprId num(double x) { return p.real(x); }
  ExprId zero() { return n.kind == Kind::integer ? p.integer(0) : num(0); }
  ExprId minus(ExprId x, ExprId y) { return op(Op::add, x, op(Op::neg, y)); }
  ExprId negative(ExprId x) {
    return op(Op::lt, x, p[x].kind == Kind::real ? num(0) : p.integer(0));
  }
  // 0 below -1024, where the true value is below 1e-441.
  ExprId unless_low(ExprId value) {
    return op(Op::select, op(Op::lt, a, num(-1024)), num(0), value);
  }

  // select(better ? b : a) that passes a NaN of either side on: b < 1 and 0 < b both fail only for
  // NaN.
  ExprId extreme(ExprId better) {
    if (n.kind == Kind::integer) return op(Op::select, better, b, a);
    const ExprId above = op(Op::select, op(Op::lt, num(0), b), a, b);
    return op(Op::select, better, b, op(Op::select, op(Op::lt, b, num(1)), a, above));
  }

  ExprId tanh() {
    const ExprId grown = op(Op::add, op(Op::exp, op(Op::mul, num(2), a)), num(1));
    return minus(num(1), op(Op::mul, num(2), op(Op::recip, grown)));
  }

  ExprId log1p() {
    const ExprId s = op(Op::add, num(1), a), d = minus(s, num(1));
    const ExprId corrected = op(Op::mul, op(Op::mul, op(Op::log, s), a), op(Op::recip, d));
    return op(Op::select, op(Op::lt, num(0), d), corrected, a);
  }

  ExprId gelu() {
    const ExprId tail = op(Op::erfc, op(Op::mul, num(-0.7071067811865476), a));
    return op(Op::mul, op(Op::mul, a, num(0.5)), tail);
  }

  ExprId gelu_argument() {
    const ExprId cube = op(Op::mul, op(Op::mul, real(a), a), a);
    const ExprId inner = op(Op::add, a, op(Op::mul, num(0.044715), cube));
    return op(Op::mul, num(1.5957691216057308), inner);
  }

  // Clenshaw's recurrence in y = 4t - 2, t = 2/(2 + |x|).
  ExprId erfc() {
    const ExprId z = op(Op::select, negative(a), op(Op::neg, a), a);
    const ExprId t = op(Op::mul, num(2), op(Op::recip, op(Op::add, num(2), z)));
    const ExprId y = minus(op(Op::mul, num(4), t), num(2));
    const std::span<const double> c = erfc_coefficients();
    ExprId d = num(0), last = num(0);
    for (size_t j = c.size() - 1; j >= 1; --j) {
      const ExprId next = op(Op::add, minus(op(Op::mul, y, d), last), num(c[j]));
      last = d;
      d = next;
    }
    const ExprId square = op(Op::mul, op(Op::neg, real(z)), z);
    const ExprId half = op(Op::mul, op(Op::add, num(c[0]), op(Op::mul, y, d)), num(0.5));
    const ExprId tail = op(Op::mul, t, op(Op::exp, minus(op(Op::add, square, half), last)));
    return op(Op::select, negative(a), minus(num(2), tail), tail);
  }

  // The same number with real kind, so that its products do not wrap.
  ExprId real(ExprId x) { return p[x].kind == Kind::real ? x : op(Op::mul, x, num(1)); }

  // Repeated squaring for an integer literal, otherwise exp(y·log x).
  ExprId power() {
    const ExprNode exponent = p[b];
    if (exponent.op != Op::constant || exponent.kind != Kind::integer)
      return op(Op::exp, op(Op::mul, b, op(Op::log, a)));
    const int64_t literal = exponent.value().i;
    if (literal == 0) return n.kind == Kind::integer ? p.integer(1) : num(1);
    uint64_t left =
        literal < 0 ? 0 - static_cast<uint64_t>(literal) : static_cast<uint64_t>(literal);
    ExprId base = n.kind == Kind::real ? real(a) : a;
    ExprId result = ExprId::none;
    for (; left != 0; left >>= 1) {
      if (left & 1) result = result == ExprId::none ? base : op(Op::mul, result, base);
      if (left > 1) base = op(Op::mul, base, base);
    }
    if (p[result].kind == Kind::boolean) result = op(Op::mul, result, p.integer(1));
    return literal < 0 ? op(Op::recip, result) : result;
  }

  ExprPool& p;
  const ExprNode n;
  const ExprId a;
  const ExprId b;
};

}  // namespace

std::span<const double> erfc_coefficients() {
  static constexpr double c[28] = {-1.3026537197817094,
                                   6.4196979235649026e-1,
                                   1.9476473204185836e-2,
                                   -9.561514786808631e-3,
                                   -9.46595344482036e-4,
                                   3.66839497852761e-4,
                                   4.2523324806907e-5,
                                   -2.0278578112534e-5,
                                   -1.624290004647e-6,
                                   1.303655835580e-6,
                                   1.5626441722e-8,
                                   -8.5238095915e-8,
                                   6.529054439e-9,
                                   5.059343495e-9,
                                   -9.91364156e-10,
                                   -2.27365122e-10,
                                   9.6467911e-11,
                                   2.394038e-12,
                                   -6.886027e-12,
                                   8.94487e-13,
                                   3.13092e-13,
                                   -1.12708e-13,
                                   3.81e-16,
                                   7.106e-15,
                                   -1.523e-15,
                                   -9.4e-17,
                                   1.21e-16,
                                   -2.8e-17};
  return c;
}

ExprId expand_macro(ExprPool& pool, ExprId id) {
  const ExprNode n = pool[id];
  if (!is_macro(n.op)) return id;
  return Expander(pool, n).body();
}

ExprId expand_macros(ExprPool& pool, ExprId root) {
  for (;;) {
    std::unordered_map<ExprId, ExprId> image;
    for (ExprId id : pool.reachable(root)) {
      ExprNode n = pool[id];
      for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) n.args[k] = image.at(n.args[k]);
      image[id] = n.arity() == 0 ? id : expand_macro(pool, rebuild(pool, n));
    }
    if (image.at(root) == root) return root;
    root = image.at(root);
  }
}

}  // namespace tang
