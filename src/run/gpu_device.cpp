#include "run/gpu_device.h"

#include <algorithm>

#include <fmt/format.h>

#include "run/gpu_program.h"

namespace tang {

namespace {

using loop::BufferId;
using loop::Role;

Result<void> check_count(std::string_view what, size_t given, size_t wanted) {
  if (given == wanted) return {};
  return error("E0701", fmt::format("the program takes {} {}, not {}", wanted, what, given));
}

// Copies between the caller's arguments and the memory of the device.
class Transfer {
 public:
  Transfer(const LoopProgram& program, GpuPlaced& placed, std::span<void* const> buffers)
      : program_(program), placed_(placed), buffers_(buffers), arguments_(program.arguments()) {}

  // Every memory of an argument that `wanted` names, once.
  template <class Wanted>
  Result<void> upload(Wanted wanted) {
    for (size_t k = 0; k < arguments_.size(); ++k) {
      const BufferId id = arguments_[k];
      if (program_.storage(id) != id || !wanted(id)) continue;
      if (auto ok = placed_.upload(id, buffers_[k]); !ok) return ok;
    }
    return {};
  }

  Result<void> download(Role role) {
    for (size_t k = 0; k < arguments_.size(); ++k) {
      if (program_[arguments_[k]].role != role) continue;
      if (auto ok = placed_.download(arguments_[k], buffers_[k]); !ok) return ok;
    }
    return {};
  }

 private:
  const LoopProgram& program_;
  GpuPlaced& placed_;
  std::span<void* const> buffers_;
  std::vector<BufferId> arguments_;
};

class GpuResident : public Resident {
 public:
  GpuResident(std::shared_ptr<GpuProgram> program, std::unique_ptr<GpuPlaced> placed,
              std::span<void* const> buffers)
      : program_(std::move(program)),
        placed_(std::move(placed)),
        buffers_(buffers.begin(), buffers.end()),
        arguments_(program_->program().arguments()) {}

  ~GpuResident() override {
    const std::lock_guard lock(program_->mutex());
    placed_.reset();
  }

  Result<double> run(int64_t rounds) override {
    const std::lock_guard lock(program_->mutex());
    return placed_->run(rounds);
  }

  Result<double> run_kernel(size_t kernel, int64_t rounds) override {
    const std::lock_guard lock(program_->mutex());
    return placed_->run_kernel(kernel, rounds);
  }

  Result<void> upload(size_t argument) override {
    const std::lock_guard lock(program_->mutex());
    return placed_->upload(arguments_[argument], buffers_[argument]);
  }

  Result<void> download(size_t argument) override {
    const std::lock_guard lock(program_->mutex());
    return placed_->download(arguments_[argument], buffers_[argument]);
  }

  Result<void> download_outputs() override {
    const std::lock_guard lock(program_->mutex());
    return Transfer(program_->program(), *placed_, buffers_).download(Role::output);
  }

