// A device of OpenCL that is open: what memory, modules and sequences share.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "run/opencl_api.h"
#include "target/capability.h"

namespace tang::cl {

// An object of OpenCL, released when it goes.
template <class Object>
class Owned {
 public:
  Owned() = default;
  Owned(Object object, Int (*release)(Object)) : object_(object), release_(release) {}
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (object_) release_(object_);
  }
  Object get() const { return object_; }
  const Object* address() const { return &object_; }

 private:
  Object object_ = nullptr;
  Int (*release_)(Object) = nullptr;
};

// What all objects of a driver share, and keep alive.
struct State {
  Api api;
  Device device = nullptr;
  Owned<Context> context;
  Owned<Queue> queue;
  Capability capability;
  int64_t memory_bytes = 0;
  std::string options;  // of the compiler
  bool nvidia = false;
};
using Shared = std::shared_ptr<const State>;

// Opens the first GPU of all platforms, otherwise the first processor. Errors: E0911, E0912.
Result<Shared> open_device(const std::string& library);

// E0912 (E0913 where memory ran out): "kernel `y`: clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES".
tl::unexpected<Diagnostic> failure(std::string_view call, Int code, std::string_view what);

// Returns the failure of a call of `api`, with what it was about, from the function it stands in.
#define TANG_OPENCL_CALL(what, call, ...)                                          \
  if (const tang::cl::Int code_of_call = api.call(__VA_ARGS__); code_of_call != 0) \
  return tang::cl::failure(#call, code_of_call, what)

}  // namespace tang::cl
