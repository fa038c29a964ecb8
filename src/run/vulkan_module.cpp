#include <fmt/format.h>

#include "run/gpu_checks.h"
#include "run/spirv.h"
#include "run/vulkan_kernels.h"

namespace tang::vk {

namespace {

// Every device has room for as many.
constexpr size_t push_constant_bytes = 128;

Result<Owned<SetLayout>> set_layout(const Context& c, uint32_t bindings) {
  std::vector<SetLayoutBinding> each(bindings);
  for (uint32_t k = 0; k < bindings; ++k) {
    each[k].binding = k;
    each[k].descriptor = descriptor_storage_buffer;
    each[k].count = 1;
    each[k].stages = stage_compute;
  }
  SetLayoutCreateInfo info;
  info.binding_count = bindings;
  info.bindings = each.data();
  return c.make(c.vk.create_set_layout, c.vk.destroy_set_layout, info,
                "vkCreateDescriptorSetLayout");
}

Result<Owned<PipelineLayout>> pipeline_layout(const Context& c, const Kernel& kernel) {
  const SetLayout set = kernel.sets.get();
  PushConstantRange range;
  range.stages = stage_compute;
  range.size = static_cast<uint32_t>(kernel.function.symbols.size() * sizeof(int32_t));
  PipelineLayoutCreateInfo info;
  info.set_count = 1;
  info.sets = &set;
  info.range_count = range.size > 0;
  info.ranges = &range;
  return c.make(c.vk.create_layout, c.vk.destroy_layout, info, "vkCreatePipelineLayout");
}

Result<Owned<Pipeline>> pipeline(const Context& c, const Kernel& kernel,
                                 const std::vector<uint32_t>& code) {
  ShaderModuleCreateInfo shader_info;
  shader_info.code_size = code.size() * sizeof(uint32_t);
  shader_info.code = code.data();
  auto shader =
      c.make(c.vk.create_shader, c.vk.destroy_shader, shader_info, "vkCreateShaderModule");
  if (!shader) return tl::unexpected(std::move(shader).error());

  RequiredSubgroupSize size;
  size.size = c.abilities.required_subgroup;
  ComputePipelineCreateInfo info;
  info.layout = kernel.layout.get();
  info.stage.stage = stage_compute;
  info.stage.module = shader->get();
  info.stage.entry = "main";
  if (size.size > 0) info.stage.next = &size;
  const int64_t subgroup = c.abilities.capability.subgroup;
  if (c.abilities.full_subgroups && subgroup > 0 && kernel.function.threads % subgroup == 0)
    info.stage.flags = full_subgroups;
  Pipeline made = nullptr;
  const Outcome outcome = c.vk.create_pipelines(c.device, nullptr, 1, &info, nullptr, &made);
  if (auto ok = checked(outcome, "vkCreateComputePipelines"); !ok)
    return tl::unexpected(std::move(ok).error());
  return Owned<Pipeline>(c.device, made, c.vk.destroy_pipeline);
}

Result<void> check_symbols(const GpuFunction& function) {
  const size_t bytes = function.symbols.size() * sizeof(int32_t);
  if (bytes <= push_constant_bytes) return {};
  return error(
      "E0921",
      fmt::format("kernel {}: its sizes take {} bytes of push constants, and Vulkan has {}",
                  function.entry, bytes, push_constant_bytes),
      {}, Exit::target_limit);
}

// Fills in what a kernel needs beside its function.
Result<void> complete(const Context& c, Kernel& kernel) {
  if (auto ok = check_function(c.abilities.capability, kernel.function); !ok) return ok;
  if (auto ok = check_symbols(kernel.function); !ok) return ok;
  const auto code = spirv_of_glsl(kernel.function.source, kernel.function.entry);
  if (!code) return tl::unexpected(code.error());
  kernel.bindings = binding_count(*code);
  if (auto ok = check_buffers(c.abilities.capability, kernel.function, kernel.bindings); !ok)
    return ok;
  auto sets = set_layout(c, kernel.bindings);
  if (!sets) return tl::unexpected(std::move(sets).error());
  kernel.sets = std::move(*sets);
  auto layout = pipeline_layout(c, kernel);
  if (!layout) return tl::unexpected(std::move(layout).error());
  kernel.layout = std::move(*layout);
  auto made = pipeline(c, kernel, *code);
  if (!made) return tl::unexpected(std::move(made).error());
  kernel.pipeline = std::move(*made);
  kernel.function.source.clear();
  return {};
}

}  // namespace

Result<std::unique_ptr<GpuModule>> build_module(const std::shared_ptr<const Context>& context,
                                                const GpuSource& source) {
  std::vector<Kernel> kernels;
  for (const GpuFunction& function : source.functions) {
    kernels.emplace_back().function = function;
    if (auto ok = complete(*context, kernels.back()); !ok)
      return tl::unexpected(std::move(ok).error());
  }
  return std::make_unique<Module>(context, std::move(kernels));
}

}  // namespace tang::vk
