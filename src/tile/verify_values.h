// What values are when they are used: defined before, and of the types that operations want.
#pragma once

#include <functional>
#include <string>

#include "tile/program.h"

namespace tang::tile {

void verify_values(const Kernel& kernel,
                   const std::function<void(std::string text, const Op& op)>& complain);

}  // namespace tang::tile
