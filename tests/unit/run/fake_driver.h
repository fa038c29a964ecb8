// A driver without hardware: memory of the host, and a log of what was asked of it. What
// a launch computes is the test's to say.
#pragma once

#include <cstring>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "run/gpu_device.h"

namespace tang {

struct FakeLog {
  std::vector<std::string> calls;  // "build", "allocate 64", "write 16", "launch y 4", …
  int64_t live_bytes = 0;
  // What a launch does to the bytes of its bindings.
  std::function<void(const GpuLaunch&, std::vector<std::byte*>)> run;
  std::string fails;     // a launch of this kernel does
  bool streams = false;  // of the caller's are taken

  size_t count(std::string_view prefix) const {
    size_t n = 0;
    for (const std::string& call : calls) n += call.starts_with(prefix);
    return n;
  }
};

class FakeMemory : public GpuMemory {
 public:
  FakeMemory(FakeLog& log, int64_t bytes)
      : log_(log), owned_(static_cast<size_t>(bytes)), data(owned_.data()) {
    log_.live_bytes += bytes;
  }
  FakeMemory(FakeLog& log, void* of_the_caller)
      : log_(log), data(static_cast<std::byte*>(of_the_caller)) {}
  ~FakeMemory() override { log_.live_bytes -= static_cast<int64_t>(owned_.size()); }

 private:
  FakeLog& log_;
  std::vector<std::byte> owned_;

 public:
  std::byte* const data;
};

class FakeModule : public GpuModule {
 public:
  Usage usage(size_t function) const override { return {static_cast<int64_t>(function) + 10, 0}; }
};

class FakeSequence : public GpuSequence {
 public:
  FakeSequence(FakeLog& log, std::span<const GpuLaunch> launches)
      : log_(log), launches_(launches.begin(), launches.end()) {}
  Result<double> run(int64_t rounds) override {
    for (int64_t k = 0; k < rounds; ++k)
      for (const GpuLaunch& launch : launches_)
        if (auto ok = run_one(log_, launch); !ok) return tl::unexpected(ok.error());
    return static_cast<double>(rounds) * 0.5;
  }
  static Result<void> run_one(FakeLog& log, const GpuLaunch& launch) {
    log.calls.push_back(fmt::format("launch {} {}", launch.kernel, launch.groups));
    if (launch.kernel == log.fails) return error("E0912", launch.kernel, "", Exit::no_device);
    std::vector<std::byte*> bytes;
    for (const GpuBinding& b : launch.bindings)
      bytes.push_back(static_cast<FakeMemory*>(b.memory)->data + b.offset);
    if (log.run) log.run(launch, bytes);
    return {};
  }

 private:
  FakeLog& log_;
  std::vector<GpuLaunch> launches_;
};

class FakeDriver : public GpuDriver {
 public:
  explicit FakeDriver(FakeLog& log, Capability capability = default_capability())
      : log_(log), capability_(std::move(capability)) {}

  static Capability default_capability() {
    Capability c;
    c.dialect = Dialect::opencl;
    c.device = "a fake";
    c.wide_addresses = c.i64 = c.f64 = c.narrow_words = true;
    return c;
  }

  std::string_view name() const override { return "fake"; }
  const Capability& capability() const override { return capability_; }
  int64_t memory_bytes() const override { return int64_t{1} << 40; }
  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    log_.calls.push_back("build");
    sources.push_back(source);
    return std::make_unique<FakeModule>();
  }
  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    log_.calls.push_back(fmt::format("allocate {}", bytes));
    if (bytes > int64_t{1} << 33) return error("E0913", "fake", "", Exit::out_of_memory);
    return std::make_unique<FakeMemory>(log_, bytes);
  }
  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    log_.calls.push_back(fmt::format("write {}", from.size()));
    std::memcpy(static_cast<FakeMemory&>(to).data + offset, from.data(), from.size());
    return {};
  }
  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    log_.calls.push_back(fmt::format("read {}", to.size()));
    std::memcpy(to.data(), static_cast<const FakeMemory&>(from).data + offset, to.size());
    return {};
  }
  Result<std::unique_ptr<GpuSequence>> record(const GpuModule&,
                                              std::span<const GpuLaunch> launches) override {
    log_.calls.push_back(fmt::format("record {}", launches.size()));
    return std::make_unique<FakeSequence>(log_, launches);
  }

  // Streams are taken where the log says so; what is put on one runs at once.
  bool takes_streams() const override { return log_.streams; }
  Result<std::unique_ptr<GpuMemory>> adopt(void* address, int device) override {
    if (!log_.streams) return GpuDriver::adopt(address, device);
    log_.calls.push_back(fmt::format("adopt {}", device));
    return std::make_unique<FakeMemory>(log_, address);
  }
  Result<void> enqueue(const GpuModule& module, std::span<const GpuLaunch> launches,
                       void* stream) override {
    if (!log_.streams) return GpuDriver::enqueue(module, launches, stream);
    for (const GpuLaunch& launch : launches)
      if (auto ok = FakeSequence::run_one(log_, launch); !ok) return ok;
    return {};
  }

  std::vector<GpuSource> sources;

 private:
  FakeLog& log_;
  Capability capability_;
};

}  // namespace tang
