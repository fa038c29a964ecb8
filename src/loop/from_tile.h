// From tile programs to loop programs: the kernels of one thread (design.md section 3).
//
// A tile's registers become scalars or vectors of the loop program: register r of a value is one
// local, its elements the lanes of a vector. Memories of the kernel are arrays, arguments are
// buffers, loops and branches stay what they are.
#pragma once

#include <vector>

#include "loop/builder.h"
#include "tile/program.h"

namespace tang::loop {

// Adds the kernel to the builder's program. `buffers`: one for each memory that is an argument, in
// the order declared. Says what in it has no form in a loop program; empty if nothing.
std::string add_kernel(Builder& b, const tile::Program& program, const tile::Kernel& kernel,
                       const std::vector<BufferId>& buffers, bool prepares = false);

}  // namespace tang::loop
