// What of Vulkan 1.3 compute kernels need: handles, structures and numbers, laid out as in the
// Khronos specification (64-bit targets), so that building needs no header of it.
// tests/unit/run/vulkan_api_test.cpp compares them with the official header where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tang::vk {

static_assert(sizeof(void*) == 8);

using Instance = struct InstanceObject*;
using PhysicalDevice = struct PhysicalDeviceObject*;
using Device = struct DeviceObject*;
using Queue = struct QueueObject*;
using CommandBuffer = struct CommandBufferObject*;
using Buffer = struct BufferObject*;
using Memory = struct MemoryObject*;
using ShaderModule = struct ShaderModuleObject*;
using SetLayout = struct SetLayoutObject*;
using PipelineLayout = struct PipelineLayoutObject*;
using Pipeline = struct PipelineObject*;
using DescriptorPool = struct DescriptorPoolObject*;
using DescriptorSet = struct DescriptorSetObject*;
using CommandPool = struct CommandPoolObject*;
using Fence = struct FenceObject*;
using QueryPool = struct QueryPoolObject*;
using Function = void (*)();

enum Outcome : int32_t {
  success = 0,
  timeout = 2,
  incomplete = 5,
  out_of_host_memory = -1,
  out_of_device_memory = -2,
  initialization_failed = -3,
  device_lost = -4,
  memory_map_failed = -5,
  layer_not_present = -6,
  extension_not_present = -7,
  feature_not_present = -8,
  incompatible_driver = -9,
  too_many_objects = -10,
  fragmented_pool = -12,
  unknown = -13,
  out_of_pool_memory = -1000069000,
};

// The number that each structure begins with.
enum Type : int32_t {
  application_info = 0,
  instance_create_info = 1,
  device_queue_create_info = 2,
  device_create_info = 3,
  submit_info = 4,
  memory_allocate_info = 5,
  fence_create_info = 8,
  query_pool_create_info = 11,
  buffer_create_info = 12,
  shader_module_create_info = 16,
  pipeline_shader_stage_create_info = 18,
  compute_pipeline_create_info = 29,
  pipeline_layout_create_info = 30,
  descriptor_set_layout_create_info = 32,
  descriptor_pool_create_info = 33,
  descriptor_set_allocate_info = 34,
  write_descriptor_set = 35,
  command_pool_create_info = 39,
  command_buffer_allocate_info = 40,
  command_buffer_begin_info = 42,
  memory_barrier = 46,
  physical_device_features_2 = 1000059000,
  physical_device_properties_2 = 1000059001,
  storage_16bit_features = 1000083000,
  float16_int8_features = 1000082000,
  subgroup_properties = 1000094000,
  subgroup_extended_types_features = 1000175000,
  storage_8bit_features = 1000177000,
  subgroup_size_control_properties = 1000225000,
  required_subgroup_size = 1000225001,
  subgroup_size_control_features = 1000225002,
};

constexpr uint32_t version(uint32_t major, uint32_t minor) { return major << 22 | minor << 12; }

enum DeviceKind : int32_t { other = 0, integrated = 1, discrete = 2, virtual_gpu = 3, cpu = 4 };

inline constexpr uint32_t queue_compute = 2;
inline constexpr uint32_t memory_device_local = 1, memory_host_visible = 2,
                          memory_host_coherent = 4, memory_host_cached = 8;
inline constexpr uint32_t usage_transfer_source = 1, usage_transfer_target = 2, usage_storage = 32;
inline constexpr uint32_t stage_compute = 32;  // of shaders
inline constexpr uint32_t subgroup_basic = 1, subgroup_shuffle = 16;
inline constexpr int32_t descriptor_storage_buffer = 7;
inline constexpr int32_t bind_compute = 1;
inline constexpr uint32_t pipe_bottom = 0x2000, pipe_host = 0x4000, pipe_all = 0x10000;
inline constexpr uint32_t access_memory_read = 0x8000, access_memory_write = 0x10000;
inline constexpr uint32_t pool_resettable = 2;     // command buffers one by one
inline constexpr uint32_t use_simultaneously = 4;  // of a command buffer
inline constexpr uint32_t full_subgroups = 2;      // of a shader stage
inline constexpr int32_t query_timestamp = 2;
inline constexpr uint32_t query_64_bit = 1, query_wait = 2;