 private:
  std::shared_ptr<GpuProgram> program_;
  std::unique_ptr<GpuPlaced> placed_;
  std::vector<void*> buffers_;
  std::vector<BufferId> arguments_;
};

}  // namespace

GpuExecutable::GpuExecutable(std::shared_ptr<GpuProgram> program) : program_(std::move(program)) {}

GpuExecutable::~GpuExecutable() {
  const std::lock_guard lock(program_->mutex());
  placed_.reset();
}

const LoopProgram& GpuExecutable::program() const { return program_->program(); }

GpuModule::Usage GpuExecutable::usage(size_t kernel) const {
  const std::lock_guard lock(program_->mutex());
  const GpuProgram::Form* form = program_->built();
  return form ? form->module->usage(form->first + form->source.kernels[kernel])
              : GpuModule::Usage{};
}

// The memory at these sizes; that of others goes first.
Result<GpuPlaced*> GpuExecutable::placed(std::span<const int64_t> symbols) const {
  if (placed_ && std::ranges::equal(placed_->symbols(), symbols)) return placed_.get();
  placed_.reset();
  auto made = GpuPlaced::make(*program_, symbols);
  if (!made) return tl::unexpected(made.error());
  placed_ = std::move(*made);
  return placed_.get();
}

Result<int64_t> GpuExecutable::workspace_bytes(std::span<const int64_t> symbols) const {
  if (auto sizes = program_->sizes(symbols); !sizes) return tl::unexpected(sizes.error());
  return 0;
}

Result<RunTimes> GpuExecutable::prepare(std::span<void* const> buffers,
                                        std::span<const int64_t> symbols, void*) const {
  if (program().prepares.empty()) return RunTimes{};
  if (auto ok = check_count("buffers", buffers.size(), program().arguments().size()); !ok)
    return tl::unexpected(ok.error());
  const std::lock_guard lock(program_->mutex());
  const auto memory = placed(symbols);
  if (!memory) return tl::unexpected(memory.error());
  Transfer transfer(program(), **memory, buffers);
  const auto wanted = [&](BufferId id) { return program_->bound_by_prepares(id); };
  if (auto ok = transfer.upload(wanted); !ok) return tl::unexpected(ok.error());
  const auto ms = (*memory)->prepare();
  if (!ms) return tl::unexpected(ms.error());
  if (auto ok = transfer.download(Role::prepared); !ok) return tl::unexpected(ok.error());
  return RunTimes{*ms};
}

Result<RunTimes> GpuExecutable::run(std::span<void* const> buffers,
                                    std::span<const int64_t> symbols, void*) const {
  if (auto ok = check_count("buffers", buffers.size(), program().arguments().size()); !ok)
    return tl::unexpected(ok.error());
  const std::lock_guard lock(program_->mutex());
  const auto memory = placed(symbols);
  if (!memory) return tl::unexpected(memory.error());
  Transfer transfer(program(), **memory, buffers);
  const auto wanted = [&](BufferId id) { return program_->bound_by_kernels(id); };
  if (auto ok = transfer.upload(wanted); !ok) return tl::unexpected(ok.error());
  const auto ms = (*memory)->run(1);
  if (!ms) return tl::unexpected(ms.error());
  if (auto ok = transfer.download(Role::output); !ok) return tl::unexpected(ok.error());
  return RunTimes{*ms};
}

Result<double> GpuExecutable::run_kernel(size_t kernel, std::span<void* const> buffers,
                                         std::span<const int64_t> symbols) const {
  if (auto ok = check_count("buffers", buffers.size(), program().buffers.size()); !ok)
    return tl::unexpected(ok.error());
  if (kernel >= program().kernels.size()) {
    return error("E0701", fmt::format("the program has {} kernels, none of number {}",
                                      program().kernels.size(), kernel));
  }
  const std::lock_guard lock(program_->mutex());
  const auto memory = placed(symbols);
  if (!memory) return tl::unexpected(memory.error());
  const loop::Kernel& k = program().kernels[kernel];
  const auto pointer = [&](BufferId id) {
    void* own = buffers[index(program().storage(id))];
    return own ? own : buffers[index(id)];
  };
  for (const auto& ids : {k.reads, k.writes})
    for (const BufferId id : ids)
      if (auto ok = (*memory)->upload(id, pointer(id)); !ok) return tl::unexpected(ok.error());
  const auto ms = (*memory)->run_kernel(kernel, 1);
  if (!ms) return ms;
  for (const BufferId id : k.writes)
    if (auto ok = (*memory)->download(id, pointer(id)); !ok) return tl::unexpected(ok.error());
  return ms;
}

Result<std::unique_ptr<Resident>> GpuExecutable::resident(std::span<void* const> buffers,
                                                          std::span<const int64_t> symbols) const {
  if (auto ok = check_count("buffers", buffers.size(), program().arguments().size()); !ok)
    return tl::unexpected(ok.error());
  const std::lock_guard lock(program_->mutex());
  auto memory = GpuPlaced::make(*program_, symbols);
  if (!memory) return tl::unexpected(memory.error());
  const auto wanted = [&](BufferId id) { return program_->bound_by_kernels(id); };
  if (auto ok = Transfer(program(), **memory, buffers).upload(wanted); !ok)
    return tl::unexpected(ok.error());
  return std::make_unique<GpuResident>(program_, std::move(*memory), buffers);
}

Result<int64_t> GpuExecutable::stream_workspace_bytes(std::span<const int64_t> symbols) const {
  const std::lock_guard lock(program_->mutex());
  if (!program_->driver().takes_streams()) return Executable::stream_workspace_bytes(symbols);
  const auto guest = GpuGuest::make(*program_, symbols);
  if (!guest) return tl::unexpected(guest.error());
  return guest->workspace_bytes();
}

Result<void> GpuExecutable::enqueue(const StreamRun& run, std::span<const int64_t> symbols) const {
  if (auto ok = check_count("buffers", run.buffers.size(), program().arguments().size()); !ok)
    return ok;
  const std::lock_guard lock(program_->mutex());
  const auto guest = GpuGuest::make(*program_, symbols);
  if (!guest) return tl::unexpected(guest.error());
  return guest->enqueue(run);
}

GpuDevice::GpuDevice(std::unique_ptr<GpuDriver> driver) : shared_(std::make_shared<GpuShared>()) {
  shared_->driver = std::move(driver);
}

std::string_view GpuDevice::name() const { return shared_->driver->name(); }

const GpuDriver& GpuDevice::driver() const { return *shared_->driver; }

Result<std::unique_ptr<Executable>> GpuDevice::compile(const LoopProgram& program,
                                                       const CompileOptions& options,
                                                       Diagnostics& warnings) {
  const LoopProgram* const one[] = {&program};
  auto all = compile_all(one, options, warnings);
  if (!all) return tl::unexpected(all.error());
  return std::move(all->front());
}

Result<std::vector<std::unique_ptr<Executable>>> GpuDevice::compile_all(
    std::span<const LoopProgram* const> programs, const CompileOptions&, Diagnostics& warned) {
  std::vector<std::shared_ptr<GpuProgram>> made;
  for (const LoopProgram* program : programs)
    for (Diagnostic& d : warnings(*program, driver().capability())) warned.push_back(std::move(d));
  for (const LoopProgram* program : programs)
    made.push_back(std::make_shared<GpuProgram>(*program, shared_));
  if (auto ok = build_all(made); !ok) return tl::unexpected(ok.error());
  std::vector<std::unique_ptr<Executable>> result;
  for (auto& program : made) result.push_back(std::make_unique<GpuExecutable>(std::move(program)));
  return result;
}

// One module of all functions, so that a driver can compile them side by side.
Result<void> GpuDevice::build_all(std::span<const std::shared_ptr<GpuProgram>> programs) {
  const std::lock_guard lock(shared_->mutex);
  GpuSource all;
  all.dialect = shared_->driver->capability().dialect;
  std::vector<GpuProgram::Form> forms;
  std::vector<bool> wide;
  for (const auto& p : programs) {
    wide.push_back(p->program().symbols.empty() && p->needs_wide({}));
    auto source = p->source(wide.back());
    if (!source) return tl::unexpected(source.error());
    forms.push_back({std::move(*source), nullptr, all.functions.size()});
    const auto& functions = forms.back().source.functions;
    all.functions.insert(all.functions.end(), functions.begin(), functions.end());
  }
  auto built = shared_->driver->build(all);
  if (!built) return tl::unexpected(built.error());
  const std::shared_ptr<GpuModule> module = std::move(*built);
  for (size_t k = 0; k < programs.size(); ++k) {
    forms[k].module = module;
    programs[k]->set_form(wide[k], std::move(forms[k]));
  }
  return {};
}

}  // namespace tang
