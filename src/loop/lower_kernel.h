// One kernel: a node, with the definitions recomputed inside it, as a loop nest.
#pragma once

#include "loop/lower_expr.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"

namespace tang::loop {

using Comprehension = tang::Node;

// A folded state: where its steps come from. Slots are numbered from `base`.
struct FoldNest {
  struct Part {
    Kind kind = Kind::real;
    ExprId identity = ExprId::none;
    ExprId step = ExprId::none;     // the next state, over `left` leaves and reads
    ExprId combine = ExprId::none;  // of two partial states, over `left` and `right` leaves
    ExprId initial = ExprId::none;  // a scan's state before its first step, if not the identity
    std::vector<DimId> inner;
  };
  uint32_t base = 0;
  std::vector<Part> parts;
  std::vector<DimId> reduce;
  std::vector<Guard> guards;
  int64_t lanes = 0;
  bool contract = true;
  int level = 0;  // loops open around the fold
  Region steps;
  const Scan* scan = nullptr;           // its only loop is along a point, storing at each step
  ExprId unchanged = ExprId::none;      // when it holds, the steps are `unchanged_steps`
  std::vector<ExprId> unchanged_steps;  // one a part; see lower_cases.cpp
  std::optional<std::pair<Value, Value>> vector_range;  // in its block, where guards mention it
};

class KernelLowering {
 public:
  // Makes a workspace row of accumulators: name, extents, format.
  using Scratch = std::function<BufferId(const std::string&, const std::vector<Poly>&, Format)>;

  KernelLowering(Graph& graph, Builder& builder, const KernelPlan& plan,
                 const std::vector<std::optional<BufferId>>& buffer_of, Scratch scratch);
  // `in_place` names the target written over its input, which it may read.
  void run(TensorId in_place, TensorId old);
  bool failed() const { return x.failed(); }

 private:
  struct Bounds {
    Value lo, hi;
    bool plain = true;  // 0 .. extent
  };
  struct Gate {
    ExprId value = ExprId::none;
    std::vector<Guard> guards;
  };
  // A guard with the position of its deepest coordinate among loops, -1 if none.
  struct Placed {
    Guard guard;
    int deepest = -1;
    bool exact = false;  // bounds express it
  };

  // Folds.
  FoldNest nest_of(const Comprehension& n, const std::vector<DimId>& inner);
  ExprId step_of(const Fold& f, size_t k, uint32_t base, bool lifted);
  ExprId finished(ExprId value, const Comprehension& n, uint32_t base);
  void plan_levels(FoldNest& f, int level);
  void choose_storage(const FoldNest& f, const std::string& name);
  void declare(const FoldNest& f);
  void start(const FoldNest& f, size_t part);
  int64_t elements(const Slot& s) const;
  void fold(FoldNest& f);
  void body(FoldNest& f);
  void split_cases(FoldNest& f);
  void steps(FoldNest& f, bool unchanged);
  void update(FoldNest& f, Region& r, const std::vector<size_t>& parts,
              const std::vector<ExprId>& steps);
  void lane_loops(FoldNest& f, size_t k, const std::vector<Placed>& placed, int level);
  void combine_lanes(FoldNest& f);
  std::vector<Value> combined(const FoldNest& f, const std::vector<ExprId>& roots);

  // A matrix scan (lower_matscan.cpp).
  void matrix_scan();
  Slot matrix_state(const char* name);
  void add_product(const Slot& now, const Slot& next);
  void store_matrix(const Slot& from);

  // Loops.
  std::vector<Placed> place(const std::vector<Guard>& guards, const std::vector<DimId>& loops);
  Bounds bounds(std::vector<Placed>& placed, const std::vector<DimId>& loops, size_t k, int level);
  bool narrow_to_segment(const Guard& guard, DimId d, int level, Bounds& bounds);
  Value first_at_least(const Segment& s, DimId d, Value wanted, int level);
  int open_conditions(const std::vector<Placed>& placed, int position, int level);
  void bound_vector(FoldNest& f, std::vector<Placed>& placed, const std::vector<DimId>& loops);
  // `range` is that of the vector point within its block; all of it if there is none.
  void inner_loops(const std::vector<DimId>& inner, int level, Region& r,
                   const std::function<void()>& inside,
                   const std::optional<std::pair<Value, Value>>& range = {});

  // Kernels.
  void outer_loops(const std::function<void()>& inside);
  void blocks(const std::function<void()>& inside);
  void store_targets();
  void store_group(const std::vector<size_t>& targets, const std::vector<DimId>& inner);
  Gate gate_of(const Target& t, TensorId old);
  Value inline_read(LeafId leaf, int level);

  void open_for(const std::string& name, Value lo, Value hi, ForOptions options, Value* var);
  void open_if(Value condition);
  void close(int count = 1);
  Type real_type() const;

  Graph& g;
  Builder& b;
  const KernelPlan& plan_;
  const Comprehension node_;
  const std::vector<std::optional<BufferId>>& buffers_;
  Scratch scratch_;
  Expressions x;
  std::vector<DimId> inner_;  // points looped inside: plan.inner and the vector, in point order
  std::optional<Value> block_start_, block_size_;
  FoldNest fold_;
  std::vector<ExprId> values_;  // of the targets
  Region stores_;
  Gate gate_;
  int outer_count_ = 0;
  int store_level_ = 0;  // loops open around the stores
};

}  // namespace tang::loop
