// The hand-written tile programs with inputs and what they compute, in f64.
#pragma once

#include <functional>
#include <string>

#include "tile/machine.h"

namespace tang::tile {

Program read_program(const std::string& name);  // of tests/text/tile

struct Task {
  Program program;
  std::vector<int64_t> params;
  std::vector<Array> arguments;   // inputs drawn, outputs NaN
  std::vector<Array> expected;    // of the outputs, in their order
  std::vector<double> tolerance;  // of each: max |out - ref| / max |ref|
};

// C = A B, or A Bᵀ, all in one format.
Task matrix_product(const std::string& name, Format format, bool transposed, int64_t m, int64_t n,
                    int64_t k);
// Causal attention, d = 128, bf16, with the log of the sums.
Task attention(const std::string& name, int64_t batch, int64_t heads, int64_t s);
// dQ, dK, dV of causal attention, d = 128, from the log of the sums and the row sums of dO·O.
Task attention_gradient(const std::string& name, int64_t heads, int64_t s);
// The gated delta rule from a state: outputs and the last state.
Task gated_delta(const std::string& name, int64_t heads, int64_t length);

// Runs kernel `kernel` in place of the program's first on fresh outputs; what went wrong, or "".
std::string run(const Task& task, const Kernel& kernel, const MachineOptions& options);

}  // namespace tang::tile
