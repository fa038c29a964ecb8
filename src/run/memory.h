// The memory of one program at given sizes.
//
// Inputs belong to the caller. Outputs and what is prepared are owned here, except `into` outputs,
// which take the memory of their input. Workspace is either one block laid out as tang_run() wants
// it, or a buffer each, so that kernels can be run and looked at one by one; then inputs that an
// output goes into are copied, and the caller's arrays stay as they were.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/array.h"
#include "loop/program.h"

namespace tang {

class ProgramMemory {
 public:
  enum class Workspace : uint8_t { joined, separate };

  // `inputs` in program order; `joined_bytes` is Executable::workspace_bytes, ignored when
  // separate. Errors: E0903 (exit 5) naming the bytes, before anything is allocated if the total
  // exceeds the memory of the machine.
  static Result<ProgramMemory> make(const LoopProgram& program, std::span<const int64_t> symbols,
                                    const std::vector<Array*>& inputs, Workspace workspace,
                                    int64_t joined_bytes);

  // Pointers for Executable::run and Executable::run_kernel.
  std::span<void* const> arguments() const { return arguments_; }
  std::span<void* const> buffers() const { return buffers_; }
  void* workspace() const { return workspace_; }

  // The array of a buffer: a flat one of its elements until the caller sets another shape.
  Array& array(loop::BufferId id) { return *arrays_[loop::index(id)]; }

  // Fills outputs, workspace and what is prepared with bytes that no kernel writes: NaNs, odd
  // integers. Memory shared with an input keeps its values.
  void poison();
  // Elements of a poisoned buffer that still hold its poison; -1 if that cannot be told.
  int64_t unwritten(loop::BufferId id) const;

 private:
  static int poison_byte(Format format);

  std::map<uint32_t, Array> owned_;  // by BufferId
  std::vector<Array*> arrays_;       // by BufferId; null where there is none
  std::vector<bool> poisoned_;
  Buffer block_;
  void* workspace_ = nullptr;
  std::vector<void*> arguments_, buffers_;
};

}  // namespace tang
