// What of WebGPU's C interface compute kernels need, laid out as Dawn has it in the library of npm
// bun-webgpu-linux-x64 0.1.7. No official header belongs to that library: structures are those of
// the webgpu.h of its year, numbers of features those that bun-webgpu uses. open_webgpu() runs a
// kernel with a known answer before anybody relies on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tang::wgpu {

static_assert(sizeof(void*) == 8);

using Instance = struct InstanceObject*;
using Adapter = struct AdapterObject*;
using Device = struct DeviceObject*;
using Queue = struct QueueObject*;
using Buffer = struct BufferObject*;
using ShaderModule = struct ShaderModuleObject*;
using GroupLayout = struct GroupLayoutObject*;
using PipelineLayout = struct PipelineLayoutObject*;
using Pipeline = struct PipelineObject*;
using Group = struct GroupObject*;
using Encoder = struct EncoderObject*;
using Pass = struct PassObject*;
using Commands = struct CommandsObject*;

inline constexpr uint32_t backend_vulkan = 6;
inline constexpr uint32_t wait_any_only = 1, spontaneous = 3;  // when a callback is called
inline constexpr uint32_t timed_wait_any = 1;                  // feature of an instance
inline constexpr uint32_t feature_f16 = 10;                    // features of an adapter
inline constexpr uint32_t feature_subgroups = 17;
inline constexpr uint32_t level_core = 2;
inline constexpr uint32_t high_performance = 2;
inline constexpr uint32_t adapter_processor = 3;
inline constexpr uint32_t source_wgsl = 2;     // type of a chained structure
inline constexpr uint32_t status_success = 1;  // of every status
inline constexpr uint64_t map_read = 1;
inline constexpr uint64_t usage_map_read = 1, usage_copy_source = 4, usage_copy_target = 8,
                          usage_uniform = 0x40, usage_storage = 0x80;
inline constexpr uint64_t stage_compute = 4;
inline constexpr uint32_t binding_uniform = 2, binding_storage = 3, binding_read_only = 4;
inline constexpr uint32_t error_none = 1, error_validation = 2, error_memory = 3;
inline constexpr uint32_t filter_validation = 1, filter_memory = 2, filter_internal = 3;
inline constexpr uint32_t lost_destroyed = 2;

struct Text {
  const char* data = nullptr;
  size_t size = SIZE_MAX;  // that of a text without data; otherwise: it ends with a 0

  Text() = default;
  explicit Text(std::string_view text) : data(text.data()), size(text.size()) {}
  std::string string() const {
    if (!data) return {};
    return size == SIZE_MAX ? std::string(data) : std::string(data, size);
  }
};

struct Chained {
  const Chained* next = nullptr;
  uint32_t type = 0;
};

struct Future {
  uint64_t id = 0;
};

struct FutureWait {
  Future future;
  uint32_t completed = 0;
};

struct InstanceDescriptor {
  const Chained* next = nullptr;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const void* limits = nullptr;
};

struct AdapterOptions {
  const Chained* next = nullptr;
  uint32_t level = level_core;
  uint32_t power = high_performance;
  uint32_t force_fallback = 0;
  uint32_t backend = backend_vulkan;
  void* surface = nullptr;
};

// A function to call with a result, and how.
template <class Function>
struct Callback {
  const Chained* next = nullptr;
  uint32_t mode = wait_any_only;
  Function function = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};
using AdapterFunction = void (*)(uint32_t, Adapter, Text, void*, void*);
using DeviceFunction = void (*)(uint32_t, Device, Text, void*, void*);
using ScopeFunction = void (*)(uint32_t, uint32_t, Text, void*, void*);
using StatusFunction = void (*)(uint32_t, Text, void*, void*);
using LostFunction = void (*)(const Device*, uint32_t, Text, void*, void*);
using ErrorFunction = void (*)(const Device*, uint32_t, Text, void*, void*);

struct AdapterInfo {
  Chained* next = nullptr;
  Text vendor, architecture, device, description;
  uint32_t backend = 0;
  uint32_t kind = 0;
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t subgroup_min = 0;
  uint32_t subgroup_max = 0;
};

