// The virtual machine of loop programs: runs a kernel statement by statement and says what is wrong
// with it, where compiled code would go on in memory that is not its own. Iterations of a parallel
// loop run in order; that one touches what another wrote is a fault, of a kernel's arrays as well.
//
// A kernel of several threads is run by one group, which runs all iterations. Threads that wait for
// each other at different places are a fault, and so is a race: an element of a shared array or a
// buffer that one thread writes and another touches with no barrier between, be it in another
// iteration, which the group might run next. An exchange is no barrier.
//
// Every load, store and element of an array is checked, of a vector every lane that is touched: its
// index lies inside, and an array's element has been set. Operations mean what loop/ops.def says;
// f32 operations are computed in f64 and rounded, so that results differ from a device's by
// roundings only.
#pragma once

#include <span>

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

// Runs a verified kernel. `buffers` holds the memory of every buffer that the kernel touches, by
// BufferId, with as many elements as the program says at these symbols. Errors: E0421 with the
// statement and the thread; E0421 after `most_steps` statements of all threads, which is taken for
// a loop without end.
Result<void> run(const Program& program, const Kernel& kernel, std::span<void* const> buffers,
                 std::span<const int64_t> symbols, int64_t most_steps = int64_t{1} << 33);

}  // namespace tang::loop
