// Row-major reshape as views (algebra.md 2.5). A reshape keeps flat indices, so it is a change of
// coordinates:
//
//   split   y[a, b] = x[B*a + b]     two coordinates in one form: always a view (split_view)
//   merge   y[q] = x[q div B, q mod B]   no view of q, but with q = B*a + b substituted everywhere
//                                    it is the identity in a and b (merged_coordinate)
//   general both shapes refined to common atoms, then split and merge (refine)
//
// Shapes without a common refinement ([4, 6] and [3, 8]) share only the buffer: reading y[f] is
// reading address flat(f) of x.
#pragma once

#include <span>

#include "view/form.h"

namespace tang {

// The row-major flat index of a position in a box.
Form flat(std::span<const Form> position, std::span<const Poly> extents);

// Extents such that every axis of either shape is a run of consecutive atoms, outermost first. Axes
// of extent 1 have no atoms.
struct Refinement {
  std::vector<Poly> atoms;
  std::vector<std::vector<size_t>> from;  // for each axis of the first shape, its atoms
  std::vector<std::vector<size_t>> to;    // and of the second
};

// nullopt when the sizes differ or suffix products form no divisibility chain. Symbolic extents
// refine where one divides the other as polynomials.
std::optional<Refinement> refine(std::span<const Poly> from, std::span<const Poly> to);

// Positions along axes made of these atoms, one form an axis.
std::vector<Form> axis_positions(const Refinement& r, const std::vector<std::vector<size_t>>& axes,
                                 std::span<const Form> atoms);

// The forms that read a tensor of shape `from` at a position in shape `to`, when every axis of `to`
// is one atom (only splits): x[forms] is the reshaped tensor at `position`. nullopt otherwise.
std::optional<std::vector<Form>> split_view(std::span<const Poly> from, std::span<const Poly> to,
                                            std::span<const Form> position);

// The substitution q := extents(1..) * parts as a map for `substitute`: coordinate q of a loop
// becomes the row-major index of new coordinates.
DimMap merged_coordinate(DimId q, std::vector<DimId> parts, std::vector<Poly> extents);

// a / b if b is one term that divides every term of a.
std::optional<Poly> exact_quotient(const Poly& a, const Poly& b);

}  // namespace tang
