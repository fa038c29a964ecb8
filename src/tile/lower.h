// From a planned kernel of a graph to a tile program (tile.md section 3): no operator, monoid or
// model is known here by name.
#pragma once

#include "schedule/schedule.h"
#include "tile/program.h"

namespace tang::tile {

struct LoweredKernel {
  Kernel kernel;
  std::vector<TensorId> arguments;  // of its memories that are arguments, in order; none: workspace
};

// An output that lies where an input does.
struct InPlace {
  TensorId output = TensorId::none, input = TensorId::none;
};

// Fresh coordinates and derived expressions are added to the graph. An error names what in the
// kernel has no tile form.
Result<LoweredKernel> lower(Graph& g, const KernelPlan& plan, const Machine& machine,
                            InPlace in_place = {});

}  // namespace tang::tile
