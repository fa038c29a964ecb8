// Which elements of its operands a node reads for given points, and whether gathers stay inside.
#pragma once

#include <functional>
#include <map>

#include "eval/machine.h"

namespace tang::oracle {

// The source of a tensor whose elements are known before anything is evaluated, or null.
using Known = std::function<const Source*(TensorId)>;

// Adds to `needed` the elements of tensors that are not known which `p` reads at these points.
// Reads whose positions cannot be known yet need the whole tensor. `whole_indices`: index tensors
// of unguarded gathers are needed entirely.
void add_demand(const Program& p, const PointSet& points, const Known& known, bool whole_indices,
                std::map<TensorId, PointSet>& needed);

// Tests every position of the node's unguarded gathers. `source` gives evaluated operands.
// Errors: E0417, exit 1. Reads over more than `limit` positions, or through a sampled index tensor,
// are not tested.
Result<void> verify_gathers(const Graph& g, const Node& n, std::span<const int64_t> params,
                            const Known& source, int64_t limit);

}  // namespace tang::oracle
