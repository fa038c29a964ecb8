// The work of `tang check`: naive and derived programs on each device against the oracle. check
// prints it, reduce looks whether it fails.
#pragma once

#include "cli/session.h"
#include "verify/check.h"

namespace tang::cli {

struct DeviceCheck {
  std::string device;
  ProgramCheck naive, derived;

  bool ok() const { return naive.ok() && derived.ok(); }
};

// Checks the loaded program of `s`, with --replace and --schedule obeyed, and gives each device's
// result to `each` as it is known.
Outcome<void> check_devices(Session& s, const std::vector<std::string>& devices,
                            const std::function<void(const DeviceCheck&)>& each);

}  // namespace tang::cli
