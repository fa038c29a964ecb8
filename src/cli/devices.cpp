// Which devices there are, and which of them a command uses.
#include <algorithm>

#include <fmt/format.h>

#include "cli/session.h"

namespace tang::cli {

namespace {

const std::vector<std::string> on_host = {"c", "oracle"};
const std::vector<std::string> drivers = {"cuda", "opencl", "vulkan", "webgpu"};

bool in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<std::unique_ptr<GpuDriver>> open(const std::string& name, const Environment& environment) {
  if (name == "cuda") return open_cuda();
  if (name == "opencl") return open_opencl();
  if (name == "vulkan") return open_vulkan();
  return open_webgpu(environment.webgpu_library);
}

}  // namespace

Result<GpuDevice*> Session::gpu(const std::string& name) {
  if (const auto known = gpus_.find(name); known != gpus_.end()) return known->second.get();
  auto driver = open(name, environment);
  if (!driver) return tl::unexpected(driver.error());
  return gpus_.emplace(name, std::make_unique<GpuDevice>(std::move(*driver))).first->second.get();
}

Outcome<void> Session::use(const std::string& device) {
  current_ = &device_;
  machine.clear();
  if (in(on_host, device)) return {};
  const auto found = gpu(device);
  if (!found) return fail(found.error());
  current_ = *found;
  return plan_for((*found)->driver().capability());
}

Outcome<void> Session::plan_for(const Capability& c) {
  const auto record = find_machine(c.machine);
  if (!record) return fail(record.error());
  machine =
      limited(**record, c.threads, c.shared_bytes, std::max<int64_t>(c.subgroup, 1), c.buffers);
  return {};
}

Outcome<std::vector<std::string>> Session::devices(bool list) {
  std::vector<std::string> asked = options.devices;
  if (asked.empty()) asked = {environment.interpret ? "oracle" : environment.device.value_or("c")};
  if (!list && (asked.size() > 1 || asked[0] == "all"))
    return fail(error("E0801",
                      fmt::format("`tang {}` runs on one device, not `{}`", options.command,
                                  fmt::join(asked, ",")),
                      fmt::format("name one: c, {} or oracle", fmt::join(drivers, ", ")))
                    .value());
  std::vector<std::string> result;
  const auto add = [&](const std::string& name) {
    if (!in(result, name)) result.push_back(name);
  };
  for (const std::string& name : asked) {
    if (name == "all") {
      if (has_compiler()) add("c");
      for (const std::string& driver : drivers)
        if (gpu(driver)) add(driver);
      add("oracle");
    } else if (!in(on_host, name) && !in(drivers, name)) {
      std::vector<std::string> all = on_host;
      all.insert(all.end(), drivers.begin(), drivers.end());
      const std::string near = suggestion(name, all);
      return fail(error("E0802", fmt::format("there is no device `{}`", name),
                        near.empty() ? fmt::format("devices are {}", fmt::join(all, ", ")) : near)
                      .value());
    } else {
      add(name);
    }
  }
  if (!list)
    if (auto ok = use(result[0]); !ok) return tl::unexpected(ok.error());
  return result;
}

const std::vector<std::string>& Session::driver_names() { return drivers; }

}  // namespace tang::cli
