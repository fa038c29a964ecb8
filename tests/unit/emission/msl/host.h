// What kernels of Metal ask of the threads that run them on the host. Read by the driver and,
// before every kernel, by metal_stdlib, so that it includes nothing.
#pragma once

namespace tang::msl {

struct Host {
  void (*barrier)(int line);
  // The value of the lane whose number in the simdgroup differs in the bits of `mask`.
  unsigned (*exchange)(int line, unsigned value, unsigned mask);
  void (*fault)(const char* what, int line);  // does not return to the kernel
};

// A kernel of a module: the thread of a group, and where the group's memory lies.
using Entry = void (*)(void* const* buffers, const long* sizes, unsigned group, unsigned groups,
                       unsigned thread);
using SharedMemory = void (*)(unsigned char** begin, unsigned char** end);

}  // namespace tang::msl
