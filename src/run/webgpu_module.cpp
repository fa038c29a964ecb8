#include <charconv>

#include <fmt/format.h>

#include "run/gpu_checks.h"
#include "run/webgpu_kernels.h"

namespace tang::wgpu {

namespace {

std::string without_comments(std::string_view source) {
  std::string text;
  while (!source.empty()) {
    const size_t comment = source.find("//");
    text += source.substr(0, comment);
    if (comment == source.npos) break;
    source.remove_prefix(comment);
    source.remove_prefix(std::min(source.find('\n'), source.size()));
  }
  return text;
}

// The kind in `… var<storage, read_write> name …`.
uint32_t kind_of(std::string_view declaration) {
  const size_t open = declaration.find("var<");
  if (open == declaration.npos) return 0;
  const std::string_view space = declaration.substr(open, declaration.find('>', open) - open);
  if (space.find("uniform") != space.npos) return binding_uniform;
  return space.find("read_write") != space.npos ? binding_storage : binding_read_only;
}

Owned<GroupLayout> group_layout(const Context& c, const std::vector<uint32_t>& bindings) {
  std::vector<GroupLayoutEntry> entries;
  for (size_t k = 0; k < bindings.size(); ++k) {
    if (bindings[k] == 0) continue;
    GroupLayoutEntry entry;
    entry.binding = static_cast<uint32_t>(k);
    entry.buffer.type = bindings[k];
    entries.push_back(entry);
  }
  GroupLayoutDescriptor descriptor;
  descriptor.count = entries.size();
  descriptor.entries = entries.data();
  return {c.api.create_group_layout(c.device.get(), &descriptor), c.api.release_group_layout};
}

Owned<ShaderModule> shader_module(const Context& c, const std::string& source) {
  SourceWgsl wgsl;
  wgsl.code = Text(source);
  ModuleDescriptor descriptor;
  descriptor.next = &wgsl.chain;
  return {c.api.create_module(c.device.get(), &descriptor), c.api.release_module};
}

Owned<Pipeline> pipeline(const Context& c, const Kernel& kernel, ShaderModule shader) {
  const GroupLayout group = kernel.group.get();
  PipelineLayoutDescriptor layout_descriptor;
  layout_descriptor.count = 1;
  layout_descriptor.groups = &group;
  const Owned layout(c.api.create_layout(c.device.get(), &layout_descriptor), c.api.release_layout);
  PipelineDescriptor descriptor;
  descriptor.layout = layout.get();
  descriptor.compute.module = shader;
  descriptor.compute.entry = Text(kernel.function.entry);
  return {c.api.create_pipeline(c.device.get(), &descriptor), c.api.release_pipeline};
}

// What the device says of a source, as the defect that it is, unless memory or the device failed.
Result<void> refused(const Context& c, const Kernel& kernel, Result<void> result) {
  if (result || result.error().id != "E0912" || c.complaint.lost) return result;
  return error("E0999", fmt::format("WebGPU refuses the kernel {}:\n{}", kernel.function.entry,
                                    result.error().message));
}

int64_t storage_count(const std::vector<uint32_t>& bindings) {
  int64_t count = 0;
  for (const uint32_t kind : bindings) count += kind != 0 && kind != binding_uniform;
  return count;
}

Result<void> check_symbols(const Context& c, const GpuFunction& function) {
  const uint64_t bytes = uniform_bytes(function), most = c.limits.max_uniform_binding_bytes;
  if (bytes <= most) return {};
  return error("E0921",
               fmt::format("kernel {}: its sizes take {} bytes, and a uniform buffer has {}",
                           function.entry, bytes, most),
               {}, Exit::target_limit);
}

// Fills in what a kernel needs beside its function.
Result<void> complete(Context& c, Kernel& kernel) {
  GpuFunction& f = kernel.function;
  kernel.bindings = declared_bindings(f.source);
  if (auto ok = check_function(c.capability, f); !ok) return ok;
  if (auto ok = check_symbols(c, f); !ok) return ok;
  if (auto ok = check_buffers(c.capability, f, storage_count(kernel.bindings)); !ok) return ok;
  Owned<ShaderModule> shader;
  auto parsed =
      c.checked("wgpuDeviceCreateShaderModule", [&] { shader = shader_module(c, f.source); });
  if (!parsed) return refused(c, kernel, std::move(parsed));
  auto made = c.checked("wgpuDeviceCreateComputePipeline", [&] {
    kernel.group = group_layout(c, kernel.bindings);
    kernel.pipeline = pipeline(c, kernel, shader.get());
  });
  if (!made) return refused(c, kernel, std::move(made));
  f.source.clear();
  return {};
}

}  // namespace

std::vector<uint32_t> declared_bindings(std::string_view source) {
  constexpr std::string_view mark = "@binding(";
  const std::string text = without_comments(source);
  const std::string_view whole = text;
  std::vector<uint32_t> kinds;
  for (size_t at = whole.find(mark); at != whole.npos; at = whole.find(mark, at)) {
    at += mark.size();
    const std::string_view rest = whole.substr(at);
    const size_t from = std::min(rest.find_first_not_of(' '), rest.size());
    uint32_t binding = 0;
    const auto read = std::from_chars(rest.data() + from, rest.data() + rest.size(), binding);
    if (read.ec != std::errc() || binding > 1000) continue;
    if (kinds.size() <= binding) kinds.resize(binding + 1);
    kinds[binding] = kind_of(rest.substr(0, rest.find(';')));
  }
  return kinds;
}

Result<std::unique_ptr<GpuModule>> build_module(const std::shared_ptr<Context>& context,
                                                const GpuSource& source) {
  std::vector<Kernel> kernels;
  for (const GpuFunction& function : source.functions) {
    kernels.emplace_back().function = function;
    if (auto ok = complete(*context, kernels.back()); !ok)
      return tl::unexpected(std::move(ok).error());
  }
  return std::make_unique<Module>(context, std::move(kernels));
}

}  // namespace tang::wgpu
