// A context of CUDA that is open: what memory, modules and sequences share.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "run/cuda_api.h"
#include "target/capability.h"

namespace tang::cuda {

struct State {
  Api api;
  Device device = 0;
  Context context = nullptr;
  bool retained = false;  // the primary context, to be released
  Stream stream = nullptr;
  Capability capability;
  int64_t memory_bytes = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
};
using Shared = std::shared_ptr<const State>;

// Makes the context current for the calling thread as long as it lives.
class Current {
 public:
  explicit Current(const State& state)
      : state_(state), code_(state.api.CtxPushCurrent(state.context)) {}
  ~Current() {
    Context before = nullptr;
    if (code_ == 0) state_.api.CtxPopCurrent(&before);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const State& state_;
  int code_;
};

// An object of the driver, destroyed in its context.
template <class Object>
class Owned {
 public:
  using Destroy = int (*)(Object);
  Owned() = default;
  Owned(Shared shared, Object object, Destroy destroy)
      : shared_(std::move(shared)), object_(object), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : shared_(std::move(other.shared_)),
        object_(std::exchange(other.object_, Object{})),
        destroy_(other.destroy_) {}
  Owned& operator=(Owned other) noexcept {
    std::swap(shared_, other.shared_);
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Owned() {
    if (object_ == Object{}) return;
    const Current current(*shared_);
    destroy_(object_);
  }
  Object get() const { return object_; }

 private:
  Shared shared_;
  Object object_{};
  Destroy destroy_ = nullptr;
};

// Errors: E0911, E0912.
Result<Shared> open_device(const Api& api);

// E0912: "kernel `y` (5 groups of 32 threads): cuGraphLaunch: CUDA_ERROR_ILLEGAL_ADDRESS (an
// illegal …)"; E0913 where memory ran out.
tl::unexpected<Diagnostic> failure(const Api& api, std::string_view call, int code,
                                   std::string_view what);

// Returns the failure of a call of `api`, with what it was about, from the function it stands in.
#define TANG_CUDA_CALL(what, call, ...)                                  \
  if (const int code_of_call = api.call(__VA_ARGS__); code_of_call != 0) \
  return tang::cuda::failure(api, #call, code_of_call, what)

}  // namespace tang::cuda
