// Which nodes a node's values depend on, kept while nodes merge.
#pragma once

#include "ir/graph.h"

namespace tang {

class Ancestry {
 public:
  explicit Ancestry(const Graph& g);

  // True if `node` reads `other`, through any number of nodes.
  bool depends(NodeId node, NodeId other) const;
  // Tensors the node reads, ascending.
  const std::vector<TensorId>& reads(NodeId node) const { return reads_[index(node)]; }
  // Nodes that read one of the node's targets, ascending.
  const std::vector<NodeId>& readers(NodeId node) const { return readers_[index(node)]; }

  // Node b became part of node a; neither depended on the other.
  void merged(NodeId a, NodeId b);

 private:
  using Bits = std::vector<uint64_t>;
  static bool has(const Bits& bits, NodeId id) {
    return (bits[index(id) / 64] >> (index(id) % 64) & 1) != 0;
  }
  static void add(Bits& bits, NodeId id) { bits[index(id) / 64] |= uint64_t{1} << index(id) % 64; }

  std::vector<Bits> above_;  // of each node: those it depends on
  std::vector<std::vector<TensorId>> reads_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace tang
