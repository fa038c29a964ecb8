// What every driver of GPUs must do, checked with hand-written kernels in its dialect.
#pragma once

#include <span>
#include <vector>

#include "run/gpu_driver.h"

namespace tang::gpu_cases {

// Hand-written kernels; each takes the symbols (n, k) and buffers of 32-bit integers x and y.
enum class Example {
  affine,    // y[i] = k * x[i] + i for i < n
  sums,      // y[g] = the sum of x[64 g … 64 g + 63] for g < n, through shared memory
  exchange,  // y[i] = x[i ^ 1] for i < 64, through the subgroup
  halves,    // y[i] = x[i] * 2 for i < n, of f16
  broken,    // not a program
};
GpuFunction function(Dialect dialect, Example example);
GpuSource source(Dialect dialect, std::vector<Example> examples);

void known_answer(GpuDriver& driver);
void launches_in_order(GpuDriver& driver);
void groups_work_together(GpuDriver& driver);
void subgroups_exchange(GpuDriver& driver);
void halves(GpuDriver& driver);
void no_elements(GpuDriver& driver);
void bytes_at_odd_places(GpuDriver& driver);
void much_memory(GpuDriver& driver);
void refused_source(GpuDriver& driver);
void limits(GpuDriver& driver);
void defects(GpuDriver& driver);
void time_passes(GpuDriver& driver);

}  // namespace tang::gpu_cases
