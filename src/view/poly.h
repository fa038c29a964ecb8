// Polynomials in the program's size parameters with integer coefficients (algebra.md 2.1).
//
// Extents and the coefficients of affine forms are polynomials compared by normal form. Parameters
// are at least 0, so `p` is proved non-negative when no coefficient is negative; every other
// question waits until the parameters are bound.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tang {

enum class ParamId : uint32_t {};
constexpr uint32_t index(ParamId id) { return static_cast<uint32_t>(id); }

class Poly {
 public:
  struct Term {
    std::vector<ParamId> params;  // ascending, repeated for powers; empty for the constant term
    int64_t coeff = 0;
    friend auto operator<=>(const Term&, const Term&) = default;
  };

  Poly() = default;
  Poly(int64_t c);  // NOLINT: integers are polynomials
  static Poly param(ParamId p);

  friend Poly operator+(const Poly& a, const Poly& b);
  friend Poly operator-(const Poly& a, const Poly& b);
  friend Poly operator*(const Poly& a, const Poly& b);
  friend auto operator<=>(const Poly&, const Poly&) = default;

  bool is_zero() const { return terms_.empty(); }
  bool is_constant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_[0].params.empty());
  }
  std::optional<int64_t> constant() const;  // its value if it mentions no parameter
  int64_t constant_term() const;
  bool proved_nonnegative() const;  // no negative coefficient
  bool proved_nonpositive() const;
  // The parameter p if the polynomial is exactly p.
  std::optional<ParamId> as_param() const;
  const std::vector<Term>& terms() const { return terms_; }

  // Value under a binding; nullopt on 64-bit overflow.
  std::optional<int64_t> evaluate(std::span<const int64_t> params) const;
  // Replaces each bound parameter by its value.
  Poly bind(const std::function<std::optional<int64_t>(ParamId)>& value) const;
  // "2*seq + 1"; `spaced` writes products as "2 * seq".
  std::string text(const std::function<std::string(ParamId)>& name, bool spaced = false) const;

 private:
  void normalise();
  std::vector<Term> terms_;  // ascending by (degree descending, params), no zero coefficients
};

}  // namespace tang
