// What a driver of a GPU does for tang: memory, kernels, and sequences of launches. One class per
// driver (run/opencl.h, cuda.h, vulkan.h, webgpu.h) implements it; gpu_device.h makes a Device of
// one. Drivers are opened when asked for, with dlopen, and every call is checked.
//
// Errors: E0911 (exit 3) the driver, or a device of it, is missing, with what was looked for and
// how to get it; E0912 (exit 3) the device is lost or a call of the driver failed, with its name
// and the driver's own word; E0913 (exit 5) out of memory, with the bytes asked for and those
// there; E0999 the driver refused a kernel's source, with its log; E0921 (exit 4) a launch that
// exceeds a limit, with kernel, grid, group and limit; E0923 (exit 3) for memory or a stream of the
// caller's that the driver does not take.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emit/gpu_source.h"

namespace tang {

// Memory of a device, given back when destroyed.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
};

// The functions of a source, ready to be launched.
class GpuModule {
 public:
  virtual ~GpuModule() = default;
  // By function, where the compiler says: registers of a thread and bytes spilled. -1: unknown.
  struct Usage {
    int64_t registers = -1, spilled_bytes = -1;
  };
  virtual Usage usage(size_t /*function*/) const { return {}; }
};

struct GpuBinding {
  GpuMemory* memory = nullptr;
  int64_t offset = 0, bytes = 0;  // offset: a multiple of 256
};

struct GpuLaunch {
  size_t function = 0;
  std::string kernel;                // for messages
  std::vector<GpuBinding> bindings;  // as bindings() orders them
  std::vector<int64_t> symbols;      // as GpuFunction::symbols orders them
  int64_t groups = 1;
};

// Launches that run in order, each after what earlier ones wrote; recorded once, run often.
class GpuSequence {
 public:
  virtual ~GpuSequence() = default;
  // Runs all launches `rounds` times and waits. Gives milliseconds of all rounds together, by the
  // device's clock where it has a good one, otherwise by the host's.
  virtual Result<double> run(int64_t rounds = 1) = 0;
};

class GpuDriver {
 public:
  virtual ~GpuDriver() = default;
  virtual std::string_view name() const = 0;  // "opencl"
  virtual const Capability& capability() const = 0;
  virtual int64_t memory_bytes() const = 0;  // of the device; 0: unknown

  virtual Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) = 0;
  virtual Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) = 0;  // bytes > 0
  virtual Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) = 0;
  virtual Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) = 0;
  // The module and the memory outlive the sequence.
  virtual Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                                      std::span<const GpuLaunch> launches) = 0;

  // For callers that have memory and a stream of their own: whether the driver takes them.
  virtual bool takes_streams() const { return false; }
  // Memory at an address of device `device`, by the driver's numbers; the caller frees it. E0720
  // for another device than the driver's.
  virtual Result<std::unique_ptr<GpuMemory>> adopt(void* address, int device);
  // Puts the launches on the caller's stream, one after the other, and returns. Waits for nothing
  // and allocates nothing on the device, so that the stream may be in capture. The module and the
  // memory outlive what was put there.
  virtual Result<void> enqueue(const GpuModule& module, std::span<const GpuLaunch> launches,
                               void* stream);
};

// Each opens the driver and a device of it; settings come as options, not from the environment.
Result<std::unique_ptr<GpuDriver>> open_opencl();
Result<std::unique_ptr<GpuDriver>> open_cuda();
Result<std::unique_ptr<GpuDriver>> open_vulkan();
// `library`: the path of Dawn's; by default the loader looks for libwebgpu_wrapper.so.
Result<std::unique_ptr<GpuDriver>> open_webgpu(const std::string& library = {});

}  // namespace tang
