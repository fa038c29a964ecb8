// The catalogue of built-in monoids (algebra.md 3.1), made as data in a graph.
//
// Nothing downstream looks at a monoid's name: passes ask for the facts below, which compare the
// canonical algebra (identity, lift, combine, fin), so a user's monoid with the same algebra is
// treated the same.
#pragma once

#include "ir/graph.h"

namespace tang {

// Catalogue names: sum prod max min any all argmax argmin logsumexp moments online affine topk.
bool is_builtin_monoid(std::string_view name);

// Finds or makes the built-in `name` for arguments of these kinds (as written: without argmax's
// flat index; online takes a score and any number of values; moments takes x or weight, x). nullopt
// if the number or kinds of arguments do not fit. Bools given to sum, prod, max and min count as
// integers.
std::optional<MonoidId> builtin_monoid(Graph& g, std::string_view name, std::span<const Kind> args);

// The value an unguarded-fill read gets inside this monoid: the identity for sum, prod, max, min,
// any, all; nullopt where the text must state it.
std::optional<Value> default_fill(const Graph& g, MonoidId m);

// Identity of the whole fold as a value, if fin(identity) is constant: 0, 1, -inf…
std::optional<Value> empty_value(const Graph& g, MonoidId m, size_t output);

// Computed once per monoid and kept with it.
MonoidFacts facts(Graph& g, MonoidId m);

// Text that is equal exactly for monoids with the same algebra (names, fields not counted).
std::string algebra_key(const Graph& g, const Monoid& m);

}  // namespace tang
