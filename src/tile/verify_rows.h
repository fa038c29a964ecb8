// Whether the rows of the instruction tables that a kernel names can do what it asks of them.
#pragma once

#include "tile/program.h"

namespace tang::tile {

// Empty if the op names no row or the row fits; otherwise why not: there is no such row, its
// operands are held by other threads or registers, or lie in shared memory as the unit cannot read
// them.
std::string row_fault(const Kernel& kernel, const Op& op);

// Whether the op names a row that stores past the caches.
bool streams(const Op& op);

}  // namespace tang::tile
