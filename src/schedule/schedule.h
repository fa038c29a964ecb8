// Schedules: which definitions become kernels, and how each one's loops run (algebra.md section 9).
//
// A schedule is plain data. `plan` decides; the lowering to tile programs (tile/lower.h) obeys and
// decides nothing. Every field is licensed by a law, so a schedule never changes what a program
// means; docs/design.md has the table, and legal.h refuses what no law licenses:
//
//   inlined   definitions recomputed in the kernel, not stored (5.9, 11.10): purity
//   rows      folds computed a row at a time in the kernel that reads them: purity
//   blocks    loops over blocks of coordinates, around all else: points are independent; blocks of
//             terms are associativity
//   stages    windows of tensors in memory of the kernel's own: purity; those of constants may be
//             prepared once for all runs
//   pivot     the fold runs in pivot form, a block of terms at a time
//   nest      the innermost loops, over register tiles: points are independent; lanes of terms and
//             another order of them are associativity and commutativity
//   streamed  targets that are stored past the caches: none
//   threads   so many share the outermost loop over points: outputs are independent
//   group     so many run a block together: points of a tile are independent, terms are
//             associativity and commutativity
//   contract  a + b * c on an accumulator is one fused operation (algebra.md 1.5)
//
//   s_1[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])
//   o[h, i, e] = online[j](s_1[h, i, j], v[h, j, e])
//     kernel o: blocks h, i 64, j 128 · windows k, s_1 · pivot
#pragma once

#include "ir/graph.h"
#include "schedule/pins.h"
#include "schedule/tiling.h"

namespace tang {

// A loop over blocks of a coordinate, around everything else in a kernel. Of two loops over one
// coordinate the outer one's step is a multiple of the inner one's.
struct BlockLoop {
  DimId dim{};
  int64_t step = 1;
};

// A window of a tensor that the kernel keeps in memory of its own while the block loops inside of
// `level` run: what they read of a stored tensor, copied, or of a definition computed there.
struct StagePlan {
  TensorId tensor = TensorId::none;
  size_t level = 0;
  std::vector<size_t> axes;  // of the tensor, slowest first
  size_t panel_axis = 0;     // cut in panels of `panel`, each of which holds all other axes
  int64_t panel = 0;         // 0: row-major
  bool padded = false;       // with zeros outside of the tensor, for conditions that keep inside
  int64_t phases = 1;        // every so many elements of the last axis lie side by side
  int64_t skew = 0;          // elements between the rows of the fastest axis, for memory in banks
  bool prepared = false;     // packed once, before all runs: it reads constants alone
};

struct KernelPlan {
  NodeId node = NodeId::none;
  std::string name;                 // of the first target
  std::vector<NodeId> inlined;      // those computed by rows too
  std::vector<TensorId> constants;  // inputs that it reads and that are the same in every run
  bool contract = true;
  std::vector<BlockLoop> blocks;  // outermost first, points before what is summed
  std::vector<StagePlan> stages;
  bool pivot = false;  // the fold runs in pivot form (ir/pivot.h), a block of terms at a time
  bool kept = false;   // of a row: its weights stay in a window until they are read (kept.h)
  NestPlan nest;       // the innermost loops
  std::vector<TensorId> streamed;  // targets that are stored past the caches
  std::string machine;
  int64_t threads = 1;  // that share the outermost loop over points; 1: it is not shared
  int64_t group = 1;    // threads of a group, which run a block together; groups share the blocks
  bool batch_invariant = true;  // the order of its sums does not follow from how many points it has
  // Inlined definitions that are computed a row at a time: their own plans, whose points are those
  // of the node that `blocks` begin with.
  std::vector<KernelPlan> rows;

  // The plan of a definition that is computed by rows; nullptr for others.
  const KernelPlan* by_rows(NodeId id) const {
    for (const KernelPlan& row : rows)
      if (row.node == id) return &row;
    return nullptr;
  }
};

struct OutputPlan {
  enum class Place : uint8_t {
    own,       // a buffer of its own
    in_place,  // the memory of the input it goes into
    copied,    // workspace, copied over the input by a last kernel (algebra.md 11.20)
  };
  TensorId tensor = TensorId::none;
  TensorId into = TensorId::none;
  Place place = Place::own;
};

struct Schedule {
  std::vector<KernelPlan> kernels;  // in launch order
  std::vector<OutputPlan> outputs;  // in program order
};

struct PlanOptions {
  bool inline_contractions = true;     // false: every definition is a kernel, as written
  bool vectorise = true;               // false: plain loops in declared order
  bool contract = true;                // false under --math ieee
  bool batch_invariant = false;        // plans do not follow from extents that nothing sums over
  int64_t unknown_extent = 4096;       // what an unbound parameter counts as
  std::string machine = "cpu.avx2";    // whose record tiles are chosen by
  int64_t threads = 1;                 // that may share a kernel
  double shared_ns = 50'000;           // if one would take longer than this, in nanoseconds
  int64_t longest_inline = 1024;       // terms of an inlined contraction
  int64_t largest_ratio = 2;           // recomputation allowed by choice
  std::vector<std::string> constants;  // inputs that are the same in every run
  Pins pins;                           // fields that are given
};

// Bytes of all windows of a kernel, which lie on its stack.
constexpr int64_t most_window_bytes = 1 << 20;

// The inputs of these names, in the graph's order. E0809 for a name that no input has, and for an
// input whose memory an output takes.
Result<std::vector<TensorId>> constant_inputs(const Graph& g,
                                              const std::vector<std::string>& names);

// Plans the definitions the outputs need. E0590 (a gradient: E0690) names a construct that has no
// lowering yet; E0805 a pinned field that names nothing or that no law licenses; E0809 of
// constant_inputs.
Result<Schedule> plan(const Graph& g, const PlanOptions& options = {});

// One line: "points h i e · reduce j · blocks h i 64 j 128 · windows k · pivot · s_1 recomputed".
std::string describe(const Graph& g, const KernelPlan& plan);

}  // namespace tang
