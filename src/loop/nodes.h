// Node construction shared by the builder and the parser: types and limits are checked here, so
// that both refuse the same trees.
#pragma once

#include <span>
#include <string>

#include "loop/program.h"

namespace tang::loop {

// The type of `op` on operands of these types; nullopt if the rule of ops.def forbids them.
std::optional<Type> result_type(Op op, std::span<const Type> args);
bool castable(Type from, Type to);
bool roundable(Format format, Type type);

// Why `op` refuses these types: "`exp` takes reals, not i64".
std::string type_complaint(Op op, std::span<const Type> args);

// Appends a node, computing depth and size from its arguments.
Value append(Kernel& kernel, Node node);

// A name the text form accepts: a letter or _, then letters, digits and _, not reserved.
bool valid_name(std::string_view name);

}  // namespace tang::loop
