#include "run/opencl.h"

#include <deque>

#include <fmt/format.h>

#include "run/gpu_checks.h"
#include "run/opencl_state.h"
#include "run/ptxas_log.h"

namespace tang {

namespace {

using cl::Int;
using cl::Owned;
using cl::Shared;

class OpenclMemory : public GpuMemory {
 public:
  OpenclMemory(Shared shared, Owned<cl::Memory> memory)
      : shared_(std::move(shared)), memory_(std::move(memory)) {}
  cl::Memory get() const { return memory_.get(); }

 private:
  Shared shared_;
  Owned<cl::Memory> memory_;
};

class OpenclModule : public GpuModule {
 public:
  struct Function {
    Owned<cl::Program> program;
    std::string entry;
    int64_t threads = 1;
    Usage usage;
  };

  OpenclModule(Shared shared, std::vector<Function> functions)
      : shared_(std::move(shared)), functions_(std::move(functions)) {}
  Usage usage(size_t function) const override { return functions_[function].usage; }
  const Function& operator[](size_t function) const { return functions_[function]; }

 private:
  Shared shared_;
  std::vector<Function> functions_;
};

// A launch with its arguments set.
struct Recorded {
  std::string name;  // for messages: kernel, groups and threads
  Owned<cl::Kernel> kernel;
  std::vector<Owned<cl::Memory>> parts;  // of memory, that it binds
  size_t global = 1, local = 1;
};

class OpenclSequence : public GpuSequence {
 public:
  OpenclSequence(Shared shared, std::vector<Recorded> launches)
      : shared_(std::move(shared)), launches_(std::move(launches)) {}

  Result<double> run(int64_t rounds) override {
    const cl::Api& api = shared_->api;
    if (launches_.empty()) return 0.0;
    std::deque<Pending> pending;
    Times times;
    Result<void> ok;
    for (int64_t round = 0; round < rounds && ok; ++round) {
      for (const Recorded& launch : launches_) {
        ok = enqueue(launch, pending);
        if (ok && pending.size() >= 2 * batch) ok = wait(pending, batch, times);
        if (!ok) break;
      }
    }
    const Int finished = api.Finish(shared_->queue.get());
    if (ok) ok = wait(pending, pending.size(), times);
    if (ok && finished != 0) ok = cl::failure("Finish", finished, launches_.back().name);
    if (!ok) return tl::unexpected(ok.error());
    return static_cast<double>(times.end - times.begin) * 1e-6;
  }

 private:
  static constexpr size_t batch = 512;  // launches waited for together
  struct Pending {
    const Recorded* launch = nullptr;
    Owned<cl::Event> event;
  };
  struct Times {
    uint64_t begin = 0, end = 0;  // nanoseconds
  };

  Result<void> enqueue(const Recorded& launch, std::deque<Pending>& pending) {
    const cl::Api& api = shared_->api;
    cl::Event event = nullptr;
    TANG_OPENCL_CALL(launch.name, EnqueueNDRangeKernel, shared_->queue.get(), launch.kernel.get(),
                     1, nullptr, &launch.global, &launch.local, 0, nullptr, &event);
    pending.push_back({&launch, Owned(event, api.ReleaseEvent)});
    return {};
  }

  // Waits for the oldest launches and looks at what became of each.
  Result<void> wait(std::deque<Pending>& pending, size_t count, Times& times) {
    const cl::Api& api = shared_->api;
    if (count == 0) return {};
    TANG_OPENCL_CALL("launches", Flush, shared_->queue.get());
    for (; count > 0; --count) {
      const Pending one = std::move(pending.front());
      pending.pop_front();
      const std::string& name = one.launch->name;
      const cl::Event event = one.event.get();
      const Int waited = api.WaitForEvents(1, one.event.address());
      Int became = 0;
      TANG_OPENCL_CALL(name, GetEventInfo, event, cl::event_command_execution_status, sizeof became,
                       &became, nullptr);
      if (became < 0) return cl::failure("EnqueueNDRangeKernel", became, name);
      if (waited != 0) return cl::failure("WaitForEvents", waited, name);
      uint64_t begin = 0, end = 0;
      TANG_OPENCL_CALL(name, GetEventProfilingInfo, event, cl::profiling_command_start,
                       sizeof begin, &begin, nullptr);
      TANG_OPENCL_CALL(name, GetEventProfilingInfo, event, cl::profiling_command_end, sizeof end,
                       &end, nullptr);
      if (times.end == 0) times.begin = begin;
      times.end = std::max(end, begin);
    }
    return {};
  }

