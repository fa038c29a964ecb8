// A node compiled for the oracle: a flat register program over columns of index points.
//
// A register holds one Cell for each lane of a block of at most block_lanes points. Reduce
// coordinates are walked outside, the same for all lanes or one tuple a lane (eval/machine.h).
// Forms split into a part over lanes, computed once a block, and a part over reduce coordinates.
//
//   term     what a term needs, sorted by level: level 0 depends on points only, level d + 1 on
//            reduce coordinate d at most, so a step of the innermost loop redoes only the last
//            level
//   step     combine(state, lift(args)): from `state` and term registers to `next`
//   finish   fin of the state and the targets' values
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eval/values.h"
#include "ir/graph.h"

namespace tang::oracle {

inline constexpr int block_lanes = 512;

struct FormPlan {
  int64_t base = 0;
  std::vector<std::pair<int, int64_t>> lanes;    // (lane dim, coefficient)
  std::vector<std::pair<int, int64_t>> reduce;   // (reduce dim, coefficient)
  std::vector<std::pair<int, int64_t>> gathers;  // (register, coefficient)
};

struct ReadPlan {
  TensorId tensor = TensorId::none;
  std::vector<int> forms;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool affine = true;  // no form gathers
  bool guarded = false;
  Cell fill{};
};

struct Instruction {
  enum class What : uint8_t { apply, convert, read, iota };
  What what = What::apply;
  Op op = Op::constant;
  Kind kind = Kind::real;
  Format format = Format::f64;
  std::array<int, 3> args = {-1, -1, -1};
  std::array<Kind, 3> kinds = {Kind::real, Kind::real, Kind::real};
  int plan = -1;    // of a read, or the form of an iota
  int target = -1;  // register
  int level = 0;
  friend auto operator<=>(const Instruction&, const Instruction&) = default;
};

// An affine bound form >= 0, or form == 0, whose gathers (if any) are free of reduce coordinates.
struct Restriction {
  int form = -1;
  bool zero = false;
  std::vector<int64_t> coeff;  // over reduce dims
};

// A guard that is tested lane by lane: a bool register, or a form that gathers inside the loop.
struct Test {
  int condition = -1;
  int form = -1;
  bool zero = false;
};

// A scan: lanes are the points without `along`, which is the first reduce coordinate; the state is
// finished and stored at each of its values. A matrix scan has its column as the second.
struct ScanPlan {
  bool exclusive = false;
  bool reverse = false;
  std::vector<int64_t> strides;  // of the lanes in the target
  int64_t stride = 0;            // of `along`
  bool matrix = false;
  size_t row = 0;                // the lane that is the row
  int factor = -1, offset = -1;  // registers of A and B
  int state = -1;                // the register targets see H in
};

struct Program {
  std::vector<DimId> lanes;
  std::vector<DimId> reduce;
  std::vector<int64_t> lane_extent;
  std::vector<int64_t> reduce_extent;
  std::vector<FormPlan> forms;
  std::vector<ReadPlan> reads;
  int registers = 0;
  std::vector<Kind> kinds;  // of the registers
  std::vector<std::pair<int, Cell>> constants;
  std::vector<Instruction> term;
  std::vector<size_t> level_begin;  // reduce.size() + 2 offsets into term
  std::vector<Instruction> step;
  std::vector<Instruction> finish;
  bool folds = false;
  std::vector<Cell> identity;
  std::vector<int> start;  // registers that states begin with in place of the identity; -1: none
  std::optional<ScanPlan> scan;
  std::vector<int> state;
  std::vector<int> next;
  std::vector<int> last;  // the state's registers in finish
  std::vector<Restriction> restrictions;
  std::vector<Test> tests;
  std::vector<std::pair<TensorId, int>> results;  // (target tensor, register)
};

// The part of node n that computes the targets with exactly these points (every such target).
// Errors: E0590, E0690 for what is not built; E0409 and E0903 for extents that are negative or
// overflow.
Result<Program> compile(const Graph& g, const Node& n, std::span<const int64_t> params,
                        const std::vector<DimId>& points);

// The positions along one axis of a gathered read, under the node's guards if `guarded`, as a
// program without reduction over `dims`. The result is (read tensor, register of the position).
Result<Program> compile_position(const Graph& g, const Node& n, std::span<const int64_t> params,
                                 LeafId read, size_t axis, const std::vector<DimId>& dims,
                                 bool guarded);

// Value of an extent. Errors: E0409, E0903.
Result<int64_t> extent_value(const Graph& g, const Poly& p, std::span<const int64_t> params);
Result<std::vector<int64_t>> shape_value(const Graph& g, const std::vector<Poly>& shape,
                                         std::span<const int64_t> params);

}  // namespace tang::oracle
