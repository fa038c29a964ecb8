// Comparing a result with the oracle's.
//
// The error is max|got − want| / max|want|, absolute if max|want| is 0. A NaN equals only a NaN and
// an infinity only itself; anything else there is an infinite error. A wanted value that the
// result's format overflows is that overflow, and for an integer format its nearest value. Integers
// and bools are exact.
#pragma once

#include <string>

#include "eval/values.h"

namespace tang {

struct Comparison {
  double error = 0;    // infinite for a NaN or infinity at the wrong place
  bool exact = false;  // integers and bools: no tolerance applies
  int64_t worst = -1;  // flat index of the largest error; -1 if nothing was compared
  Value got;
  Value want;
  int64_t compared = 0;  // elements

  bool passes(double tolerance) const { return exact ? error == 0 : error <= tolerance; }
};

// Compares the elements that `want` holds. The shapes are equal.
Comparison compare(const Values& want, const Array& got);
Comparison compare(const Values& want, const Values& got);

// "got 0.118, want 0.431 (error 0.313)".
std::string comparison_text(const Comparison& c);

}  // namespace tang
