// Placements: who holds which element of a tile, and when.
//
// A tile is a box of coordinates, one axis each. A *position* is where an element may be: a number
// for each level of the machine (the warp of its role, the lane, the register, the element of a
// vector register, the step of a loop). A placement cuts those numbers into mixed-radix *digits*
// and says which coordinate each adds to:
//
//   coordinate[axis] = base[axis] + sum over digits of coefficient * digit
//
//   (m, n) = warp 4 -> 16m, lane 8*4 -> m, reg 2 -> 8m, lane 4 -> 2n, reg 2 -> n, reg 8 -> 8n
//
// is a 64×64 accumulator of 128 threads: lane = 4g + t is a digit of 8 with stride 4 and one of 4
// with stride 1. This is a view whose source is the hardware, so fragments of matrix units,
// register tiles and rows of lanes are one kind of thing and addresses are compositions.
//
// A digit is used in one of three ways: *index* enumerates coordinates; *replica* holds the same
// element in every value of the digit; *partial* means that the element is the fold over the digit,
// not taken yet. The digits of a level count it out: sorted by stride, each stride is the product
// of the extents before it, so positions and digit values are one to one.
//
// Placements are pure values; their laws are tested at every point (tests/law/view).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tang {

enum class Level : uint8_t { device, grid, cluster, group, warp, lane, reg, elem, step };
constexpr size_t level_count = 9;
std::string_view name(Level level);
std::optional<Level> parse_level(std::string_view name);

enum class Use : uint8_t { index, replica, partial };

struct AxisTerm {
  uint32_t axis = 0;
  int64_t coeff = 0;
  friend auto operator<=>(const AxisTerm&, const AxisTerm&) = default;
};

struct Digit {
  Level level = Level::reg;
  int64_t extent = 1;
  int64_t stride = 1;  // the digit is (number / stride) % extent
  Use use = Use::index;
  std::vector<AxisTerm> terms;  // of an index, ascending by axis; empty otherwise
  friend auto operator<=>(const Digit&, const Digit&) = default;
};

// A number for each level.
using Position = std::array<int64_t, level_count>;
using Point = std::vector<int64_t>;  // a coordinate for each axis

class Placement {
 public:
  Placement() = default;
  explicit Placement(size_t rank) : base(rank, 0) {}

  std::vector<int64_t> base;  // one an axis
  std::vector<Digit> digits;  // in the order written; order within a level only spells strides

  size_t rank() const { return base.size(); }
  friend bool operator==(const Placement&, const Placement&) = default;

  // The numbers a level takes: the product of its digits' extents.
  int64_t count(Level level) const;
  // The product over all levels.
  int64_t positions() const;
  // The k-th position, 0 <= k < positions(): elements fastest, then registers, lanes, warps, steps,
  // groups and on to devices. A fixed order of enumeration.
  Position position(int64_t k) const;
  int64_t digit(size_t k, const Position& at) const;
  Point coordinates(const Position& at) const;
  // Extents of the least box from 0 that holds every coordinate that is not negative.
  Point box() const;

  // Digits of each level count it out; terms name axes, ascending, with coefficients other than 0;
  // an index digit has terms and no other has. Empty if so, otherwise what is wrong. All functions
  // below want a placement without a fault.
  std::string fault() const;
  // Every coordinate of the box is that of exactly one value of the index digits.
  bool is_bijective() const;
  bool has(Use use) const;

  // The least stride that no digit of the level covers, counting from 1: what a digit written next
  // has unless it says otherwise.
  int64_t next_stride(Level level) const;
  // Appends a digit of the next stride.
  Placement& add(Level level, int64_t extent, Use use, std::vector<AxisTerm> terms = {});
};

// A linear map of coordinates: result[a] = base[a] + sum of coeff * x[axis].
struct AxisMap {
  std::vector<int64_t> base;
  std::vector<std::vector<AxisTerm>> rows;  // parallel to base
};

// Who holds the element that `map` sends a held coordinate to: composition of views. A digit that
// moves none of the results becomes a replica.
Placement compose(const AxisMap& map, const Placement& p);
// The axes kept, in the order given; digits that index none of them become `others` (replica, or
// partial after a reduction, where no digit may index both a kept and a dropped axis).
Placement project(const Placement& p, const std::vector<uint32_t>& axes, Use others);
// The tile repeated `times` along an axis, by a further register digit whose step is the box.
Placement repeat(const Placement& p, uint32_t axis, int64_t times, Level level = Level::reg);

// (x[axis] / stride) % extent: a digit of a coordinate.
struct AxisDigit {
  uint32_t axis = 0;
  int64_t stride = 1;
  int64_t extent = 1;  // 0: not reduced
  friend auto operator<=>(const AxisDigit&, const AxisDigit&) = default;
};
// The index digits as functions of coordinates, in the order of p's: where each has one term and
// the terms of an axis are themselves mixed-radix digits of it. Empty otherwise.
std::optional<std::vector<AxisDigit>> inverse(const Placement& p);

// Every position that holds a coordinate, replicas and partials included, ascending.
std::vector<Position> owners(const Placement& p, const Point& coordinate);

}  // namespace tang
