// Small edits of graphs shared by the rules.
#pragma once

#include "rewrite/rule.h"

namespace tang {

// Drops nodes and targets that no output needs.
void remove_dead(Graph& g);

// Replaces, in node n, every variable below its expressions.
void replace_leaves(Graph& g, Node& n, const std::function<std::optional<ExprId>(LeafId)>& leaf);

// The expression is exactly state `number`.
bool is_state(const Graph& g, ExprId e, uint32_t number);

// The node is one commutative-sum (max) fold of one real argument without a scan.
bool is_sum_fold(Graph& g, const Node& n);

// True if e is linear in `factor`, a subexpression, which is exactly one factor of each of its
// terms; casts to float formats are seen through.
bool is_factor(Rewriting& rw, ExprId e, ExprId factor);
// e with `factor`, and a float cast around it, replaced.
ExprId replace_factor(Graph& g, ExprId e, ExprId factor, ExprId by);
// What adds up to e, products and quotients of sums distributed; e alone beyond 16 terms.
std::vector<ExprId> addends(Graph& g, ExprId e);

// True if the value of tensor `from` depends on any tensor in `targets`.
bool reaches(const Graph& g, const std::vector<TensorId>& from, const std::set<TensorId>& targets);
std::vector<TensorId> tensors_in(const Graph& g, ExprId e);

// The read is T[p...] with exactly the coordinates `points`, unguarded.
bool is_identity_read(const Leaf& leaf, const std::vector<DimId>& points);

// True if `some` are members of `all`, in the same order: what a target's points are of its node's.
bool in_order(const std::vector<DimId>& some, const std::vector<DimId>& all);
std::string join_names(const Graph& g, const std::vector<NodeId>& nodes);
// Extent as a number; a symbol counts as 4096 (algebra.md 11.11).
double estimated(const Graph& g, DimId d);

// A renaming of coordinates as a DimMap.
DimMap renaming(std::vector<DimId> from, std::vector<DimId> to);

}  // namespace tang
