#include "run/cuda_state.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

#include <fmt/format.h>

#include "run/ptxas_log.h"

namespace tang::cuda {

namespace {

constexpr const char* how = "a GPU of NVIDIA and its driver (libcuda.so.1) are needed";

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  void* symbol = dlsym(library, name);
  std::memcpy(&function, &symbol, sizeof function);
  return symbol != nullptr;
}

std::string error_text(const Api& api, int code) {
  const char *name = nullptr, *words = nullptr;
  if (api.GetErrorName(code, &name) != 0 || name == nullptr) return fmt::format("error {}", code);
  if (api.GetErrorString(code, &words) != 0 || words == nullptr) return name;
  return fmt::format("{} ({})", name, words);
}

int attribute(const State& s, int what) {
  int value = 0;
  return s.api.DeviceGetAttribute(&value, what, s.device) == 0 ? value : 0;
}

void describe(State& s) {
  char name[256] = {};
  if (s.api.DeviceGetName(name, sizeof name - 1, s.device) != 0) name[0] = '\0';
  size_t bytes = 0;
  if (s.api.DeviceTotalMem(&bytes, s.device) != 0) bytes = 0;
  s.memory_bytes = static_cast<int64_t>(bytes);
  const int major = attribute(s, device_compute_capability_major);
  const int minor = attribute(s, device_compute_capability_minor);
  Capability& c = s.capability;
  c.dialect = Dialect::cuda;
  c.device = name;
  c.architecture = nvidia_architecture(major, minor);
  c.threads = attribute(s, device_max_threads_per_block);
  // Of arrays of constant size; more is had by kernels that ask for it at their launch.
  c.shared_bytes = std::min(48 * 1024, attribute(s, device_max_shared_memory_per_block));
  c.buffers = 64;
  c.binding_bytes = s.memory_bytes;
  c.groups = attribute(s, device_max_grid_dim_x);
  c.subgroup = attribute(s, device_warp_size);
  c.f64 = c.i64 = c.f16 = c.narrow_words = c.wide_addresses = true;
  c.machine = nvidia_machine(major, minor);
}

tl::unexpected<Diagnostic> no_device(std::string text) {
  return error("E0911", std::move(text), how, Exit::no_device);
}

}  // namespace

State::~State() {
  if (context != nullptr && stream != nullptr) {
    const Current current(*this);
    api.StreamDestroy(stream);
  }
  if (retained) api.DevicePrimaryCtxRelease(device);
}

Result<Api> load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return no_device(fmt::format("CUDA is not here: `{}` cannot be opened", library));
  Api api;
  const char* missing = nullptr;
#define TANG_CUDA_ENTRY(name, symbol, ...) \
  if (!find(handle, symbol, api.name)) missing = symbol;
  TANG_CUDA_ENTRIES(TANG_CUDA_ENTRY)
#undef TANG_CUDA_ENTRY
  if (missing != nullptr)
    return no_device(
        fmt::format("`{}` is no driver of CUDA 11.4 or later: it lacks {}", library, missing));
  return api;
}

tl::unexpected<Diagnostic> failure(const Api& api, std::string_view call, int code,
                                   std::string_view what) {
  const std::string text = fmt::format("{}: cu{}: {}", what, call, error_text(api, code));
  if (code == out_of_memory)
    return error("E0913", text, "choose smaller sizes, or another device", Exit::out_of_memory);
  return error("E0912", text, "", Exit::no_device);
}

Result<Shared> open_device(const Api& api) {
  if (const int code = api.Init(0); code != 0)
    return no_device(fmt::format("CUDA cannot be used: cuInit: {}", error_text(api, code)));
  int count = 0;
  TANG_CUDA_CALL("opening CUDA", DeviceGetCount, &count);
  if (count == 0) return no_device("CUDA has no device");
  auto s = std::make_shared<State>();
  s->api = api;
  TANG_CUDA_CALL("opening CUDA", CtxGetCurrent, &s->context);
  if (s->context != nullptr) {
    TANG_CUDA_CALL("opening CUDA", CtxGetDevice, &s->device);
  } else {
    TANG_CUDA_CALL("opening CUDA", DeviceGet, &s->device, 0);
    TANG_CUDA_CALL("opening CUDA", DevicePrimaryCtxRetain, &s->context, s->device);
    s->retained = true;
  }
  const Current current(*s);
  TANG_CUDA_CALL("opening CUDA", StreamCreate, &s->stream, stream_non_blocking);
  describe(*s);
  return s;
}

}  // namespace tang::cuda
