// Inputs that the user did not give (language.md section 2, "Files"): one stream a (seed, name), so
// a value depends on neither device nor order nor the other inputs.
#pragma once

#include <span>

#include "base/array.h"
#include "ir/graph.h"

namespace tang {

// Reals are standard normal, rounded to the format. An integer tensor that gathers is uniform over
// the smallest axis it indexes (counted in steps of its coefficient there), other integers over
// 0…7; bools are fair; sorted tensors are sorted along their last axis; block formats are quantised
// from normals.
// Errors: E0409 (extents), E0706 (no whole blocks), E0713 (a sorted tensor in blocks), E0903
// (memory).
Result<Array> random_input(const Graph& g, TensorId t, std::span<const int64_t> params,
                           uint64_t seed);

}  // namespace tang