// Of the fields those that are read have names; at the end there is room for those of newer ones.
struct Limits {
  Chained* next = nullptr;
  uint32_t skipped_0[6] = {};
  uint32_t max_bindings = 0;  // of a group
  uint32_t skipped_1[4] = {};
  uint32_t max_storage_buffers = 0;  // of a stage
  uint32_t skipped_2[2] = {};
  uint64_t max_uniform_binding_bytes = 0;
  uint64_t max_storage_binding_bytes = 0;
  uint32_t skipped_3[3] = {};
  uint64_t max_buffer_bytes = 0;
  uint32_t skipped_4[5] = {};
  uint32_t max_shared_bytes = 0;
  uint32_t max_threads = 0;
  uint32_t max_group_size[3] = {};
  uint32_t max_groups = 0;  // of a dimension
  uint32_t skipped_5[15] = {};
};

struct QueueDescriptor {
  const Chained* next = nullptr;
  Text label;
};

struct ErrorCallback {
  const Chained* next = nullptr;
  ErrorFunction function = nullptr;
  void* first = nullptr;
  void* second = nullptr;
};

struct DeviceDescriptor {
  const Chained* next = nullptr;
  Text label;
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  QueueDescriptor queue;
  Callback<LostFunction> lost;
  ErrorCallback error;
};

struct BufferDescriptor {
  const Chained* next = nullptr;
  Text label;
  uint64_t usage = 0;
  uint64_t size = 0;
  uint32_t mapped = 0;
};

struct SourceWgsl {
  Chained chain{nullptr, source_wgsl};
  Text code;
};

struct ModuleDescriptor {
  const Chained* next = nullptr;
  Text label;
};

struct GroupLayoutEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  uint64_t visibility = stage_compute;
  uint32_t array_size = 0;
  struct {
    const Chained* next = nullptr;
    uint32_t type = 0;
    uint32_t dynamic_offset = 0;
    uint64_t least_size = 0;
  } buffer;
  struct {
    const Chained* next = nullptr;
    uint32_t type = 0;
  } sampler;
  struct {
    const Chained* next = nullptr;
    uint32_t type = 0, dimension = 0, multisampled = 0;
  } texture;
  struct {
    const Chained* next = nullptr;
    uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture;
};

struct GroupLayoutDescriptor {
  const Chained* next = nullptr;
  Text label;
  size_t count = 0;
  const GroupLayoutEntry* entries = nullptr;
};

struct PipelineLayoutDescriptor {
  const Chained* next = nullptr;
  Text label;
  size_t count = 0;
  const GroupLayout* groups = nullptr;
  uint32_t immediate_size = 0;
};

struct PipelineDescriptor {
  const Chained* next = nullptr;
  Text label;
  PipelineLayout layout = nullptr;
  struct {
    const Chained* next = nullptr;
    ShaderModule module = nullptr;
    Text entry;
    size_t constant_count = 0;
    const void* constants = nullptr;
  } compute;
};

struct GroupEntry {
  const Chained* next = nullptr;
  uint32_t binding = 0;
  Buffer buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
  void* sampler = nullptr;
  void* texture = nullptr;
};

struct GroupDescriptor {
  const Chained* next = nullptr;
  Text label;
  GroupLayout layout = nullptr;
  size_t count = 0;
  const GroupEntry* entries = nullptr;
};

