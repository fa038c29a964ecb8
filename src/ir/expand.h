// Seeing through maps: an expression with reads of map tensors replaced by the maps' bodies, with
// composed views, until only inputs and folds are read. Recognition (softmax, Welford) looks at
// programs this way, so it does not depend on how the author cut the formula into definitions.
#pragma once

#include "ir/graph.h"

namespace tang {

// The value of tensor t at `forms` as an expression of the reader's coordinates, when t is defined
// by a map and the composition stays a view; nullopt otherwise (inputs, folds, nested gathers).
// Guarded reads compose to guarded reads; see rewrite/substitute.h for when a select must be added.
std::optional<ExprId> map_body_at(Graph& g, TensorId t, const std::vector<Form>& forms);

// e with unguarded reads of maps replaced, repeatedly; stops growing at `limit` operations.
ExprId expand_maps(Graph& g, ExprId e, int limit = 500);

}  // namespace tang
