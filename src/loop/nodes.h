// Node construction shared by the builder and the parser: types and limits are checked here, so
// that both refuse the same trees.
#pragma once

#include <span>
#include <string>

#include "loop/program.h"

namespace tang::loop {

// The shape of `op` on operands of these shapes; nullopt if the rule of ops.def forbids them.
std::optional<Shape> result_shape(Op op, std::span<const Shape> args);
bool castable(Type from, Type to);
bool roundable(Format format, Type type);

// Why `op` refuses these shapes: "`exp` takes reals, not (i64)".
std::string type_complaint(Op op, std::span<const Shape> args);

// The node that takes vectors apart or puts them together: spread, ramp, low, high, join or lane,
// of `lanes` lanes where the operands do not say (spread, ramp), of lane `k` (lane). nullopt if the
// operands do not fit.
std::optional<Node> vector_node(const Kernel& kernel, Op op, std::span<const Value> args,
                                int64_t lanes, int64_t k);

// What is wrong with how a load, element, store or set of `lanes` lanes addresses memory; empty if
// nothing. `index` may be a vector, of which a load takes as many elements.
std::string address_fault(const Kernel& kernel, Value index, Value stride, Value first, int lanes,
                          bool gathers);

// Appends a node, computing depth and size from its arguments.
Value append(Kernel& kernel, Node node);

// A name the text form accepts: a letter or _, then letters, digits and _, not reserved.
bool valid_name(std::string_view name);

}  // namespace tang::loop
