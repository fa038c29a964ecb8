// The virtual machine of tile programs: executes a kernel warp by warp and says what is wrong with
// it.
//
// Every warp of every role runs its operations in order; which warp runs next, and when an
// asynchronous operation completes, is up to the options: as early as it is issued, as late as
// somebody has to wait for it, or by chance. Whatever the order, the machine reports
//
//   race            two accesses of shared memory, one a write, that nothing orders
//   proxy           generic writes that the asynchronous proxy reads without a fence
//   uninitialised   bytes or values read before they are written
//   out of bounds, misaligned
//   deadlock        warps that wait for each other, with what each waits for
//   divergence      warps of a group at different collective operations
//   registers       an accumulator read in flight; operands of a matrix unit touched without a
//   fence overrun         more arrivals than a barrier counts
//
// A diagnostic names kernel, operation and warp. Numbers are computed in f64 and rounded to the
// formats that values and memories have.
#pragma once

#include "base/array.h"
#include "tile/program.h"

namespace tang::tile {

struct MachineOptions {
  enum class Completion : uint8_t { early, late, random } completion = Completion::random;
  uint64_t seed = 1;                // of the schedule
  int64_t most_steps = 50'000'000;  // operations of warps; more is taken for a livelock
};

// Runs a verified kernel on its arguments (one array for each argument in the order declared, with
// the kernel's extents at these params; arguments may be one array). E0421 with the first fault.
Result<void> run(const Program& program, const Kernel& kernel, const std::vector<int64_t>& params,
                 const std::vector<Array*>& arguments, const MachineOptions& options = {});

}  // namespace tang::tile
