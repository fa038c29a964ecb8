// The lowering of one kernel: block loops, windows, and the nests inside.
#pragma once

#include "ir/pivot.h"
#include "target/machine.h"
#include "tile/folds.h"
#include "tile/lower.h"

namespace tang::tile {

class KernelLowering : private TermBlocks {
 public:
  KernelLowering(Graph& graph, const KernelPlan& plan, const Machine& machine,
                 std::vector<InPlace> in_place)
      : g(graph),
        whole_(plan),
        plan_(&plan),
        machine_(of_group(machine, plan)),
        in_place_(std::move(in_place)),
        node_(graph[plan.node]),
        b(plan.name, plan.machine, std::max<int64_t>(plan.group / 32, 1)) {}
  Result<LoweredKernel> run();
  Result<LoweredKernel> prepare(const StagePlan& window);

 private:
  using Comprehension = tang::Node;

  // The machine with as many threads as the group has.
  static Machine of_group(Machine machine, const KernelPlan& plan) {
    machine.threads = plan.group;
    return machine;
  }

  // Kernel (lower.cpp).
  void begin();
  void gate();
  std::map<MemoryId, MemoryId> same_memory();
  bool wide() const;
  std::vector<std::string> axis_names(TensorId id) const;
  void argument(TensorId id, Memory::Role role);
  void begin_node(const KernelPlan& plan);
  void read_node();
  void block(size_t level);
  void terms();
  void matrix_scan();
  bool whole(const BlockLoop& loop) const;
  // A bound of a summed coordinate in the block at hand, from a condition on its terms.
  struct Bound {
    Guard guard;
    bool upper = false;
    Form at;             // the first value, or the one after the last
    bool whole = false;  // with the guard's other bounds, all that the guard says
  };
  std::vector<Bound> bounds_of(DimId d);
  void narrow(size_t level);
  Op::Range block_range(const BlockLoop& loop);
  void set_span(const BlockLoop& loop, const Op::Range& range);
  void open_block(const BlockLoop& loop);
  bool holds_states() const;

  // Blocks of terms whose states stay in registers: those from the first summed coordinate on.
  size_t count() const override { return plan_->blocks.size() - first_reduce(); }
  std::optional<Op::Range> range(size_t k) override;
  void enter(size_t k, const Op::Range* range) override;
  void leave(size_t k, bool loop) override;
  const std::vector<Part>& parts() const override { return folds_.parts; }
  bool shares(DimId point) const;
  void close_block(const BlockLoop& loop);
  void forget_span(const BlockLoop& loop);
  Form easiest(const Form& rest) const;
  size_t first_reduce() const;
  Nest main_nest();
  std::vector<Store> target_stores(const std::vector<ExprId>& values);
  void run_stores(const Nest& nest, bool planned);
  void restrict(Nest& nest, const std::vector<DimId>& points);
  void run_nest(Nest nest);
  NestShape shape(const Nest& nest) const;

  // States that outlive a block of terms (lower.cpp).
  struct State {
    TensorId tensor = TensorId::none;
    std::vector<DimId> dims;
  };
  void begin_states();
  void end_states();
  bool in_output() const;
  ExprId read(const State& s);
  Store store(const State& s, ExprId value) const;
  State new_state(const std::string& name, const std::vector<DimId>& dims, Kind kind = Kind::real);
  void fill(const State& s, ExprId value);
  ExprId from_states(ExprId value);

  // Windows (lower_window.cpp).
  void stage(const StagePlan& s);
  std::vector<LeafId> reads_of(TensorId t) const;
  std::vector<Poly> window_extents(const std::vector<Span>& spans, const StagePlan& s,
                                   int64_t slack) const;
  double most_bytes() const;
  void window(TensorId t, const std::vector<Span>& spans, const StagePlan& s);
  Span range_of(const std::vector<Form>& forms);
  Span span_of(DimId d) const;
  void copy_stage(const StagePlan& s);
  bool split_phases(const StagePlan& s, const Span& span, Nest& n, std::vector<Form>& at);
  std::vector<ExprId> factors_beside(TensorId t) const;
  void compute_stage(const StagePlan& s);
  void compute_rows(const KernelPlan& rows);
  void read_kept(const Comprehension& row);

  // The pivot form (lower_pivot.cpp).
  void pivot_block();
  void add_sum(Nest& n, uint32_t k, ExprId term, ExprId initial);
  void reduce_pivots(ExprId score, const State& next, const std::vector<Guard>& limits);
  ExprId lifted(uint32_t component);
  ExprId lift(uint32_t component, ExprId pivot);
  ValueId not_finite(const std::vector<ExprId>& values);
  ExprId act(ExprId own, ExprId common);

  Graph& g;
  const KernelPlan& whole_;
  const KernelPlan* plan_;  // of the node at hand
  const Machine machine_;
  const std::vector<InPlace> in_place_;
  Comprehension node_;
  std::vector<Comprehension> inlined_;  // definitions computed in windows
  KernelBuilder b;
  Environment env_;
  std::vector<TensorId> arguments_;
  Folds folds_;
  std::vector<ExprId> values_;  // of the targets, over left leaves
  std::vector<Guard> gates_;    // where they do not hold, the output stays as it is
  std::vector<State> states_;
  std::optional<Pivot> pivot_;
  State kept_;  // weights of the row at hand that are kept, if any
  std::map<TensorId, std::vector<int64_t>> strides_;  // of windows, in elements, by axis
  std::vector<std::pair<DimId, Span>> around_;        // of coordinates with blocks in blocks
  ValueId unsafe_ = ValueId::none;  // whether what zeros around a window meet is not finite
  std::vector<Guard> needless_;     // conditions that such a window stands for, if it is
  std::vector<Form> limits_;        // of the coordinate of the last block_range()
  double window_bytes_ = 0;
  bool preparing_ = false;  // a prepared window is filled, and nothing else done
  std::string failure_;
};

}  // namespace tang::tile
