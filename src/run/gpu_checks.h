// What drivers refuse before they ask their device: launches and sources that exceed its limits.
#pragma once

#include <span>
#include <vector>

#include "run/gpu_driver.h"

namespace tang {

// E0921 (exit 4) for a function whose threads or shared memory exceed the device's.
Result<void> check_function(const Capability& device, const GpuFunction& function);

// E0921 for a function of more buffers than the device binds.
Result<void> check_buffers(const Capability& device, const GpuFunction& function, int64_t buffers);

// E0998 for values outside of memory of `bytes`.
Result<void> check_range(int64_t bytes, int64_t offset, size_t size);

// E0921 for a launch of more groups, buffers or bytes of one than the device has room for, and for
// a symbol of more than 32 bits; E0998 where bindings or symbols are not what the function takes.
Result<void> check_launch(const Capability& device, const GpuFunction& function,
                          const GpuLaunch& launch);

// The values of a checked launch's symbols.
std::vector<int32_t> symbols_of(const GpuLaunch& launch);

// Bytes of a uniform buffer with a function's symbols: vectors of four, at least one.
uint64_t uniform_bytes(const GpuFunction& function);

// The record of machines.def for a device of this name.
std::string machine_of(std::string_view device);

// Bytes that a binding makes visible, and that memory of `bytes` takes so that every binding fits:
// whole words of 128 bits, at least one, even of a buffer without elements at the memory's end.
int64_t bound_bytes(int64_t bytes);
int64_t whole(int64_t bytes);  // rounded down to as many as bindings have
int64_t allocated_bytes(int64_t bytes);

}  // namespace tang
