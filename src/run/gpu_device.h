// The device of a GPU's driver: uploads a program's arguments, launches its kernels, downloads what
// they wrote.
//
// Memory of the device is made at the first run with given sizes and kept until a run with others;
// workspace is part of it, so that a program needs none of the host's. A run uploads outputs too:
// elements that no kernel writes keep the caller's values, as on the host. Indices are computed in
// 32 bits unless the sizes of a run need 64: a second form of the kernels, built when it is needed.
//
// Errors beside those of the driver (gpu_driver.h) and of gpu_source(): E0701 for sizes that are
// negative or too large, E0921 (exit 4) for a buffer that no kernel can bind, E0913 (exit 5) for
// buffers that are larger together than the device's memory.
#pragma once

#include "run/device.h"
#include "run/gpu_driver.h"

namespace tang {

struct GpuShared;
class GpuProgram;
class GpuPlaced;

class GpuExecutable : public Executable {
 public:
  explicit GpuExecutable(std::shared_ptr<GpuProgram> program);
  ~GpuExecutable() override;

  Result<int64_t> workspace_bytes(std::span<const int64_t> symbols) const override;  // 0
  // Prepared buffers are downloaded to the caller's pointers, from which runs upload them.
  Result<RunTimes> prepare(std::span<void* const> buffers, std::span<const int64_t> symbols,
                           void* workspace) const override;
  Result<RunTimes> run(std::span<void* const> buffers, std::span<const int64_t> symbols,
                       void* workspace) const override;
  // Uploads what the kernel reads and what it writes, downloads what it writes.
  Result<double> run_kernel(size_t kernel, std::span<void* const> buffers,
                            std::span<const int64_t> symbols) const override;
  // May outlive the executable.
  Result<std::unique_ptr<Resident>> resident(std::span<void* const> buffers,
                                             std::span<const int64_t> symbols) const override;
  Result<int64_t> stream_workspace_bytes(std::span<const int64_t> symbols) const override;
  Result<void> enqueue(const StreamRun& run, std::span<const int64_t> symbols) const override;
  const LoopProgram& program() const override;

  // What the compiler says of a kernel's function, of the form for 32-bit indices where it is
  // built.
  GpuModule::Usage usage(size_t kernel) const;

 private:
  Result<GpuPlaced*> placed(std::span<const int64_t> symbols) const;

  std::shared_ptr<GpuProgram> program_;
  mutable std::unique_ptr<GpuPlaced> placed_;  // of the last sizes
};

class GpuDevice : public Device {
 public:
  explicit GpuDevice(std::unique_ptr<GpuDriver> driver);

  std::string_view name() const override;
  const GpuDriver& driver() const;
  // Compiles the form for 32-bit indices, or the other where the program's constant sizes need it.
  Result<std::unique_ptr<Executable>> compile(const LoopProgram& program,
                                              const CompileOptions& options,
                                              Diagnostics& warnings) override;
  // Many programs, compiled side by side where the driver can.
  Result<std::vector<std::unique_ptr<Executable>>> compile_all(
      std::span<const LoopProgram* const> programs, const CompileOptions& options,
      Diagnostics& warnings);

 private:
  Result<void> build_all(std::span<const std::shared_ptr<GpuProgram>> programs);

  std::shared_ptr<GpuShared> shared_;
};

}  // namespace tang
