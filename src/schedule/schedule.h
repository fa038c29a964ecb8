// Schedules: which definitions become kernels, and how each one's loops run (algebra.md section 9).
//
// A schedule is plain data. `plan` decides; `lower` (loop/lower.h) obeys and decides nothing. Every
// field is licensed by a law, so a schedule never changes what a program means:
//
//   inlined   short contractions recomputed in the kernel, not stored (5.9, 11.10): purity
//   outer     points looped outside the reduce loops: outputs are independent
//   inner     points looped inside the reduce loops, because some state component does not vary
//             along them and is computed once for all (value columns): point-invariance
//   vector    a point run in blocks of `block` inside the reduce loops, for unit strides; affine
//             conditions that mention it are bounds of its loop, so the interior of a mask runs
//             without tests and its border not at all (5.13)
//   lanes     partial states that stride the innermost reduce loop, combined at the end in a
//             fixed tree: associativity and commutativity
//   threads   so many share the outermost loop over points: outputs are independent
//   contract  a + b * c on an accumulator is one fused operation (algebra.md 1.5)
//
//   s_1[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])
//   o[h, i, e] = online[j](s_1[h, i, j], v[h, j, e])
//     kernel o: inlined s_1 (32 lanes) · outer h i · inner e
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "ir/graph.h"
#include "schedule/tiling.h"

namespace tang {

struct InlinePlan {
  NodeId node = NodeId::none;
  int64_t lanes = 0;
};

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
};

struct KernelPlan {
  NodeId node = NodeId::none;
  std::string name;  // of the first target
  std::vector<InlinePlan> inlined;
  std::vector<DimId> outer;
  std::vector<DimId> inner;
  std::optional<DimId> vector;
  int64_t block = 0;
  int64_t lanes = 0;  // 0: the innermost reduce loop is sequential
  bool contract = true;
  std::vector<BlockLoop> blocks;  // outermost first, points before what is summed
  std::vector<StagePlan> stages;
  bool pivot = false;  // the fold runs in pivot form (ir/pivot.h), a block of terms at a time
  NestPlan nest;       // the innermost loops
  std::string machine;
  int64_t threads = 1;  // that share the outermost loop over points; 1: it is not shared
  // Inlined definitions that are computed a row at a time: their own plans, whose points are those
  // of the node that `blocks` begin with.
  std::vector<KernelPlan> rows;
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
  bool inline_contractions = true;   // false: every definition is a kernel, as written
  bool vectorise = true;             // false: plain loops in declared order
  bool contract = true;              // false under --math ieee
  int64_t block = 64;                // elements of a vector block
  int64_t lanes = 32;                // a power of two; fewer wait on the accumulator's latency
  int64_t unknown_extent = 4096;     // what an unbound parameter counts as
  std::string machine = "cpu.avx2";  // whose record tiles are chosen by
  int64_t threads = 1;               // that may share a kernel
  double shared_ns = 50'000;         // if one would take longer than this, in nanoseconds
  int64_t longest_inline = 1024;     // terms of an inlined contraction
  int64_t largest_ratio = 2;         // recomputation allowed by choice
};

// Plans the definitions the outputs need. E0590 (a gradient: E0690) names a construct that has no
// lowering yet.
Result<Schedule> plan(const Graph& g, const PlanOptions& options = {});

// The plan as data: {"outer":[…],"inner":[…],"inlined":[…],"vector":…,…}, names instead of ids.
nlohmann::json to_json(const Graph& g, const KernelPlan& plan);
// One line: "points h i e · reduce j · inside e · s_1 recomputed (32 lanes)".
std::string describe(const Graph& g, const KernelPlan& plan);

}  // namespace tang
