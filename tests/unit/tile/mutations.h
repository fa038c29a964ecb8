// Single faults planted in a tile program, made from its structure alone: every operation that
// waits, signals, fences or moves data left out; every count, phase, stage, limit and index
// changed.
#pragma once

#include "tile/program.h"

namespace tang::tile {

struct Mutant {
  std::string what;
  Kernel kernel;
};

std::vector<Mutant> mutants(const Program& program, const Kernel& kernel);

}  // namespace tang::tile
