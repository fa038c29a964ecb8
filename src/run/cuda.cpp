#include "run/cuda.h"

#include <algorithm>

#include <fmt/format.h>

#include "run/cuda_state.h"
#include "run/nvrtc.h"

namespace tang {

namespace {

using cuda::Current;
using cuda::Owned;
using cuda::Shared;

class CudaMemory : public GpuMemory {
 public:
  explicit CudaMemory(Owned<cuda::Address> memory)
      : memory_(std::move(memory)), address_(memory_.get()) {}
  explicit CudaMemory(void* of_the_caller)
      : address_(reinterpret_cast<cuda::Address>(of_the_caller)) {}
  cuda::Address address() const { return address_; }

 private:
  Owned<cuda::Address> memory_;
  cuda::Address address_;
};

class CudaModule : public GpuModule {
 public:
  struct Function {
    Owned<cuda::Module> module;
    cuda::Function function = nullptr;
    int64_t threads = 1;
    Usage usage;
  };

  explicit CudaModule(std::vector<Function> functions) : functions_(std::move(functions)) {}
  Usage usage(size_t function) const override { return functions_[function].usage; }
  const Function& operator[](size_t function) const { return functions_[function]; }

 private:
  std::vector<Function> functions_;
};

cuda::Address address(const GpuMemory& memory, int64_t offset) {
  return static_cast<const CudaMemory&>(memory).address() + static_cast<cuda::Address>(offset);
}

std::string describe(const GpuLaunch& launch, int64_t threads) {
  return fmt::format("kernel `{}` ({} groups of {} threads)", launch.kernel, launch.groups,
                     threads);
}

// Values of the arguments are copied by the driver. The context is current.
Result<void> put(const cuda::Api& api, const CudaModule& functions, const GpuLaunch& l,
                 cuda::Stream stream) {
  const CudaModule::Function& f = functions[l.function];
  std::vector<cuda::Address> addresses;
  for (const GpuBinding& b : l.bindings) addresses.push_back(address(*b.memory, b.offset));
  std::vector<int64_t> symbols = l.symbols;
  std::vector<void*> arguments;
  for (cuda::Address& a : addresses) arguments.push_back(&a);
  for (int64_t& s : symbols) arguments.push_back(&s);
  TANG_CUDA_CALL(describe(l, f.threads), LaunchKernel, f.function, static_cast<unsigned>(l.groups),
                 1, 1, static_cast<unsigned>(f.threads), 1, 1, 0, stream, arguments.data(),
                 nullptr);
  return {};
}

// The launches of a sequence, to be made graphs of. The context is current.
class Recorder {
 public:
  Recorder(Shared shared, const CudaModule& functions, std::span<const GpuLaunch> launches)
      : shared_(std::move(shared)),
        functions_(functions),
        launches_(launches.begin(), launches.end()),
        what_(describe_all()) {}

  const std::string& what() const { return what_; }  // the kernels, for messages
  int64_t count() const { return static_cast<int64_t>(launches_.size()); }

  // All launches `rounds` times as a graph, each after the one before.
  Result<Owned<cuda::GraphExec>> graph(int64_t rounds) const {
    const cuda::Api& api = shared_->api;
    auto captured = capture(rounds);
    if (!captured) return tl::unexpected(captured.error());
    cuda::GraphExec made = nullptr;
    TANG_CUDA_CALL(what_, GraphInstantiate, &made, captured->get(), 0);
    return Owned<cuda::GraphExec>(shared_, made, api.GraphExecDestroy);
  }

 private:
  Result<Owned<cuda::Graph>> capture(int64_t rounds) const {
    const cuda::Api& api = shared_->api;
    TANG_CUDA_CALL(what_, StreamBeginCapture, shared_->stream, cuda::capture_thread_local);
    Result<void> launched;
    for (int64_t round = 0; round < rounds && launched; ++round)
      for (size_t k = 0; k < launches_.size() && launched; ++k)
        launched = put(api, functions_, launches_[k], shared_->stream);
    cuda::Graph made = nullptr;
    const int code = api.StreamEndCapture(shared_->stream, &made);
    Owned<cuda::Graph> graph(shared_, made, api.GraphDestroy);
    if (!launched) return tl::unexpected(launched.error());
    if (code != 0) return cuda::failure(api, "StreamEndCapture", code, what_);
    return graph;
  }

