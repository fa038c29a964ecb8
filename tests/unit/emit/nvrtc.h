// Compiles CUDA sources with NVRTC, where there is one.
#pragma once

#include <dlfcn.h>
#include <string>
#include <vector>

namespace tang {

class Nvrtc {
 public:
  static Nvrtc& instance() {
    static Nvrtc one;
    return one;
  }
  bool there() const { return library_ != nullptr; }

  // What the compiler says, or nothing if it takes the source.
  std::string compile(const std::string& source, std::vector<const char*> options) const {
    void* program = nullptr;
    if (create_(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
      return "nvrtcCreateProgram failed";
    const int result = compile_(program, static_cast<int>(options.size()), options.data());
    std::string log;
    size_t size = 0;
    if (log_size_(program, &size) == 0 && size > 0) {
      log.resize(size);
      log_(program, log.data());
    }
    destroy_(&program);
    return result == 0 ? "" : "NVRTC: " + log;
  }

 private:
  Nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if (!library_) library_ = dlopen(name, RTLD_NOW);
    if (!library_) return;
    load(create_, "nvrtcCreateProgram");
    load(compile_, "nvrtcCompileProgram");
    load(log_size_, "nvrtcGetProgramLogSize");
    load(log_, "nvrtcGetProgramLog");
    load(destroy_, "nvrtcDestroyProgram");
  }

  template <class F>
  void load(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library_, name));
  }

  void* library_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*log_size_)(void*, size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
  int (*destroy_)(void**) = nullptr;
};

}  // namespace tang
