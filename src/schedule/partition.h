// Kernels that bind no more buffers than the machine does.
//
//   y[i] = a[i] + b[i] + c[i] + d[i]          with 4 buffers
//     =  y_1[i] = a[i] + b[i] + c[i];  y[i] = y_1[i] + d[i]
//
// A part of a definition that reads several tensors is a definition of its own, which is purity;
// targets of one definition may be apart, which is the product monoid's law (fold_prod); and what
// follows a fold may read its states stored (epilogue). Each is a law of docs/laws.md read from
// right to left.
#pragma once

#include "ir/graph.h"

namespace tang {

// Changes the graph until no definition reads and writes more than `most` tensors, as far as the
// three ways go. Outputs keep their tensors; a definition that still needs more is left to
// emission, which refuses it (E0921).
void fit_buffers(Graph& g, int64_t most);

}  // namespace tang
