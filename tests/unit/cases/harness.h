// Programs as text, run in every way there is: the oracle, compiled C and, if they are small, tile
// programs on their virtual machine; the program as written and as derived, with the default
// schedule and with plain loops.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "eval/compare.h"
#include "ir/graph.h"
#include "run/device.h"
#include "schedule/schedule.h"
#include "verify/variant.h"

namespace tang::cases {

using Sizes = std::map<std::string, int64_t>;

// The outputs of one way to run a program.
struct Outcome {
  std::string way;  // "oracle naive", "c derived, plain loops", …
  std::map<std::string, Values> outputs;
  std::map<std::string, Array> stored;  // the same as a device left them; none for the oracle

  std::vector<double> reals(const std::string& output) const;
  double real(const std::string& output, int64_t flat = 0) const;
  int64_t integer(const std::string& output, int64_t flat = 0) const;
};

class Case {
 public:
  // Fails the test if the text is wrong. Inputs that are not set are drawn from seed 0.
  explicit Case(const std::string& text, const Sizes& sizes = {});

  Case& set(const std::string& input, const std::vector<double>& values);
  // The input's storage as it is, for block formats and for codes.
  Case& set_bytes(const std::string& input, const std::vector<uint8_t>& bytes);
  // Compiler flags in place of the default ones.
  Case& flags(std::vector<std::string> flags);
  // Compiled C alone, where the oracle would take too long.
  Case& without_oracle();
  // More schedules for the derived program.
  Case& plan(const std::string& name, const PlanOptions& options);

  // All ways; the oracle on the program as written comes first.
  std::vector<Outcome> run() const;
  // The same for many cases with one run of the compiler, with the first one's flags.
  static std::vector<std::vector<Outcome>> run_all(const std::vector<Case>& cases);

  const Graph& naive() const { return naive_; }
  std::vector<int64_t> shape(const std::string& tensor) const;

 private:
  Outcome oracle(const std::string& way, const Graph& g) const;
  std::vector<std::pair<std::string, Variant>> variants(const Graph& derived) const;

  Graph naive_;
  std::vector<Array> inputs_;
  CompileOptions compile_;
  std::vector<std::pair<std::string, PlanOptions>> plans_;
  bool oracle_ = true;
};

// Every way gives what the first does: integers, NaNs and infinities exactly, reals to `tolerance`
// of the tensor's largest.
void expect_agreement(const std::vector<Outcome>& runs, double tolerance);

// Every way gives these values, each to `tolerance` of the largest; NaN and infinities exactly.
void expect_values(const std::vector<Outcome>& runs, const std::string& output,
                   const std::vector<double>& want, double tolerance);

}  // namespace tang::cases
