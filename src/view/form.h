// Affine forms: how a comprehension's coordinates become a tensor's (algebra.md 2.2).
//
//   form   phi(i) = base + sum_k coeff_k * i_k + sum_a coeff_a * <a>(i)
//
// Coordinates are named by DimId; a gathered term names an integer-valued read by the number its
// owner gave it (`Graph`'s leaf number). Coefficients and the base are polynomials of the program's
// parameters. A view is one form per axis of the tensor it reads; composing views substitutes forms
// for coordinates, which is associative and keeps forms affine.
//
//   read q[h, i, d] by a consumer whose i is 2*p + 1:   {h} {2*p + 1} {d}
//
// Forms are pure values; nothing here knows graphs, so the laws are tested at every point of small
// boxes and mirrored by theorems.
#pragma once

#include <functional>
#include <map>

#include "view/poly.h"

namespace tang {

enum class DimId : uint32_t {};
constexpr uint32_t index(DimId id) { return static_cast<uint32_t>(id); }

class Form {
 public:
  struct Term {
    DimId dim;
    Poly coeff;
    friend auto operator<=>(const Term&, const Term&) = default;
  };
  struct Gather {
    uint32_t leaf = 0;
    Poly coeff;
    friend auto operator<=>(const Gather&, const Gather&) = default;
  };

  Form() = default;
  Form(Poly constant) : base(std::move(constant)) {}  // NOLINT: polynomials are constant forms
  Form(int64_t constant) : base(constant) {}          // NOLINT
  static Form coordinate(DimId d);
  static Form gathered(uint32_t leaf);

  friend Form operator+(const Form& a, const Form& b);
  friend Form operator-(const Form& a, const Form& b);
  friend Form operator*(const Poly& c, const Form& f);
  friend auto operator<=>(const Form&, const Form&) = default;

  bool is_constant() const { return terms.empty() && gathers.empty(); }
  bool is_affine() const { return gathers.empty(); }
  // The coordinate d if the form is exactly d.
  std::optional<DimId> as_pick() const;
  Poly coefficient(DimId d) const;
  bool mentions(DimId d) const;

  Poly base;
  std::vector<Term> terms;      // ascending by dim, no zero coefficients
  std::vector<Gather> gathers;  // ascending by leaf, no zero coefficients
};

// The form with each coordinate replaced by `image` (none keeps it) and each gathered leaf renamed.
// Simultaneous: images are not substituted again. This is composition of views.
using DimMap = std::function<std::optional<Form>(DimId)>;
using LeafRename = std::function<uint32_t(uint32_t)>;
Form substitute(const Form& f, const DimMap& image, const LeafRename& leaf = {});

// Least and greatest value over the box 0 <= i_k < extent(k), both attained when the box is not
// empty (algebra.md 2.2, theorem view_range). nullopt when a coefficient's sign is not proved or
// the form gathers.
struct Interval {
  Poly lo;
  Poly hi;
};
std::optional<Interval> range(const Form& f, const std::function<Poly(DimId)>& extent);

// Value at a point; gathered leaves read through `gather`. Parameters must be bound.
int64_t evaluate(const Form& f, std::span<const int64_t> params,
                 const std::function<int64_t(DimId)>& at,
                 const std::function<int64_t(uint32_t)>& gather = {});

}  // namespace tang
