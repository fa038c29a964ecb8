// One operation of a scalar expression as one of a loop program.
#pragma once

#include <map>

#include "expr/expr.h"
#include "loop/builder.h"

namespace tang::loop {

// The value of an expression's node (no variable), whose operands have values; reals are computed
// in `real`, integers in i64. Operands become of the kind that the operation wants.
Value scalar(Builder& b, const ExprPool& pool, const ExprNode& n,
             const std::map<ExprId, Value>& operands, Type real);

}  // namespace tang::loop
