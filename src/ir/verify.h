// The verifier of graphs: what every pass may rely on and must keep. It is run after each rewrite
// in debug builds and tests.
//
//   ids       every id is in range; a definition has one live node; no cycles; outputs exist
//   nodes     points and reduce dims are distinct; targets keep the order of the points and drop
//             only points their value does not depend on; shapes are the points' extents
//   scopes    fold arguments see points and reduce dims, target values see points and states,
//             monoids see only their own leaves
//   reads     as many forms as axes; gather depth 1; unguarded affine reads stay inside, by the
//             boxes or by the node's guards (what symbols leave open is checked at bind)
//
// Errors: E0401 (range), E0402 (rank), E0404 (shapes), E0405 (nested gather), E0407 (index kinds),
// E0408 (a dropped point), E0203 (cycle), E0204 (scope), E0205 (dims twice), E0209, E0212
// (outputs), E0301 and E0306 (kinds), E0501, E0502, E0505, E0506 (folds, scans, monoids), E0998
// (ids and table structure: a defect of the pass that built the graph).
#pragma once

#include <set>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace tang {

Diagnostics verify(const Graph& g);
// The checks of one node, its monoids not included.
Diagnostics verify_node(const Graph& g, NodeId n);

// Points that output `number` of the node's folds depends on: through guards always, through an
// argument only if the output's components are computed from it.
std::set<DimId> state_dependencies(const Graph& g, const Node& n, uint32_t number);
// Points that a value over states and reads depends on.
std::set<DimId> value_dependencies(const Graph& g, const Node& n, ExprId value);

}  // namespace tang
