#include <algorithm>
#include <array>
#include <chrono>

#include "run/gpu_checks.h"
#include "run/vulkan_kernels.h"
#include "run/vulkan_memory.h"

namespace tang::vk {

namespace {

// Command buffers that are handed over at once.
constexpr int64_t batch = 64;

class Sequence : public GpuSequence {
 public:
  explicit Sequence(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  ~Sequence() override = default;

  Result<void> record(const Module& module, std::span<const GpuLaunch> launches);
  Result<double> run(int64_t rounds) override;

 private:
  Result<void> make_sets(const Module& module, std::span<const GpuLaunch> launches);
  void write_set(DescriptorSet set, std::span<const GpuBinding> bindings) const;
  void launch(const Kernel& kernel, const GpuLaunch& launch, DescriptorSet set) const;
  Result<void> make_clock();
  Result<void> submit_all(int64_t rounds) const;
  Result<double> device_milliseconds() const;

  std::shared_ptr<const Context> context_;
  Owned<DescriptorPool> descriptors_;
  Owned<QueryPool> queries_;  // two timestamps; none where there is no clock
  Owned<CommandPool> pool_;
  CommandBuffer body_ = nullptr, begin_ = nullptr, end_ = nullptr;
  std::vector<DescriptorSet> sets_;
};

Result<void> Sequence::make_sets(const Module& module, std::span<const GpuLaunch> launches) {
  const Context& c = *context_;
  DescriptorPoolSize size;
  size.descriptor = descriptor_storage_buffer;
  size.count = 1;
  std::vector<SetLayout> layouts;
  for (const GpuLaunch& l : launches) {
    const Kernel& kernel = module.kernels()[l.function];
    size.count += kernel.bindings;
    layouts.push_back(kernel.sets.get());
  }
  DescriptorPoolCreateInfo info;
  info.max_sets = static_cast<uint32_t>(launches.size());
  info.size_count = 1;
  info.sizes = &size;
  auto pool = c.make(c.vk.create_descriptor_pool, c.vk.destroy_descriptor_pool, info,
                     "vkCreateDescriptorPool");
  if (!pool) return tl::unexpected(std::move(pool).error());
  descriptors_ = std::move(*pool);

  sets_.resize(launches.size());
  SetAllocateInfo allocation;
  allocation.pool = descriptors_.get();
  allocation.count = info.max_sets;
  allocation.layouts = layouts.data();
  if (auto ok = checked(c.vk.allocate_sets(c.device, &allocation, sets_.data()),
                        "vkAllocateDescriptorSets");
      !ok)
    return ok;
  for (size_t k = 0; k < launches.size(); ++k)
    write_set(
        sets_[k],
        std::span(launches[k].bindings).first(module.kernels()[launches[k].function].bindings));
  return {};
}

void Sequence::write_set(DescriptorSet set, std::span<const GpuBinding> bindings) const {
  std::vector<BufferRange> ranges(bindings.size());
  std::vector<WriteSet> writes(bindings.size());
  for (size_t k = 0; k < bindings.size(); ++k) {
    ranges[k].buffer = static_cast<const Block&>(*bindings[k].memory).buffer();
    ranges[k].offset = static_cast<uint64_t>(bindings[k].offset);
    ranges[k].range = static_cast<uint64_t>(bound_bytes(bindings[k].bytes));
    writes[k].set = set;
    writes[k].binding = static_cast<uint32_t>(k);
    writes[k].count = 1;
    writes[k].descriptor = descriptor_storage_buffer;
    writes[k].buffers = &ranges[k];
  }
  context_->vk.update_sets(context_->device, static_cast<uint32_t>(writes.size()), writes.data(), 0,
                           nullptr);
}

void Sequence::launch(const Kernel& kernel, const GpuLaunch& launch, DescriptorSet set) const {
  const Context& c = *context_;
  const std::vector<int32_t> symbols = symbols_of(launch);
  c.vk.bind_pipeline(body_, bind_compute, kernel.pipeline.get());
  c.vk.bind_sets(body_, bind_compute, kernel.layout.get(), 0, 1, &set, 0, nullptr);
  if (!symbols.empty())
    c.vk.push_constants(body_, kernel.layout.get(), stage_compute, 0,
                        static_cast<uint32_t>(symbols.size() * sizeof(int32_t)), symbols.data());
  c.vk.dispatch(body_, static_cast<uint32_t>(launch.groups), 1, 1);
  c.barrier(body_);
}

Result<void> Sequence::make_clock() {
  const Context& c = *context_;
  if (c.abilities.tick_ns <= 0) return {};
  QueryPoolCreateInfo info;
  info.query = query_timestamp;
  info.count = 2;
  auto queries = c.make(c.vk.create_queries, c.vk.destroy_queries, info, "vkCreateQueryPool");
  if (!queries) return tl::unexpected(std::move(queries).error());
  queries_ = std::move(*queries);
  for (CommandBuffer* const place : {&begin_, &end_}) {
    auto commands = c.commands(pool_.get());
    if (!commands) return tl::unexpected(std::move(commands).error());
    *place = *commands;
  }
  auto began = c.record(begin_, 0, [&] {
    c.vk.reset_queries(begin_, queries_.get(), 0, 2);
    c.vk.write_timestamp(begin_, pipe_bottom, queries_.get(), 0);
  });
  if (!began) return began;
  return c.record(end_, 0, [&] { c.vk.write_timestamp(end_, pipe_bottom, queries_.get(), 1); });
}

Result<void> Sequence::record(const Module& module, std::span<const GpuLaunch> launches) {
  const Context& c = *context_;
  for (const GpuLaunch& l : launches) {
    if (l.function >= module.kernels().size())
      return error("E0998", "launch of a function that the module does not have");
    const Kernel& kernel = module.kernels()[l.function];
    if (auto ok = check_launch(c.abilities.capability, kernel.function, l); !ok) return ok;
    if (l.bindings.size() < kernel.bindings)
      return error("E0998", "launch of kernel " + l.kernel + " with too few bindings");
  }
  if (launches.empty()) return {};
  if (auto ok = make_sets(module, launches); !ok) return ok;
  auto pool = c.command_pool();
  if (!pool) return tl::unexpected(std::move(pool).error());
  pool_ = std::move(*pool);
  auto body = c.commands(pool_.get());
  if (!body) return tl::unexpected(std::move(body).error());
  body_ = *body;
  if (auto ok = make_clock(); !ok) return ok;
  return c.record(body_, use_simultaneously, [&] {
    c.barrier(body_);
    for (size_t k = 0; k < launches.size(); ++k)
      launch(module.kernels()[launches[k].function], launches[k], sets_[k]);
  });
}

// The clock starts, the launches as often as asked for, the clock stops.
Result<void> Sequence::submit_all(int64_t rounds) const {
  const std::vector<CommandBuffer> bodies(static_cast<size_t>(std::min(rounds, batch)), body_);
  if (begin_)
    if (auto ok = context_->submit(std::span(&begin_, 1), false); !ok) return ok;
  for (int64_t left = rounds; left > 0; left -= batch) {
    const bool last = left <= batch && !end_;
    const auto part = std::span(bodies).first(static_cast<size_t>(std::min(left, batch)));
    if (auto ok = context_->submit(part, last); !ok) return ok;
  }
  if (!end_) return {};
  return context_->submit(std::span(&end_, 1), true);
}

Result<double> Sequence::device_milliseconds() const {
  const Context& c = *context_;
  std::array<uint64_t, 2> ticks{};
  const Outcome got = c.vk.query_results(c.device, queries_.get(), 0, 2, sizeof ticks, ticks.data(),
                                         sizeof ticks[0], query_64_bit | query_wait);
  if (auto ok = checked(got, "vkGetQueryPoolResults"); !ok)
    return tl::unexpected(std::move(ok).error());
  const uint64_t passed = (ticks[1] - ticks[0]) & c.abilities.tick_mask;
  return static_cast<double>(passed) * c.abilities.tick_ns * 1e-6;
}

Result<double> Sequence::run(int64_t rounds) {
  if (!body_ || rounds <= 0) return 0.0;
  const auto begin = std::chrono::steady_clock::now();
  if (auto ok = submit_all(rounds); !ok) {
    context_->vk.device_wait_idle(context_->device);
    return tl::unexpected(std::move(ok).error());
  }
  const std::chrono::duration<double, std::milli> host = std::chrono::steady_clock::now() - begin;
  if (!queries_.get()) return host.count();
  auto device = device_milliseconds();
  // A clock that stands still is none.
  if (device && *device <= 0) return host.count();
  return device;
}

}  // namespace

Result<std::unique_ptr<GpuSequence>> record_sequence(const std::shared_ptr<const Context>& context,
                                                     const Module& module,
                                                     std::span<const GpuLaunch> launches) {
  auto sequence = std::make_unique<Sequence>(context);
  if (auto ok = sequence->record(module, launches); !ok)
    return tl::unexpected(std::move(ok).error());
  return sequence;
}

}  // namespace tang::vk