  std::string describe_all() const {
    constexpr size_t most = 8;
    std::string text = launches_.size() > 1 ? "one of " : "";
    for (size_t k = 0; k < launches_.size() && k < most; ++k) {
      const GpuLaunch& l = launches_[k];
      text += fmt::format("{}{}", k ? ", " : "", describe(l, functions_[l.function].threads));
    }
    if (launches_.size() > most) text += fmt::format(" and {} more", launches_.size() - most);
    return text;
  }

  Shared shared_;
  const CudaModule& functions_;
  std::vector<GpuLaunch> launches_;
  std::string what_;
};

// A graph of one round, and for many rounds one of several: a kernel in a graph costs less than a
// launch of a graph.
class CudaSequence : public GpuSequence {
 public:
  CudaSequence(Shared shared, Recorder recorder, Owned<cuda::GraphExec> graph,
               Owned<cuda::Event> begin, Owned<cuda::Event> end)
      : shared_(std::move(shared)),
        recorder_(std::move(recorder)),
        one_(std::move(graph)),
        begin_(std::move(begin)),
        end_(std::move(end)) {}

  Result<double> run(int64_t rounds) override {
    const cuda::Api& api = shared_->api;
    const std::string& what = recorder_.what();
    const Current current(*shared_);
    if (rounds >= 2 * several() && several() > 1 && !many_.get()) {
      auto graph = recorder_.graph(several());
      if (!graph) return tl::unexpected(graph.error());
      many_ = std::move(*graph);
    }
    const Result<void> launched = launch(rounds);
    // Waits for what was launched, whatever became of it.
    const int code = api.StreamSynchronize(shared_->stream);
    if (!launched) return tl::unexpected(launched.error());
    if (code != 0) return cuda::failure(api, "StreamSynchronize", code, what);
    float ms = 0;
    TANG_CUDA_CALL(what, EventElapsedTime, &ms, begin_.get(), end_.get());
    return static_cast<double>(ms);
  }

 private:
  int64_t several() const { return 128 / std::max<int64_t>(recorder_.count(), 1); }

  Result<void> launch(int64_t rounds) {
    const cuda::Api& api = shared_->api;
    const std::string& what = recorder_.what();
    TANG_CUDA_CALL(what, EventRecord, begin_.get(), shared_->stream);
    while (rounds > 0) {
      const bool many = many_.get() && rounds >= several();
      TANG_CUDA_CALL(what, GraphLaunch, many ? many_.get() : one_.get(), shared_->stream);
      rounds -= many ? several() : 1;
    }
    TANG_CUDA_CALL(what, EventRecord, end_.get(), shared_->stream);
    return {};
  }

  Shared shared_;
  Recorder recorder_;
  Owned<cuda::GraphExec> one_, many_;
  Owned<cuda::Event> begin_, end_;
};

class CudaDriver : public GpuDriver {
 public:
  explicit CudaDriver(Shared shared) : shared_(std::move(shared)) {}

