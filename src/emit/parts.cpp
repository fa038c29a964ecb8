#include "emit/parts.h"

#include <algorithm>

namespace tang {

namespace {

using loop::BufferId;
using loop::Kernel;

class Waits {
 public:
  Waits(const LoopProgram& program, const WorkspacePlan& plan) : program_(program), plan_(plan) {}

  std::vector<bool> run() {
    std::vector<bool> result;
    size_t begin = 0;  // of the kernels since the last wait
    for (size_t k = 0; k < program_.kernels.size(); ++k) {
      bool wait = false;
      for (size_t before = begin; before < k && !wait; ++before) wait = conflict(before, k);
      result.push_back(wait);
      if (wait) begin = k;
    }
    return result;
  }

 private:
  bool conflict(size_t before, size_t k) const {
    const Kernel &a = program_.kernels[before], &b = program_.kernels[k];
    if (!is_parallel(a) && !is_parallel(b)) return false;
    return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
  }

  bool meet(const std::vector<BufferId>& a, const std::vector<BufferId>& b) const {
    return std::any_of(a.begin(), a.end(), [&](BufferId x) {
      return std::any_of(b.begin(), b.end(), [&](BufferId y) { return share_memory(x, y); });
    });
  }

  // Buffers of the workspace may lie in one place if they are not needed at the same time.
  bool share_memory(BufferId a, BufferId b) const {
    if (program_.storage(a) == program_.storage(b)) return true;
    const WorkspacePlan::Place *x = place(a), *y = place(b);
    return x && y && (x->last < y->first || y->last < x->first);
  }

  const WorkspacePlan::Place* place(BufferId id) const {
    const auto found = std::find_if(plan_.places.begin(), plan_.places.end(),
                                    [id](const auto& p) { return p.buffer == id; });
    return found == plan_.places.end() ? nullptr : &*found;
  }

  const LoopProgram& program_;
  const WorkspacePlan& plan_;
};

}  // namespace

bool has_parts(const LoopProgram& program) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), loop::is_parallel);
}

std::vector<bool> waits(const LoopProgram& program, const WorkspacePlan& plan) {
  return Waits(program, plan).run();
}

}  // namespace tang
