// Times of a program on the C device, whole and kernel by kernel.
#pragma once

#include "cli/session.h"

namespace tang::cli {

struct Times {
  double total_ms = 0;  // median
  double spread = 0;    // half the distance of the quartiles, relative to the median
  int runs = 0;
  std::vector<double> kernels;  // medians in ms, in launch order
};

// Compiles the program and runs it on the session's inputs, as often as `--runs` says; buffers are
// rotated unless `--warm`. Errors of the compiler and of memory.
Outcome<Times> measure(Session& s, const Variant& v);

}  // namespace tang::cli
