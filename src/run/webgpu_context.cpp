#include "run/webgpu_context.h"

#include <algorithm>
#include <dlfcn.h>
#include <vector>

#include <fmt/format.h>

#include "run/gpu_checks.h"

namespace tang::wgpu {

namespace {

auto missing(std::string what) {
  return error("E0911", "no WebGPU: " + std::move(what),
               "scripts/fetch-webgpu fetches the library and prints its path, for "
               "TANG_WEBGPU_LIBRARY; it needs a driver of Vulkan",
               Exit::no_device);
}

Result<void> load(Functions& api, const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = dlerror();
    return missing(why ? why : library);
  }
#define TANG_WEBGPU_FIND(field, name, result, parameters)                  \
  api.field = reinterpret_cast<result(*) parameters>(dlsym(handle, name)); \
  if (!api.field) return missing(library + " has no " name);
  TANG_WEBGPU(TANG_WEBGPU_FIND)
#undef TANG_WEBGPU_FIND
  return {};
}

// What a request gave.
template <class Handle>
struct Answer {
  uint32_t status = 0;
  Handle handle = nullptr;
  std::string message;

  static void take(uint32_t status, Handle handle, Text message, void* answer, void*) {
    *static_cast<Answer*>(answer) = {status, handle, message.string()};
  }
};

Result<void> make_instance(Context& c) {
  InstanceDescriptor descriptor;
  descriptor.feature_count = 1;
  descriptor.features = &timed_wait_any;
  c.instance = Owned(c.api.create_instance(&descriptor), c.api.release_instance);
  if (!c.instance.get()) return missing("the library makes no instance");
  return {};
}

Result<void> make_adapter(Context& c) {
  Answer<Adapter> answer;
  Callback<AdapterFunction> callback;
  callback.function = Answer<Adapter>::take;
  callback.first = &answer;
  const AdapterOptions options;
  if (auto ok = c.wait(c.api.request_adapter(c.instance.get(), &options, callback)); !ok) return ok;
  if (answer.status != status_success || !answer.handle)
    return missing("it finds no device of Vulkan that will do: " + answer.message);
  c.adapter = Owned(answer.handle, c.api.release_adapter);
  if (c.api.adapter_limits(answer.handle, &c.limits) != status_success)
    return missing("its device does not tell its limits");
  c.limits.next = nullptr;
  return {};
}

// The features that the adapter has of those that kernels use.
std::vector<uint32_t> features_of(const Context& c) {
  std::vector<uint32_t> features;
  for (const uint32_t feature : {feature_f16, feature_subgroups})
    if (c.api.adapter_has(c.adapter.get(), feature)) features.push_back(feature);
  return features;
}

// Where no driver fits, the library may give a device that does nothing: it is refused.
Result<void> describe(Context& c) {
  AdapterInfo info;
  if (c.api.adapter_info(c.adapter.get(), &info) != status_success)
    return missing("its device does not tell what it is");
  Capability& has = c.capability;
  has.device = info.description.string();
  if (has.device.empty()) has.device = info.device.string();
  const uint32_t backend = info.backend;
  const std::vector<uint32_t> features = features_of(c);
  has.f16 = std::count(features.begin(), features.end(), feature_f16) > 0;
  if (std::count(features.begin(), features.end(), feature_subgroups) > 0 &&
      info.subgroup_min == info.subgroup_max)
    has.subgroup = info.subgroup_min;
  c.api.free_adapter_info(info);
  if (backend != backend_vulkan)
    return missing(fmt::format("its device is of backend {}, not of Vulkan", backend));
  has.dialect = Dialect::wgsl;
  has.machine = machine_of(has.device);
  has.threads = std::min(c.limits.max_threads, c.limits.max_group_size[0]);
  has.shared_bytes = c.limits.max_shared_bytes;
  // One binding is that of the sizes.
  has.buffers = std::min(c.limits.max_storage_buffers, c.limits.max_bindings - 1);
  // A buffer is a little larger than what is bound of it (allocated_bytes).
  has.binding_bytes = whole(static_cast<int64_t>(
      std::min(c.limits.max_storage_binding_bytes, c.limits.max_buffer_bytes - 32)));
  has.groups = c.limits.max_groups;
  return {};
}

void complain(Complaint& complaint, bool lost, Text message) {
  const std::lock_guard lock(complaint.mutex);
  if (complaint.message.empty()) complaint.message = message.string();
  complaint.lost |= lost;
}

Result<void> make_device(Context& c) {
  const std::vector<uint32_t> features = features_of(c);
  DeviceDescriptor descriptor;
  descriptor.feature_count = features.size();
  descriptor.features = features.data();
  descriptor.limits = &c.limits;
  descriptor.lost.mode = spontaneous;
  descriptor.lost.function = [](const Device*, uint32_t reason, Text message, void* to, void*) {
    if (reason != lost_destroyed) complain(*static_cast<Complaint*>(to), true, message);
  };
  descriptor.lost.first = &c.complaint;
  descriptor.error.function = [](const Device*, uint32_t, Text message, void* to, void*) {
    complain(*static_cast<Complaint*>(to), false, message);
  };
  descriptor.error.first = &c.complaint;

  Answer<Device> answer;
  Callback<DeviceFunction> callback;
  callback.function = Answer<Device>::take;
  callback.first = &answer;
  if (auto ok = c.wait(c.api.request_device(c.adapter.get(), &descriptor, callback)); !ok)
    return ok;
  if (answer.status != status_success || !answer.handle)
    return missing("its device cannot be had: " + answer.message);
  c.device = Owned(answer.handle, c.api.release_device);
  c.queue = Owned(c.api.device_queue(answer.handle), c.api.release_queue);
  return {};
}

struct Scope {
  uint32_t status = 0, error = error_none;
  std::string message;

