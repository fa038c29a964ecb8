#include "view/form.h"

#include <algorithm>

namespace tang {

namespace {

template <class Term, class Key>
void add_term(std::vector<Term>& terms, Key key, const Poly& coeff) {
  const auto it = std::lower_bound(terms.begin(), terms.end(), key, [](const Term& t, Key k) {
    if constexpr (std::is_same_v<Key, DimId>)
      return t.dim < k;
    else
      return t.leaf < k;
  });
  const auto matches = [&] {
    if (it == terms.end()) return false;
    if constexpr (std::is_same_v<Key, DimId>)
      return it->dim == key;
    else
      return it->leaf == key;
  };
  if (!matches()) {
    if (!coeff.is_zero()) terms.insert(it, Term{key, coeff});
    return;
  }
  it->coeff = it->coeff + coeff;
  if (it->coeff.is_zero()) terms.erase(it);
}

}  // namespace

Form Form::coordinate(DimId d) {
  Form f;
  f.terms.push_back({d, 1});
  return f;
}

Form Form::gathered(uint32_t leaf) {
  Form f;
  f.gathers.push_back({leaf, 1});
  return f;
}

Form operator+(const Form& a, const Form& b) {
  Form r = a;
  r.base = r.base + b.base;
  for (const Form::Term& t : b.terms) add_term(r.terms, t.dim, t.coeff);
  for (const Form::Gather& g : b.gathers) add_term(r.gathers, g.leaf, g.coeff);
  return r;
}

Form operator-(const Form& a, const Form& b) { return a + Poly(-1) * b; }

Form operator*(const Poly& c, const Form& f) {
  Form r;
  if (c.is_zero()) return r;
  r.base = c * f.base;
  for (const Form::Term& t : f.terms) r.terms.push_back({t.dim, c * t.coeff});
  for (const Form::Gather& g : f.gathers) r.gathers.push_back({g.leaf, c * g.coeff});
  return r;
}

std::optional<DimId> Form::as_pick() const {
  if (base.is_zero() && gathers.empty() && terms.size() == 1 && terms[0].coeff == Poly(1))
    return terms[0].dim;
  return std::nullopt;
}

Poly Form::coefficient(DimId d) const {
  for (const Term& t : terms)
    if (t.dim == d) return t.coeff;
  return 0;
}

bool Form::mentions(DimId d) const { return !coefficient(d).is_zero(); }

Form substitute(const Form& f, const DimMap& image, const LeafRename& leaf) {
  Form r;
  r.base = f.base;
  for (const Form::Term& t : f.terms) {
    const std::optional<Form> to = image ? image(t.dim) : std::nullopt;
    r = r + t.coeff * (to ? *to : Form::coordinate(t.dim));
  }
  for (const Form::Gather& g : f.gathers)
    r = r + g.coeff * Form::gathered(leaf ? leaf(g.leaf) : g.leaf);
  return r;
}

std::optional<Interval> range(const Form& f, const std::function<Poly(DimId)>& extent) {
  if (!f.is_affine()) return std::nullopt;
  Interval r{f.base, f.base};
  for (const Form::Term& t : f.terms) {
    const Poly reach = t.coeff * (extent(t.dim) - Poly(1));
    if (t.coeff.proved_nonnegative())
      r.hi = r.hi + reach;
    else if (t.coeff.proved_nonpositive())
      r.lo = r.lo + reach;
    else
      return std::nullopt;
  }
  return r;
}

int64_t evaluate(const Form& f, std::span<const int64_t> params,
                 const std::function<int64_t(DimId)>& at,
                 const std::function<int64_t(uint32_t)>& gather) {
  const auto value = [&](const Poly& p) { return p.evaluate(params).value_or(0); };
  int64_t total = value(f.base);
  for (const Form::Term& t : f.terms) total += value(t.coeff) * at(t.dim);
  for (const Form::Gather& g : f.gathers) total += value(g.coeff) * gather(g.leaf);
  return total;
}

}  // namespace tang
