// Compiles and runs kernels in OpenCL C on the first device, where there is one.
#pragma once

#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tang {

class OpenClRunner {
 public:
  static OpenClRunner& instance() {
    static OpenClRunner one;
    return one;
  }
  bool there() const { return queue_ != nullptr; }

  // Runs one function on copies of the memory, which come back; gives what went wrong.
  std::string run(const std::string& source, const std::string& entry, int64_t groups,
                  int64_t threads, const std::vector<std::vector<std::byte>*>& memory,
                  const std::vector<int64_t>& symbols) {
    const char* text = source.c_str();
    int code = 0;
    void* program = create_program_(context_, 1, &text, nullptr, &code);
    if (code != 0) return "clCreateProgramWithSource " + std::to_string(code);
    code = build_(program, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr);
    if (code != 0) {
      std::string log(20000, '\0');
      size_t size = 0;
      build_info_(program, device_, 0x1183, log.size(), log.data(), &size);
      release_program_(program);
      return "clBuildProgram " + std::to_string(code) + "\n" + log.c_str();
    }
    void* kernel = create_kernel_(program, entry.c_str(), &code);
    if (code != 0) return "clCreateKernel " + std::to_string(code);
    std::vector<void*> buffers;
    unsigned argument = 0;
    for (auto* bytes : memory) {
      const size_t size = (bytes->size() + 255) / 256 * 256 + 256;
      void* b = create_buffer_(context_, 1, size, nullptr, &code);
      write_(queue_, b, 1, 0, bytes->size(), bytes->data(), 0, nullptr, nullptr);
      set_arg_(kernel, argument++, sizeof(void*), &b);
      buffers.push_back(b);
    }
    for (int64_t s : symbols) set_arg_(kernel, argument++, sizeof s, &s);
    const size_t local = static_cast<size_t>(threads);
    const size_t global = local * static_cast<size_t>(groups);
    code = launch_(queue_, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr);
    std::string problem = code == 0 ? "" : "clEnqueueNDRangeKernel " + std::to_string(code);
    for (size_t k = 0; k < buffers.size(); ++k) {
      read_(queue_, buffers[k], 1, 0, memory[k]->size(), memory[k]->data(), 0, nullptr, nullptr);
      release_memory_(buffers[k]);
    }
    release_kernel_(kernel);
    release_program_(program);
    return problem;
  }

 private:
  OpenClRunner() {
    library_ = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library_) return;
    load(create_program_, "clCreateProgramWithSource");
    load(build_, "clBuildProgram");
    load(build_info_, "clGetProgramBuildInfo");
    load(create_kernel_, "clCreateKernel");
    load(create_buffer_, "clCreateBuffer");
    load(set_arg_, "clSetKernelArg");
    load(write_, "clEnqueueWriteBuffer");
    load(read_, "clEnqueueReadBuffer");
    load(launch_, "clEnqueueNDRangeKernel");
    load(release_memory_, "clReleaseMemObject");
    load(release_kernel_, "clReleaseKernel");
    load(release_program_, "clReleaseProgram");
    int (*platforms)(unsigned, void**, unsigned*) = nullptr;
    int (*devices)(void*, uint64_t, unsigned, void**, unsigned*) = nullptr;
    void* (*context)(const intptr_t*, unsigned, void**, void*, void*, int*) = nullptr;
    void* (*queue)(void*, void*, uint64_t, int*) = nullptr;
    load(platforms, "clGetPlatformIDs");
    load(devices, "clGetDeviceIDs");
    load(context, "clCreateContext");
    load(queue, "clCreateCommandQueue");
    void* platform = nullptr;
    unsigned count = 0;
    int code = 0;
    if (platforms(1, &platform, &count) != 0 || count == 0) return;
    if (devices(platform, 0xffffffff, 1, &device_, &count) != 0 || count == 0) return;
    context_ = context(nullptr, 1, &device_, nullptr, nullptr, &code);
    if (context_) queue_ = queue(context_, device_, 0, &code);
  }

  template <class F>
  void load(F& f, const char* name) {
    f = reinterpret_cast<F>(dlsym(library_, name));
  }

  void *library_ = nullptr, *device_ = nullptr, *context_ = nullptr, *queue_ = nullptr;
  void* (*create_program_)(void*, unsigned, const char**, const size_t*, int*) = nullptr;
  int (*build_)(void*, unsigned, void**, const char*, void*, void*) = nullptr;
  int (*build_info_)(void*, void*, unsigned, size_t, void*, size_t*) = nullptr;
  void* (*create_kernel_)(void*, const char*, int*) = nullptr;
  void* (*create_buffer_)(void*, uint64_t, size_t, void*, int*) = nullptr;
  int (*set_arg_)(void*, unsigned, size_t, const void*) = nullptr;
  int (*write_)(void*, void*, unsigned, size_t, size_t, const void*, unsigned, void*,
                void*) = nullptr;
  int (*read_)(void*, void*, unsigned, size_t, size_t, void*, unsigned, void*, void*) = nullptr;
  int (*launch_)(void*, void*, unsigned, const size_t*, const size_t*, const size_t*, unsigned,
                 void*, void*) = nullptr;
  int (*release_memory_)(void*) = nullptr;
  int (*release_kernel_)(void*) = nullptr;
  int (*release_program_)(void*) = nullptr;
};

}  // namespace tang