  std::string_view name() const override { return "cuda"; }
  const Capability& capability() const override { return shared_->capability; }
  int64_t memory_bytes() const override { return shared_->memory_bytes; }

  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    for (const GpuFunction& f : source.functions) {
      if (f.shared_bytes > capability().shared_bytes)
        return over_limit(f, "bytes of shared memory", f.shared_bytes, capability().shared_bytes);
      if (f.threads > capability().threads)
        return over_limit(f, "threads", f.threads, capability().threads);
    }
    auto cubins = nvrtc_compile(source.functions, capability().architecture);
    if (!cubins) return tl::unexpected(cubins.error());
    const Current current(*shared_);
    std::vector<CudaModule::Function> functions;
    for (size_t k = 0; k < cubins->size(); ++k) {
      auto loaded = load(source.functions[k], (*cubins)[k]);
      if (!loaded) return tl::unexpected(loaded.error());
      functions.push_back(std::move(*loaded));
    }
    return std::make_unique<CudaModule>(std::move(functions));
  }

  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    const cuda::Api& api = shared_->api;
    const Current current(*shared_);
    cuda::Address address = 0;
    const int code = api.MemAlloc(&address, static_cast<size_t>(bytes));
    if (code == 0)
      return std::make_unique<CudaMemory>(Owned<cuda::Address>(shared_, address, api.MemFree));
    size_t free = 0, total = 0;
    if (code == cuda::out_of_memory && api.MemGetInfo(&free, &total) == 0) {
      return error("E0913",
                   fmt::format("{} bytes cannot be had on {}, which has {} of {} left", bytes,
                               capability().device, free, total),
                   "choose smaller sizes, or another device", Exit::out_of_memory);
    }
    return cuda::failure(api, "MemAlloc", code, fmt::format("{} bytes", bytes));
  }

  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    const cuda::Api& api = shared_->api;
    const Current current(*shared_);
    if (from.empty()) return {};
    TANG_CUDA_CALL("an upload", MemcpyHtoDAsync, address(to, offset), from.data(), from.size(),
                   shared_->stream);
    TANG_CUDA_CALL("an upload", StreamSynchronize, shared_->stream);
    return {};
  }

  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    const cuda::Api& api = shared_->api;
    const Current current(*shared_);
    if (to.empty()) return {};
    TANG_CUDA_CALL("a download", MemcpyDtoHAsync, to.data(), address(from, offset), to.size(),
                   shared_->stream);
    TANG_CUDA_CALL("a download", StreamSynchronize, shared_->stream);
    return {};
  }

  Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                              std::span<const GpuLaunch> launches) override {
    const cuda::Api& api = shared_->api;
    const Current current(*shared_);
    Recorder recorder(shared_, static_cast<const CudaModule&>(module), launches);
    const std::string what = recorder.what();
    auto graph = recorder.graph(1);
    if (!graph) return tl::unexpected(graph.error());
    cuda::Event event = nullptr;
    TANG_CUDA_CALL(what, EventCreate, &event, cuda::event_default);
    Owned<cuda::Event> begin(shared_, event, api.EventDestroy);
    TANG_CUDA_CALL(what, EventCreate, &event, cuda::event_default);
    Owned<cuda::Event> end(shared_, event, api.EventDestroy);
    return std::make_unique<CudaSequence>(shared_, std::move(recorder), std::move(*graph),
                                          std::move(begin), std::move(end));
  }

  bool takes_streams() const override { return true; }

  Result<std::unique_ptr<GpuMemory>> adopt(void* address, int device) override {
    if (device == shared_->device) return std::make_unique<CudaMemory>(address);
    return error("E0720",
                 fmt::format("the memory is of device {}, and the program runs on device {}, {}",
                             device, shared_->device, capability().device),
                 "move it there, or make that device's context current before compiling");
  }

  // No events, no graph: the caller's stream may be in capture.
  Result<void> enqueue(const GpuModule& module, std::span<const GpuLaunch> launches,
                       void* stream) override {
    const Current current(*shared_);
    for (const GpuLaunch& l : launches) {
      auto put_there = put(shared_->api, static_cast<const CudaModule&>(module), l,
                           static_cast<cuda::Stream>(stream));
      if (!put_there) return put_there;
    }
    return {};
  }

 private:
  tl::unexpected<Diagnostic> over_limit(const GpuFunction& f, std::string_view what, int64_t needed,
                                        int64_t limit) const {
    return error("E0921",
                 fmt::format("kernel `{}` needs {} {} a group; {} offers {}", f.entry, needed, what,
                             capability().device, limit),
                 "choose a schedule that needs less", Exit::target_limit);
  }

  Result<CudaModule::Function> load(const GpuFunction& f, const Cubin& cubin) {
    const cuda::Api& api = shared_->api;
    cuda::Module module = nullptr;
    TANG_CUDA_CALL(f.entry, ModuleLoadData, &module, cubin.image.data());
    CudaModule::Function result;
    result.module = Owned<cuda::Module>(shared_, module, api.ModuleUnload);
    result.threads = f.threads;
    result.usage = cubin.usage;
    TANG_CUDA_CALL(f.entry, ModuleGetFunction, &result.function, module, f.entry.c_str());
    // Registers may leave room for fewer threads than the device runs.
    int most = 0;
    TANG_CUDA_CALL(f.entry, FuncGetAttribute, &most, cuda::function_max_threads_per_block,
                   result.function);
    if (f.threads > most) return over_limit(f, "threads", f.threads, most);
    return result;
  }

  Shared shared_;
};

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_cuda(const cuda::Api& api) {
  auto device = cuda::open_device(api);
  if (!device) return tl::unexpected(device.error());
  return std::make_unique<CudaDriver>(std::move(*device));
}

Result<std::unique_ptr<GpuDriver>> open_cuda() {
  const auto api = cuda::load();
  if (!api) return tl::unexpected(api.error());
  return open_cuda(*api);
}

}  // namespace tang
