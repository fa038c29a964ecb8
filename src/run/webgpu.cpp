#include "run/webgpu.h"

#include <algorithm>

#include "run/webgpu_kernels.h"
#include "run/webgpu_memory.h"

namespace tang {

namespace {

class WebGpuDriver : public GpuDriver {
 public:
  explicit WebGpuDriver(std::shared_ptr<wgpu::Context> context)
      : context_(std::move(context)), transfer_(context_) {}

  std::string_view name() const override { return "webgpu"; }
  const Capability& capability() const override { return context_->capability; }
  int64_t memory_bytes() const override { return 0; }

  Result<std::unique_ptr<GpuModule>> build(const GpuSource& source) override {
    return wgpu::build_module(context_, source);
  }
  Result<std::unique_ptr<GpuMemory>> allocate(int64_t bytes) override {
    using namespace wgpu;
    return make_block(context_, bytes, usage_storage | usage_copy_source | usage_copy_target);
  }
  Result<void> write(GpuMemory& to, int64_t offset, std::span<const std::byte> from) override {
    return transfer_.write(static_cast<wgpu::Block&>(to), offset, from);
  }
  Result<void> read(const GpuMemory& from, int64_t offset, std::span<std::byte> to) override {
    return transfer_.read(static_cast<const wgpu::Block&>(from), offset, to);
  }
  Result<std::unique_ptr<GpuSequence>> record(const GpuModule& module,
                                              std::span<const GpuLaunch> launches) override {
    return wgpu::record_sequence(context_, static_cast<const wgpu::Module&>(module), launches);
  }

 private:
  std::shared_ptr<wgpu::Context> context_;
  wgpu::Transfer transfer_;
};

// A kernel whose answer is known: it says whether the library's structures and numbers are those of
// webgpu_api.h, and whether the device computes at all.
std::string self_test_source(const Capability& has) {
  std::string source;
  if (has.f16) source += "enable f16;\n";
  if (has.subgroup > 0) source += "enable subgroups;\n";
  source +=
      "@group(0) @binding(0) var<storage, read> x : array<i32>;\n"
      "@group(0) @binding(1) var<storage, read_write> y : array<i32>;\n"
      "@group(0) @binding(2) var<uniform> sizes : array<vec4<i32>, 1>;\n"
      "var<workgroup> part : array<i32, 32>;\n"
      "@compute @workgroup_size(32)\n"
      "fn self_test(@builtin(local_invocation_id) thread : vec3<u32>) {\n"
      "  part[thread.x] = x[thread.x] * sizes[0].x;\n"
      "  workgroupBarrier();\n"
      "  var value = part[31u - thread.x];\n";
  if (has.f16) source += "  value = i32(f16(value) + 0.5h);\n";
  if (has.subgroup > 0) source += "  value = subgroupShuffleXor(value, 1u);\n";
  source += "  y[thread.x] = value + sizes[0].y;\n}\n";
  return source;
}

// Whether thread t finds what thread 31 - t wrote, or its neighbour's where threads exchange.
bool known_answer(std::span<const int32_t> y, bool exchanged) {
  for (int32_t t = 0; t < 32; ++t)
    if (y[static_cast<size_t>(t)] != (31 - (exchanged ? t ^ 1 : t)) * 3 - 7) return false;
  return true;
}

Result<void> self_test(GpuDriver& driver) {
  GpuSource source;
  source.dialect = Dialect::wgsl;
  GpuFunction& f = source.functions.emplace_back();
  f.entry = "self_test";
  f.source = self_test_source(driver.capability());
  f.threads = 32;
  f.shared_bytes = 128;
  f.symbols = {ParamId{0}, ParamId{1}};
  auto module = driver.build(source);
  if (!module) return tl::unexpected(std::move(module).error());
  std::vector<int32_t> values(32);
  for (int32_t t = 0; t < 32; ++t) values[static_cast<size_t>(t)] = t;
  auto x = driver.allocate(128), y = driver.allocate(128);
  if (!x) return tl::unexpected(std::move(x).error());
  if (!y) return tl::unexpected(std::move(y).error());
  if (auto ok = driver.write(**x, 0, std::as_bytes(std::span(values))); !ok) return ok;
  GpuLaunch launch;
  launch.kernel = f.entry;
  launch.bindings = {{x->get(), 0, 128}, {y->get(), 0, 128}};
  launch.symbols = {3, -7};
  auto sequence = driver.record(**module, std::span(&launch, 1));
  if (!sequence) return tl::unexpected(std::move(sequence).error());
  if (auto ok = (*sequence)->run(); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = driver.read(**y, 0, std::as_writable_bytes(std::span(values))); !ok) return ok;
  if (known_answer(values, driver.capability().subgroup > 0)) return {};
  return error("E0912", "the kernel's answer is wrong");
}

}  // namespace

Result<std::unique_ptr<GpuDriver>> open_webgpu(const std::string& library) {
  auto context = wgpu::open_context(library.empty() ? "libwebgpu_wrapper.so" : library);
  if (!context) return tl::unexpected(std::move(context).error());
  auto driver = std::make_unique<WebGpuDriver>(std::move(*context));
  if (auto ok = self_test(*driver); !ok)
    return error("E0911", "WebGPU's library or device fails its first test: " + ok.error().message,
                 "scripts/fetch-webgpu fetches the library that tang is made for", Exit::no_device);
  return driver;
}

}  // namespace tang
