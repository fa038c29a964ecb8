// Whether an affine form stays non-negative at every point where a node's guards hold: how reads
// are proved in range (language.md 1.6).
//
// With numbers for all parameters the answer is exact: a search over the integer points of the box
// that propagates the guards and bisects, within a budget. With symbols left it is a sufficient
// proof: the form minus multiples of at most two guards has no negative coefficient.
#pragma once

#include "ir/graph.h"

namespace tang {

enum class Proof : uint8_t {
  holds,
  fails,  // at some point (with symbols: for all values of the parameters that leave points)
  open,   // left to bind, or the budget is spent
};

// The sufficient proof alone.
bool implied(const Graph& g, const Form& form, const std::vector<Guard>& guards);

// Guards that are data or gather are ignored, so they prove nothing.
Proof prove_nonnegative(const Graph& g, const Form& form, const std::vector<Guard>& guards);

// 0 <= form < extent. Gathering forms are open: they never touch memory outside.
Proof prove_inside(const Graph& g, const Form& form, const Poly& extent,
                   const std::vector<Guard>& guards);

}  // namespace tang
