#include "run/nvrtc.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "run/ptxas_log.h"

namespace tang {

namespace {

// Entry points of libnvrtc. A result is 0 or an error's number.
struct Nvrtc {
  using Program = struct ProgramTag*;

  const char* (*error_string)(int) = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*architecture_count)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

constexpr const char* how =
    "install NVRTC 11.2 or later, of the CUDA toolkit, where the loader finds it (ldconfig, or "
    "LD_LIBRARY_PATH)";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  std::memcpy(&function, &symbol, sizeof function);
  return symbol != nullptr;
}

Result<Nvrtc> open() {
  void* library = nullptr;
  for (const char* file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                           "/usr/local/cuda/lib64/libnvrtc.so"})
    if (library == nullptr) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return error("E0911", "NVRTC is not here: libnvrtc.so (13, 12 or 11.2) cannot be opened", how,
                 Exit::no_device);
  Nvrtc n;
  const bool found = find(library, "nvrtcGetErrorString", n.error_string) &&
                     find(library, "nvrtcVersion", n.version) &&
                     find(library, "nvrtcGetNumSupportedArchs", n.architecture_count) &&
                     find(library, "nvrtcGetSupportedArchs", n.architectures) &&
                     find(library, "nvrtcCreateProgram", n.create) &&
                     find(library, "nvrtcDestroyProgram", n.destroy) &&
                     find(library, "nvrtcCompileProgram", n.compile) &&
                     find(library, "nvrtcGetProgramLogSize", n.log_size) &&
                     find(library, "nvrtcGetProgramLog", n.log) &&
                     find(library, "nvrtcGetCUBINSize", n.cubin_size) &&
                     find(library, "nvrtcGetCUBIN", n.cubin);
  if (!found) return error("E0911", "NVRTC is too old: an entry is missing", how, Exit::no_device);
  return n;
}

// Opened once for the process.
const Result<Nvrtc>& nvrtc() {
  static const Result<Nvrtc> opened = open();
  return opened;
}

// A program of NVRTC, destroyed when it goes.
class Source {
 public:
  explicit Source(const Nvrtc& n) : n_(n) {}
  ~Source() {
    if (program_) n_.destroy(&program_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  int create(const std::string& text, const std::string& name) {
    return n_.create(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  int compile(std::span<const char* const> options) {
    return n_.compile(program_, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    size_t size = 0;
    if (n_.log_size(program_, &size) != 0) return {};
    std::string text(size, '\0');
    if (n_.log(program_, text.data()) != 0) return {};
    return text.substr(0, text.find('\0'));
  }
  std::optional<std::string> cubin() const {
    size_t size = 0;
    if (n_.cubin_size(program_, &size) != 0 || size == 0) return std::nullopt;
    std::string image(size, '\0');
    if (n_.cubin(program_, image.data()) != 0) return std::nullopt;
    return image;
  }

 private:
  const Nvrtc& n_;
  Nvrtc::Program program_ = nullptr;
};

// The number in "sm_90a"; 0 if there is none.
int number(const std::string& architecture) {
  int value = 0;
  for (const char c : architecture)
    if (c >= '0' && c <= '9') value = 10 * value + (c - '0');
  return value;
}

Result<void> check_architecture(const Nvrtc& n, const std::string& architecture) {
  const auto known = nvrtc_architectures();
  if (!known) return tl::unexpected(known.error());
  if (std::ranges::find(*known, number(architecture)) != known->end()) return {};
  int major = 0, minor = 0;
  n.version(&major, &minor);
  return error("E0911",
               fmt::format("NVRTC {}.{} does not compile for {}", major, minor, architecture), how,
               Exit::no_device);
}

}  // namespace

Result<std::vector<int>> nvrtc_architectures() {
  const Result<Nvrtc>& n = nvrtc();
  if (!n) return tl::unexpected(n.error());
  int count = 0;
  n->architecture_count(&count);
  std::vector<int> all(static_cast<size_t>(std::max(count, 0)));
  if (count > 0) n->architectures(all.data());
  std::ranges::sort(all);
  return all;
}

Result<Cubin> nvrtc_compile(const std::string& source, const std::string& architecture,
                            const std::string& name) {
  const Result<Nvrtc>& n = nvrtc();
  if (!n) return tl::unexpected(n.error());
  if (auto ok = check_architecture(*n, architecture); !ok) return tl::unexpected(ok.error());
  const std::string arch = "-arch=" + architecture;
  const char* const options[] = {arch.c_str(), "--std=c++17", "--fmad=false", "--ptxas-options=-v"};
  Source program(*n);
  int code = program.create(source, name + ".cu");
  if (code == 0) code = program.compile(options);
  Cubin result;
  result.log = program.log();
  auto image = code == 0 ? program.cubin() : std::nullopt;
  if (!image) {
    return error("E0999",
                 fmt::format("NVRTC refused `{}` for {}: {}\n{}", name, architecture,
                             code ? n->error_string(code) : "it gave no cubin", result.log),
                 "please report it");
  }
  result.image = std::move(*image);
  result.usage = parse_ptxas_log(result.log);
  return result;
}

Result<std::vector<Cubin>> nvrtc_compile(std::span<const GpuFunction> functions,
                                         const std::string& architecture) {
  std::vector<std::optional<Result<Cubin>>> done(functions.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k = next++; k < functions.size(); k = next++)
      done[k] = nvrtc_compile(functions[k].source, architecture, functions[k].entry);
  };
  const size_t threads =
      std::min<size_t>(functions.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  for (size_t k = 1; k < threads; ++k) others.emplace_back(work);
  work();
  others.clear();
  std::vector<Cubin> result;
  for (auto& one : done) {
    if (!*one) return tl::unexpected(one->error());
    result.push_back(std::move(**one));
  }
  return result;
}

}  // namespace tang
