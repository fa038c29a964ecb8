// The header of Vulkan's structures is laid out as the official one.
#if __has_include(<vulkan/vulkan_core.h>)
#include "run/vulkan_api.h"

#include <vulkan/vulkan_core.h>

#include <gtest/gtest.h>

namespace tang {
namespace {

#define SAME_SIZE(ours, official) static_assert(sizeof(vk::ours) == sizeof(official))
#define SAME_PLACE(ours, field, official, member)                         \
  static_assert(offsetof(vk::ours, field) == offsetof(official, member)); \
  static_assert(sizeof(vk::ours::field) == sizeof(official::member))
#define SAME_NUMBER(ours, official) \
  static_assert(static_cast<int64_t>(vk::ours) == static_cast<int64_t>(official))

SAME_SIZE(ApplicationInfo, VkApplicationInfo);
SAME_PLACE(ApplicationInfo, api_version, VkApplicationInfo, apiVersion);
SAME_SIZE(InstanceCreateInfo, VkInstanceCreateInfo);
SAME_PLACE(InstanceCreateInfo, application, VkInstanceCreateInfo, pApplicationInfo);
SAME_SIZE(Limits, VkPhysicalDeviceLimits);
SAME_PLACE(Limits, max_storage_buffer_range, VkPhysicalDeviceLimits, maxStorageBufferRange);
SAME_PLACE(Limits, max_push_constants_size, VkPhysicalDeviceLimits, maxPushConstantsSize);
SAME_PLACE(Limits, max_memory_allocation_count, VkPhysicalDeviceLimits, maxMemoryAllocationCount);
SAME_PLACE(Limits, max_per_stage_storage_buffers, VkPhysicalDeviceLimits,
           maxPerStageDescriptorStorageBuffers);
SAME_PLACE(Limits, max_set_storage_buffers, VkPhysicalDeviceLimits, maxDescriptorSetStorageBuffers);
SAME_PLACE(Limits, max_shared_memory_size, VkPhysicalDeviceLimits, maxComputeSharedMemorySize);
SAME_PLACE(Limits, max_group_count, VkPhysicalDeviceLimits, maxComputeWorkGroupCount);
SAME_PLACE(Limits, max_group_invocations, VkPhysicalDeviceLimits, maxComputeWorkGroupInvocations);
SAME_PLACE(Limits, max_group_size, VkPhysicalDeviceLimits, maxComputeWorkGroupSize);
SAME_PLACE(Limits, min_storage_buffer_offset_alignment, VkPhysicalDeviceLimits,
           minStorageBufferOffsetAlignment);
SAME_PLACE(Limits, timestamp_period, VkPhysicalDeviceLimits, timestampPeriod);
SAME_SIZE(Properties, VkPhysicalDeviceProperties);
SAME_PLACE(Properties, kind, VkPhysicalDeviceProperties, deviceType);
SAME_PLACE(Properties, name, VkPhysicalDeviceProperties, deviceName);
SAME_PLACE(Properties, limits, VkPhysicalDeviceProperties, limits);
SAME_SIZE(Properties2, VkPhysicalDeviceProperties2);
SAME_SIZE(SubgroupProperties, VkPhysicalDeviceSubgroupProperties);
SAME_PLACE(SubgroupProperties, operations, VkPhysicalDeviceSubgroupProperties, supportedOperations);
SAME_SIZE(SubgroupSizeProperties, VkPhysicalDeviceSubgroupSizeControlProperties);
SAME_PLACE(SubgroupSizeProperties, required_size_stages,
           VkPhysicalDeviceSubgroupSizeControlProperties, requiredSubgroupSizeStages);
SAME_SIZE(Features, VkPhysicalDeviceFeatures);
SAME_PLACE(Features, float64, VkPhysicalDeviceFeatures, shaderFloat64);
SAME_PLACE(Features, int64, VkPhysicalDeviceFeatures, shaderInt64);
SAME_PLACE(Features, int16, VkPhysicalDeviceFeatures, shaderInt16);
SAME_SIZE(Features2, VkPhysicalDeviceFeatures2);
SAME_SIZE(Storage16Features, VkPhysicalDevice16BitStorageFeatures);
SAME_PLACE(Storage16Features, storage_buffer, VkPhysicalDevice16BitStorageFeatures,
           storageBuffer16BitAccess);
SAME_SIZE(Storage8Features, VkPhysicalDevice8BitStorageFeatures);
SAME_PLACE(Storage8Features, storage_buffer, VkPhysicalDevice8BitStorageFeatures,
           storageBuffer8BitAccess);
SAME_SIZE(Float16Int8Features, VkPhysicalDeviceShaderFloat16Int8Features);
SAME_PLACE(Float16Int8Features, int8, VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8);
SAME_SIZE(SubgroupTypesFeatures, VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures);
SAME_PLACE(SubgroupTypesFeatures, extended, VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures,
           shaderSubgroupExtendedTypes);
SAME_SIZE(SubgroupSizeFeatures, VkPhysicalDeviceSubgroupSizeControlFeatures);
SAME_PLACE(SubgroupSizeFeatures, full_subgroups, VkPhysicalDeviceSubgroupSizeControlFeatures,
           computeFullSubgroups);
SAME_SIZE(MemoryProperties, VkPhysicalDeviceMemoryProperties);
SAME_PLACE(MemoryProperties, heap_count, VkPhysicalDeviceMemoryProperties, memoryHeapCount);
SAME_PLACE(MemoryProperties, heaps, VkPhysicalDeviceMemoryProperties, memoryHeaps);
SAME_SIZE(QueueFamily, VkQueueFamilyProperties);
SAME_PLACE(QueueFamily, timestamp_bits, VkQueueFamilyProperties, timestampValidBits);
SAME_SIZE(QueueCreateInfo, VkDeviceQueueCreateInfo);
SAME_PLACE(QueueCreateInfo, priorities, VkDeviceQueueCreateInfo, pQueuePriorities);
SAME_SIZE(DeviceCreateInfo, VkDeviceCreateInfo);
SAME_PLACE(DeviceCreateInfo, queues, VkDeviceCreateInfo, pQueueCreateInfos);
SAME_SIZE(BufferCreateInfo, VkBufferCreateInfo);
SAME_PLACE(BufferCreateInfo, usage, VkBufferCreateInfo, usage);
SAME_SIZE(MemoryRequirements, VkMemoryRequirements);
SAME_PLACE(MemoryRequirements, kinds, VkMemoryRequirements, memoryTypeBits);
SAME_SIZE(MemoryAllocateInfo, VkMemoryAllocateInfo);
SAME_PLACE(MemoryAllocateInfo, kind, VkMemoryAllocateInfo, memoryTypeIndex);
SAME_SIZE(ShaderModuleCreateInfo, VkShaderModuleCreateInfo);
SAME_PLACE(ShaderModuleCreateInfo, code, VkShaderModuleCreateInfo, pCode);
SAME_SIZE(RequiredSubgroupSize, VkPipelineShaderStageRequiredSubgroupSizeCreateInfo);
SAME_SIZE(ShaderStageCreateInfo, VkPipelineShaderStageCreateInfo);
SAME_PLACE(ShaderStageCreateInfo, entry, VkPipelineShaderStageCreateInfo, pName);
SAME_SIZE(ComputePipelineCreateInfo, VkComputePipelineCreateInfo);
SAME_PLACE(ComputePipelineCreateInfo, layout, VkComputePipelineCreateInfo, layout);
SAME_SIZE(PushConstantRange, VkPushConstantRange);
SAME_SIZE(PipelineLayoutCreateInfo, VkPipelineLayoutCreateInfo);
SAME_PLACE(PipelineLayoutCreateInfo, ranges, VkPipelineLayoutCreateInfo, pPushConstantRanges);
SAME_SIZE(SetLayoutBinding, VkDescriptorSetLayoutBinding);
SAME_PLACE(SetLayoutBinding, stages, VkDescriptorSetLayoutBinding, stageFlags);
SAME_SIZE(SetLayoutCreateInfo, VkDescriptorSetLayoutCreateInfo);
SAME_SIZE(DescriptorPoolSize, VkDescriptorPoolSize);
SAME_SIZE(DescriptorPoolCreateInfo, VkDescriptorPoolCreateInfo);
SAME_PLACE(DescriptorPoolCreateInfo, sizes, VkDescriptorPoolCreateInfo, pPoolSizes);
SAME_SIZE(SetAllocateInfo, VkDescriptorSetAllocateInfo);
SAME_SIZE(BufferRange, VkDescriptorBufferInfo);
SAME_SIZE(WriteSet, VkWriteDescriptorSet);
SAME_PLACE(WriteSet, buffers, VkWriteDescriptorSet, pBufferInfo);
SAME_SIZE(CommandPoolCreateInfo, VkCommandPoolCreateInfo);
SAME_SIZE(CommandBufferAllocateInfo, VkCommandBufferAllocateInfo);
SAME_SIZE(CommandBufferBeginInfo, VkCommandBufferBeginInfo);
SAME_SIZE(MemoryBarrier, VkMemoryBarrier);
SAME_SIZE(SubmitInfo, VkSubmitInfo);
SAME_PLACE(SubmitInfo, commands, VkSubmitInfo, pCommandBuffers);
SAME_SIZE(FenceCreateInfo, VkFenceCreateInfo);
SAME_SIZE(QueryPoolCreateInfo, VkQueryPoolCreateInfo);
SAME_PLACE(QueryPoolCreateInfo, count, VkQueryPoolCreateInfo, queryCount);
SAME_SIZE(BufferCopy, VkBufferCopy);

SAME_NUMBER(application_info, VK_STRUCTURE_TYPE_APPLICATION_INFO);
SAME_NUMBER(instance_create_info, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
SAME_NUMBER(device_queue_create_info, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
SAME_NUMBER(device_create_info, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
SAME_NUMBER(submit_info, VK_STRUCTURE_TYPE_SUBMIT_INFO);
SAME_NUMBER(memory_allocate_info, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
SAME_NUMBER(fence_create_info, VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
SAME_NUMBER(query_pool_create_info, VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
SAME_NUMBER(buffer_create_info, VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
SAME_NUMBER(shader_module_create_info, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
SAME_NUMBER(pipeline_shader_stage_create_info, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
SAME_NUMBER(compute_pipeline_create_info, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
SAME_NUMBER(pipeline_layout_create_info, VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
SAME_NUMBER(descriptor_set_layout_create_info, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
SAME_NUMBER(descriptor_pool_create_info, VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
SAME_NUMBER(descriptor_set_allocate_info, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
SAME_NUMBER(write_descriptor_set, VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
SAME_NUMBER(command_pool_create_info, VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
SAME_NUMBER(command_buffer_allocate_info, VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
SAME_NUMBER(command_buffer_begin_info, VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
SAME_NUMBER(memory_barrier, VK_STRUCTURE_TYPE_MEMORY_BARRIER);
SAME_NUMBER(physical_device_features_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
SAME_NUMBER(physical_device_properties_2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
SAME_NUMBER(storage_16bit_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
SAME_NUMBER(subgroup_extended_types_features,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES);
SAME_NUMBER(storage_8bit_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
SAME_NUMBER(float16_int8_features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
SAME_NUMBER(subgroup_properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
SAME_NUMBER(subgroup_size_control_properties,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
SAME_NUMBER(subgroup_size_control_features,
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
SAME_NUMBER(required_subgroup_size,
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);

SAME_NUMBER(out_of_device_memory, VK_ERROR_OUT_OF_DEVICE_MEMORY);
SAME_NUMBER(device_lost, VK_ERROR_DEVICE_LOST);
SAME_NUMBER(incompatible_driver, VK_ERROR_INCOMPATIBLE_DRIVER);
SAME_NUMBER(out_of_pool_memory, VK_ERROR_OUT_OF_POOL_MEMORY);
SAME_NUMBER(integrated, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
SAME_NUMBER(discrete, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
SAME_NUMBER(cpu, VK_PHYSICAL_DEVICE_TYPE_CPU);
SAME_NUMBER(queue_compute, VK_QUEUE_COMPUTE_BIT);
SAME_NUMBER(memory_device_local, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
SAME_NUMBER(memory_host_visible, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
SAME_NUMBER(memory_host_coherent, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
SAME_NUMBER(memory_host_cached, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
SAME_NUMBER(usage_transfer_source, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
SAME_NUMBER(usage_transfer_target, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
SAME_NUMBER(usage_storage, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
SAME_NUMBER(stage_compute, VK_SHADER_STAGE_COMPUTE_BIT);
SAME_NUMBER(subgroup_basic, VK_SUBGROUP_FEATURE_BASIC_BIT);
SAME_NUMBER(subgroup_shuffle, VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
SAME_NUMBER(descriptor_storage_buffer, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
SAME_NUMBER(bind_compute, VK_PIPELINE_BIND_POINT_COMPUTE);
SAME_NUMBER(pipe_bottom, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
SAME_NUMBER(pipe_host, VK_PIPELINE_STAGE_HOST_BIT);
SAME_NUMBER(pipe_all, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
SAME_NUMBER(access_memory_read, VK_ACCESS_MEMORY_READ_BIT);
SAME_NUMBER(access_memory_write, VK_ACCESS_MEMORY_WRITE_BIT);
SAME_NUMBER(pool_resettable, VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
SAME_NUMBER(use_simultaneously, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
SAME_NUMBER(full_subgroups, VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
SAME_NUMBER(query_timestamp, VK_QUERY_TYPE_TIMESTAMP);
SAME_NUMBER(query_64_bit, VK_QUERY_RESULT_64_BIT);
SAME_NUMBER(query_wait, VK_QUERY_RESULT_WAIT_BIT);

TEST(VulkanApi, VersionsAreNumberedAsTheyShould) {
  EXPECT_EQ(vk::version(1, 2), VK_API_VERSION_1_2);
  EXPECT_EQ(vk::version(1, 3), VK_API_VERSION_1_3);
}

}  // namespace
}  // namespace tang
#endif
