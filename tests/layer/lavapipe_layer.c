/* A layer of Vulkan for tests: it lets Dawn use Mesa's lavapipe.
 *
 * Dawn wants that shaders index arrays of resources with run-time values. Lavapipe does so for
 * buffers, not for images, and kernels of tang have no images. The layer says that the device can
 * index all of them, and takes the images out again of what a program asks for. It is no layer to
 * ship: a program that indexes images would go wrong.
 *
 * Of a call's structures it changes copies. There is one instance and one driver in a process.
 */
#include <stdlib.h>
#include <string.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))

static PFN_vkGetInstanceProcAddr next_instance_function;
static PFN_vkGetDeviceProcAddr next_device_function;
static PFN_vkGetPhysicalDeviceFeatures next_features;
static PFN_vkGetPhysicalDeviceFeatures2 next_features2;
static PFN_vkCreateDevice next_create_device;
static PFN_vkDestroyInstance next_destroy_instance;

static void set_images(VkPhysicalDeviceFeatures* features, VkBool32 value) {
  features->shaderSampledImageArrayDynamicIndexing = value;
  features->shaderStorageImageArrayDynamicIndexing = value;
}

static VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice device,
                                               VkPhysicalDeviceFeatures* features) {
  next_features(device, features);
  set_images(features, VK_TRUE);
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device,
                                                VkPhysicalDeviceFeatures2* features) {
  next_features2(device, features);
  set_images(&features->features, VK_TRUE);
}

/* The link that the loader chains to a call that creates something: where the next layer is. */
static VkLayerInstanceCreateInfo* instance_link(const void* chain) {
  for (const VkBaseInStructure* s = chain; s; s = s->pNext) {
    VkLayerInstanceCreateInfo* link = (VkLayerInstanceCreateInfo*)s;
    if (s->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
        link->function == VK_LAYER_LINK_INFO)
      return link;
  }
  return NULL;
}

static VkLayerDeviceCreateInfo* device_link(const void* chain) {
  for (const VkBaseInStructure* s = chain; s; s = s->pNext) {
    VkLayerDeviceCreateInfo* link = (VkLayerDeviceCreateInfo*)s;
    if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
        link->function == VK_LAYER_LINK_INFO)
      return link;
  }
  return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator,
                                                      VkInstance* instance) {
  VkLayerInstanceCreateInfo* link = instance_link(info->pNext);
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  next_instance_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext; /* the loader's: each layer takes one */
  PFN_vkCreateInstance create =
      (PFN_vkCreateInstance)next_instance_function(VK_NULL_HANDLE, "vkCreateInstance");
  if (!create) return VK_ERROR_INITIALIZATION_FAILED;
  VkResult made = create(info, allocator, instance);
  if (made != VK_SUCCESS) return made;
#define FIND(place, type, name) place = (type)next_instance_function(*instance, name)
  FIND(next_features, PFN_vkGetPhysicalDeviceFeatures, "vkGetPhysicalDeviceFeatures");
  FIND(next_features2, PFN_vkGetPhysicalDeviceFeatures2, "vkGetPhysicalDeviceFeatures2");
  FIND(next_create_device, PFN_vkCreateDevice, "vkCreateDevice");
  FIND(next_destroy_instance, PFN_vkDestroyInstance, "vkDestroyInstance");
#undef FIND
  return VK_SUCCESS;
}

/* Creates the device without images that are indexed. Features that are chained stand at the head,
 * behind what the loader puts there: to change them further on, all before would have to be copied,
 * and that is refused. */
static VkResult create_with(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                            const VkAllocationCallbacks* allocator, VkDevice* device) {
  VkDeviceCreateInfo own = *info;
  VkPhysicalDeviceFeatures plain;
  if (own.pEnabledFeatures) {
    plain = *own.pEnabledFeatures;
    set_images(&plain, VK_FALSE);
    own.pEnabledFeatures = &plain;
  }
  VkPhysicalDeviceFeatures2 features;
  const VkBaseInStructure* before = NULL;
  const VkBaseInStructure* found = own.pNext;
  while (found && found->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
    before = found;
    found = found->pNext;
  }
  if (found) {
    features = *(const VkPhysicalDeviceFeatures2*)found;
    set_images(&features.features, VK_FALSE);
    if (!before) {
      own.pNext = &features;
    } else if (before->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO) {
      /* The loader's own structure, made for this call. */
      ((VkLayerDeviceCreateInfo*)before)->pNext = &features;
    } else {
      return VK_ERROR_FEATURE_NOT_PRESENT;
    }
  }
  VkResult made = next_create_device(physical, &own, allocator, device);
  if (found && before) ((VkLayerDeviceCreateInfo*)before)->pNext = found;
  return made;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator,
                                                    VkDevice* device) {
  VkLayerDeviceCreateInfo* link = device_link(info->pNext);
  if (!link || !next_create_device) return VK_ERROR_INITIALIZATION_FAILED;
  next_device_function = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  return create_with(physical, info, allocator, device);
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                                   const VkAllocationCallbacks* allocator) {
  if (next_destroy_instance) next_destroy_instance(instance, allocator);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device,
                                                                const char* name) {
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)device_function;
  return next_device_function ? next_device_function(device, name) : NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance,
                                                                  const char* name) {
  const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } own[] = {
      {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)instance_function},
      {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function},
      {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
      {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
      {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
      {"vkGetPhysicalDeviceFeatures", (PFN_vkVoidFunction)get_features},
      {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features2},
      {"vkGetPhysicalDeviceFeatures2KHR", (PFN_vkVoidFunction)get_features2},
  };
  for (size_t k = 0; k < sizeof own / sizeof own[0]; ++k)
    if (strcmp(name, own[k].name) == 0) return own[k].function;
  return next_instance_function ? next_instance_function(instance, name) : NULL;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  if (version->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = instance_function;
  version->pfnGetDeviceProcAddr = device_function;
  version->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
