// What must hold of a tile program whatever its inputs are: shapes of operations and values, who
// may wait for and signal a channel, counts and bytes of its barriers, layouts that bulk copies and
// matrix units accept, limits of the machine. What depends on time the virtual machine finds
// (tile/machine.h).
#pragma once

#include "tile/program.h"

namespace tang::tile {

// E0420 for each fault, in the order of the text.
Diagnostics verify(const Program& program);
Diagnostics verify(const Program& program, const Kernel& kernel);

// A store to an argument that stands outside of the kernel's parallel loops; null if none does.
const Op* shared_store(const Kernel& kernel);

}  // namespace tang::tile
