// Running cases: in child processes, since a kernel that faults takes its process's context along.
#pragma once

#include "probe/plan.h"

namespace tang::probe {

struct RunOptions {
  std::string folder, out;   // of the modules; of the results
  std::string only;          // part of a row's name; empty: all
  size_t from = 0, to = -1;  // cases; the questions follow the rows' cases
  int jobs = 4;
  int limit_s = 60;  // seconds that a case may take
};

// Runs cases in children, writes a JSON line for each and one for all. Returns how many failed.
Result<size_t> run(const Plan& plan, const RunOptions& options);

// What a child does: cases one after the other, lines on standard output.
Result<void> run_here(const Plan& plan, const RunOptions& options);

}  // namespace tang::probe
