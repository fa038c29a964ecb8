// Times of a program on the C device, whole and kernel by kernel.
#pragma once

#include <span>

#include <nlohmann/json.hpp>

#include "cli/session.h"

namespace tang::cli {

struct Times {
  double total_ms = 0;  // median
  double spread = 0;    // half the distance of the quartiles, relative to the median
  int runs = 0;
  std::vector<double> kernels;  // medians in ms, in launch order
  nlohmann::json prepare;       // prepare_json of the first time
};

// What it took to prepare a program: {"ms", "bytes"}, of the prepared buffers; null where nothing
// is prepared.
nlohmann::json prepare_json(const LoopProgram& program, std::span<const int64_t> symbols,
                            double ms);

// Compiles the program and runs it on the session's inputs, as often as `--runs` says; buffers are
// rotated unless `--warm`. Errors of the compiler and of memory.
Outcome<Times> measure(Session& s, const Variant& v);

}  // namespace tang::cli