  Shared shared_;
  std::vector<Recorded> launches_;
};

class OpenclDriver : public GpuDriver {
 public:
  explicit OpenclDriver(Shared shared) : shared_(std::move(shared)) {}

  std::string_view name() const override { return "opencl"; }
  const Capability& capability() const override { return shared_->capability; }
  int64_t memory_bytes() const override { return shared_->memory_bytes; }

  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    std::vector<OpenclModule::Function> functions;
    for (const GpuFunction& f : source.functions) {
      if (auto ok = check_function(capability(), f); !ok) return tl::unexpected(ok.error());
      auto built = build(f);
      if (!built) return tl::unexpected(built.error());
      functions.push_back(std::move(*built));
    }
    return std::make_unique<OpenclModule>(shared_, std::move(functions));
  }

  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    const cl::Api& api = shared_->api;
    Int code = 0;
    Owned memory(api.CreateBuffer(shared_->context.get(), cl::mem_read_write,
                                  static_cast<size_t>(bytes), nullptr, &code),
                 api.ReleaseMemObject);
    if (code == 0) return std::make_unique<OpenclMemory>(shared_, std::move(memory));
    return error("E0913",
                 fmt::format("{} bytes cannot be had on {}, which has {}: clCreateBuffer: {}",
                             bytes, capability().device, memory_bytes(), cl::error_name(code)),
                 "choose smaller sizes, or another device", Exit::out_of_memory);
  }

  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    const cl::Api& api = shared_->api;
    if (from.empty()) return {};
    TANG_OPENCL_CALL("an upload", EnqueueWriteBuffer, shared_->queue.get(), memory(to), 1,
                     static_cast<size_t>(offset), from.size(), from.data(), 0, nullptr, nullptr);
    return {};
  }

  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    const cl::Api& api = shared_->api;
    if (to.empty()) return {};
    TANG_OPENCL_CALL("a download", EnqueueReadBuffer, shared_->queue.get(), memory(from), 1,
                     static_cast<size_t>(offset), to.size(), to.data(), 0, nullptr, nullptr);
    return {};
  }

  Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                              std::span<const GpuLaunch> launches) override {
    std::vector<Recorded> recorded;
    for (const GpuLaunch& launch : launches) {
      auto one = record(static_cast<const OpenclModule&>(module)[launch.function], launch);
      if (!one) return tl::unexpected(one.error());
      recorded.push_back(std::move(*one));
    }
    return std::make_unique<OpenclSequence>(shared_, std::move(recorded));
  }

 private:
  static cl::Memory memory(const GpuMemory& m) { return static_cast<const OpenclMemory&>(m).get(); }

  std::string build_log(cl::Program program) const {
    const cl::Api& api = shared_->api;
    size_t size = 0;
    if (api.GetProgramBuildInfo(program, shared_->device, cl::program_build_log, 0, nullptr,
                                &size) != 0)
      return {};
    std::string log(size, '\0');
    api.GetProgramBuildInfo(program, shared_->device, cl::program_build_log, size, log.data(),
                            nullptr);
    return log.substr(0, log.find('\0'));
  }

  Result<OpenclModule::Function> build(const GpuFunction& f) {
    const cl::Api& api = shared_->api;
    const char* text = f.source.data();
    const size_t length = f.source.size();
    Int code = 0;
    OpenclModule::Function result;
    result.program =
        Owned(api.CreateProgramWithSource(shared_->context.get(), 1, &text, &length, &code),
              api.ReleaseProgram);
    if (code != 0) return cl::failure("CreateProgramWithSource", code, f.entry);
    const cl::Program program = result.program.get();
    code =
        api.BuildProgram(program, 1, &shared_->device, shared_->options.c_str(), nullptr, nullptr);
    const std::string log = build_log(program);
    if (code != 0) {
      return error("E0999",
                   fmt::format("the OpenCL compiler refused `{}`: {}\n{}", f.entry,
                               cl::error_name(code), log),
                   "please report it");
    }
    if (shared_->nvidia) result.usage = parse_ptxas_log(log);
    result.entry = f.entry;
    result.threads = f.threads;
    return check_threads(std::move(result));
  }

  // The compiled kernel may allow fewer threads than the device.
  Result<OpenclModule::Function> check_threads(OpenclModule::Function f) {
    const cl::Api& api = shared_->api;
    Int code = 0;
    const Owned kernel(api.CreateKernel(f.program.get(), f.entry.c_str(), &code),
                       api.ReleaseKernel);
    if (code != 0) return cl::failure("CreateKernel", code, f.entry);
    size_t most = 0;
    TANG_OPENCL_CALL(f.entry, GetKernelWorkGroupInfo, kernel.get(), shared_->device,
                     cl::kernel_work_group_size, sizeof most, &most, nullptr);
    if (most >= static_cast<size_t>(f.threads)) return f;
    return error("E0921",
                 fmt::format("kernel `{}` has groups of {} threads; {} runs it with at most {}",
                             f.entry, f.threads, capability().device, most),
                 "choose a schedule with fewer threads", Exit::target_limit);
  }

  Result<Recorded> record(const OpenclModule::Function& f, const GpuLaunch& launch) {
    const cl::Api& api = shared_->api;
    Recorded r;
    r.name = fmt::format("kernel `{}` ({} groups of {} threads)", launch.kernel, launch.groups,
                         f.threads);
    r.local = static_cast<size_t>(f.threads);
    r.global = static_cast<size_t>(launch.groups) * r.local;
    Int code = 0;
    r.kernel = Owned(api.CreateKernel(f.program.get(), f.entry.c_str(), &code), api.ReleaseKernel);
    if (code != 0) return cl::failure("CreateKernel", code, r.name);
    cl::Uint argument = 0;
    for (const GpuBinding& b : launch.bindings) {
      const auto bound = part(b, r);
      if (!bound) return tl::unexpected(bound.error());
      TANG_OPENCL_CALL(r.name, SetKernelArg, r.kernel.get(), argument++, sizeof(cl::Memory),
                       &*bound);
    }
    for (const int64_t symbol : launch.symbols)
      TANG_OPENCL_CALL(r.name, SetKernelArg, r.kernel.get(), argument++, sizeof symbol, &symbol);
    return r;
  }

  // Kernels take whole objects: memory from an offset on is an object of its own.
  Result<cl::Memory> part(const GpuBinding& b, Recorded& r) {
    if (b.offset == 0) return memory(*b.memory);
    const cl::Region region{static_cast<size_t>(b.offset), static_cast<size_t>(b.bytes)};
    const cl::Api& api = shared_->api;
    Int code = 0;
    Owned sub(api.CreateSubBuffer(memory(*b.memory), cl::mem_read_write,
                                  cl::buffer_create_type_region, &region, &code),
              api.ReleaseMemObject);
    if (code != 0) return cl::failure("CreateSubBuffer", code, r.name);
    r.parts.push_back(std::move(sub));
    return r.parts.back().get();
  }

  Shared shared_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_opencl(const std::string& library) {
  auto device = cl::open_device(library);
  if (!device) return tl::unexpected(device.error());
  return std::make_unique<OpenclDriver>(std::move(*device));
}

Result<std::unique_ptr<GpuDriver>> open_opencl() { return open_opencl("libOpenCL.so.1"); }

}  // namespace tang
