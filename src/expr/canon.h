// Canonical form modulo associativity and commutativity (algebra.md 1.4): what rewrites match on.
//
//   canon(e) = sum_k c_k * prod_a a^n      over atoms a
//
// An atom is a variable, a function of canonical operands, or the reciprocal of a non-monomial. Two
// further directions are fixed: exp(a)·exp(b) is exp(a + b), and select(c ? R·exp a : 0) is
// R·exp(select(c ? a : -inf)). Casts to float formats are the identity over the reals and are seen
// through. A canonical form is a key; it is never emitted in place of the expression.
#pragma once

#include <map>

#include "expr/expr.h"

namespace tang {

struct CanonTerm {
  std::vector<std::pair<ExprId, int>> factors;  // (atom, power != 0), ascending by atom
  double coeff = 0;
};
using CanonSum = std::vector<CanonTerm>;  // ascending by factors, no zero coefficients

class Canon {
 public:
  explicit Canon(ExprPool& pool) : pool_(pool) {}

  // The normal form of e. Products with more than `max_terms` terms stay atoms.
  const CanonSum& sum(ExprId e);
  // An expression that is equal for expressions with equal normal forms.
  ExprId key(ExprId e);
  ExprId build(const CanonSum& s);

  static CanonSum scaled(const CanonSum& s, double c);
  static CanonSum added(const CanonSum& a, const CanonSum& b);
  // Products distribute; nullopt when the result would be too large.
  std::optional<CanonSum> multiplied(const CanonSum& a, const CanonSum& b);

  static constexpr size_t max_terms = 256;

 private:
  CanonSum compute(ExprId e);
  CanonSum atom(ExprId a);
  CanonSum product(ExprId a, ExprId b);
  CanonSum reciprocal(ExprId a);
  CanonSum exponential(const CanonSum& argument);
  CanonSum selection(const ExprNode& n);
  std::optional<CanonSum> literal_power(const ExprNode& n);
  CanonTerm merge(const CanonTerm& a, const CanonTerm& b);

  ExprPool& pool_;
  std::map<ExprId, CanonSum> sums_;
  std::map<ExprId, ExprId> keys_;
};

// Equal up to rounding of coefficients (relative 1e-12).
bool almost_equal(const CanonSum& a, const CanonSum& b);

}  // namespace tang
