#include "rewrite/ancestry.h"

#include <algorithm>

namespace tang {

namespace {

template <class T>
void insert_sorted(std::vector<T>& into, const std::vector<T>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

}  // namespace

Ancestry::Ancestry(const Graph& g)
    : above_(g.nodes.size(), Bits((g.nodes.size() + 63) / 64, 0)),
      reads_(g.nodes.size()),
      readers_(g.nodes.size()) {
  for (NodeId id : g.order()) {
    reads_[index(id)] = tensors_read(g, g[id]);
    Bits& above = above_[index(id)];
    for (TensorId t : reads_[index(id)]) {
      const NodeId operand = g[t].node;
      if (operand == NodeId::none) continue;
      const Bits& higher = above_[index(operand)];
      for (size_t w = 0; w < above.size(); ++w) above[w] |= higher[w];
      add(above, operand);
      insert_sorted(readers_[index(operand)], {id});
    }
  }
}

bool Ancestry::depends(NodeId node, NodeId other) const { return has(above_[index(node)], other); }

void Ancestry::merged(NodeId a, NodeId b) {
  insert_sorted(reads_[index(a)], reads_[index(b)]);
  insert_sorted(readers_[index(a)], readers_[index(b)]);
  Bits both = above_[index(a)];
  for (size_t w = 0; w < both.size(); ++w) both[w] |= above_[index(b)][w];
  above_[index(a)] = both;
  add(both, a);
  for (Bits& above : above_) {
    if (!has(above, a) && !has(above, b)) continue;
    for (size_t w = 0; w < above.size(); ++w) above[w] |= both[w];
  }
}

}  // namespace tang
