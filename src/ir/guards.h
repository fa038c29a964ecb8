// Term guards (algebra.md 2.3, 11.3): the conditions under which a comprehension's term takes part.
#pragma once

#include "ir/graph.h"

namespace tang {

// Splits a bool scalar into guards: `and` splits, `not` flips comparisons, integer comparisons of
// (possibly gathered) affine forms become bounds and zeros, everything else stays data. A constant
// true gives nothing.
std::vector<Guard> guards_from(Graph& g, ExprId condition);

// form = right - left with no negative coefficient on either side, so that `form >= 0` reads
// `left <= right` and `form == 0` reads `right == left`.
struct Sides {
  Form left;
  Form right;
};
Sides sides(const Form& form);

// The bool scalar a guard tests.
ExprId condition_of(Graph& g, const Guard& guard);
// The conjunction; none for no guards.
ExprId condition_of(Graph& g, const std::vector<Guard>& guards);

// The affine bounds 0 <= form < extent under which a guarded read stays inside `t`, leaving out
// those proved over the boxes of all dims.
std::vector<Guard> inside_bounds(const Graph& g, TensorId t, const std::vector<Form>& forms);

// True when the form is proved >= 0 at every point of its dims' boxes.
bool proved_nonnegative(const Graph& g, const Form& f);

// Sorted, without repeats and without guards proved to hold.
void normalise_guards(const Graph& g, std::vector<Guard>& guards);

}  // namespace tang
