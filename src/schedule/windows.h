// The memory that the windows of a planned kernel take, and which reads stand for them.
#pragma once

#include "schedule/schedule.h"

namespace tang {

// Whether the terms of a node's fold are products with the read as a factor, so that they are 0
// where it is.
bool is_factor(const Graph& g, const Node& n, LeafId read);

// Whether a tensor's values are the same in every run: a constant of the plan, or a definition
// computed in the kernel from constants alone.
bool is_constant(const Graph& g, const KernelPlan& k, TensorId t);

class Windows {
 public:
  Windows(Graph& graph, const KernelPlan& plan) : g(graph), k_(plan) {}

  // Reads of a tensor in the kernel's node and in the definitions computed in it.
  std::vector<LeafId> reads(TensorId t) const;
  // The node that such a read is in: the kernel's, or a definition's.
  NodeId reader(LeafId l) const;
  // How many elements a coordinate has inside of the block loops before `level`; nothing if that is
  // not known.
  std::optional<int64_t> size(DimId d, size_t level) const;
  // Elements of a window of the tensor inside of the block loops before `level`, whole panels
  // counted; nothing if some axis has no known range there.
  std::optional<int64_t> elements(const StagePlan& s, size_t level) const;
  std::optional<int64_t> elements(const StagePlan& s) const { return elements(s, s.level); }
  // Bytes of the plan's windows and those of rows; states between blocks and what is prepared lie
  // elsewhere. Nothing if some size is not known; `unknown` names what it is of.
  std::optional<int64_t> bytes(std::string* unknown) const;

  // Where the block loops over terms begin, before which states do.
  size_t first_reduce() const;

 private:
  std::optional<int64_t> range(const std::vector<Form>& forms, size_t level) const;
  std::optional<int64_t> box(const std::vector<DimId>& dims, size_t level) const;
  bool is_exact(DimId d, size_t level) const;
  int64_t real_bytes() const;

  Graph& g;
  const KernelPlan& k_;
  std::map<DimId, std::optional<int64_t>> given_;  // points of rows
};

}  // namespace tang
