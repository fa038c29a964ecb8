// `tang check`: does a device compute what the program says?
//
// Both the naive and the derived program run kernel by kernel from the same inputs, with outputs
// and workspace poisoned. Each kernel's targets are compared with the f64 oracle's evaluation of
// its definition from the operands the device itself computed, so the first kernel that differs is
// the one at fault, however errors spread afterwards. Program outputs are then compared with the
// oracle of the naive graph: that catches a wrong derivation, which no single kernel shows. Where
// the oracle's work exceeds its budget, corners and a seeded draw of elements stand for all of them
// (eval/oracle.h), and the numbers of elements say so.
#pragma once

#include <functional>

#include "eval/compare.h"
#include "eval/oracle.h"
#include "run/device.h"
#include "verify/variant.h"

namespace tang {

struct KernelCheck {
  std::string name;
  double error = 0;
  double tolerance = 0;
  bool ok = true;
  int64_t compared = 0, elements = 0;  // of its targets: of large ones a sample is compared
  bool batch_invariant = true;         // as its plan says
};

// The first thing found wrong with a program.
struct Fault {
  std::string kernel;  // empty: every kernel is right, but a program output is not
  std::string tensor;
  std::string at;  // "o[3, 17, 0]"
  Comparison comparison;
  double tolerance = 0;
  int64_t unwritten = 0;  // elements no kernel wrote; -1 if that cannot be told
  std::string holds;      // another tensor whose right values, all of them, lie there; empty: none
};

struct ProgramCheck {
  std::vector<KernelCheck> kernels;
  double error = 0;                    // the largest of kernels and outputs
  double tolerance = 0;                // of the outputs
  int64_t compared = 0, elements = 0;  // of kernels and outputs
  std::optional<Fault> fault;

  bool ok() const { return !fault; }
  size_t passed() const;
};

struct CheckOptions {
  std::optional<double> tolerance;  // otherwise by format
  OracleOptions oracle;
};

// Runs one kernel of the program on the memory given.
using KernelRunner = std::function<Result<void>(size_t kernel, std::span<void* const> buffers)>;

// Fills the prepared buffers, before all kernels; `arguments` as Executable::prepare takes them.
using Preparer =
    std::function<Result<void>(std::span<void* const> arguments, std::span<void* const> buffers)>;

// Checks one program. `inputs` in program order stay as they are. `want` are the naive graph's
// outputs by name.
Result<ProgramCheck> check_program(const Variant& v, const std::vector<Array*>& inputs,
                                   const std::map<std::string, const Values*>& want,
                                   const KernelRunner& run, const CheckOptions& options,
                                   const Preparer& prepare = {});

// The oracle as a device: `check_program` with kernels evaluated in f64 and rounded to storage.
Result<ProgramCheck> check_oracle(const Variant& v, const std::vector<Array*>& inputs,
                                  const std::map<std::string, const Values*>& want,
                                  const CheckOptions& options);

// What the program promises beyond its formulas. Errors, exit 1: E0508 a user monoid breaks a law,
// with a counterexample; E0418 a `sorted` tensor is not.
Result<void> check_promises(const Graph& g, const Given& inputs, uint64_t seed);

// The tolerance of comparing a definition: that of the coarsest format its value passes through,
// which is its own, those of its casts, and those of definitions recomputed inside its kernel.
double tolerance_of(const Graph& g, const KernelPlan& k);
// That of comparing a program's outputs: the coarsest of all its definitions.
double tolerance_of(const Graph& g);

}  // namespace tang
