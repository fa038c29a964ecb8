// Scalar expressions in the text of tile programs: the operators and functions of the language.
#pragma once

#include <functional>

#include "tile/program.h"

namespace tang::tile {

// e over variables as `leaf` spells them.
std::string print_expr(const ExprPool& pool, ExprId e,
                       const std::function<std::string(uint32_t)>& leaf);
// The body of a map.
std::string print_body(const Program& program, const Kernel& kernel, const Op& op);
std::string print_monoid(const Kernel& kernel, const Monoid& m);
// The fewest digits that read back, with a point: "0.125", "1.0", "-inf".
std::string number_text(double x);

}  // namespace tang::tile
