// Runs a compiled node on blocks of points.
//
// A block's lanes share the reduce coordinates and a term that fails a guard on some lanes is
// masked there; when the guards leave each lane a small set of its own (an equality, a narrow
// window) every lane walks its own tuples instead. Both fold each lane's terms in row-major order.
#pragma once

#include <functional>

#include "eval/program.h"
#include "eval/walk.h"

namespace tang::oracle {

// Where a read finds its elements: decoded cells (all of them, or a point set's), or an array.
struct Source {
  const Values* values = nullptr;
  const Array* array = nullptr;
};

class Machine {
 public:
  // `sources` has one entry each of p.reads; both outlive the machine.
  Machine(const Program& p, const std::vector<Source>& sources, bool slow_guards);

  // Evaluates the points with these flat indices over the lane dims (at most block_lanes).
  void run(std::span<const int64_t> flats);
  // Consecutive flat indices.
  void run(int64_t first, int count);

  // A scan over the lanes with these flat indices; `stored` is called at each step, when columns
  // hold the results at that value of the scan's coordinate.
  using Stored = std::function<void(int64_t along)>;
  void run_scan(std::span<const int64_t> flats, const Stored& stored);
  // One step of a matrix scan for these lanes: now and next hold H for every flat index.
  void run_matrix_step(std::span<const int64_t> flats, int64_t along,
                       const std::vector<double>& now, std::vector<double>& next);
  // H before the first step.
  void start_matrix(std::span<const int64_t> flats, std::vector<double>& now);

  // The column of a register after run.
  const Cell* column(int reg) const { return reg_[static_cast<size_t>(reg)]; }
  int lanes() const { return n_; }
  int64_t coordinate(size_t dim, int lane) const {
    return lane_at_[dim][static_cast<size_t>(lane)];
  }
  // For programs without reduction: whether all guards hold on a lane.
  bool holds(int lane) const { return mask_[static_cast<size_t>(lane)] != 0; }

 private:
  struct FormState {
    std::vector<int64_t> column;  // the part over lanes with the base
    int64_t low = 0, high = 0;
  };
  struct ReadState {
    std::vector<int64_t> address;  // of an affine read: the part over lanes
    bool uniform = false;
    bool contiguous = false;
  };

  void coordinates(int64_t flat, int lane);
  void run_block();
  void begin_block();
  void begin_scan(std::span<const int64_t> flats);
  void finish();
  void prepare_forms();
  void prepare_reads();
  void prepare_guards();
  void execute(const std::vector<Instruction>& list, size_t from, size_t to);
  void execute(const Instruction& in);
  int64_t offset(const FormPlan& form) const;
  void positions(int form, int64_t* out) const;
  void read(const Instruction& in);
  bool read_affine(const ReadPlan& plan, const ReadState& state, const Source& source, Cell* out);
  void read_lanes(const ReadPlan& plan, const Source& source, Kind kind, Cell* out);
  void fold();
  bool lanes_diverge();
  void fold_together();
  void fold_apart();
  bool mask_restrictions();
  void mask_tests();
  void commit();

  const Program& p_;
  const std::vector<Source>& sources_;
  bool slow_;
  int n_ = 0;
  std::vector<Cell> pool_;
  std::vector<Cell*> reg_;
  std::vector<char> swappable_;                // of each state: `next` is its own step register
  std::vector<std::vector<int64_t>> lane_at_;  // coordinates of each lane dim
  std::vector<FormState> forms_;
  std::vector<ReadState> reads_;
  std::vector<std::vector<int64_t>> guard_;  // lane part of each restriction, gathers included
  Walk walk_;
  std::vector<Walk> walks_;
  std::vector<int64_t> at_;                    // reduce coordinates shared by all lanes
  std::vector<std::vector<int64_t>> each_at_;  // per reduce dim, when lanes walk apart
  bool apart_ = false;
  std::vector<char> mask_;
  bool masked_ = false;
  mutable std::vector<int64_t> scratch_;
  std::vector<int64_t> address_;
};

}  // namespace tang::oracle
