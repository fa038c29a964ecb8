// Intervals of integer expressions whose loop bounds are constants, for the verifier.
#pragma once

#include <optional>
#include <vector>

#include "loop/program.h"

namespace tang::loop {

struct Interval {
  int64_t lo = 0, hi = 0;  // inclusive; empty if lo > hi
};

class Ranges {
 public:
  explicit Ranges(const Kernel& kernel) : kernel_(kernel), locals_(kernel.locals.size()) {}

  // Notes what a statement says about the name it defines.
  void loop(const Stmt& stmt);
  void let(const Stmt& stmt);

  // The interval of an i64 expression, if all its leaves have one. Recursion is bounded by the
  // depth of the tree.
  std::optional<Interval> of(Value value) const;

 private:
  std::optional<Interval> binary(const Node& node) const;

  const Kernel& kernel_;
  std::vector<std::optional<Interval>> locals_;
};

}  // namespace tang::loop
