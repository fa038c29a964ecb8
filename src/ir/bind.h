// Binding a graph's parameters to numbers (language.md 1.3).
//
// A parameter gets its value from the command line, from the shape of a given array whose axis
// extent is exactly that parameter, or from its default. All sources must agree. Then every extent
// is evaluated and every check that symbols left open is made with numbers: extents are at least 0,
// unguarded affine reads stay inside their tensors, arrays have the declared shapes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace tang {

struct Bindings {
  std::map<std::string, int64_t> flags;                // -D name=value
  std::map<std::string, std::vector<int64_t>> shapes;  // of arrays given for inputs
  bool require_all = true;  // a parameter without a value is E0712; otherwise it stays a symbol
};

// Sets Param::bound; nothing else in the graph changes. Errors, all of them:
//   E0710  `-D` names no param             E0711  two sources disagree
//   E0706  a shape or rank differs         E0409  a value or extent is negative
//   E0401  a read leaves its tensor        E0712  a param has no value
//   E0903  a size overflows 64 bits (exit 5)
Diagnostics bind(Graph& g, const Bindings& bindings);

// The graph with bound parameters replaced by their values everywhere but in Graph::params.
Graph with_bound_params(const Graph& g);

// The value of a polynomial whose parameters are all bound; nullopt for a free one or on overflow.
std::optional<int64_t> bound_value(const Graph& g, const Poly& p);

// The names nearest to `word` by edit distance, at most three, best first.
std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& names);
// "did you mean `seq`?", or "" when nothing is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names);

}  // namespace tang
