#include "run/gpu_program.h"

#include <algorithm>

#include <fmt/format.h>

namespace tang {

namespace {

using loop::BufferId;

constexpr int64_t unknown_trips = 1024;
constexpr int64_t narrow_limit = int64_t{1} << 30;  // of elements and symbols (gpu_source.h)

std::vector<bool> bound(const LoopProgram& program, std::span<const loop::Kernel> kernels) {
  std::vector<bool> result(program.buffers.size(), false);
  for (const loop::Kernel& kernel : kernels)
    for (const BufferId id : bindings(program, kernel)) result[index(id)] = true;
  for (size_t k = 0; k < result.size(); ++k)
    if (result[index(program.storage(static_cast<BufferId>(k)))]) result[k] = true;
  return result;
}

tl::unexpected<Diagnostic> wrong_size(const LoopProgram& program,
                                      std::span<const int64_t> symbols) {
  std::string text;
  for (size_t k = 0; k < symbols.size(); ++k)
    text += fmt::format("{}{} = {}", k ? ", " : "", program.symbols[k], symbols[k]);
  return error("E0701", fmt::format("a size is negative or too large, at {}",
                                    text.empty() ? "its sizes" : text));
}

}  // namespace

GpuProgram::GpuProgram(LoopProgram program, std::shared_ptr<GpuShared> shared)
    : program_(std::move(program)),
      shared_(std::move(shared)),
      workspace_(plan_workspace(program_)),
      by_kernels_(bound(program_, program_.kernels)),
      by_prepares_(bound(program_, program_.prepares)) {}

GpuProgram::~GpuProgram() {
  const std::lock_guard lock(shared_->mutex);
  for (auto& form : forms_) form.reset();
}

Result<const GpuProgram::Form*> GpuProgram::form(bool wide) {
  std::optional<Form>& form = forms_[wide];
  if (!form) {
    auto text = source(wide);
    if (!text) return tl::unexpected(text.error());
    auto module = driver().build(*text);
    if (!module) return tl::unexpected(module.error());
    form = Form{std::move(*text), std::move(*module)};
  }
  return &*form;
}

Result<GpuSource> GpuProgram::source(bool wide) const {
  return gpu_source(program_, {driver().capability(), wide});
}

const GpuProgram::Form* GpuProgram::built() const {
  for (const auto& form : forms_)
    if (form) return &*form;
  return nullptr;
}

Result<std::vector<int64_t>> GpuProgram::sizes(std::span<const int64_t> symbols) const {
  if (symbols.size() != program_.symbols.size()) {
    return error("E0701", fmt::format("the program takes {} symbols, not {}",
                                      program_.symbols.size(), symbols.size()));
  }
  for (const Poly& extent : program_.nonnegative)
    if (extent.evaluate(symbols).value_or(-1) < 0) return wrong_size(program_, symbols);
  std::vector<int64_t> result;
  int64_t total = 0;
  for (const loop::Buffer& b : program_.buffers) {
    const auto count = b.count.evaluate(symbols);
    const auto bytes = count ? bytes_for(b.format, *count) : std::nullopt;
    // Room for the rounding of each.
    const bool fits = bytes && *bytes <= INT64_MAX - 4096 &&
                      !__builtin_add_overflow(total, *bytes + 4096, &total);
    if (!fits) return wrong_size(program_, symbols);
    result.push_back(*bytes);
  }
  return result;
}

Result<void> GpuProgram::check_limits(std::span<const int64_t> symbols,
                                      std::span<const int64_t> bytes) const {
  const LoopProgram& p = program_;
  const Capability& c = driver().capability();
  const std::string device = c.device.empty() ? std::string(driver().name()) : c.device;
  const auto too_large = [&](std::string what) {
    return error("E0921", fmt::format("{} on {}", what, device),
                 "choose smaller sizes, or another device", Exit::target_limit);
  };
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    const auto id = static_cast<BufferId>(k);
    if (!bound_by_kernels(id) && !bound_by_prepares(id)) continue;
    if (bytes[k] > c.binding_bytes)
      return too_large(fmt::format("`{}` is {} bytes, more than the {} that a kernel can bind",
                                   p.buffers[k].name, bytes[k], c.binding_bytes));
    const int64_t count = p.buffers[k].count.evaluate(symbols).value_or(0);
    if (!c.wide_addresses && count >= int64_t{1} << 31)
      return too_large(
          fmt::format("`{}` has {} elements, more than the 2147483647 that a kernel "
                      "can address",
                      p.buffers[k].name, count));
  }
  return {};
}

bool GpuProgram::needs_wide(std::span<const int64_t> symbols) const {
  const auto large = [&](const loop::Buffer& b) {
    return b.count.evaluate(symbols).value_or(0) >= narrow_limit;
  };
  return std::any_of(symbols.begin(), symbols.end(), [](int64_t s) { return s >= narrow_limit; }) ||
         std::any_of(program_.buffers.begin(), program_.buffers.end(), large);
}

GpuLaunch make_launch(const GpuProgram& program, const GpuProgram::Form& form,
                      const loop::Kernel& kernel, size_t function, std::span<const int64_t> symbols,
                      const std::function<GpuBinding(BufferId)>& bind) {
  GpuLaunch launch;
  launch.function = form.first + function;
  launch.kernel = kernel.name;
  for (const BufferId id : bindings(program.program(), kernel)) launch.bindings.push_back(bind(id));
  for (const ParamId symbol : form.source.functions[function].symbols)
    launch.symbols.push_back(symbols[index(symbol)]);
  const int64_t most = std::max<int64_t>(1, program.driver().capability().groups);
  launch.groups = std::clamp<int64_t>(trips(kernel, symbols, unknown_trips), 1, most);
  return launch;
}

}  // namespace tang
