// The entry points of libOpenCL that tang calls, and the types and numbers they take (OpenCL 1.2,
// section 4 and 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/diagnostic.h"

namespace tang::cl {

using Int = int32_t;
using Uint = uint32_t;
using Flags = uint64_t;
using Property = intptr_t;

template <int kind>
struct Opaque;
using Platform = Opaque<0>*;
using Device = Opaque<1>*;
using Context = Opaque<2>*;
using Queue = Opaque<3>*;
using Memory = Opaque<4>*;
using Program = Opaque<5>*;
using Kernel = Opaque<6>*;
using Event = Opaque<7>*;

inline constexpr Flags device_type_cpu = 1 << 1, device_type_gpu = 1 << 2;

inline constexpr Uint device_max_work_group_size = 0x1004, device_max_work_item_sizes = 0x1005,
                      device_address_bits = 0x100d, device_max_mem_alloc_size = 0x1010,
                      device_mem_base_addr_align = 0x1019, device_single_fp_config = 0x101b,
                      device_global_mem_size = 0x101f, device_local_mem_size = 0x1023,
                      device_available = 0x1027, device_compiler_available = 0x1028,
                      device_name = 0x102b, device_extensions = 0x1030,
                      device_compute_capability_major_nv = 0x4000,
                      device_compute_capability_minor_nv = 0x4001, device_warp_size_nv = 0x4003,
                      device_wavefront_width_amd = 0x4043;
inline constexpr Flags fp_correctly_rounded_divide_sqrt = 1 << 7;
inline constexpr Flags queue_profiling_enable = 1 << 1, mem_read_write = 1 << 0;
inline constexpr Uint buffer_create_type_region = 0x1220;
inline constexpr Uint program_build_log = 0x1183, kernel_work_group_size = 0x11b0;
inline constexpr Uint event_command_execution_status = 0x11d3, profiling_command_start = 0x1282,
                      profiling_command_end = 0x1283;
inline constexpr Int mem_object_allocation_failure = -4, out_of_resources = -5,
                     out_of_host_memory = -6, build_program_failure = -11,
                     invalid_work_group_size = -54, invalid_buffer_size = -61,
                     platform_not_found = -1001;

struct Region {
  size_t origin = 0, size = 0;
};

// name, result, parameters; clName in the library.
#define TANG_OPENCL_ENTRIES(ENTRY)                                                              \
  ENTRY(GetPlatformIDs, Int, Uint, Platform*, Uint*)                                            \
  ENTRY(GetDeviceIDs, Int, Platform, Flags, Uint, Device*, Uint*)                               \
  ENTRY(GetDeviceInfo, Int, Device, Uint, size_t, void*, size_t*)                               \
  ENTRY(CreateContext, Context, const Property*, Uint, const Device*,                           \
        void (*)(const char*, const void*, size_t, void*), void*, Int*)                         \
  ENTRY(ReleaseContext, Int, Context)                                                           \
  ENTRY(CreateCommandQueue, Queue, Context, Device, Flags, Int*)                                \
  ENTRY(ReleaseCommandQueue, Int, Queue)                                                        \
  ENTRY(CreateBuffer, Memory, Context, Flags, size_t, void*, Int*)                              \
  ENTRY(CreateSubBuffer, Memory, Memory, Flags, Uint, const void*, Int*)                        \
  ENTRY(ReleaseMemObject, Int, Memory)                                                          \
  ENTRY(CreateProgramWithSource, Program, Context, Uint, const char**, const size_t*, Int*)     \
  ENTRY(BuildProgram, Int, Program, Uint, const Device*, const char*, void (*)(Program, void*), \
        void*)                                                                                  \
  ENTRY(GetProgramBuildInfo, Int, Program, Device, Uint, size_t, void*, size_t*)                \
  ENTRY(ReleaseProgram, Int, Program)                                                           \
  ENTRY(CreateKernel, Kernel, Program, const char*, Int*)                                       \
  ENTRY(SetKernelArg, Int, Kernel, Uint, size_t, const void*)                                   \
  ENTRY(GetKernelWorkGroupInfo, Int, Kernel, Device, Uint, size_t, void*, size_t*)              \
  ENTRY(ReleaseKernel, Int, Kernel)                                                             \
  ENTRY(EnqueueNDRangeKernel, Int, Queue, Kernel, Uint, const size_t*, const size_t*,           \
        const size_t*, Uint, const Event*, Event*)                                              \
  ENTRY(EnqueueWriteBuffer, Int, Queue, Memory, Uint, size_t, size_t, const void*, Uint,        \
        const Event*, Event*)                                                                   \
  ENTRY(EnqueueReadBuffer, Int, Queue, Memory, Uint, size_t, size_t, void*, Uint, const Event*, \
        Event*)                                                                                 \
  ENTRY(GetEventInfo, Int, Event, Uint, size_t, void*, size_t*)                                 \
  ENTRY(GetEventProfilingInfo, Int, Event, Uint, size_t, void*, size_t*)                        \
  ENTRY(WaitForEvents, Int, Uint, const Event*)                                                 \
  ENTRY(ReleaseEvent, Int, Event)                                                               \
  ENTRY(Flush, Int, Queue)                                                                      \
  ENTRY(Finish, Int, Queue)

struct Api {
#define TANG_OPENCL_ENTRY(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  TANG_OPENCL_ENTRIES(TANG_OPENCL_ENTRY)
#undef TANG_OPENCL_ENTRY
};

// Opens the library for the rest of the process. E0911 without it or one of its entries.
Result<Api> load(const std::string& library = "libOpenCL.so.1");

// "CL_OUT_OF_RESOURCES", or the number.
std::string error_name(Int code);

}  // namespace tang::cl
