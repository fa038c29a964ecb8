// A node's folds as parts of a nest.
#pragma once

#include "tile/nest.h"

namespace tang::tile {

// Parts are numbered across the folds; left and right leaves name them.
struct Folds {
  std::vector<Part> parts;
  std::vector<tang::MonoidId> monoids;  // by Part::fold
};
Folds folds_of(Graph& g, const Node& n);
// The value with the folds' outputs written over left leaves.
ExprId finished(Graph& g, const Node& n, ExprId value);
// The left or right leaf of a part.
ExprId state_leaf(Graph& g, tang::Leaf::What what, uint32_t number, Kind kind);

}  // namespace tang::tile
