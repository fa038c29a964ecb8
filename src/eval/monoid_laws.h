// Testing the laws a monoid promises (algebra.md section 3) on seeded random states.
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace tang {

// Tests both identities, associativity, commutativity if claimed, and that states made of finite
// arguments by lift and combine hold no NaN. States are combines of one to four lifts. Reals agree
// within 1e-9 of the largest component involved, integers and bools exactly. The result is the
// first counterexample as a sentence, or nothing.
std::optional<std::string> monoid_counterexample(const Graph& g, MonoidId m, uint64_t seed,
                                                 int trials = 200);

}  // namespace tang
