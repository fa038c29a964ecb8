#include "expr/canon.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tang {

namespace {

void normalise(CanonSum& s) {
  std::sort(s.begin(), s.end(),
            [](const CanonTerm& a, const CanonTerm& b) { return a.factors < b.factors; });
  CanonSum merged;
  for (CanonTerm& t : s) {
    if (!merged.empty() && merged.back().factors == t.factors)
      merged.back().coeff += t.coeff;
    else
      merged.push_back(std::move(t));
  }
  std::erase_if(merged, [](const CanonTerm& t) { return t.coeff == 0; });
  s = std::move(merged);
}

CanonSum number(double c) { return c == 0 ? CanonSum{} : CanonSum{{{}, c}}; }

}  // namespace

CanonSum Canon::scaled(const CanonSum& s, double c) {
  CanonSum r = s;
  for (CanonTerm& t : r) t.coeff *= c;
  if (c == 0) r.clear();
  return r;
}

CanonSum Canon::added(const CanonSum& a, const CanonSum& b) {
  CanonSum r = a;
  r.insert(r.end(), b.begin(), b.end());
  normalise(r);
  return r;
}

CanonSum Canon::atom(ExprId a) { return {{{{a, 1}}, 1.0}}; }

// The product of two monomials; at most one exponential remains, with the summed argument.
CanonTerm Canon::merge(const CanonTerm& a, const CanonTerm& b) {
  std::map<ExprId, int> powers;
  CanonSum exponent;
  const auto put = [&](const CanonTerm& t) {
    for (const auto& [atom, n] : t.factors) {
      if (pool_[atom].op == Op::exp)
        exponent = added(exponent, scaled(sum(pool_[atom].args[0]), n));
      else
        powers[atom] += n;
    }
  };
  put(a);
  put(b);
  CanonTerm r;
  r.coeff = a.coeff * b.coeff;
  if (!exponent.empty()) powers[pool_.make(Op::exp, build(exponent))] += 1;
  for (const auto& [atom, n] : powers)
    if (n != 0) r.factors.emplace_back(atom, n);
  return r;
}

std::optional<CanonSum> Canon::multiplied(const CanonSum& a, const CanonSum& b) {
  if (a.size() * b.size() > max_terms) return std::nullopt;
  CanonSum r;
  for (const CanonTerm& x : a)
    for (const CanonTerm& y : b) r.push_back(merge(x, y));
  normalise(r);
  return r;
}

CanonSum Canon::product(ExprId a, ExprId b) {
  if (const auto r = multiplied(sum(a), sum(b))) return *r;
  return atom(pool_.make(Op::mul, key(a), key(b)));
}

CanonSum Canon::reciprocal(ExprId a) {
  const CanonSum& s = sum(a);
  if (s.size() != 1) return atom(pool_.make(Op::recip, key(a)));
  CanonTerm t{{}, 1 / s[0].coeff};
  CanonTerm weight{{}, 1};  // recip(exp a) is exp(-a)
  for (const auto& [factor, n] : s[0].factors) {
    if (pool_[factor].op == Op::exp)
      weight = exponential(scaled(sum(pool_[factor].args[0]), -n))[0];
    else
      t.factors.emplace_back(factor, -n);
  }
  return {merge(t, weight)};
}

CanonSum Canon::exponential(const CanonSum& argument) {
  if (argument.empty()) return number(1);
  return atom(pool_.make(Op::exp, build(argument)));
}

CanonSum Canon::selection(const ExprNode& n) {
  const ExprId c = key(n.args[0]);
  // select(c ? R·exp a : 0) = R·exp(select(c ? a : -inf)), and the mirrored form.
  for (const bool first : {true, false}) {
    const CanonSum& live = sum(n.args[first ? 1 : 2]);
    const CanonSum& dead = sum(n.args[first ? 2 : 1]);
    if (!dead.empty() || live.size() != 1) continue;
    CanonTerm t = live[0];
    const auto e = std::find_if(t.factors.begin(), t.factors.end(),
                                [&](const auto& f) { return pool_[f.first].op == Op::exp; });
    if (e == t.factors.end()) continue;
    const ExprId argument = pool_[e->first].args[0];
    const ExprId closed = pool_.real(-std::numeric_limits<double>::infinity());
    const ExprId masked = first ? pool_.make(Op::select, c, argument, closed)
                                : pool_.make(Op::select, c, closed, argument);
    t.factors.erase(e);
    return {merge(t, exponential(sum(masked))[0])};
  }
  return atom(pool_.make(Op::select, c, key(n.args[1]), key(n.args[2])));
}

