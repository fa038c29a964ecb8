#include "ir/inside.h"

#include <algorithm>
#include <numeric>

#include "ir/bind.h"
#include "ir/guards.h"

namespace tang {

namespace {

__extension__ typedef __int128 Wide;

// sum of coeff * x[k] + base, required to be >= 0.
struct Constraint {
  std::vector<std::pair<size_t, int64_t>> terms;
  int64_t base = 0;
};

struct Range {
  int64_t lo = 0;
  int64_t hi = 0;
};
using Box = std::vector<Range>;

Wide floor_of(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// The integer points of a box under linear constraints.
class Search {
 public:
  explicit Search(const Graph& graph) : g(graph) {}

  // False when a coefficient or extent is symbolic; the search is then of no use.
  bool require(const Form& f) {
    Constraint c;
    const auto base = bound_value(g, f.base);
    if (!base || !f.is_affine()) return false;
    c.base = *base;
    for (const Form::Term& t : f.terms) {
      const auto coeff = bound_value(g, t.coeff);
      const auto k = variable(t.dim);
      if (!coeff || !k) return false;
      c.terms.emplace_back(*k, *coeff);
    }
    constraints_.push_back(std::move(c));
    return true;
  }

  // sum of terms + base = 0 needs the greatest common divisor of the coefficients to divide base.
  bool equality_has_solutions(size_t constraint) const {
    int64_t common = 0;
    for (const auto& [k, c] : constraints_[constraint].terms) common = std::gcd(common, c);
    const int64_t base = constraints_[constraint].base;
    return common == 0 ? base == 0 : base % common == 0;
  }
  size_t size() const { return constraints_.size(); }

  enum class Answer { none, found, unknown };
  Answer run() const {
    std::vector<Box> stack = {box_};
    for (int budget = 4000; budget > 0 && !stack.empty(); --budget) {
      Box box = std::move(stack.back());
      stack.pop_back();
      if (!propagate(box)) continue;
      if (satisfied(box)) return Answer::found;
      size_t widest = 0;
      for (size_t k = 1; k < box.size(); ++k)
        if (box[k].hi - box[k].lo > box[widest].hi - box[widest].lo) widest = k;
      const int64_t middle = box[widest].lo + (box[widest].hi - box[widest].lo) / 2;
      Box upper = box;
      upper[widest].lo = middle + 1;
      box[widest].hi = middle;
      stack.push_back(std::move(upper));
      stack.push_back(std::move(box));
    }
    return stack.empty() ? Answer::none : Answer::unknown;
  }

 private:
  std::optional<size_t> variable(DimId d) {
    const auto it = std::find(dims_.begin(), dims_.end(), d);
    if (it != dims_.end()) return static_cast<size_t>(it - dims_.begin());
    const auto extent = bound_value(g, g.extent(d));
    if (!extent) return std::nullopt;
    dims_.push_back(d);
    box_.push_back({0, *extent - 1});
    return dims_.size() - 1;
  }

  static Wide greatest(const Constraint& c, const Box& box) {
    Wide total = c.base;
    for (const auto& [k, coeff] : c.terms)
      total += static_cast<Wide>(coeff) * (coeff > 0 ? box[k].hi : box[k].lo);
    return total;
  }

  // Every point of the box satisfies every constraint, and there is one.
  bool satisfied(const Box& box) const {
    return std::all_of(constraints_.begin(), constraints_.end(), [&](const Constraint& c) {
      Wide least = c.base;
      for (const auto& [k, coeff] : c.terms)
        least += static_cast<Wide>(coeff) * (coeff > 0 ? box[k].lo : box[k].hi);
      return least >= 0;
    });
  }

  // Shrinks the box without losing a solution; false when none is left.
  bool propagate(Box& box) const {
    for (int round = 0; round < 32; ++round) {
      bool changed = false;
      for (const Range& r : box)
        if (r.lo > r.hi) return false;
      for (const Constraint& c : constraints_) {
        const Wide most = greatest(c, box);
        if (most < 0) return false;
        for (const auto& [k, coeff] : c.terms) changed |= tighten(box[k], coeff, most);
      }
      if (!changed) return true;
    }
    return true;
  }

  // coeff * x >= coeff * x_best - most, where x_best gives the greatest value.
  static bool tighten(Range& r, int64_t coeff, Wide most) {
    if (coeff == 0) return false;
    const Wide best = coeff > 0 ? r.hi : r.lo;
    const Wide reach = floor_of(most, coeff > 0 ? coeff : -static_cast<Wide>(coeff));
    if (coeff > 0 && best - reach > r.lo) {
      r.lo = static_cast<int64_t>(best - reach);
      return true;
    }
    if (coeff < 0 && best + reach < r.hi) {
      r.hi = static_cast<int64_t>(best + reach);
      return true;
    }
    return false;
  }

  const Graph& g;
  std::vector<DimId> dims_;
  Box box_;
  std::vector<Constraint> constraints_;
};

// The form minus multiples of at most `depth` guards is proved non-negative. Recursion is bounded
// by depth.
bool implied_by(const Graph& g, const Form& form, const std::vector<Guard>& guards, int depth) {
  if (proved_nonnegative(g, form)) return true;
  if (depth == 0) return false;
  for (const Guard& guard : guards) {
    if (guard.what == Guard::What::data) continue;
    for (int sign : {1, -1}) {
      if (sign < 0 && guard.what != Guard::What::zero) continue;
      const Form psi = Poly(sign) * guard.form;
      if (implied_by(g, form - psi, guards, depth - 1)) return true;
      for (const Form::Term& t : psi.terms) {
        const auto p = form.coefficient(t.dim).constant(), q = t.coeff.constant();
        if (!p || !q || *p == 0 || *q == 0 || (*p > 0) != (*q > 0) || *p == *q) continue;
        const int64_t common = std::gcd(*p, *q);
        const Form combined =
            Poly(std::abs(*q / common)) * form - Poly(std::abs(*p / common)) * psi;
        if (implied_by(g, combined, guards, depth - 1)) return true;
      }
    }
  }
  return false;
}

std::optional<Proof> prove_exactly(const Graph& g, const Form& form,
                                   const std::vector<Guard>& guards) {
  Search search(g);
  if (!search.require(Form(-1) - form)) return std::nullopt;
  for (const Guard& guard : guards) {
    if (guard.what == Guard::What::data || !guard.form.is_affine()) continue;
    if (!search.require(guard.form)) return std::nullopt;
    if (guard.what != Guard::What::zero) continue;
    if (!search.equality_has_solutions(search.size() - 1)) return Proof::holds;
    search.require(Poly(-1) * guard.form);
  }
  switch (search.run()) {
    case Search::Answer::none:
      return Proof::holds;
    case Search::Answer::found:
      return Proof::fails;
    case Search::Answer::unknown:
      break;
  }
  return Proof::open;
}

}  // namespace

bool implied(const Graph& g, const Form& form, const std::vector<Guard>& guards) {
  return implied_by(g, form, guards, 2);
}

Proof prove_nonnegative(const Graph& g, const Form& form, const std::vector<Guard>& guards) {
  if (!form.is_affine()) return Proof::open;
  if (proved_nonnegative(g, form)) return Proof::holds;
  for (const Form::Term& t : form.terms)
    if (g.extent(t.dim).is_zero()) return Proof::holds;  // no points
  const std::optional<Proof> exact = prove_exactly(g, form, guards);
  if (exact && *exact != Proof::open) return *exact;
  if (implied(g, form, guards)) return Proof::holds;
  if (exact || !guards.empty()) return Proof::open;
  const auto r = range(form, [&g](DimId d) { return g.extent(d); });
  return r && (Poly(-1) - r->lo).proved_nonnegative() ? Proof::fails : Proof::open;
}

Proof prove_inside(const Graph& g, const Form& form, const Poly& extent,
                   const std::vector<Guard>& guards) {
  const Proof above = prove_nonnegative(g, form, guards);
  const Proof below = prove_nonnegative(g, Form(extent - Poly(1)) - form, guards);
  if (above == Proof::fails || below == Proof::fails) return Proof::fails;
  return above == Proof::holds && below == Proof::holds ? Proof::holds : Proof::open;
}

}  // namespace tang
