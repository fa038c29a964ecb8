// Which definitions are computed inside the kernels that read them (algebra.md 5.9, 11.10): short
// folds recomputed at every read, and folds whose one reader takes them a row at a time.
#pragma once

#include <set>

#include "schedule/schedule.h"

namespace tang {

struct Rows {
  NodeId node = NodeId::none, reader = NodeId::none;
  std::vector<DimId> at;  // the reader's points that the node's points become, in all reads alike
};

struct Inlined {
  std::set<NodeId> nodes;  // that are no kernels
  std::vector<Rows> rows;  // those of them that are computed by rows
};

// `order`: the definitions that outputs need, operands first. Errors: E0805, where pins ask for
// what cannot be.
Result<Inlined> choose_inlined(const Graph& g, const std::vector<NodeId>& order,
                               const PlanOptions& options, const Machine& machine);

// The name of the first target, which is its kernel's.
std::string definition_name(const Graph& g, NodeId id);

}  // namespace tang
