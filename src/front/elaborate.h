// From the text form to a graph: parse(text) resolves names, kinds, formats and shapes, proves
// reads in range, expands functions, and gives every reduction inside a larger expression a
// definition of its own (language.md 1.2-1.6, 1.9). The result says exactly what the text says:
// nothing is simplified, except that integer arithmetic on coordinates is kept as affine forms.
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "front/source.h"
#include "ir/graph.h"

namespace tang {

// The graph of the program, or all its errors in source order, at most kMaxErrors. `file` is the
// name that messages use.
tl::expected<Graph, Diagnostics> parse(std::string text, std::string file = "program");
tl::expected<Graph, Diagnostics> parse(const Source& source);

}  // namespace tang