  static void take(uint32_t status, uint32_t error, Text message, void* scope, void*) {
    *static_cast<Scope*>(scope) = {status, error, message.string()};
  }
};

Result<void> pop(Context& c, std::string_view what) {
  Scope scope;
  Callback<ScopeFunction> callback;
  callback.function = Scope::take;
  callback.first = &scope;
  if (auto ok = c.wait(c.api.pop_scope(c.device.get(), callback)); !ok) return ok;
  if (scope.error == error_none && scope.status == status_success) return {};
  const std::string message = fmt::format("{}: {}", what, scope.message);
  if (scope.error == error_memory)
    return error("E0913", message, "a smaller problem, or one in parts, needs less memory",
                 Exit::out_of_memory);
  return error("E0912", message, {}, Exit::no_device);
}

}  // namespace

Context::~Context() {
  // While there is something to complain to.
  queue = {};
  if (device.get()) api.destroy_device(device.get());
  device = {};
  adapter = {};
  instance = {};
}

Result<void> Context::wait(Future future) const {
  FutureWait one;
  one.future = future;
  const uint32_t status = api.wait_any(instance.get(), 1, &one, UINT64_MAX);
  if (status == status_success && one.completed) return {};
  return error("E0912", fmt::format("wgpuInstanceWaitAny gives status {}", status), {},
               Exit::no_device);
}

Result<void> Context::checked(std::string_view what, const std::function<void()>& body) {
  for (const uint32_t filter : {filter_internal, filter_memory, filter_validation})
    api.push_scope(device.get(), filter);
  body();
  Result<void> first;
  for (int scope = 0; scope < 3; ++scope) {
    auto popped = pop(*this, what);
    if (first && !popped) first = std::move(popped);
  }
  if (!first) return first;
  const std::lock_guard lock(complaint.mutex);
  if (complaint.message.empty() && !complaint.lost) return {};
  std::string message = fmt::format("{}: {}{}", what, complaint.lost ? "the device is lost: " : "",
                                    complaint.message);
  if (!complaint.lost) complaint.message.clear();
  return error("E0912", std::move(message), {}, Exit::no_device);
}

Result<void> Context::finish() {
  uint32_t status = 0;
  Callback<StatusFunction> callback;
  callback.function = [](uint32_t given, Text, void* to, void*) {
    *static_cast<uint32_t*>(to) = given;
  };
  callback.first = &status;
  if (auto ok = wait(api.work_done(queue.get(), callback)); !ok) return ok;
  if (status == status_success) return {};
  return error("E0912", fmt::format("wgpuQueueOnSubmittedWorkDone gives status {}", status), {},
               Exit::no_device);
}

Result<std::shared_ptr<Context>> open_context(const std::string& library) {
  auto context = std::make_shared<Context>();
  Result<void> ok = load(context->api, library);
  for (const auto step : {make_instance, make_adapter, describe, make_device})
    if (ok) ok = step(*context);
  if (!ok) return tl::unexpected(std::move(ok).error());
  return context;
}

}  // namespace tang::wgpu