struct ApplicationInfo {
  Type type = application_info;
  const void* next = nullptr;
  const char* application = nullptr;
  uint32_t application_version = 0;
  const char* engine = nullptr;
  uint32_t engine_version = 0;
  uint32_t api_version = 0;
};

struct InstanceCreateInfo {
  Type type = instance_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  const ApplicationInfo* application = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};

// Of the fields of the official structure those that are read have names.
struct Limits {
  uint32_t skipped_0[7];  // sizes of images, uniform buffers
  uint32_t max_storage_buffer_range;
  uint32_t max_push_constants_size;
  uint32_t max_memory_allocation_count;
  uint32_t skipped_1;
  uint64_t skipped_2[2];
  uint32_t skipped_3[3];
  uint32_t max_per_stage_storage_buffers;
  uint32_t skipped_4[7];
  uint32_t max_set_storage_buffers;
  uint32_t skipped_5[26];
  uint32_t max_shared_memory_size;
  uint32_t max_group_count[3];
  uint32_t max_group_invocations;
  uint32_t max_group_size[3];
  uint32_t skipped_6[13];
  size_t skipped_7;
  uint64_t skipped_8[2];
  uint64_t min_storage_buffer_offset_alignment;
  uint32_t skipped_9[22];
  float timestamp_period;  // nanoseconds of a tick
  uint32_t skipped_10[12];
  uint64_t skipped_11[3];
};

struct Properties {
  uint32_t api_version;
  uint32_t driver_version;
  uint32_t vendor;
  uint32_t device;
  DeviceKind kind;
  char name[256];
  uint8_t cache_id[16];
  Limits limits;
  uint32_t sparse[5];
};

struct Properties2 {
  Type type = physical_device_properties_2;
  void* next = nullptr;
  Properties properties{};
};

struct SubgroupProperties {
  Type type = subgroup_properties;
  void* next = nullptr;
  uint32_t size = 0;
  uint32_t stages = 0;
  uint32_t operations = 0;
  uint32_t quads_everywhere = 0;
};

struct SubgroupSizeProperties {
  Type type = subgroup_size_control_properties;
  void* next = nullptr;
  uint32_t min_size = 0;
  uint32_t max_size = 0;
  uint32_t max_subgroups = 0;
  uint32_t required_size_stages = 0;
};

struct Features {
  uint32_t skipped_0[39];
  uint32_t float64;
  uint32_t int64;
  uint32_t int16;
  uint32_t skipped_1[13];
};

struct Features2 {
  Type type = physical_device_features_2;
  void* next = nullptr;
  Features features{};
};

struct Storage16Features {
  Type type = storage_16bit_features;
  void* next = nullptr;
  uint32_t storage_buffer = 0;
  uint32_t uniform_and_storage_buffer = 0;
  uint32_t push_constant = 0;
  uint32_t input_output = 0;
};

struct Storage8Features {
  Type type = storage_8bit_features;
  void* next = nullptr;
  uint32_t storage_buffer = 0;
  uint32_t uniform_and_storage_buffer = 0;
  uint32_t push_constant = 0;
};

struct Float16Int8Features {
  Type type = float16_int8_features;
  void* next = nullptr;
  uint32_t float16 = 0;
  uint32_t int8 = 0;
};

struct SubgroupTypesFeatures {
  Type type = subgroup_extended_types_features;
  void* next = nullptr;
  uint32_t extended = 0;  // integers of 64 bits are exchanged, too
};

struct SubgroupSizeFeatures {
  Type type = subgroup_size_control_features;
  void* next = nullptr;
  uint32_t size_control = 0;
  uint32_t full_subgroups = 0;
};

struct MemoryProperties {
  struct Kind {
    uint32_t flags;
    uint32_t heap;
  };
  struct Heap {
    uint64_t size;
    uint32_t flags;
  };
  uint32_t kind_count = 0;
  Kind kinds[32] = {};
  uint32_t heap_count = 0;
  Heap heaps[16] = {};
};

struct QueueFamily {
  uint32_t flags;
  uint32_t count;
  uint32_t timestamp_bits;
  uint32_t transfer_granularity[3];
};

struct QueueCreateInfo {
  Type type = device_queue_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t family = 0;
  uint32_t count = 0;
  const float* priorities = nullptr;
};

struct DeviceCreateInfo {
  Type type = device_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t queue_count = 0;
  const QueueCreateInfo* queues = nullptr;
  uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
  const Features* features = nullptr;
};

