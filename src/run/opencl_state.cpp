#include "run/opencl_state.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "run/ptxas_log.h"

namespace tang::cl {

namespace {

template <class T>
T device_value(const Api& api, Device device, Uint what, T otherwise = {}) {
  T value{};
  return api.GetDeviceInfo(device, what, sizeof value, &value, nullptr) == 0 ? value : otherwise;
}

std::string device_text(const Api& api, Device device, Uint what) {
  size_t size = 0;
  if (api.GetDeviceInfo(device, what, 0, nullptr, &size) != 0) return {};
  std::string text(size, '\0');
  if (api.GetDeviceInfo(device, what, size, text.data(), nullptr) != 0) return {};
  return text.substr(0, text.find('\0'));
}

bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

// The first device of a kind that can compile.
Device find_device(const Api& api, const std::vector<Platform>& platforms, Flags type) {
  for (const Platform platform : platforms) {
    Uint count = 0;
    if (api.GetDeviceIDs(platform, type, 0, nullptr, &count) != 0 || count == 0) continue;
    std::vector<Device> devices(count);
    if (api.GetDeviceIDs(platform, type, count, devices.data(), nullptr) != 0) continue;
    for (const Device device : devices)
      if (device_value<Uint>(api, device, device_available) &&
          device_value<Uint>(api, device, device_compiler_available))
        return device;
  }
  return nullptr;
}

int64_t clamped(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

void describe(State& o) {
  const Api& api = o.api;
  const std::string extensions = device_text(api, o.device, device_extensions);
  const auto extension = [&](std::string_view name) { return has_word(extensions, name); };
  o.nvidia = extension("cl_nv_device_attribute_query");
  o.memory_bytes = clamped(device_value<uint64_t>(api, o.device, device_global_mem_size));
  struct Sizes {
    size_t values[16] = {};
  };
  const size_t most = device_value<size_t>(api, o.device, device_max_work_group_size, 1);
  const size_t along = device_value<Sizes>(api, o.device, device_max_work_item_sizes).values[0];
  const auto bits = device_value<Uint>(api, o.device, device_address_bits, 32);
  Capability& c = o.capability;
  c.dialect = Dialect::opencl;
  c.device = device_text(api, o.device, device_name);
  // Larger groups are refused to kernels of many registers.
  c.threads = std::min<int64_t>(256, clamped(along > 0 ? std::min(most, along) : most));
  c.shared_bytes = clamped(device_value<uint64_t>(api, o.device, device_local_mem_size));
  c.buffers = 64;
  c.binding_bytes = clamped(device_value<uint64_t>(api, o.device, device_max_mem_alloc_size));
  // Threads of a launch are counted by a number of the device's addresses.
  c.groups = bits >= 64 ? INT32_MAX : (int64_t{1} << 32) / std::max<int64_t>(c.threads, 2) - 1;
  c.f64 = extension("cl_khr_fp64");
  c.i64 = true;
  c.f16 = extension("cl_khr_fp16");
  c.narrow_words = true;
  c.wide_addresses = bits >= 64;
  c.machine = "gpu.portable";
  if (extension("cl_khr_subgroup_shuffle"))
    c.subgroup = device_value<Uint>(api, o.device,
                                    o.nvidia ? device_warp_size_nv : device_wavefront_width_amd);
  if (o.nvidia) {
    const auto major = device_value<Uint>(api, o.device, device_compute_capability_major_nv);
    const auto minor = device_value<Uint>(api, o.device, device_compute_capability_minor_nv);
    c.machine = nvidia_machine(static_cast<int>(major), static_cast<int>(minor));
  }
  const auto exact = device_value<Flags>(api, o.device, device_single_fp_config);
  if (exact & fp_correctly_rounded_divide_sqrt)
    o.options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (o.nvidia) o.options += " -cl-nv-verbose";
}

}  // namespace

tl::unexpected<Diagnostic> failure(std::string_view call, Int code, std::string_view what) {
  const bool memory = code == mem_object_allocation_failure || code == out_of_host_memory;
  const std::string text = fmt::format("{}: cl{}: {}", what, call, error_name(code));
  if (memory)
    return error("E0913", text, "choose smaller sizes, or another device", Exit::out_of_memory);
  return error("E0912", text, "", Exit::no_device);
}

Result<Shared> open_device(const std::string& library) {
  auto loaded = load(library);
  if (!loaded) return tl::unexpected(loaded.error());
  auto o = std::make_shared<State>();
  o->api = *loaded;
  const Api& api = o->api;
  Uint count = 0;
  const Int asked = api.GetPlatformIDs(0, nullptr, &count);
  if (asked != 0 && asked != platform_not_found)
    return failure("GetPlatformIDs", asked, "opening OpenCL");
  std::vector<Platform> platforms(count);
  if (count > 0)
    TANG_OPENCL_CALL("opening OpenCL", GetPlatformIDs, count, platforms.data(), nullptr);
  for (const Flags type : {device_type_gpu, device_type_cpu})
    if (o->device == nullptr) o->device = find_device(api, platforms, type);
  if (o->device == nullptr) {
    return error("E0911",
                 fmt::format("OpenCL has no device: `{}` knows {} platforms, none with a GPU or "
                             "a processor that compiles kernels",
                             library, count),
                 "install the GPU's driver, or apt-get install pocl-opencl-icd", Exit::no_device);
  }
  Int code = 0;
  o->context =
      Owned(api.CreateContext(nullptr, 1, &o->device, nullptr, nullptr, &code), api.ReleaseContext);
  if (code != 0) return failure("CreateContext", code, "opening OpenCL");
  o->queue =
      Owned(api.CreateCommandQueue(o->context.get(), o->device, queue_profiling_enable, &code),
            api.ReleaseCommandQueue);
  if (code != 0) return failure("CreateCommandQueue", code, "opening OpenCL");
  describe(*o);
  return o;
}

}  // namespace tang::cl
