#include "run/opencl_api.h"

#include <array>
#include <cstring>
#include <dlfcn.h>

#include <fmt/format.h>

namespace tang::cl {

namespace {

struct Name {
  Int code;
  const char* name;
};
constexpr auto names = std::to_array<Name>({
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-9999, "an illegal access by a kernel"},  // NVIDIA
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
});

constexpr const char* how =
    "apt-get install ocl-icd-libopencl1, and a driver: the GPU maker's, or pocl-opencl-icd for "
    "the processor";

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  void* symbol = dlsym(library, name);
  std::memcpy(&function, &symbol, sizeof function);
  return symbol != nullptr;
}

}  // namespace

Result<Api> load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return error("E0911", fmt::format("OpenCL is not here: `{}` cannot be opened", library), how,
                 Exit::no_device);
  Api api;
  const char* missing = nullptr;
#define TANG_OPENCL_ENTRY(name, ...) \
  if (!find(handle, "cl" #name, api.name)) missing = "cl" #name;
  TANG_OPENCL_ENTRIES(TANG_OPENCL_ENTRY)
#undef TANG_OPENCL_ENTRY
  if (missing != nullptr)
    return error("E0911", fmt::format("`{}` is no OpenCL 1.2: it lacks {}", library, missing), how,
                 Exit::no_device);
  return api;
}

std::string error_name(Int code) {
  for (const Name& n : names)
    if (n.code == code) return n.name;
  return fmt::format("error {}", code);
}

}  // namespace tang::cl
