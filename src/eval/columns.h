// Scalar operations over columns: the batched twin of expr/apply.h, equal to it bit for bit.
#pragma once

#include "eval/program.h"

namespace tang::oracle {

// out[l] = op(a[l], b[l], c[l]) for l < n. `in` is an apply or a convert. `out` may be an operand.
void apply_columns(const Instruction& in, const Cell* a, const Cell* b, const Cell* c, Cell* out,
                   int n);

}  // namespace tang::oracle
