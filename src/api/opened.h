// The devices that programs of this process run on.
#pragma once

#include <memory>
#include <string>

#include "run/device.h"

namespace tang {

struct OpenDevice {
  std::unique_ptr<Device> device;
  std::string machine;  // whose record schedules are chosen by; empty: the default
};

// A device by its name: "c" or one of driver_names(). Programs share it, but for CUDA, where the
// device is that of the calling thread's context. E0802 for another name, E0911 for a driver that
// is not here. Thread-safe.
Result<std::shared_ptr<OpenDevice>> open_device(const std::string& name,
                                                const std::string& webgpu_library);

}  // namespace tang
