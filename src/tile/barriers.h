// Barriers where threads of a block meet in memory.
#pragma once

#include <map>

#include "tile/program.h"

namespace tang::tile {

// Adds barriers to a kernel of one role: between two operations that touch the same memory, one of
// which stores to it, if the memory is the kernel's own or if the kernel both stores to it and
// reads it; around the trips of a loop as well. `same` names arguments that are another's memory.
void add_barriers(Kernel& kernel, const std::map<MemoryId, MemoryId>& same = {});

}  // namespace tang::tile
