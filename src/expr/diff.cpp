#include "expr/diff.h"

namespace tang {

Differentiator::Differentiator(ExprPool& pool, NodeBuilder make)
    : pool_(pool), make_(std::move(make)) {
  if (!make_) make_ = [&pool](const ExprNode& n) { return rebuild(pool, n); };
}

ExprId diff(ExprPool& pool, ExprId e, uint32_t variable) {
  return Differentiator(pool)(e, variable);
}

ExprId Differentiator::operator()(ExprId e, uint32_t variable) {
  for (ExprId id : pool_.reachable(e)) {
    if (known_.contains({id, variable})) continue;
    const ExprNode n = pool_[id];
    known_[{id, variable}] = derive(n, id, variable);
  }
  return known_.at({e, variable});
}

ExprId Differentiator::op(Op o, ExprId a, ExprId b, ExprId c) {
  ExprNode n;
  n.op = o;
  n.args = {a, b, c};
  return make_(n);
}

ExprId Differentiator::plus(ExprId a, ExprId b) {
  if (zero(a)) return b;
  return zero(b) ? a : op(Op::add, a, b);
}

ExprId Differentiator::minus(ExprId a, ExprId b) {
  if (zero(b)) return a;
  return zero(a) ? op(Op::neg, b) : op(Op::sub, a, b);
}

// A product with a derivative: structural zeros and ones are not multiplied.
ExprId Differentiator::times(ExprId a, ExprId b) {
  if (zero(a) || zero(b)) return num(0);
  if (pool_.is_number(a, 1)) return b;
  return pool_.is_number(b, 1) ? a : op(Op::mul, a, b);
}

ExprId Differentiator::over(ExprId a, ExprId b) {
  if (zero(a)) return a;
  return pool_.is_number(a, 1) ? op(Op::recip, b) : op(Op::quot, a, b);
}

ExprId Differentiator::negated(ExprId a) { return zero(a) ? a : op(Op::neg, a); }

ExprId Differentiator::choose(ExprId condition, ExprId t, ExprId f) {
  return t == f ? t : op(Op::select, condition, t, f);
}

ExprId Differentiator::derive(const ExprNode& n, ExprId id, uint32_t variable) {
  if (n.kind != Kind::real || n.op == Op::constant) return num(0);
  if (n.op == Op::var) return num(n.variable() == variable ? 1 : 0);
  const auto d = [&](size_t k) { return known_.at({n.args[k], variable}); };
  const ExprId a = n.args[0], b = n.args[1];
  if (n.op == Op::select) return choose(a, d(1), d(2));
  const ExprId da = d(0), db = n.arity() > 1 ? d(1) : num(0);
  if (zero(da) && zero(db)) return num(0);
  switch (n.op) {
    case Op::add:
      return plus(da, db);
    case Op::mul:
      return plus(times(a, db), times(b, da));
    case Op::neg:
      return negated(da);
    case Op::recip:
      return negated(times(op(Op::mul, id, id), da));
    case Op::sqrt:
      return over(da, op(Op::mul, num(2), id));
    case Op::sin:
      return times(op(Op::cos, a), da);
    case Op::exp:
      return times(id, da);
    case Op::log:
      return over(da, a);
    case Op::cast:
      return da;
    case Op::atan2: {
      const ExprId norm = op(Op::add, op(Op::mul, b, b), op(Op::mul, a, a));
      return over(minus(times(b, da), times(a, db)), norm);
    }
    case Op::floor:
    case Op::div:
    case Op::mod:
      return num(0);
    default:
      return derive_macro(n, id, da, db);
  }
}

ExprId Differentiator::derive_macro(const ExprNode& n, ExprId id, ExprId da, ExprId db) {
  const ExprId a = n.args[0], b = n.args[1];
  const auto square = [&](ExprId x) { return op(Op::mul, x, x); };
  const auto bell = [&] {  // 2/sqrt(pi) * exp(-a^2)
    return op(Op::mul, num(1.1283791670955126), op(Op::exp, op(Op::neg, square(a))));
  };
  switch (n.op) {
    case Op::sub:
      return minus(da, db);
    case Op::quot:
      return over(minus(da, times(id, db)), b);
    case Op::max:
      return choose(op(Op::lt, a, b), db, da);
    case Op::min:
      return choose(op(Op::lt, b, a), db, da);
    case Op::abs:
      return choose(op(Op::lt, a, num(0)), negated(da), da);
    case Op::relu:
      return choose(op(Op::lt, a, num(0)), num(0), da);
    case Op::cos:
      return negated(times(op(Op::sin, a), da));
    case Op::sigmoid:
      return times(op(Op::mul, id, op(Op::sigmoid, op(Op::neg, a))), da);
    case Op::tanh:
      return times(op(Op::sub, num(1), square(id)), da);
    case Op::log1p:
      return over(da, op(Op::add, num(1), a));
    case Op::softplus:
      return times(op(Op::sigmoid, a), da);
    case Op::erf:
      return times(bell(), da);
    case Op::erfc:
      return negated(times(bell(), da));
    case Op::rsqrt:
      return times(op(Op::mul, num(-0.5), op(Op::mul, id, square(id))), da);
    case Op::pow:
      return derive_power(n, id, da, db);
    case Op::silu: {  // s + a·s·(1 - s)
      const ExprId s = op(Op::sigmoid, a), rest = op(Op::sigmoid, op(Op::neg, a));
      return derive_gated(n, da, op(Op::add, s, op(Op::mul, a, op(Op::mul, s, rest))));
    }
    case Op::gelu: {  // erfc(-a/sqrt 2)/2 + a·exp(-a²/2)/sqrt(2 pi)
      const ExprId tail = op(Op::erfc, op(Op::mul, num(-0.7071067811865476), a));
      const ExprId peak = op(Op::exp, op(Op::mul, num(-0.5), square(a)));
      const ExprId slope = op(Op::add, op(Op::mul, num(0.5), tail),
                              op(Op::mul, op(Op::mul, num(0.3989422804014327), a), peak));
      return derive_gated(n, da, slope);
    }
    case Op::gelu_tanh: {  // s + a·s·(1 - s)·u', s = sigmoid(u)
      const double c = 1.5957691216057308;
      const ExprId cube = op(Op::mul, num(0.044715), op(Op::mul, a, square(a)));
      const ExprId u = op(Op::mul, num(c), op(Op::add, a, cube));
      const ExprId du =
          op(Op::mul, num(c), op(Op::add, num(1), op(Op::mul, num(0.134145), square(a))));
      const ExprId s = op(Op::sigmoid, u), rest = op(Op::sigmoid, op(Op::neg, u));
      const ExprId bend = op(Op::mul, op(Op::mul, a, op(Op::mul, s, rest)), du);
      return derive_gated(n, da, op(Op::add, s, bend));
    }
    default:
      return num(0);
  }
}

// slope·da above -1024, 0 below, as the macro itself is.
ExprId Differentiator::derive_gated(const ExprNode& n, ExprId da, ExprId slope) {
  return choose(op(Op::lt, n.args[0], num(-1024)), num(0), times(slope, da));
}

// n·x^(n-1)·dx for a literal n; x^y·(dy·log x) + y·x^(y-1)·dx otherwise.
ExprId Differentiator::derive_power(const ExprNode& n, ExprId id, ExprId da, ExprId db) {
  const ExprId a = n.args[0], b = n.args[1];
  const ExprNode exponent = pool_[b];
  ExprId slope = ExprId::none;
  if (exponent.op == Op::constant && exponent.kind == Kind::integer) {
    const int64_t k = exponent.value().i;
    if (k == 0) return num(0);
    const ExprId lower = k == 1 ? num(1) : k == 2 ? a : op(Op::pow, a, pool_.integer(k - 1));
    slope = times(num(static_cast<double>(k)), lower);
  } else {
    const ExprId lower = op(Op::pow, a, op(Op::sub, b, num(1)));
    slope = op(Op::mul, b, lower);
  }
  const ExprId by_base = times(slope, da);
  return plus(by_base, zero(db) ? db : times(op(Op::mul, id, op(Op::log, a)), db));
}

}  // namespace tang
