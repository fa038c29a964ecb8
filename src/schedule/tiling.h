// Register tiles: how the innermost loops of a comprehension are cut (algebra.md section 9: outputs
// are independent, so points may be tiled; a tile of terms needs a commutative fold).
//
// A tile is `reg` registers of `elem` elements along some coordinates, for each of `threads`
// threads of a group: element e of register r of thread t is (r * threads + t) * elem + e, or,
// of a packed tile, (t * reg + r) * elem + e. Everything is decided from how reads and stores move
// along the coordinates: one coordinate may fill vectors if most of what moves along it moves by
// one element; a second one repays registers if some operand does not move along it, so that it is
// loaded once for all of them.
#pragma once

#include "ir/graph.h"
#include "target/machine.h"

namespace tang {

struct TileDim {
  DimId dim{};
  int64_t reg = 1;
  int64_t elem = 1;
  int64_t threads = 1;
  bool packed = false;  // a thread's registers lie side by side
  int64_t size() const { return reg * elem * threads; }
  friend bool operator==(const TileDim&, const TileDim&) = default;
};

struct NestPlan {
  std::vector<DimId> points, reduce;  // loops, outermost first
  std::vector<TileDim> tile;          // of threads, neighbours along the last dim first
};

// How an operand moves: the elements from one place to the next along each coordinate that it
// mentions.
struct Access {
  std::map<DimId, Poly> strides;
  std::vector<DimId> gathered;  // coordinates along which it moves anyhow
  bool store = false;
  bool local = false;  // in memory of the kernel's own
};
Access access_of(const Graph& g, TensorId t, const std::vector<Form>& forms);

// What is to be tiled.
struct NestShape {
  std::vector<DimId> points, reduce;
  std::vector<Access> accesses;
  std::map<DimId, std::optional<int64_t>> sizes;  // of a block; an extent that is not listed
  bool commutative = true;                        // terms may be folded in any order
  size_t states = 1;                              // components of the fold
  bool wide = false;                              // reals are f64
  bool inside = false;                            // of a block: a group computes all of it
};
NestShape shape_of(const Graph& g, const Node& n);

NestPlan plan_nest(const Graph& g, const NestShape& shape, const Machine& machine);

}  // namespace tang
