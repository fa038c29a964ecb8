#include "view/poly.h"

#include <algorithm>

namespace tang {

namespace {

// Higher degrees first, then by parameters: the order of printing.
bool before(const Poly::Term& a, const Poly::Term& b) {
  if (a.params.size() != b.params.size()) return a.params.size() > b.params.size();
  return a.params < b.params;
}

// Coefficients wrap, as the language's integers do; sizes are checked where they are evaluated.
int64_t wrapped_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapped_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Poly::Poly(int64_t c) {
  if (c != 0) terms_.push_back({{}, c});
}

Poly Poly::param(ParamId p) {
  Poly result;
  result.terms_.push_back({{p}, 1});
  return result;
}

void Poly::normalise() {
  std::sort(terms_.begin(), terms_.end(), before);
  std::vector<Term> merged;
  for (Term& t : terms_) {
    if (!merged.empty() && merged.back().params == t.params)
      merged.back().coeff = wrapped_sum(merged.back().coeff, t.coeff);
    else
      merged.push_back(std::move(t));
  }
  std::erase_if(merged, [](const Term& t) { return t.coeff == 0; });
  terms_ = std::move(merged);
}

Poly operator+(const Poly& a, const Poly& b) {
  Poly r = a;
  r.terms_.insert(r.terms_.end(), b.terms_.begin(), b.terms_.end());
  r.normalise();
  return r;
}

Poly operator-(const Poly& a, const Poly& b) { return a + Poly(-1) * b; }

Poly operator*(const Poly& a, const Poly& b) {
  Poly r;
  for (const Poly::Term& x : a.terms_)
    for (const Poly::Term& y : b.terms_) {
      Poly::Term t{x.params, wrapped_product(x.coeff, y.coeff)};
      t.params.insert(t.params.end(), y.params.begin(), y.params.end());
      std::sort(t.params.begin(), t.params.end());
      r.terms_.push_back(std::move(t));
    }
  r.normalise();
  return r;
}

std::optional<int64_t> Poly::constant() const {
  if (!is_constant()) return std::nullopt;
  return constant_term();
}

int64_t Poly::constant_term() const {
  return !terms_.empty() && terms_.back().params.empty() ? terms_.back().coeff : 0;
}

bool Poly::proved_nonnegative() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const Term& t) { return t.coeff > 0; });
}

bool Poly::proved_nonpositive() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const Term& t) { return t.coeff < 0; });
}

std::optional<ParamId> Poly::as_param() const {
  if (terms_.size() == 1 && terms_[0].params.size() == 1 && terms_[0].coeff == 1)
    return terms_[0].params[0];
  return std::nullopt;
}

std::optional<int64_t> Poly::evaluate(std::span<const int64_t> params) const {
  int64_t total = 0;
  for (const Term& t : terms_) {
    int64_t product = t.coeff;
    for (ParamId p : t.params)
      if (__builtin_mul_overflow(product, params[index(p)], &product)) return std::nullopt;
    if (__builtin_add_overflow(total, product, &total)) return std::nullopt;
  }
  return total;
}

Poly Poly::bind(const std::function<std::optional<int64_t>(ParamId)>& value) const {
  Poly r;
  for (const Term& t : terms_) {
    Term bound{{}, t.coeff};
    for (ParamId p : t.params) {
      if (const auto v = value(p))
        bound.coeff = wrapped_product(bound.coeff, *v);
      else
        bound.params.push_back(p);
    }
    r.terms_.push_back(std::move(bound));
  }
  r.normalise();
  return r;
}

std::string Poly::text(const std::function<std::string(ParamId)>& name, bool spaced) const {
  if (terms_.empty()) return "0";
  const std::string times = spaced ? " * " : "*";
  std::string out;
  for (const Term& t : terms_) {
    const bool first = out.empty();
    const bool negative = t.coeff < 0;
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(t.coeff) : static_cast<uint64_t>(t.coeff);
    out += first ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string product;
    if (magnitude != 1 || t.params.empty()) product = std::to_string(magnitude);
    for (ParamId p : t.params) product += (product.empty() ? "" : times) + name(p);
    out += product;
  }
  return out;
}

}  // namespace tang
