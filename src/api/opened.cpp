#include "api/opened.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/bind.h"
#include "run/c_device.h"
#include "run/devices.h"
#include "run/gpu_device.h"

namespace tang {

namespace {

Result<std::shared_ptr<OpenDevice>> open(const std::string& name,
                                         const std::string& webgpu_library) {
  auto opened = std::make_shared<OpenDevice>();
  if (name == "c") {
    opened->device = std::make_unique<CDevice>();
    return opened;
  }
  auto driver = open_driver(name, webgpu_library);
  if (!driver) return tl::unexpected(driver.error());
  auto machine = machine_for((*driver)->capability());
  if (!machine) return tl::unexpected(machine.error());
  opened->machine = std::move(*machine);
  opened->device = std::make_unique<GpuDevice>(std::move(*driver));
  return opened;
}

}  // namespace

Result<std::shared_ptr<OpenDevice>> open_device(const std::string& name,
                                                const std::string& webgpu_library) {
  std::vector<std::string> names = {"c"};
  names.insert(names.end(), driver_names().begin(), driver_names().end());
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string near = suggestion(name, names);
    return error("E0802", fmt::format("there is no device `{}`", name),
                 near.empty() ? fmt::format("devices are {}", fmt::join(names, ", ")) : near);
  }
  if (name == "cuda") return open(name, webgpu_library);
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<OpenDevice>> devices;
  const std::lock_guard lock(mutex);
  std::weak_ptr<OpenDevice>& known = devices[name + "\n" + webgpu_library];
  if (auto opened = known.lock()) return opened;
  auto opened = open(name, webgpu_library);
  if (opened) known = *opened;
  return opened;
}

}  // namespace tang
