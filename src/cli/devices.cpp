// Which devices there are, and which of them a command uses.
#include <algorithm>

#include <fmt/format.h>

#include "cli/session.h"

namespace tang::cli {

Outcome<std::vector<std::string>> Session::devices(bool list) const {
  static const std::vector<std::string> built = {"c", "oracle"};
  static const std::vector<std::string> planned = {"cuda", "opencl", "vulkan", "webgpu"};
  const auto in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> asked = options.devices;
  if (asked.empty()) asked = {environment.interpret ? "oracle" : environment.device.value_or("c")};
  if (!list && (asked.size() > 1 || asked[0] == "all"))
    return fail(error("E0801",
                      fmt::format("`tang {}` runs on one device, not `{}`", options.command,
                                  fmt::join(asked, ",")),
                      "name one: c or oracle")
                    .value());
  std::vector<std::string> result;
  for (const std::string& name : asked) {
    if (name == "all") {
      if (find_compiler("", environment.path, environment.temp_dir)) result.emplace_back("c");
      result.emplace_back("oracle");
    } else if (in(planned, name)) {
      return fail(error("E0904", fmt::format("device `{}` is not built yet", name),
                        "use --device c, which every machine has", Exit::no_device)
                      .value());
    } else if (!in(built, name)) {
      std::vector<std::string> all = built;
      all.insert(all.end(), planned.begin(), planned.end());
      const std::string near = suggestion(name, all);
      return fail(error("E0802", fmt::format("there is no device `{}`", name),
                        near.empty() ? fmt::format("devices are {}", fmt::join(all, ", ")) : near)
                      .value());
    } else if (!in(result, name)) {
      result.push_back(name);
    }
  }
  return result;
}

}  // namespace tang::cli
