// A program on a GPU: its kernels built for a driver, and its memory there at given sizes.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "emit/workspace.h"
#include "run/device.h"
#include "run/gpu_driver.h"

namespace tang {

// A driver and the lock that its users take: one call of the driver at a time.
struct GpuShared {
  std::unique_ptr<GpuDriver> driver;
  std::mutex mutex;
};

// Callers hold the lock.
class GpuProgram {
 public:
  struct Form {
    GpuSource source;
    std::shared_ptr<GpuModule> module;
    size_t first = 0;  // the module's function that is the source's first
  };

  GpuProgram(LoopProgram program, std::shared_ptr<GpuShared> shared);
  ~GpuProgram();  // takes the lock
  GpuProgram(const GpuProgram&) = delete;
  GpuProgram& operator=(const GpuProgram&) = delete;

  const LoopProgram& program() const { return program_; }
  const WorkspacePlan& workspace() const { return workspace_; }
  GpuDriver& driver() const { return *shared_->driver; }
  std::mutex& mutex() const { return shared_->mutex; }

  // The kernels with indices of 64 bits (wide) or 32, built at the first call.
  Result<const Form*> form(bool wide);
  // The source of a form, and the form as another built it.
  Result<GpuSource> source(bool wide) const;
  void set_form(bool wide, Form form) { forms_[wide] = std::move(form); }
  // The form that is built, of 32 bits first; null if none is.
  const Form* built() const;

  // By BufferId: bytes of its memory at these sizes. E0701 unless all of them are valid.
  Result<std::vector<int64_t>> sizes(std::span<const int64_t> symbols) const;
  // Whether indices at these sizes, which are valid, need 64 bits.
  bool needs_wide(std::span<const int64_t> symbols) const;

  // E0921 for a buffer that no kernel of the device can bind, or address.
  Result<void> check_limits(std::span<const int64_t> symbols, std::span<const int64_t> bytes) const;

  // Whether some kernel (some prepare) binds the memory that this buffer owns.
  bool bound_by_kernels(loop::BufferId id) const { return by_kernels_[loop::index(id)]; }
  bool bound_by_prepares(loop::BufferId id) const { return by_prepares_[loop::index(id)]; }

 private:
  LoopProgram program_;
  std::shared_ptr<GpuShared> shared_;
  WorkspacePlan workspace_;
  std::vector<bool> by_kernels_, by_prepares_;
  std::optional<Form> forms_[2];
};

// A launch of a kernel, which is a function of `form`; `bind` gives the memory of each buffer.
GpuLaunch make_launch(const GpuProgram& program, const GpuProgram::Form& form,
                      const loop::Kernel& kernel, size_t function, std::span<const int64_t> symbols,
                      const std::function<GpuBinding(loop::BufferId)>& bind);

// A program at given sizes on memory of the caller. Callers hold the lock; the program outlives it.
class GpuGuest {
 public:
  static Result<GpuGuest> make(GpuProgram& program, std::span<const int64_t> symbols);

  int64_t workspace_bytes() const { return workspace_.total; }
  // See Executable::enqueue.
  Result<void> enqueue(const StreamRun& run) const;

 private:
  explicit GpuGuest(GpuProgram& program) : program_(&program) {}

  GpuProgram* program_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> bytes_;  // by BufferId
  WorkspaceSizes workspace_;
  const GpuProgram::Form* form_ = nullptr;
};

// The memory of a program at given sizes, and the launches over it. Callers hold the lock; the
// program outlives it.
class GpuPlaced {
 public:
  static Result<std::unique_ptr<GpuPlaced>> make(GpuProgram& program,
                                                 std::span<const int64_t> symbols);

  std::span<const int64_t> symbols() const { return symbols_; }

  // Copies the memory that owns a buffer, if some kernel or prepare binds it. E0701 where `host` is
  // null.
  Result<void> upload(loop::BufferId id, const void* host);
  Result<void> download(loop::BufferId id, void* host);

  // Milliseconds of the launches.
  Result<double> run(int64_t rounds);
  Result<double> prepare();
  Result<double> run_kernel(size_t kernel, int64_t rounds);

 private:
  GpuPlaced(GpuProgram& program, std::span<const int64_t> symbols);
  Result<void> allocate();
  void place_workspace();
  GpuLaunch launch(const loop::Kernel& kernel, size_t function) const;
  Result<double> run_all(std::unique_ptr<GpuSequence>& sequence,
                         std::span<const loop::Kernel> kernels, std::span<const size_t> functions,
                         int64_t rounds);

  GpuProgram& program_;
  std::vector<int64_t> symbols_;
  std::vector<int64_t> bytes_;  // by BufferId
  std::vector<size_t> slots_;   // by BufferId: its memory, SIZE_MAX if it has none
  std::vector<int64_t> slot_bytes_;
  const GpuProgram::Form* form_ = nullptr;
  std::vector<std::unique_ptr<GpuMemory>> memory_;  // by slot
  // Recorded when first run; they go before the memory.
  std::unique_ptr<GpuSequence> kernels_, prepares_;
  std::vector<std::unique_ptr<GpuSequence>> single_;  // by kernel
};

}  // namespace tang
