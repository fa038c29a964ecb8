#include "probe/driver.h"

#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <thread>

#include <fmt/format.h>

namespace tang::probe {

namespace {

// Structures of the driver's interface, as launches want them.
struct Attribute {
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64] = {};
    uint32_t cluster[3];
    int allowed;
  };
};
constexpr int attribute_cluster = 4, attribute_programmatic = 6;

struct Config {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  void* stream = nullptr;
  Attribute* attributes = nullptr;
  uint32_t attribute_count = 0;
};

constexpr int function_shared_bytes = 8, device_core_count = 16;

int data_type(Format f) {
  switch (f) {
    case Format::i32:
      return 3;
    case Format::i64:
      return 5;
    case Format::f16:
      return 6;
    case Format::f32:
      return 7;
    case Format::f64:
      return 8;
    case Format::bf16:
      return 9;
    case Format::tf32:
      return 11;
    default:
      return 0;
  }
}

}  // namespace

template <class... Parameters, class... Arguments>
Result<void> Driver::call(const char* name, Arguments... arguments) {
  void* symbol = dlsym(library_, name);
  if (!symbol)
    return error("E0902", fmt::format("the driver has no {}", name), "", Exit::no_device);
  int (*function)(Parameters...) = nullptr;
  std::memcpy(&function, &symbol, sizeof function);
  const int code = function(static_cast<Parameters>(arguments)...);
  if (code == 0) return {};
  const char* word = nullptr;
  void* naming = dlsym(library_, "cuGetErrorName");
  int (*error_name)(int, const char**) = nullptr;
  std::memcpy(&error_name, &naming, sizeof error_name);
  if (error_name) error_name(code, &word);
  return error("E0902", fmt::format("{}: {}", name, word ? word : std::to_string(code)), "",
               Exit::no_device);
}

Result<Driver> Driver::open() {
  Driver d;
  for (const char* file : {"libcuda.so.1", "libcuda.so"})
    if (!d.library_) d.library_ = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
  if (!d.library_)
    return error("E0902", "no driver: libcuda.so.1 is not here", "", Exit::no_device);
  int device = 0, cores = 0;
  void* context = nullptr;
  char name[256] = {};
  Result<void> r = d.call<unsigned>("cuInit", 0u);
  if (r) r = d.call<int*, int>("cuDeviceGet", &device, 0);
  if (r) r = d.call<char*, int, int>("cuDeviceGetName", name, 255, device);
  if (r) r = d.call<int*, int, int>("cuDeviceGetAttribute", &cores, device_core_count, device);
  if (r) r = d.call<void**, int>("cuDevicePrimaryCtxRetain", &context, device);
  if (r) r = d.call<void*>("cuCtxSetCurrent", context);
  if (r) r = d.call<void**, unsigned>("cuStreamCreate", &d.stream_, 0u);
  if (!r) return tl::unexpected(r.error());
  d.name_ = name;
  d.cores_ = static_cast<uint32_t>(cores);
  return d;
}

Result<void*> Driver::load(const std::string& cubin) {
  void* module = nullptr;
  const auto r = call<void**, const void*>("cuModuleLoadData", &module, cubin.data());
  if (!r) return tl::unexpected(r.error());
  return module;
}

Result<void*> Driver::function(void* module, const std::string& name) {
  void* function = nullptr;
  auto r = call<void**, void*, const char*>("cuModuleGetFunction", &function, module, name.c_str());
  if (r) r = call<void*, int, int>("cuFuncSetAttribute", function, function_shared_bytes, 232448);
  if (!r) return tl::unexpected(r.error());
  return function;
}

Result<uint64_t> Driver::allocate(size_t bytes) {
  uint64_t at = 0;
  const auto r = call<uint64_t*, size_t>("cuMemAlloc_v2", &at, bytes);
  if (!r) return tl::unexpected(r.error());
  return at;
}

Result<void*> Driver::allocate_host(size_t bytes) {
  void* at = nullptr;
  const auto r = call<void**, size_t>("cuMemAllocHost_v2", &at, bytes);
  if (!r) return tl::unexpected(r.error());
  return at;
}

Result<void> Driver::write(uint64_t to, const std::vector<std::byte>& from) {
  return call<uint64_t, const void*, size_t>("cuMemcpyHtoD_v2", to, from.data(), from.size());
}

Result<void> Driver::read(uint64_t from, std::vector<std::byte>& to) {
  return call<void*, uint64_t, size_t>("cuMemcpyDtoH_v2", to.data(), from, to.size());
}

Result<void> Driver::launch(const Launch& l) {
  Attribute attributes[2];
  Config c;
  c.grid[0] = l.grid;
  c.block[0] = l.block;
  c.shared_bytes = l.shared_bytes;
  c.stream = stream_;
  c.attributes = attributes;
  if (l.cluster > 1) {
    Attribute& a = attributes[c.attribute_count++];
    a.id = attribute_cluster;
    a.cluster[0] = l.cluster;
    a.cluster[1] = a.cluster[2] = 1;
  }
  if (l.programmatic) {
    Attribute& a = attributes[c.attribute_count++];
    a.id = attribute_programmatic;
    a.allowed = 1;
  }
  void* arguments[] = {const_cast<void*>(l.argument)};
  return call<const Config*, void*, void**, void**>("cuLaunchKernelEx", &c, l.function, arguments,
                                                    nullptr);
}

Result<void> Driver::wait() { return call<void*>("cuStreamSynchronize", stream_); }

Result<bool> Driver::wait_for(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const auto r = call<void*>("cuStreamQuery", stream_);
    if (r) return true;
    if (r.error().message.find("NOT_READY") == std::string::npos) return tl::unexpected(r.error());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

Result<float> Driver::time(const std::function<Result<void>()>& work) {
  void *start = nullptr, *end = nullptr;
  float milliseconds = 0;
  Result<void> r = call<void**, unsigned>("cuEventCreate", &start, 0u);
  if (r) r = call<void**, unsigned>("cuEventCreate", &end, 0u);
  if (r) r = call<void*, void*>("cuEventRecord", start, stream_);
  if (r) r = work();
  if (r) r = call<void*, void*>("cuEventRecord", end, stream_);
  if (r) r = wait();
  if (r) r = call<float*, void*, void*>("cuEventElapsedTime", &milliseconds, start, end);
  if (!r) return tl::unexpected(r.error());
  return milliseconds;
}

Result<void> Driver::encode(const MapFields& f, unsigned char* map) {
  alignas(64) unsigned char bytes[128];
  const std::vector<uint32_t> ones(f.extents.size(), 1);
  std::vector<uint64_t> strides = f.strides;
  strides.push_back(0);
  const int swizzle = f.span == 0 ? 0 : f.span == 32 ? 1 : f.span == 64 ? 2 : 3;
  const auto r = call<void*, int, uint32_t, uint64_t, const uint64_t*, const uint64_t*,
                      const uint32_t*, const uint32_t*, int, int, int, int>(
      "cuTensorMapEncodeTiled", bytes, f.type ? *f.type : data_type(f.format), f.extents.size(),
      f.base, f.extents.data(), strides.data(), f.box.data(), ones.data(), 0, swizzle, 0,
      f.nan_fill ? 1 : 0);
  if (r) std::memcpy(map, bytes, sizeof bytes);
  return r;
}

}  // namespace tang::probe
