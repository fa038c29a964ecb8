// From a planned kernel of a graph to a tile program (tile.md section 3): no operator, monoid or
// model is known here by name.
#pragma once

#include "schedule/schedule.h"
#include "tile/program.h"

namespace tang::tile {

struct LoweredKernel {
  Kernel kernel;
  // Of its memories that are arguments, in order; none: workspace. Of one that lives for the
  // program the tensor whose window it is.
  std::vector<TensorId> arguments;
};

// An output that lies where an input does.
struct InPlace {
  TensorId output = TensorId::none, input = TensorId::none;
};

// Fresh coordinates and derived expressions are added to the graph. An error names what in the
// kernel has no tile form.
Result<LoweredKernel> lower(Graph& g, const KernelPlan& plan, const Machine& machine,
                            std::vector<InPlace> in_place = {});

// The kernel that fills a prepared window of the plan, from the constants that it reads.
Result<LoweredKernel> lower_prepared(Graph& g, const KernelPlan& plan, const StagePlan& window,
                                     const Machine& machine);

}  // namespace tang::tile
