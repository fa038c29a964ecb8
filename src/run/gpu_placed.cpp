// Memory and launches of a program at given sizes.
#include <algorithm>

#include <fmt/format.h>

#include "run/gpu_program.h"

namespace tang {

namespace {

using loop::BufferId;
using loop::Role;

// Memory is a whole number of the widest accesses, and never empty.
int64_t rounded(int64_t bytes) { return std::max<int64_t>(16, (bytes + 15) / 16 * 16); }

}  // namespace

GpuPlaced::GpuPlaced(GpuProgram& program, std::span<const int64_t> symbols)
    : program_(program), symbols_(symbols.begin(), symbols.end()) {}

Result<std::unique_ptr<GpuPlaced>> GpuPlaced::make(GpuProgram& program,
                                                   std::span<const int64_t> symbols) {
  std::unique_ptr<GpuPlaced> placed(new GpuPlaced(program, symbols));
  auto bytes = program.sizes(symbols);
  if (!bytes) return tl::unexpected(bytes.error());
  placed->bytes_ = std::move(*bytes);
  if (auto ok = program.check_limits(symbols, placed->bytes_); !ok)
    return tl::unexpected(ok.error());
  const auto form = program.form(program.needs_wide(symbols));
  if (!form) return tl::unexpected(form.error());
  placed->form_ = *form;
  if (auto ok = placed->allocate(); !ok) return tl::unexpected(ok.error());
  placed->single_.resize(program.program().kernels.size());
  return placed;
}

// Each owner gets memory of its own; workspace shares it where lives are apart.
Result<void> GpuPlaced::allocate() {
  const LoopProgram& p = program_.program();
  slots_.assign(p.buffers.size(), SIZE_MAX);
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    const auto id = static_cast<BufferId>(k);
    const bool bound = program_.bound_by_kernels(id) || program_.bound_by_prepares(id);
    if (!bound || p.buffers[k].role == Role::workspace || p.storage(id) != id) continue;
    slots_[k] = slot_bytes_.size();
    slot_bytes_.push_back(rounded(bytes_[k]));
  }
  place_workspace();
  for (size_t k = 0; k < p.buffers.size(); ++k)
    slots_[k] = slots_[index(p.storage(static_cast<BufferId>(k)))];

  GpuDriver& driver = program_.driver();
  int64_t total = 0;
  for (const int64_t bytes : slot_bytes_) total += bytes;
  if (driver.memory_bytes() > 0 && total > driver.memory_bytes()) {
    return error("E0913",
                 fmt::format("the program's buffers need {} bytes of the {} that {} has", total,
                             driver.memory_bytes(), driver.capability().device),
                 "choose smaller sizes, or another device", Exit::out_of_memory);
  }
  for (const int64_t bytes : slot_bytes_) {
    auto memory = driver.allocate(bytes);
    if (!memory) return tl::unexpected(memory.error());
    memory_.push_back(std::move(*memory));
  }
  return {};
}

// In the order of first use each buffer takes the memory, free by then, that fits it best: the
// smallest that is large enough, otherwise the largest, which grows.
void GpuPlaced::place_workspace() {
  struct Shared {
    size_t slot = 0, last = 0;  // the last kernel that uses it
  };
  std::vector<Shared> all;
  for (const WorkspacePlan::Place& place : program_.workspace().places) {
    const int64_t bytes = rounded(bytes_[index(place.buffer)]);
    Shared* best = nullptr;
    for (Shared& s : all) {
      if (s.last >= place.first) continue;
      const int64_t has = slot_bytes_[s.slot], had = best ? slot_bytes_[best->slot] : -1;
      const bool better = had < bytes ? has > had : has >= bytes && has < had;
      if (better) best = &s;
    }
    if (best == nullptr) {
      best = &all.emplace_back(Shared{slot_bytes_.size(), 0});
      slot_bytes_.push_back(0);
    }
    best->last = place.last;
    slots_[index(place.buffer)] = best->slot;
    slot_bytes_[best->slot] = std::max(slot_bytes_[best->slot], bytes);
  }
}

Result<void> GpuPlaced::upload(BufferId id, const void* host) {
  const size_t k = index(id), owner = index(program_.program().storage(id));
  if (slots_[k] == SIZE_MAX || bytes_[owner] == 0) return {};
  if (host == nullptr)
    return error("E0701", fmt::format("`{}` has no memory", program_.program()[id].name));
  const std::span from(static_cast<const std::byte*>(host), static_cast<size_t>(bytes_[owner]));
  return program_.driver().write(*memory_[slots_[k]], 0, from);
}

Result<void> GpuPlaced::download(BufferId id, void* host) {
  const size_t k = index(id), owner = index(program_.program().storage(id));
  if (slots_[k] == SIZE_MAX || bytes_[owner] == 0) return {};
  if (host == nullptr)
    return error("E0701", fmt::format("`{}` has no memory", program_.program()[id].name));
  const std::span to(static_cast<std::byte*>(host), static_cast<size_t>(bytes_[owner]));
  return program_.driver().read(*memory_[slots_[k]], 0, to);
}

GpuLaunch GpuPlaced::launch(const loop::Kernel& kernel, size_t function) const {
  return make_launch(program_, *form_, kernel, function, symbols_, [&](BufferId id) {
    return GpuBinding{memory_[slots_[index(id)]].get(), 0, rounded(bytes_[index(id)])};
  });
}

Result<double> GpuPlaced::run_all(std::unique_ptr<GpuSequence>& sequence,
                                  std::span<const loop::Kernel> kernels,
                                  std::span<const size_t> functions, int64_t rounds) {
  if (kernels.empty() || rounds <= 0) return 0.0;
  if (!sequence) {
    std::vector<GpuLaunch> launches;
    for (size_t k = 0; k < kernels.size(); ++k)
      launches.push_back(launch(kernels[k], functions[k]));
    auto recorded = program_.driver().record(*form_->module, launches);
    if (!recorded) return tl::unexpected(recorded.error());
    sequence = std::move(*recorded);
  }
  return sequence->run(rounds);
}

Result<double> GpuPlaced::run(int64_t rounds) {
  return run_all(kernels_, program_.program().kernels, form_->source.kernels, rounds);
}

Result<double> GpuPlaced::prepare() {
  return run_all(prepares_, program_.program().prepares, form_->source.prepares, 1);
}

Result<double> GpuPlaced::run_kernel(size_t kernel, int64_t rounds) {
  return run_all(single_[kernel], std::span(program_.program().kernels).subspan(kernel, 1),
                 std::span(form_->source.kernels).subspan(kernel, 1), rounds);
}

}  // namespace tang
