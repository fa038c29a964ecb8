// Kernels that differ in names only: the layers of a model, say, each with its own buffers.
//
// A signature writes a kernel down without names: locals by number, buffers by the order in which
// the kernel first touches them, with what a compiled function depends on (format, whether it is
// written, which of them share memory). Kernels of one program with equal signatures compute the
// same function of their buffers in that order and of the program's symbols.
#pragma once

#include <string>
#include <vector>

#include "loop/program.h"

namespace tang::loop {

// The buffers a kernel touches, in the order of its loads, then of its stores.
std::vector<BufferId> buffers_in_order(const Kernel& kernel);

std::string signature(const Program& program, const Kernel& kernel);

// By kernel: the first kernel of the program with the same signature, at most itself.
std::vector<size_t> first_of_each(const Program& program);
// Likewise of some kernels of the program.
std::vector<size_t> first_of_each(const Program& program, const std::vector<Kernel>& kernels);

}  // namespace tang::loop
