// Programs with pinned schedules, checked against the oracle on the machine of loop programs.
#pragma once

#include <string>
#include <vector>

#include "base/array.h"
#include "verify/variant.h"

namespace tang::test {

// A row's max and sum are computed in the kernel that reads them.
inline constexpr const char* rows = R"(dim i = 5, j = 70
input x[i, j] : f32
y[i, j] = exp(x[i, j] - max[j](x[i, j])) / sum[j](exp(x[i, j] - max[j](x[i, j])))
output y
)";

class Pinning {
 public:
  // Fails the test if the text is wrong. Inputs are drawn from seed 0.
  explicit Pinning(const std::string& text, PlanOptions options = {});

  // The derived program with the kernels' fields of a schedule's text, {"o": {…}}.
  Result<Variant> variant(const std::string& kernels) const;
  // The message of the error with it; "" if there is none.
  std::string message(const std::string& kernels) const;
  // It is legal, has tile programs, and gives what the oracle does.
  void expect_right(const std::string& kernels) const;
  void expect_right(const Variant& v, const std::string& what) const;
  // What --schedule-out would write of the kernels, as planned.
  std::string planned() const;

  const Graph& derived() const { return derived_; }

 private:
  Graph derived_;
  PlanOptions options_;
  mutable std::vector<Array> arrays_;
};

// The fields of a variant's kernels, as text.
std::string kernels_text(const Variant& v);

}  // namespace tang::test
