// Recognising softmax by its algebra (algebra.md 5.5, 11.1).
//
// A *weight* is exp(κ·(x - M)) with κ > 0 and M the max over some coordinates J of exactly x, seen
// through maps. Two users: the softmax reading below, which gives masked rows their meaning, and
// the rewrite that replaces max and sums by one online fold.
#pragma once

#include "expr/canon.h"
#include "ir/graph.h"

namespace tang {

// One max fold, ready to be compared: its score in its own coordinates.
struct MaxFold {
  NodeId node = NodeId::none;
  TensorId tensor = TensorId::none;
  std::vector<DimId> points;
  std::vector<DimId> over;
  ExprId score = ExprId::none;  // the argument of the fold
  std::vector<Guard> guards;    // of the fold's terms
};

// Live nodes that are one real max fold whose only target is the fold's value. With `online`, also
// the running max of online folds, whose score is the fold's (scaled as the target scales it).
std::vector<MaxFold> max_folds(Graph& g, bool online = false);

struct Weight {
  double scale = 1;  // κ
  MaxFold max;
  ExprId max_read = ExprId::none;  // the read of M inside the exponent
  std::vector<Form> at;            // where M is read, in the reader's coordinates
  std::vector<DimId> over;         // the reader's coordinates that J became, in J's order
};

// Matches the argument θ of an exponential. `candidates` are the coordinates of the reader.
// `reason` (may be null) receives why a near miss is none. With `within_guards`, x need be the
// score only where the conditions of the max hold: a mask of x may have become a condition of the
// max.
std::optional<Weight> match_weight(Graph& g, Canon& canon, const std::vector<MaxFold>& maxima,
                                   ExprId exponent, const std::vector<DimId>& candidates,
                                   std::string* reason = nullptr, bool within_guards = false);

// The softmax reading: returns the graph with every weight exp(κ(x - M)) read as exp(κ(x - M°)),
// M° = M where M > -inf and 0 elsewhere, and with 1/L, y/L for L a sum of such weights over the
// same coordinates read as rl(L), y·rl(L), rl(L) = select(L < 1/2, 0, recip L). Part of the
// meaning: the oracle and the lowering of both naive and derived programs see graphs only after it.
Graph softmax_reading(const Graph& g);

// y/L and recip L as above inside e, for every L in `sums` (reads of those tensors).
ExprId safe_quotients(Graph& g, ExprId e, const std::function<bool(ExprId)>& is_weight_sum);

}  // namespace tang
