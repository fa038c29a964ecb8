#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "run/gpu_checks.h"
#include "run/webgpu_kernels.h"
#include "run/webgpu_memory.h"

namespace tang::wgpu {

namespace {

// Launches that one command buffer holds, unless one round has more.
constexpr int64_t batch = 1000;
constexpr int64_t alignment = 256;

class Sequence : public GpuSequence {
 public:
  explicit Sequence(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  Result<void> record(const Module& module, std::span<const GpuLaunch> launches);
  Result<double> run(int64_t rounds) override;

 private:
  struct Step {
    Pipeline pipeline = nullptr;
    Owned<Group> group;
    uint32_t groups = 0;
  };

  Result<void> write_sizes(const Module& module, std::span<const GpuLaunch> launches);
  Owned<Group> group(const Kernel& kernel, const GpuLaunch& launch, int64_t sizes) const;
  Owned<Commands> encode(int64_t rounds) const;

  std::shared_ptr<Context> context_;
  std::unique_ptr<Block> sizes_;  // of all launches
  std::vector<int64_t> places_;   // in it, by launch
  std::vector<Step> steps_;
};

Result<void> check(const Context& c, const Module& module, const GpuLaunch& launch) {
  if (launch.function >= module.kernels().size())
    return error("E0998", "launch of a function that the module does not have");
  const Kernel& kernel = module.kernels()[launch.function];
  if (auto ok = check_launch(c.capability, kernel.function, launch); !ok) return ok;
  // Every binding is one of a buffer, but the one after them, which is that of the sizes.
  for (size_t k = 0; k < kernel.bindings.size(); ++k) {
    const bool sizes = kernel.bindings[k] == binding_uniform;
    if (kernel.bindings[k] == 0 ||
        (sizes ? k == launch.bindings.size() : k < launch.bindings.size()))
      continue;
    return error("E0998", fmt::format("launch of kernel {}: binding {} is another in the source",
                                      launch.kernel, k));
  }
  return {};
}

Result<void> Sequence::write_sizes(const Module& module, std::span<const GpuLaunch> launches) {
  int64_t bytes = 0;
  for (const GpuLaunch& launch : launches) {
    places_.push_back(bytes);
    const auto own =
        static_cast<int64_t>(uniform_bytes(module.kernels()[launch.function].function));
    bytes += (own + alignment - 1) / alignment * alignment;
  }
  auto made = make_block(context_, bytes, usage_uniform | usage_copy_target);
  if (!made) return tl::unexpected(std::move(made).error());
  sizes_ = std::move(*made);
  std::vector<int32_t> values(static_cast<size_t>(bytes) / sizeof(int32_t));
  for (size_t k = 0; k < launches.size(); ++k) {
    const std::vector<int32_t> own = symbols_of(launches[k]);
    std::copy(own.begin(), own.end(), values.begin() + places_[k] / 4);
  }
  return Transfer(context_).write(*sizes_, 0, std::as_bytes(std::span(values)));
}

Owned<Group> Sequence::group(const Kernel& kernel, const GpuLaunch& launch, int64_t sizes) const {
  std::vector<GroupEntry> entries;
  for (size_t k = 0; k < kernel.bindings.size(); ++k) {
    if (kernel.bindings[k] == 0) continue;
    GroupEntry& entry = entries.emplace_back();
    entry.binding = static_cast<uint32_t>(k);
    if (kernel.bindings[k] == binding_uniform) {
      entry.buffer = sizes_->buffer();
      entry.offset = static_cast<uint64_t>(sizes);
      entry.size = uniform_bytes(kernel.function);
    } else {
      const GpuBinding& b = launch.bindings[k];
      entry.buffer = static_cast<const Block&>(*b.memory).buffer();
      entry.offset = static_cast<uint64_t>(b.offset);
      entry.size = static_cast<uint64_t>(bound_bytes(b.bytes));
    }
  }
  GroupDescriptor descriptor;
  descriptor.layout = kernel.group.get();
  descriptor.count = entries.size();
  descriptor.entries = entries.data();
  const Context& c = *context_;
  return {c.api.create_group(c.device.get(), &descriptor), c.api.release_group};
}

Result<void> Sequence::record(const Module& module, std::span<const GpuLaunch> launches) {
  for (const GpuLaunch& launch : launches)
    if (auto ok = check(*context_, module, launch); !ok) return ok;
  if (launches.empty()) return {};
  if (auto ok = write_sizes(module, launches); !ok) return ok;
  return context_->checked("wgpuDeviceCreateBindGroup", [&] {
    for (size_t k = 0; k < launches.size(); ++k) {
      const Kernel& kernel = module.kernels()[launches[k].function];
      Step& step = steps_.emplace_back();
      step.pipeline = kernel.pipeline.get();
      step.groups = static_cast<uint32_t>(launches[k].groups);
      step.group = group(kernel, launches[k], places_[k]);
    }
  });
}

// Each dispatch sees what those before it wrote: WebGPU takes care of it.
Owned<Commands> Sequence::encode(int64_t rounds) const {
  const Functions& api = context_->api;
  const Owned encoder(api.create_encoder(context_->device.get(), nullptr), api.release_encoder);
  const Owned pass(api.begin_pass(encoder.get(), nullptr), api.release_pass);
  for (int64_t round = 0; round < rounds; ++round)
    for (const Step& step : steps_) {
      api.set_pipeline(pass.get(), step.pipeline);
      api.set_group(pass.get(), 0, step.group.get(), 0, nullptr);
      api.dispatch(pass.get(), step.groups, 1, 1);
    }
  api.end_pass(pass.get());
  return {api.finish_encoder(encoder.get(), nullptr), api.release_commands};
}

Result<double> Sequence::run(int64_t rounds) {
  using Clock = std::chrono::steady_clock;
  if (steps_.empty() || rounds <= 0) return 0.0;
  std::chrono::duration<double, std::milli> passed{0};
  const int64_t most = std::max<int64_t>(1, batch / static_cast<int64_t>(steps_.size()));
  for (int64_t left = rounds; left > 0; left -= most) {
    Result<void> done;
    auto ran = context_->checked("wgpuQueueSubmit", [&] {
      const Owned commands = encode(std::min(left, most));
      const Commands one = commands.get();
      const auto begin = Clock::now();
      context_->api.submit(context_->queue.get(), 1, &one);
      done = context_->finish();
      passed += Clock::now() - begin;
    });
    if (!ran) return tl::unexpected(std::move(ran).error());
    if (!done) return tl::unexpected(std::move(done).error());
  }
  return passed.count();
}

}  // namespace

Result<std::unique_ptr<GpuSequence>> record_sequence(const std::shared_ptr<Context>& context,
                                                     const Module& module,
                                                     std::span<const GpuLaunch> launches) {
  auto sequence = std::make_unique<Sequence>(context);
  if (auto ok = sequence->record(module, launches); !ok)
    return tl::unexpected(std::move(ok).error());
  return sequence;
}

}  // namespace tang::wgpu
