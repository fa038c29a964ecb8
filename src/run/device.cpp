#include "run/device.h"

#include <fmt/format.h>

#include "base/array.h"

namespace tang {

namespace {

// The host's memory is the device's: nothing is copied.
class HostResident : public Resident {
 public:
  HostResident(const Executable& executable, std::span<void* const> buffers,
               std::span<const int64_t> symbols, Buffer workspace)
      : executable_(executable),
        buffers_(buffers.begin(), buffers.end()),
        symbols_(symbols.begin(), symbols.end()),
        workspace_(std::move(workspace)) {}

  Result<double> run(int64_t rounds) override {
    double ms = 0;
    for (int64_t k = 0; k < rounds; ++k) {
      const auto times = executable_.run(buffers_, symbols_, workspace_.data());
      if (!times) return tl::unexpected(times.error());
      ms += times->total_ms;
    }
    return ms;
  }
  Result<double> run_kernel(size_t kernel, int64_t rounds) override {
    if (all_.empty())
      if (auto ok = lay_out(); !ok) return tl::unexpected(ok.error());
    double ms = 0;
    for (int64_t k = 0; k < rounds; ++k) {
      const auto one = executable_.run_kernel(kernel, all_, symbols_);
      if (!one) return one;
      ms += *one;
    }
    return ms;
  }
  Result<void> upload(size_t) override { return {}; }
  Result<void> download(size_t) override { return {}; }
  Result<void> download_outputs() override { return {}; }

 private:
  // Kernels that run alone take pointers by BufferId, to workspace of their own.
  Result<void> lay_out() {
    const LoopProgram& p = executable_.program();
    std::vector<void*> all(p.buffers.size(), nullptr);
    const std::vector<loop::BufferId> arguments = p.arguments();
    for (size_t k = 0; k < arguments.size(); ++k) all[index(arguments[k])] = buffers_[k];
    for (size_t k = 0; k < all.size(); ++k) {
      const loop::Buffer& b = p.buffers[k];
      if (b.role != loop::Role::workspace) continue;
      auto array = make_array(b.format, {b.count.evaluate(symbols_).value_or(-1)});
      if (!array) return tl::unexpected(array.error());
      separate_.push_back(std::move(*array));
      all[k] = separate_.back().data.data();
    }
    all_ = std::move(all);
    return {};
  }

  const Executable& executable_;
  std::vector<void*> buffers_;
  std::vector<int64_t> symbols_;
  Buffer workspace_;
  std::vector<Array> separate_;
  std::vector<void*> all_;  // by BufferId; empty until a kernel runs alone
};

}  // namespace

Result<std::unique_ptr<Resident>> Executable::resident(std::span<void* const> buffers,
                                                       std::span<const int64_t> symbols) const {
  const auto bytes = workspace_bytes(symbols);
  if (!bytes) return tl::unexpected(bytes.error());
  auto workspace = Buffer::allocate(static_cast<size_t>(*bytes));
  if (!workspace)
    return tl::unexpected(out_of_memory("the workspace", fmt::format("{} bytes", *bytes)));
  return std::make_unique<HostResident>(*this, buffers, symbols, std::move(*workspace));
}

namespace {

tl::unexpected<Diagnostic> no_streams() {
  return error("E0923", "the device does not run on memory and streams of the caller",
               "give host memory", Exit::no_device);
}

}  // namespace

Result<int64_t> Executable::stream_workspace_bytes(std::span<const int64_t>) const {
  return no_streams();
}

Result<void> Executable::enqueue(const StreamRun&, std::span<const int64_t>) const {
  return no_streams();
}

}  // namespace tang
