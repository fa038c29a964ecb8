// Pinned fields of one kernel: names become ids, and what is not pinned is fitted to what is.
#pragma once

#include "schedule/legal.h"

namespace tang {

// Each function sets the fields of its name that are pinned, at the time when planning has set
// those of the plan that are not. E0805 says which name there is none of, or why a field does not
// belong to this kernel.
class Pinned {
 public:
  // `where` names the kernel in messages: "o", "o.rows.m".
  Pinned(Graph& graph, const std::string& source, std::string where, const KernelPins& pins)
      : g(graph), source_(source), where_(std::move(where)), pins_(pins) {}

  // Whether the field may be asked for at all, given the node. To be called first.
  Result<void> belongs(const KernelPlan& k) const;
  Result<void> nest(KernelPlan& k) const;
  // Windows that were planned for other blocks move to the level inside of the same dims, or
  // further in until they fit; those that nothing needs are left out where they do not.
  Result<void> blocks(KernelPlan& k) const;
  Result<void> stages(KernelPlan& k) const;
  Result<void> streamed(KernelPlan& k) const;
  // Whether the plan keeps to all laws.
  Result<void> legal(const KernelPlan& k) const;

 private:
  Result<void> refuse(const Refusal& r) const {
    return tl::unexpected(refused(source_, where_, r));
  }
  Result<DimId> dim(const KernelPlan& k, const std::string& field, const std::string& name) const;
  Result<std::vector<DimId>> dims(const KernelPlan& k, const std::string& field,
                                  const std::vector<std::string>& names) const;
  Result<TensorId> tensor(const KernelPlan& k, const std::string& name) const;
  Result<size_t> axis(TensorId t, const std::string& name) const;
  Result<StagePlan> stage(const KernelPlan& k, const StagePin& pin) const;
  void move_stages(KernelPlan& k, const std::vector<BlockLoop>& before) const;
  void add_windows(KernelPlan& k) const;
  void fit_panels(KernelPlan& k) const;

  Graph& g;
  const std::string& source_;
  std::string where_;
  const KernelPins& pins_;
};

}  // namespace tang