struct Functions {
// X(field, name, result, parameters)
#define TANG_WEBGPU(X)                                                                          \
  X(create_instance, "wgpuCreateInstance", Instance, (const InstanceDescriptor*))               \
  X(release_instance, "wgpuInstanceRelease", void, (Instance))                                  \
  X(request_adapter, "wgpuInstanceRequestAdapter", Future,                                      \
    (Instance, const AdapterOptions*, Callback<AdapterFunction>))                               \
  X(wait_any, "wgpuInstanceWaitAny", uint32_t, (Instance, size_t, FutureWait*, uint64_t))       \
  X(adapter_info, "wgpuAdapterGetInfo", uint32_t, (Adapter, AdapterInfo*))                      \
  X(free_adapter_info, "wgpuAdapterInfoFreeMembers", void, (AdapterInfo))                       \
  X(adapter_limits, "wgpuAdapterGetLimits", uint32_t, (Adapter, Limits*))                       \
  X(adapter_has, "wgpuAdapterHasFeature", uint32_t, (Adapter, uint32_t))                        \
  X(request_device, "wgpuAdapterRequestDevice", Future,                                         \
    (Adapter, const DeviceDescriptor*, Callback<DeviceFunction>))                               \
  X(release_adapter, "wgpuAdapterRelease", void, (Adapter))                                     \
  X(device_queue, "wgpuDeviceGetQueue", Queue, (Device))                                        \
  X(destroy_device, "wgpuDeviceDestroy", void, (Device))                                        \
  X(release_device, "wgpuDeviceRelease", void, (Device))                                        \
  X(push_scope, "wgpuDevicePushErrorScope", void, (Device, uint32_t))                           \
  X(pop_scope, "wgpuDevicePopErrorScope", Future, (Device, Callback<ScopeFunction>))            \
  X(create_buffer, "wgpuDeviceCreateBuffer", Buffer, (Device, const BufferDescriptor*))         \
  X(map_buffer, "wgpuBufferMapAsync", Future,                                                   \
    (Buffer, uint64_t, size_t, size_t, Callback<StatusFunction>))                               \
  X(mapped_range, "wgpuBufferGetConstMappedRange", const void*, (Buffer, size_t, size_t))       \
  X(unmap_buffer, "wgpuBufferUnmap", void, (Buffer))                                            \
  X(release_buffer, "wgpuBufferRelease", void, (Buffer))                                        \
  X(create_module, "wgpuDeviceCreateShaderModule", ShaderModule,                                \
    (Device, const ModuleDescriptor*))                                                          \
  X(release_module, "wgpuShaderModuleRelease", void, (ShaderModule))                            \
  X(create_group_layout, "wgpuDeviceCreateBindGroupLayout", GroupLayout,                        \
    (Device, const GroupLayoutDescriptor*))                                                     \
  X(release_group_layout, "wgpuBindGroupLayoutRelease", void, (GroupLayout))                    \
  X(create_layout, "wgpuDeviceCreatePipelineLayout", PipelineLayout,                            \
    (Device, const PipelineLayoutDescriptor*))                                                  \
  X(release_layout, "wgpuPipelineLayoutRelease", void, (PipelineLayout))                        \
  X(create_pipeline, "wgpuDeviceCreateComputePipeline", Pipeline,                               \
    (Device, const PipelineDescriptor*))                                                        \
  X(release_pipeline, "wgpuComputePipelineRelease", void, (Pipeline))                           \
  X(create_group, "wgpuDeviceCreateBindGroup", Group, (Device, const GroupDescriptor*))         \
  X(release_group, "wgpuBindGroupRelease", void, (Group))                                       \
  X(create_encoder, "wgpuDeviceCreateCommandEncoder", Encoder, (Device, const void*))           \
  X(copy_buffer, "wgpuCommandEncoderCopyBufferToBuffer", void,                                  \
    (Encoder, Buffer, uint64_t, Buffer, uint64_t, uint64_t))                                    \
  X(begin_pass, "wgpuCommandEncoderBeginComputePass", Pass, (Encoder, const void*))             \
  X(finish_encoder, "wgpuCommandEncoderFinish", Commands, (Encoder, const void*))               \
  X(release_encoder, "wgpuCommandEncoderRelease", void, (Encoder))                              \
  X(set_pipeline, "wgpuComputePassEncoderSetPipeline", void, (Pass, Pipeline))                  \
  X(set_group, "wgpuComputePassEncoderSetBindGroup", void,                                      \
    (Pass, uint32_t, Group, size_t, const uint32_t*))                                           \
  X(dispatch, "wgpuComputePassEncoderDispatchWorkgroups", void,                                 \
    (Pass, uint32_t, uint32_t, uint32_t))                                                       \
  X(end_pass, "wgpuComputePassEncoderEnd", void, (Pass))                                        \
  X(release_pass, "wgpuComputePassEncoderRelease", void, (Pass))                                \
  X(release_commands, "wgpuCommandBufferRelease", void, (Commands))                             \
  X(submit, "wgpuQueueSubmit", void, (Queue, size_t, const Commands*))                          \
  X(write_buffer, "wgpuQueueWriteBuffer", void, (Queue, Buffer, uint64_t, const void*, size_t)) \
  X(work_done, "wgpuQueueOnSubmittedWorkDone", Future, (Queue, Callback<StatusFunction>))       \
  X(release_queue, "wgpuQueueRelease", void, (Queue))

#define TANG_WEBGPU_FIELD(field, name, result, parameters) result(*field) parameters = nullptr;
  TANG_WEBGPU(TANG_WEBGPU_FIELD)
#undef TANG_WEBGPU_FIELD
};

}  // namespace tang::wgpu
