// The edits of `reduce`, each of which gives a candidate or nothing where it does not apply.
#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"

namespace tang {

// Changes a graph; what it leaves need not be valid.
using Edit = std::function<void(Graph&)>;

// One definition alone, its operands as inputs; then everything up to one definition.
std::vector<Edit> isolating_edits(const Graph& g);
// Outputs dropped, definitions turned into inputs.
std::vector<Edit> cutting_edits(const Graph& g);
// Params bound for good, and smaller values; smaller dims and axes.
std::vector<Edit> size_edits(const Graph& g);
// Conditions, formats, folds, reduce dims, scans, promises.
std::vector<Edit> statement_edits(const Graph& g);
// Parts of expressions in place of the whole, and 1.
std::vector<Edit> expression_edits(const Graph& g);

}  // namespace tang
