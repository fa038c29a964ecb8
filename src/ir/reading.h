// How a program is read: what its formulas mean where they, taken literally, would not say it.
//
// The oracle and the lowering of naive and derived programs see graphs only after this, so it is
// part of the language's meaning and not an optimisation.
#pragma once

#include "ir/graph.h"

namespace tang {

// The softmax reading (ir/softmax.h), then every arg-max chain (ir/topk_chain.h) and every top-k
// spelled out. Nodes and targets keep their ids.
Graph reading(const Graph& g);

// topk[j; n](x), a fold with an entry, as a fold of the monoid of k sorted pairs (value, index)
// whose targets pick entry n. The combine is the bitonic merge of two sorted lists (algebra.md
// 3.4); k is the extent of n, a constant.
void spell_topk(Graph& g);

}  // namespace tang
