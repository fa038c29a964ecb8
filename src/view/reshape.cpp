#include "view/reshape.h"

#include <algorithm>

namespace tang {

Form flat(std::span<const Form> position, std::span<const Poly> extents) {
  Form f;
  for (size_t k = 0; k < position.size(); ++k) f = extents[k] * f + position[k];
  return f;
}

std::optional<Poly> exact_quotient(const Poly& a, const Poly& b) {
  if (b.terms().size() != 1) return std::nullopt;
  const Poly::Term& by = b.terms()[0];
  Poly result;
  for (const Poly::Term& t : a.terms()) {
    if (t.coeff % by.coeff != 0) return std::nullopt;
    std::vector<ParamId> left;
    if (!std::includes(t.params.begin(), t.params.end(), by.params.begin(), by.params.end()))
      return std::nullopt;
    std::set_difference(t.params.begin(), t.params.end(), by.params.begin(), by.params.end(),
                        std::back_inserter(left));
    Poly term(t.coeff / by.coeff);
    for (ParamId p : left) term = term * Poly::param(p);
    result = result + term;
  }
  return result;
}

namespace {

// The axes of one shape, taken from the innermost outwards.
struct Side {
  std::span<const Poly> shape;
  std::vector<std::vector<size_t>>& axes;
  size_t next = 0;      // axes not yet finished
  Poly left = Poly(1);  // what remains of axis `next`

  Side(std::span<const Poly> s, std::vector<std::vector<size_t>>& a)
      : shape(s), axes(a), next(s.size()) {
    axes.assign(s.size(), {});
    advance();
  }
  void advance() {
    while (next > 0 && left == Poly(1)) left = shape[--next];
  }
  bool done() const { return left == Poly(1); }
  void take(size_t atom, const Poly& rest) {
    axes[next].push_back(atom);
    left = rest;
    advance();
  }
};

}  // namespace

std::optional<Refinement> refine(std::span<const Poly> from, std::span<const Poly> to) {
  Refinement r;
  Side a(from, r.from), b(to, r.to);
  while (!a.done() && !b.done()) {
    const size_t atom = r.atoms.size();
    if (const auto q = exact_quotient(a.left, b.left)) {
      r.atoms.push_back(b.left);
      a.take(atom, *q);
      b.take(atom, Poly(1));
    } else if (const auto p = exact_quotient(b.left, a.left)) {
      r.atoms.push_back(a.left);
      b.take(atom, *p);
      a.take(atom, Poly(1));
    } else if (a.left == b.left) {
      r.atoms.push_back(a.left);
      a.take(atom, Poly(1));
      b.take(atom, Poly(1));
    } else {
      return std::nullopt;
    }
  }
  if (!a.done() || !b.done()) return std::nullopt;
  // Atoms were found from the innermost outwards.
  const size_t count = r.atoms.size();
  std::reverse(r.atoms.begin(), r.atoms.end());
  for (auto* axes : {&r.from, &r.to})
    for (std::vector<size_t>& axis : *axes) {
      for (size_t& atom : axis) atom = count - 1 - atom;
      std::reverse(axis.begin(), axis.end());
    }
  return r;
}

std::vector<Form> axis_positions(const Refinement& r, const std::vector<std::vector<size_t>>& axes,
                                 std::span<const Form> atoms) {
  std::vector<Form> result;
  for (const std::vector<size_t>& axis : axes) {
    std::vector<Form> position;
    std::vector<Poly> extents;
    for (size_t atom : axis) {
      position.push_back(atoms[atom]);
      extents.push_back(r.atoms[atom]);
    }
    result.push_back(flat(position, extents));
  }
  return result;
}

std::optional<std::vector<Form>> split_view(std::span<const Poly> from, std::span<const Poly> to,
                                            std::span<const Form> position) {
  const auto r = refine(from, to);
  if (!r) return std::nullopt;
  std::vector<Form> atoms(r->atoms.size());
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (r->to[axis].size() > 1) return std::nullopt;
    if (!r->to[axis].empty()) atoms[r->to[axis][0]] = position[axis];
  }
  return axis_positions(*r, r->from, atoms);
}

DimMap merged_coordinate(DimId q, std::vector<DimId> parts, std::vector<Poly> extents) {
  std::vector<Form> position;
  for (DimId d : parts) position.push_back(Form::coordinate(d));
  const Form merged = flat(position, extents);
  return [q, merged](DimId d) { return d == q ? std::optional(merged) : std::nullopt; };
}

}  // namespace tang
