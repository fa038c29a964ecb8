#include "run/vulkan_library.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace tang::vk {

namespace {

auto missing(std::string what) {
  return error("E0911", "no Vulkan driver: " + std::move(what),
               "On Debian: apt-get install libvulkan1 mesa-vulkan-drivers, or the driver of the "
               "GPU's maker",
               Exit::no_device);
}

}  // namespace

Result<void> load_global(Functions& functions, const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = dlerror();
    return missing(why ? why : library);
  }
  functions.find =
      reinterpret_cast<Function (*)(Instance, const char*)>(dlsym(handle, "vkGetInstanceProcAddr"));
  if (!functions.find) return missing(library + " has no vkGetInstanceProcAddr");
#define TANG_VULKAN_FIND(field, name, result, parameters)                                  \
  functions.field = reinterpret_cast<result(*) parameters>(functions.find(nullptr, name)); \
  if (!functions.field) return missing(library + " has no " name);
  TANG_VULKAN_GLOBAL(TANG_VULKAN_FIND)
#undef TANG_VULKAN_FIND
  return {};
}

Result<void> load_instance(Functions& functions, Instance instance) {
#define TANG_VULKAN_FIND(field, name, result, parameters)                                   \
  functions.field = reinterpret_cast<result(*) parameters>(functions.find(instance, name)); \
  if (!functions.field) return missing("the instance has no " name);
  TANG_VULKAN_INSTANCE(TANG_VULKAN_FIND)
#undef TANG_VULKAN_FIND
  return {};
}

Result<void> load_device(Functions& functions, Device device) {
#define TANG_VULKAN_FIND(field, name, result, parameters)                              \
  functions.field =                                                                    \
      reinterpret_cast<result(*) parameters>(functions.device_function(device, name)); \
  if (!functions.field) return missing("the device has no " name);
  TANG_VULKAN_DEVICE(TANG_VULKAN_FIND)
#undef TANG_VULKAN_FIND
  return {};
}

std::string outcome_name(Outcome outcome) {
  switch (outcome) {
    case success:
      return "VK_SUCCESS";
    case timeout:
      return "VK_TIMEOUT";
    case incomplete:
      return "VK_INCOMPLETE";
    case out_of_host_memory:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case out_of_device_memory:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case initialization_failed:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case device_lost:
      return "VK_ERROR_DEVICE_LOST";
    case memory_map_failed:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case layer_not_present:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case extension_not_present:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case feature_not_present:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case incompatible_driver:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case too_many_objects:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case fragmented_pool:
      return "VK_ERROR_FRAGMENTED_POOL";
    case unknown:
      return "VK_ERROR_UNKNOWN";
    case out_of_pool_memory:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
  }
  return fmt::format("VkResult {}", static_cast<int32_t>(outcome));
}

Result<void> checked(Outcome outcome, std::string_view call) {
  if (outcome == success) return {};
  const std::string message = fmt::format("{} gives {}", call, outcome_name(outcome));
  if (outcome == out_of_host_memory || outcome == out_of_device_memory ||
      outcome == out_of_pool_memory)
    return error("E0913", message, "a smaller problem, or one in parts, needs less memory",
                 Exit::out_of_memory);
  return error(
      "E0912", message,
      outcome == device_lost ? "the kernel hung or touched memory outside of its buffers" : "",
      Exit::no_device);
}

}  // namespace tang::vk
