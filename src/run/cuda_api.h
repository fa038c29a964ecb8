// The entry points of libcuda that tang calls, and the types and numbers they take (CUDA driver API
// 11.4 and later).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/diagnostic.h"

namespace tang::cuda {

using Device = int;
using Address = unsigned long long;  // of the device's memory

template <int kind>
struct Opaque;
using Context = Opaque<0>*;
using Stream = Opaque<1>*;
using Event = Opaque<2>*;
using Module = Opaque<3>*;
using Function = Opaque<4>*;
using Graph = Opaque<5>*;
using GraphExec = Opaque<6>*;

inline constexpr int out_of_memory = 2;

inline constexpr int device_max_threads_per_block = 1, device_max_grid_dim_x = 5,
                     device_max_shared_memory_per_block = 8, device_warp_size = 10,
                     device_compute_capability_major = 75, device_compute_capability_minor = 76;
inline constexpr int function_max_threads_per_block = 0, function_local_size_bytes = 3,
                     function_num_regs = 4;
inline constexpr unsigned stream_non_blocking = 1, event_default = 0;
inline constexpr int capture_thread_local = 1;

// name, symbol, parameters of functions that give 0 or an error's number.
#define TANG_CUDA_ENTRIES(ENTRY)                                                                \
  ENTRY(Init, "cuInit", unsigned)                                                               \
  ENTRY(GetErrorName, "cuGetErrorName", int, const char**)                                      \
  ENTRY(GetErrorString, "cuGetErrorString", int, const char**)                                  \
  ENTRY(DeviceGetCount, "cuDeviceGetCount", int*)                                               \
  ENTRY(DeviceGet, "cuDeviceGet", Device*, int)                                                 \
  ENTRY(DeviceGetName, "cuDeviceGetName", char*, int, Device)                                   \
  ENTRY(DeviceGetAttribute, "cuDeviceGetAttribute", int*, int, Device)                          \
  ENTRY(DeviceTotalMem, "cuDeviceTotalMem_v2", size_t*, Device)                                 \
  ENTRY(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", Context*, Device)                   \
  ENTRY(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", Device)                        \
  ENTRY(CtxGetCurrent, "cuCtxGetCurrent", Context*)                                             \
  ENTRY(CtxGetDevice, "cuCtxGetDevice", Device*)                                                \
  ENTRY(CtxPushCurrent, "cuCtxPushCurrent_v2", Context)                                         \
  ENTRY(CtxPopCurrent, "cuCtxPopCurrent_v2", Context*)                                          \
  ENTRY(ModuleLoadData, "cuModuleLoadData", Module*, const void*)                               \
  ENTRY(ModuleUnload, "cuModuleUnload", Module)                                                 \
  ENTRY(ModuleGetFunction, "cuModuleGetFunction", Function*, Module, const char*)               \
  ENTRY(FuncGetAttribute, "cuFuncGetAttribute", int*, int, Function)                            \
  ENTRY(MemAlloc, "cuMemAlloc_v2", Address*, size_t)                                            \
  ENTRY(MemFree, "cuMemFree_v2", Address)                                                       \
  ENTRY(MemGetInfo, "cuMemGetInfo_v2", size_t*, size_t*)                                        \
  ENTRY(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", Address, const void*, size_t, Stream)          \
  ENTRY(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", void*, Address, size_t, Stream)                \
  ENTRY(StreamCreate, "cuStreamCreate", Stream*, unsigned)                                      \
  ENTRY(StreamDestroy, "cuStreamDestroy_v2", Stream)                                            \
  ENTRY(StreamSynchronize, "cuStreamSynchronize", Stream)                                       \
  ENTRY(StreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)                             \
  ENTRY(StreamEndCapture, "cuStreamEndCapture", Stream, Graph*)                                 \
  ENTRY(EventCreate, "cuEventCreate", Event*, unsigned)                                         \
  ENTRY(EventDestroy, "cuEventDestroy_v2", Event)                                               \
  ENTRY(EventRecord, "cuEventRecord", Event, Stream)                                            \
  ENTRY(EventElapsedTime, "cuEventElapsedTime", float*, Event, Event)                           \
  ENTRY(GraphInstantiate, "cuGraphInstantiateWithFlags", GraphExec*, Graph, unsigned long long) \
  ENTRY(GraphLaunch, "cuGraphLaunch", GraphExec, Stream)                                        \
  ENTRY(GraphExecDestroy, "cuGraphExecDestroy", GraphExec)                                      \
  ENTRY(GraphDestroy, "cuGraphDestroy", Graph)                                                  \
  ENTRY(LaunchKernel, "cuLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned,       \
        unsigned, unsigned, unsigned, Stream, void**, void**)

struct Api {
#define TANG_CUDA_ENTRY(name, symbol, ...) int (*name)(__VA_ARGS__) = nullptr;
  TANG_CUDA_ENTRIES(TANG_CUDA_ENTRY)
#undef TANG_CUDA_ENTRY
};

// Opens the library for the rest of the process. E0911 without it or one of its entries.
Result<Api> load(const std::string& library = "libcuda.so.1");

}  // namespace tang::cuda
