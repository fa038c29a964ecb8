// NVIDIA's driver, opened when asked for; its entry points are declared here, so that building
// needs no CUDA.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "probe/memory.h"

namespace tang::probe {

struct Launch {
  void* function = nullptr;
  uint32_t grid = 1, block = 32, cluster = 1, shared_bytes = 0;
  bool programmatic = false;  // may start before the kernel ahead of it is done
  const void* argument = nullptr;
};

// One device, its primary context and a stream. Errors are E0810, with the driver's name for them.
class Driver {
 public:
  static Result<Driver> open();

  std::string device_name() const { return name_; }
  uint32_t cores() const { return cores_; }

  Result<void*> load(const std::string& cubin);  // a module
  Result<void*> function(void* module, const std::string& name);
  Result<uint64_t> allocate(size_t bytes);
  // Memory of the host that kernels write too.
  Result<void*> allocate_host(size_t bytes);
  Result<void> write(uint64_t to, const std::vector<std::byte>& from);
  Result<void> read(uint64_t from, std::vector<std::byte>& to);
  Result<void> launch(const Launch& l);
  Result<void> wait();
  // Whether all is done after at most so long.
  Result<bool> wait_for(double seconds);
  // Milliseconds that the stream takes for what `work` puts on it.
  Result<float> time(const std::function<Result<void>()>& work);
  // Writes the 128 bytes of a map; `base` of the fields is a device address.
  Result<void> encode(const MapFields& fields, unsigned char* map);

 private:
  Driver() = default;
  template <class... Parameters, class... Arguments>
  Result<void> call(const char* name, Arguments... arguments);

  void* library_ = nullptr;
  void* stream_ = nullptr;
  std::string name_;
  uint32_t cores_ = 0;
};

}  // namespace tang::probe