// x^n for a literal integer n: of a monomial, or of a sum for small n > 0; nullopt otherwise.
std::optional<CanonSum> Canon::literal_power(const ExprNode& n) {
  const ExprNode exponent = pool_[n.args[1]];
  if (exponent.op != Op::constant || exponent.kind != Kind::integer) return std::nullopt;
  const int64_t times = exponent.value().i;
  if (times < -16 || times > 16) return std::nullopt;
  const CanonSum base = sum(n.args[0]);
  if (base.size() != 1 && (times < 1 || times > 4)) return std::nullopt;
  const CanonSum unit = times < 0 ? reciprocal(n.args[0]) : base;
  std::optional<CanonSum> result = number(1);
  for (int64_t k = 0; result && k < std::abs(times); ++k) result = multiplied(*result, unit);
  return result;
}

CanonSum Canon::compute(ExprId e) {
  const ExprNode n = pool_[e];
  switch (n.op) {
    case Op::constant: {
      const double x = n.value().as_real();
      return n.kind == Kind::boolean || !std::isfinite(x) ? atom(e) : number(x);
    }
    case Op::var:
      return atom(e);
    case Op::add:
      return added(sum(n.args[0]), sum(n.args[1]));
    case Op::sub:
      return added(sum(n.args[0]), scaled(sum(n.args[1]), -1));
    case Op::neg:
      return scaled(sum(n.args[0]), -1);
    case Op::mul:
      return product(n.args[0], n.args[1]);
    case Op::recip:
      return reciprocal(n.args[0]);
    case Op::quot:
      return product(n.args[0], pool_.make(Op::recip, n.args[1]));
    case Op::exp:
      return exponential(sum(n.args[0]));
    case Op::select:
      return selection(n);
    case Op::rsqrt:
      return sum(pool_.make(Op::recip, pool_.make(Op::sqrt, n.args[0])));
    case Op::pow:
      if (const auto power = literal_power(n)) return *power;
      break;
    case Op::cast:
      if (n.kind == Kind::real) return sum(n.args[0]);
      return atom(pool_.cast(n.format, key(n.args[0])));
    default:
      break;
  }
  std::array<ExprId, 3> k = {ExprId::none, ExprId::none, ExprId::none};
  for (size_t i = 0; i < static_cast<size_t>(n.arity()); ++i) k[i] = key(n.args[i]);
  if (n.op == Op::pow && pool_.is_constant(n.args[1])) k[1] = n.args[1];  // a literal exponent
  return atom(pool_.make(n.op, k[0], k[1], k[2]));
}

// Operands are computed in ascending order first, so compute never recurses deeply.
const CanonSum& Canon::sum(ExprId e) {
  if (const auto it = sums_.find(e); it != sums_.end()) return it->second;
  for (ExprId id : pool_.reachable(e))
    if (id != e && !sums_.contains(id)) {
      CanonSum s = compute(id);
      sums_.emplace(id, std::move(s));
    }
  CanonSum s = compute(e);
  return sums_.emplace(e, std::move(s)).first->second;
}

ExprId Canon::build(const CanonSum& s) {
  ExprId total = ExprId::none;
  for (const CanonTerm& t : s) {
    ExprId product = ExprId::none;
    const auto times = [&](ExprId x) {
      product = product == ExprId::none ? x : pool_.make(Op::mul, product, x);
    };
    if (t.coeff != 1 || t.factors.empty()) times(pool_.real(t.coeff));
    for (const auto& [atom, n] : t.factors)
      times(n == 1 ? atom : pool_.make(Op::pow, atom, pool_.integer(n)));
    total = total == ExprId::none ? product : pool_.make(Op::add, total, product);
  }
  return total == ExprId::none ? pool_.real(0) : total;
}

ExprId Canon::key(ExprId e) {
  if (const auto it = keys_.find(e); it != keys_.end()) return it->second;
  const ExprId k = build(sum(e));
  keys_[e] = k;
  return k;
}

bool almost_equal(const CanonSum& a, const CanonSum& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const CanonTerm& x, const CanonTerm& y) {
        return x.factors == y.factors && std::abs(x.coeff - y.coeff) <=
                                             1e-12 * std::max(std::abs(x.coeff), std::abs(y.coeff));
      });
}

}  // namespace tang
