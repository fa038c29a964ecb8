// libvulkan.so.1, opened when asked for, and its functions.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "run/vulkan_api.h"

namespace tang::vk {

// TANG_VULKAN(field, name of the specification, what it gives, parameters)
#define TANG_VULKAN_GLOBAL(X)                            \
  X(create_instance, "vkCreateInstance", Outcome,        \
    (const InstanceCreateInfo*, const void*, Instance*)) \
  X(instance_version, "vkEnumerateInstanceVersion", Outcome, (uint32_t*))

#define TANG_VULKAN_INSTANCE(X)                                                          \
  X(destroy_instance, "vkDestroyInstance", void, (Instance, const void*))                \
  X(physical_devices, "vkEnumeratePhysicalDevices", Outcome,                             \
    (Instance, uint32_t*, PhysicalDevice*))                                              \
  X(properties, "vkGetPhysicalDeviceProperties", void, (PhysicalDevice, Properties*))    \
  X(properties2, "vkGetPhysicalDeviceProperties2", void, (PhysicalDevice, Properties2*)) \
  X(features2, "vkGetPhysicalDeviceFeatures2", void, (PhysicalDevice, Features2*))       \
  X(memory_properties, "vkGetPhysicalDeviceMemoryProperties", void,                      \
    (PhysicalDevice, MemoryProperties*))                                                 \
  X(queue_families, "vkGetPhysicalDeviceQueueFamilyProperties", void,                    \
    (PhysicalDevice, uint32_t*, QueueFamily*))                                           \
  X(create_device, "vkCreateDevice", Outcome,                                            \
    (PhysicalDevice, const DeviceCreateInfo*, const void*, Device*))                     \
  X(device_function, "vkGetDeviceProcAddr", Function, (Device, const char*))

#define TANG_VULKAN_DEVICE(X)                                                                      \
  X(destroy_device, "vkDestroyDevice", void, (Device, const void*))                                \
  X(device_queue, "vkGetDeviceQueue", void, (Device, uint32_t, uint32_t, Queue*))                  \
  X(device_wait_idle, "vkDeviceWaitIdle", Outcome, (Device))                                       \
  X(create_buffer, "vkCreateBuffer", Outcome,                                                      \
    (Device, const BufferCreateInfo*, const void*, Buffer*))                                       \
  X(destroy_buffer, "vkDestroyBuffer", void, (Device, Buffer, const void*))                        \
  X(buffer_requirements, "vkGetBufferMemoryRequirements", void,                                    \
    (Device, Buffer, MemoryRequirements*))                                                         \
  X(allocate_memory, "vkAllocateMemory", Outcome,                                                  \
    (Device, const MemoryAllocateInfo*, const void*, Memory*))                                     \
  X(free_memory, "vkFreeMemory", void, (Device, Memory, const void*))                              \
  X(bind_buffer, "vkBindBufferMemory", Outcome, (Device, Buffer, Memory, uint64_t))                \
  X(map_memory, "vkMapMemory", Outcome, (Device, Memory, uint64_t, uint64_t, uint32_t, void**))    \
  X(create_shader, "vkCreateShaderModule", Outcome,                                                \
    (Device, const ShaderModuleCreateInfo*, const void*, ShaderModule*))                           \
  X(destroy_shader, "vkDestroyShaderModule", void, (Device, ShaderModule, const void*))            \
  X(create_set_layout, "vkCreateDescriptorSetLayout", Outcome,                                     \
    (Device, const SetLayoutCreateInfo*, const void*, SetLayout*))                                 \
  X(destroy_set_layout, "vkDestroyDescriptorSetLayout", void, (Device, SetLayout, const void*))    \
  X(create_layout, "vkCreatePipelineLayout", Outcome,                                              \
    (Device, const PipelineLayoutCreateInfo*, const void*, PipelineLayout*))                       \
  X(destroy_layout, "vkDestroyPipelineLayout", void, (Device, PipelineLayout, const void*))        \
  X(create_pipelines, "vkCreateComputePipelines", Outcome,                                         \
    (Device, void*, uint32_t, const ComputePipelineCreateInfo*, const void*, Pipeline*))           \
  X(destroy_pipeline, "vkDestroyPipeline", void, (Device, Pipeline, const void*))                  \
  X(create_descriptor_pool, "vkCreateDescriptorPool", Outcome,                                     \
    (Device, const DescriptorPoolCreateInfo*, const void*, DescriptorPool*))                       \
  X(destroy_descriptor_pool, "vkDestroyDescriptorPool", void,                                      \
    (Device, DescriptorPool, const void*))                                                         \
  X(allocate_sets, "vkAllocateDescriptorSets", Outcome,                                            \
    (Device, const SetAllocateInfo*, DescriptorSet*))                                              \
  X(update_sets, "vkUpdateDescriptorSets", void,                                                   \
    (Device, uint32_t, const WriteSet*, uint32_t, const void*))                                    \
  X(create_command_pool, "vkCreateCommandPool", Outcome,                                           \
    (Device, const CommandPoolCreateInfo*, const void*, CommandPool*))                             \
  X(destroy_command_pool, "vkDestroyCommandPool", void, (Device, CommandPool, const void*))        \
  X(allocate_commands, "vkAllocateCommandBuffers", Outcome,                                        \
    (Device, const CommandBufferAllocateInfo*, CommandBuffer*))                                    \
  X(begin_commands, "vkBeginCommandBuffer", Outcome,                                               \
    (CommandBuffer, const CommandBufferBeginInfo*))                                                \
  X(end_commands, "vkEndCommandBuffer", Outcome, (CommandBuffer))                                  \
  X(bind_pipeline, "vkCmdBindPipeline", void, (CommandBuffer, int32_t, Pipeline))                  \
  X(bind_sets, "vkCmdBindDescriptorSets", void,                                                    \
    (CommandBuffer, int32_t, PipelineLayout, uint32_t, uint32_t, const DescriptorSet*, uint32_t,   \
     const uint32_t*))                                                                             \
  X(push_constants, "vkCmdPushConstants", void,                                                    \
    (CommandBuffer, PipelineLayout, uint32_t, uint32_t, uint32_t, const void*))                    \
  X(dispatch, "vkCmdDispatch", void, (CommandBuffer, uint32_t, uint32_t, uint32_t))                \
  X(copy_buffer, "vkCmdCopyBuffer", void,                                                          \
    (CommandBuffer, Buffer, Buffer, uint32_t, const BufferCopy*))                                  \
  X(barrier, "vkCmdPipelineBarrier", void,                                                         \
    (CommandBuffer, uint32_t, uint32_t, uint32_t, uint32_t, const MemoryBarrier*, uint32_t,        \
     const void*, uint32_t, const void*))                                                          \
  X(reset_queries, "vkCmdResetQueryPool", void, (CommandBuffer, QueryPool, uint32_t, uint32_t))    \
  X(write_timestamp, "vkCmdWriteTimestamp", void, (CommandBuffer, uint32_t, QueryPool, uint32_t))  \
  X(create_queries, "vkCreateQueryPool", Outcome,                                                  \
    (Device, const QueryPoolCreateInfo*, const void*, QueryPool*))                                 \
  X(destroy_queries, "vkDestroyQueryPool", void, (Device, QueryPool, const void*))                 \
  X(query_results, "vkGetQueryPoolResults", Outcome,                                               \
    (Device, QueryPool, uint32_t, uint32_t, size_t, void*, uint64_t, uint32_t))                    \
  X(create_fence, "vkCreateFence", Outcome, (Device, const FenceCreateInfo*, const void*, Fence*)) \
  X(destroy_fence, "vkDestroyFence", void, (Device, Fence, const void*))                           \
  X(reset_fences, "vkResetFences", Outcome, (Device, uint32_t, const Fence*))                      \
  X(wait_fences, "vkWaitForFences", Outcome, (Device, uint32_t, const Fence*, uint32_t, uint64_t)) \
  X(submit, "vkQueueSubmit", Outcome, (Queue, uint32_t, const SubmitInfo*, Fence))

struct Functions {
  Function (*find)(Instance, const char*) = nullptr;
#define TANG_VULKAN_FIELD(field, name, result, parameters) result(*field) parameters = nullptr;
  TANG_VULKAN_GLOBAL(TANG_VULKAN_FIELD)
  TANG_VULKAN_INSTANCE(TANG_VULKAN_FIELD)
  TANG_VULKAN_DEVICE(TANG_VULKAN_FIELD)
#undef TANG_VULKAN_FIELD
};

// Opens the loader, which stays open, and finds what needs no instance. E0911.
Result<void> load_global(Functions& functions, const std::string& library);
// Finds the functions of an instance, of a device. E0911 with the name of one that is missing.
Result<void> load_instance(Functions& functions, Instance instance);
Result<void> load_device(Functions& functions, Device device);

// "VK_ERROR_DEVICE_LOST".
std::string outcome_name(Outcome outcome);
// E0913 (exit 5) where memory ran out, otherwise E0912 (exit 3), with the call and its outcome;
// nothing on success.
Result<void> checked(Outcome outcome, std::string_view call);

}  // namespace tang::vk
