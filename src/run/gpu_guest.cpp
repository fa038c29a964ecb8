// Programs on memory and streams of the caller.
#include <fmt/format.h>

#include "run/gpu_program.h"

namespace tang {

namespace {

using loop::BufferId;

constexpr int64_t widest = 16;  // bytes of an access

bool aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % widest == 0; }

tl::unexpected<Diagnostic> not_aligned(const std::string& what) {
  return error("E0719", fmt::format("the address of {} is no multiple of {}", what, widest),
               "kernels read so many bytes at once: copy it to memory of its own");
}

}  // namespace

Result<GpuGuest> GpuGuest::make(GpuProgram& program, std::span<const int64_t> symbols) {
  GpuGuest guest(program);
  guest.symbols_.assign(symbols.begin(), symbols.end());
  auto bytes = program.sizes(symbols);
  if (!bytes) return tl::unexpected(bytes.error());
  guest.bytes_ = std::move(*bytes);
  if (auto ok = program.check_limits(symbols, guest.bytes_); !ok) return tl::unexpected(ok.error());
  const auto form = program.form(program.needs_wide(symbols));
  if (!form) return tl::unexpected(form.error());
  guest.form_ = *form;
  guest.workspace_ = measure(program.program(), program.workspace(), guest.symbols_);
  return guest;
}

Result<void> GpuGuest::enqueue(const StreamRun& run) const {
  const LoopProgram& p = program_->program();
  GpuDriver& driver = program_->driver();
  std::vector<std::unique_ptr<GpuMemory>> owned;
  std::vector<GpuBinding> places(p.buffers.size());  // by BufferId
  const auto adopt = [&](const std::string& what, void* address) -> Result<GpuMemory*> {
    if (!aligned(address)) return not_aligned(what);
    auto memory = driver.adopt(address, run.device);
    if (!memory) return tl::unexpected(memory.error());
    return owned.emplace_back(std::move(*memory)).get();
  };
  const std::vector<BufferId> arguments = p.arguments();
  for (size_t k = 0; k < arguments.size(); ++k) {
    const BufferId id = arguments[k];
    if (p.storage(id) != id || !program_->bound_by_kernels(id)) continue;
    const std::string what = fmt::format("`{}`", p[id].name);
    if (run.buffers[k] == nullptr && bytes_[index(id)] > 0)
      return error("E0701", fmt::format("{} has no memory", what));
    const auto memory = adopt(what, run.buffers[k]);
    if (!memory) return tl::unexpected(memory.error());
    places[index(id)] = {*memory, 0, bytes_[index(id)]};
  }
  if (workspace_.total > 0) {
    if (run.workspace == nullptr)
      return error("E0701", fmt::format("the program needs {} bytes of workspace on the device",
                                        workspace_.total));
    const auto memory = adopt("the workspace", run.workspace);
    if (!memory) return tl::unexpected(memory.error());
    const auto& all = program_->workspace().places;
    for (size_t k = 0; k < all.size(); ++k)
      places[index(all[k].buffer)] = {*memory, workspace_.offsets[k], bytes_[index(all[k].buffer)]};
  }
  std::vector<GpuLaunch> launches;
  for (size_t k = 0; k < p.kernels.size(); ++k)
    launches.push_back(make_launch(*program_, *form_, p.kernels[k], form_->source.kernels[k],
                                   symbols_,
                                   [&](BufferId id) { return places[index(p.storage(id))]; }));
  return driver.enqueue(*form_->module, launches, run.stream);
}

}  // namespace tang
