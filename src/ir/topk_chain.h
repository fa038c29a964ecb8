// Arg-max chains: the largest, then the largest of what is left, and so on, k times over.
//
//   a_1[t] = argmax[x](g[t, x])
//   a_2[t] = argmax[x](select(x == a_1[t], -inf, g[t, x]))
//   a_3[t] = argmax[x | x != a_1[t] and x != a_2[t]](g[t, x])
//
// Such a chain reads as the first k entries of a top-k (algebra.md 5.6, 11.1): where NaN or rows of
// -inf make the formula differ, top-k's rule holds, and what a row is too short for is (-inf, -1).
#pragma once

#include "ir/graph.h"

namespace tang {

struct ChainMember {
  NodeId node = NodeId::none;      // one argmax or argmin fold
  NodeId head = NodeId::none;      // the member nothing is left out of
  size_t rank = 0;                 // how many earlier members it leaves out: all of lower rank
  bool smallest = false;           // argmin, with +inf for what is left out
  ExprId argument = ExprId::none;  // what is compared, nothing left out
  std::vector<Guard> guards;       // of the node, likewise
  std::vector<Form> at;            // the head's points in this node's coordinates
};

// Members of all chains of two or more, operands before users.
std::vector<ChainMember> topk_chains(Graph& g);

}  // namespace tang
