// A device of WebGPU, open: what memory, kernels and sequences of launches share.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/diagnostic.h"
#include "run/webgpu_api.h"
#include "target/capability.h"

namespace tang::wgpu {

// A reference to an object, given back with its owner. What owns one holds the context, too.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, void (*release)(Handle)) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (handle_) release_(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  void (*release_)(Handle) = nullptr;
};

// The first complaint of a device, from whatever thread of the library it comes.
struct Complaint {
  std::mutex mutex;
  bool lost = false;
  std::string message;
};

struct Context {
  Functions api;
  Owned<Instance> instance;
  Owned<Adapter> adapter;
  Owned<Device> device;
  Owned<Queue> queue;
  Limits limits;
  Capability capability;
  Complaint complaint;  // of errors that no scope caught

  ~Context();

  // E0912 where the library cannot wait.
  Result<void> wait(Future future) const;
  // Runs `body` and waits for what the device says of it: E0913 where memory ran out, otherwise
  // E0912 with `what` and the device's word, or that it is lost.
  Result<void> checked(std::string_view what, const std::function<void()>& body);
  // Waits until all that was submitted is done.
  Result<void> finish();
};

// `library`: a path, or a name that the loader looks for. Errors: E0911.
Result<std::shared_ptr<Context>> open_context(const std::string& library);

}  // namespace tang::wgpu
