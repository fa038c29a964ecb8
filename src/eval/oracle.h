// The oracle: what a graph means, in f64 (algebra.md sections 1-4 and 11.1-11.6, 11.19).
//
// For each point a comprehension is the left fold, from the monoid's identity, of lift(args) over
// the reduce coordinates in row-major order of the declared dims whose guards hold. Reals are
// binary64, one rounding an operation; integers are exact 64-bit; a written format rounds the
// finished value; nothing else rounds. Reads outside a tensor, gathered ones included, give the
// read's fill and never touch memory.
//
// Small work is evaluated completely; beyond a budget each wanted tensor is evaluated at some
// points (its corners and a seeded draw), and every operand only where those need it. The masked
// softmax reading (11.1) is a graph transformation that callers apply first.
//
//   auto out = evaluate(graph, params, {{q, &q_array}, {k, &k_array}}, options);
//   double x = out->at(o).at(17).r;
//
// Points are independent and each is folded in order, so threads change no bit.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "eval/values.h"
#include "ir/graph.h"

namespace tang {

struct OracleOptions {
  enum class Extent : uint8_t { automatic, full, sampled };
  Extent extent = Extent::automatic;
  int64_t max_body_evaluations = 2'000'000'000;  // automatic: the most that is evaluated in full
  int64_t points = 4096;                         // of each wanted tensor when sampled
  uint64_t seed = 0;
  bool verify_gathers = false;  // unguarded positions outside a tensor are errors
  bool slow_guards = false;     // test every guard at every point instead of restricting loops
  int threads = 2;
};

// Tensors whose elements are known: inputs, or definitions as a device computed them. Their formats
// may be any; shapes are the tensors'.
using Given = std::map<TensorId, const Array*>;
using Evaluation = std::map<TensorId, Values>;

// The graph's outputs. `params` has one value a parameter of the graph.
// Errors: E0590, E0690 (not built yet), E0409 (extents), E0706 (a given array's shape), E0713 (an
// input that is not given), E0903 (memory, sizes), and with verify_gathers E0417 (exit 1).
Result<Evaluation> evaluate(const Graph& g, std::span<const int64_t> params, const Given& given,
                            const OracleOptions& options = {});

// Any tensors. Definitions that are not given are computed on demand.
Result<Evaluation> evaluate_tensors(const Graph& g, std::span<const int64_t> params,
                                    const Given& given, const std::vector<TensorId>& wanted,
                                    const OracleOptions& options = {});

// The targets of one node, from operands given; operands that are not given are computed.
Result<Evaluation> evaluate_node(const Graph& g, NodeId node, std::span<const int64_t> params,
                                 const Given& given, const OracleOptions& options = {});

// Values of the parameters of a bound graph; 0 where one is not bound.
std::vector<int64_t> bound_params(const Graph& g);

// The points of a tensor that a sampled evaluation compares: all if there are at most `points`,
// otherwise its corners and short runs along its last axis, drawn from (seed, name).
PointSet sample_points(const std::vector<int64_t>& shape, int64_t points, uint64_t seed,
                       std::string_view name);

}  // namespace tang
