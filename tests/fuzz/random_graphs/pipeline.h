// One program through everything: text, graph, derivation, schedules, loop programs, the oracle,
// and the comparison of compiled kernels with it.
#pragma once

#include <memory>

#include "eval/oracle.h"
#include "fuzz/random_graphs/program.h"
#include "rewrite/split.h"
#include "run/c_device.h"
#include "verify/variant.h"

namespace tang::fuzz {

// Where a program went wrong: the step, and what was seen.
struct Failure {
  std::string stage;
  std::string detail;
};

// A program that passed every step before compilation.
struct Prepared {
  Program program;
  Derivation derivation;               // of the bound graph
  std::vector<Array> inputs;           // in program order
  std::map<std::string, Values> want;  // outputs of the naive program, by the oracle
  Variant naive, derived;
};

// Parses, prints, binds, derives, evaluates and lowers.
tl::expected<std::unique_ptr<Prepared>, Failure> prepare(const Program& program);

// Runs both variants, compiled, kernel by kernel, against the oracle on the device's own operands,
// and the outputs against the naive program's.
std::optional<Failure> check_kernels(Prepared& p, const Executable& naive,
                                     const Executable& derived);

constexpr uint64_t batch_size = 25;  // programs in a translation unit: seeds 25 k … 25 k + 24

// How the batch of a program is compiled: one in four optimised, which takes several times as long.
CompileOptions compile_options(uint64_t seed);

// Everything for one program alone.
std::optional<Failure> check_alone(const Program& program, CDevice& device);

}  // namespace tang::fuzz
