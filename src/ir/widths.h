// Which integer definitions need 64 bits: those whose values range analysis cannot fit in i32 are
// stored as i64 when no format is written (language.md 1.4, algebra.md 11.2).
#pragma once

#include "ir/graph.h"

namespace tang {

// Sets Tensor::wide of every integer definition. Inputs span their format, coordinates and sizes
// fit i32 (a symbolic extent is taken to), counts multiply: sum over n terms of [lo, hi] is [n·lo,
// n·hi].
void mark_wide(Graph& g);

}  // namespace tang
