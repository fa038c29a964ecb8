// What a fold's state depends on, read off its expressions (algebra.md section 4,
// point-invariance).
//
// The components of a node's folds are numbered across the folds, as their states lie in memory. A
// component varies along a point when its lift, or a component its combine mentions, or a guard, or
// the initial state of a scan does, and along the point that a scan runs along. Names of monoids
// play no part.
#pragma once

#include "ir/graph.h"

namespace tang {

struct Component {
  size_t fold = 0;
  uint32_t number = 0;        // within the fold's monoid
  std::vector<DimId> varies;  // points of the node, in the node's order
  bool reads = false;         // some read reaches it; a count of terms reads nothing
};

// Components of all folds of a node, in order.
std::vector<Component> components(const Graph& g, const Node& n);

// Points along which some component is invariant: they are looped inside the reduce loops. A
// component that reads nothing is not worth sharing and does not count.
std::vector<DimId> invariant_points(const Node& n, const std::vector<Component>& all);

// Coordinates a guard mentions, through gathers and conditions too, ascending.
std::vector<DimId> dims_of(const Graph& g, const Guard& guard);
std::vector<DimId> dims_of(const Graph& g, const Form& form);

// Row-major address of a read or target as one affine form; strides are polynomials.
Form address(const std::vector<Poly>& shape, const std::vector<Form>& forms);

// Product of extents.
Poly volume(const std::vector<Poly>& shape);

}  // namespace tang
