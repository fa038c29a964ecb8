// The printed form of a graph (language.md 1.9): parse(print(g)) = g, and print(parse(t)) = t on
// printed text, so every dump is a reproducer.
//
// Operands of `+`, `*` and the other commutative operations print in the structural order of
// algebra.md 1.4 with the ranks of 11.13, never in the order they were built. Numbers print as the
// shortest decimals that read back; a real `2` prints without a point where its neighbours make it
// real anyway.
#pragma once

#include <string>

#include "ir/graph.h"

namespace tang {

std::string print(const Graph& g);

// One definition, without a newline at the end; a `where` clause is on its own line.
std::string print_node(const Graph& g, NodeId n);

// An expression outside any node: states print as state_0, monoid leaves as a.0, b.0, x.0.
std::string print_expr(const Graph& g, ExprId e);

// A form as it stands in a read or condition ("2*i + 1"), or spaced as in an expression.
std::string print_form(const Graph& g, const Form& f, bool spaced = false);
std::string print_poly(const Graph& g, const Poly& p);
// "[8, seq, 64]".
std::string print_shape(const Graph& g, const std::vector<Poly>& shape);
// "2", "0.125", "2.0" (if real_point), "-inf", "nan", "true".
std::string print_value(const Value& v, bool real_point = true);

// The names a node's `where` clause gives to its states, in state order.
std::vector<std::string> state_names(const Graph& g, const Node& n);

}  // namespace tang