struct BufferCreateInfo {
  Type type = buffer_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint64_t size = 0;
  uint32_t usage = 0;
  int32_t sharing = 0;
  uint32_t family_count = 0;
  const uint32_t* families = nullptr;
};

struct MemoryRequirements {
  uint64_t size = 0;
  uint64_t alignment = 0;
  uint32_t kinds = 0;  // a bit for each kind of memory that will do
};

struct MemoryAllocateInfo {
  Type type = memory_allocate_info;
  const void* next = nullptr;
  uint64_t size = 0;
  uint32_t kind = 0;
};

struct ShaderModuleCreateInfo {
  Type type = shader_module_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  size_t code_size = 0;  // bytes
  const uint32_t* code = nullptr;
};

struct RequiredSubgroupSize {
  Type type = required_subgroup_size;
  void* next = nullptr;
  uint32_t size = 0;
};

struct ShaderStageCreateInfo {
  Type type = pipeline_shader_stage_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t stage = 0;
  ShaderModule module = nullptr;
  const char* entry = nullptr;
  const void* specialization = nullptr;
};

struct ComputePipelineCreateInfo {
  Type type = compute_pipeline_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  ShaderStageCreateInfo stage;
  PipelineLayout layout = nullptr;
  Pipeline base = nullptr;
  int32_t base_index = -1;
};

struct PushConstantRange {
  uint32_t stages = 0;
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct PipelineLayoutCreateInfo {
  Type type = pipeline_layout_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t set_count = 0;
  const SetLayout* sets = nullptr;
  uint32_t range_count = 0;
  const PushConstantRange* ranges = nullptr;
};

struct SetLayoutBinding {
  uint32_t binding = 0;
  int32_t descriptor = 0;
  uint32_t count = 0;
  uint32_t stages = 0;
  const void* samplers = nullptr;
};

struct SetLayoutCreateInfo {
  Type type = descriptor_set_layout_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t binding_count = 0;
  const SetLayoutBinding* bindings = nullptr;
};

struct DescriptorPoolSize {
  int32_t descriptor = 0;
  uint32_t count = 0;
};

struct DescriptorPoolCreateInfo {
  Type type = descriptor_pool_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t max_sets = 0;
  uint32_t size_count = 0;
  const DescriptorPoolSize* sizes = nullptr;
};

struct SetAllocateInfo {
  Type type = descriptor_set_allocate_info;
  const void* next = nullptr;
  DescriptorPool pool = nullptr;
  uint32_t count = 0;
  const SetLayout* layouts = nullptr;
};

struct BufferRange {
  Buffer buffer = nullptr;
  uint64_t offset = 0;
  uint64_t range = 0;
};

struct WriteSet {
  Type type = write_descriptor_set;
  const void* next = nullptr;
  DescriptorSet set = nullptr;
  uint32_t binding = 0;
  uint32_t element = 0;
  uint32_t count = 0;
  int32_t descriptor = 0;
  const void* images = nullptr;
  const BufferRange* buffers = nullptr;
  const void* texels = nullptr;
};

struct CommandPoolCreateInfo {
  Type type = command_pool_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  uint32_t family = 0;
};

struct CommandBufferAllocateInfo {
  Type type = command_buffer_allocate_info;
  const void* next = nullptr;
  CommandPool pool = nullptr;
  int32_t level = 0;
  uint32_t count = 0;
};

struct CommandBufferBeginInfo {
  Type type = command_buffer_begin_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  const void* inheritance = nullptr;
};

struct MemoryBarrier {
  Type type = memory_barrier;
  const void* next = nullptr;
  uint32_t source_access = 0;
  uint32_t target_access = 0;
};

struct SubmitInfo {
  Type type = submit_info;
  const void* next = nullptr;
  uint32_t wait_count = 0;
  const void* waits = nullptr;
  const uint32_t* wait_stages = nullptr;
  uint32_t command_count = 0;
  const CommandBuffer* commands = nullptr;
  uint32_t signal_count = 0;
  const void* signals = nullptr;
};

struct FenceCreateInfo {
  Type type = fence_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
};

struct QueryPoolCreateInfo {
  Type type = query_pool_create_info;
  const void* next = nullptr;
  uint32_t flags = 0;
  int32_t query = 0;
  uint32_t count = 0;
  uint32_t statistics = 0;
};

struct BufferCopy {
  uint64_t source = 0;
  uint64_t target = 0;
  uint64_t size = 0;
};

}  // namespace tang::vk
