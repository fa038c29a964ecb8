// One nest of loops over register tiles: how the lowering computes a comprehension inside the block
// at hand (tile.md section 3).
//
//     loop over tiles of points
//       states = identity
//       loop over terms, states carried
//         states = step(states, body)      evaluated over the tile
//       store value(states)
//
// A scan stores after, or before, each of its steps instead.
//
// Some coordinates have a register tile: `reg` registers of `elem` elements. A body is evaluated
// once for the whole tile: each part of an expression becomes a tile over just those tiled
// coordinates that it depends on, in the outermost loop where they are known. So x[m, k] of a
// matrix product is one value a row, y[k, n] one vector a column block, and the product of the two
// is the tile: register blocking is evaluation over a tile, and nothing here knows of products.
//
// Threads of a group hold parts of a tile each; along coordinates that a value has no tile of they
// hold the same.
//
// Lanes of a fold, when a summed coordinate has a register tile, are terms kept apart until the
// end: the fold's commutativity permits it (algebra.md 3.6).
#pragma once

#include <map>
#include <set>

#include "ir/graph.h"
#include "schedule/segment.h"
#include "schedule/tiling.h"
#include "tile/builder.h"

namespace tang::tile {

// Where a coordinate runs in the block at hand: [greatest of lo, least of hi).
struct Span {
  std::vector<Form> lo, hi;     // over indices of the kernel
  std::optional<int64_t> size;  // if it is known
  std::optional<int64_t> most;  // otherwise a size that it does not exceed, if one is known
};

// A tensor's memory: the tensor's element x is the memory's element x - origin.
struct Place {
  MemoryId memory = MemoryId::none;
  std::vector<Form> origin;  // empty: none
  bool covers = false;       // a window that holds all that is read of it
  bool filled = false;       // and more: whole blocks, whose elements outside of the tensor are 0
  // Along one axis there are more elements than are wanted: up to a multiple of `room` from the
  // origin on, and for a coordinate that moves by `step` elements `slack` more of its values.
  size_t room_axis = 0;
  int64_t room = 0, slack = 0, step = 1;
};

struct Environment {
  std::map<DimId, Span> spans;
  std::map<TensorId, Place> places;
  Format real = Format::f32;  // what reals are computed in
  bool contract = true;       // a product and a sum may be one operation
  int64_t group = 1;          // threads that run the block together
  int64_t line_bytes = 64;    // of memory that others have too
};

// A component of a fold's state. In `step` and `combine`, left leaves are the states before, by
// number of the part, and right leaves (of `combine`) those of later terms.
struct Part {
  Kind kind = Kind::real;
  ExprId identity = ExprId::none;
  ExprId step = ExprId::none;
  ExprId combine = ExprId::none;
  ExprId initial = ExprId::none;  // of its points, combined before all terms; none: the identity
  std::vector<DimId> varies;      // points that it depends on
  size_t fold = 0;                // parts of one monoid are neighbours
  uint32_t component = 0;
};

struct Store {
  TensorId tensor = TensorId::none;
  std::vector<Form> at;         // over the nest's coordinates
  ExprId value = ExprId::none;  // left leaves are the final states
  std::string row;              // that stores whole vectors of so many elements
  int64_t row_elements = 0;
};

// Loops over blocks of terms around the innermost loops of a nest, whose states they carry.
class TermBlocks {
 public:
  virtual ~TermBlocks() = default;
  virtual size_t count() const = 0;
  // The range of loop k with a new index; nothing where one block has all.
  virtual std::optional<Op::Range> range(size_t k) = 0;
  // At the beginning of the body of loop k, and at its end. What terms are may have changed.
  virtual void enter(size_t k, const Op::Range* range) = 0;
  virtual void leave(size_t k, bool loop) = 0;
  virtual const std::vector<Part>& parts() const = 0;
};

struct Nest {
  std::vector<DimId> points, reduce;  // outermost first
  std::vector<TileDim> tile;
  std::vector<Guard> guards;   // of terms
  std::vector<Guard> limits;   // of terms too: where they do not hold, terms may be left out
  std::vector<Guard> gates;    // of points: where they do not hold, nothing is stored
  const Scan* scan = nullptr;  // `reduce` is the point that it runs along; stores are of each step
  std::vector<Part> parts;
  std::vector<tang::MonoidId> monoids;  // by Part::fold
  std::vector<Store> term_stores;       // at each term, before its guards; no left leaves
  std::vector<Store> stores;
  bool parallel = false;  // outermost loops over points are parallel
  TermBlocks* blocks = nullptr;
  int64_t ahead = 0;  // so many steps of the last point but one ahead, lines are asked for
};

class NestLowering {
 public:
  NestLowering(Graph& graph, KernelBuilder& builder, const Environment& environment)
      : g(graph), b(builder), env_(environment) {}
  void run(const Nest& nest);
  // The form over indices of the kernel, where all that it mentions is one element in the block at
  // hand; nothing elsewhere.
  std::optional<Form> known(const Form& f);

 private:
  // What an expression depends on.
  struct Depends {
    std::vector<DimId> dims;
    std::vector<uint32_t> left, right;  // numbers of parts
  };
  // Where an expression is computed, and which tiled coordinates its tile has, in their order.
  struct Key {
    size_t scope = 0;
    std::vector<DimId> dims;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Scope {
    RegionId region = RegionId::none;
    std::map<ExprId, ValueId> values;
  };
  struct Mask {
    DimId dim{};
    Form holds;  // >= 0
  };
  struct State {
    ValueId value = ValueId::none;
    std::vector<DimId> dims;
  };

  // Loops (nest.cpp).
  void dim(size_t k);
  void whole(size_t k, const Span& s);
  void tiled(size_t k, const Span& s, const TileDim& t);
  void one_tile(size_t k, const Span& s, const TileDim& t);
  bool repays_branch(size_t k, const TileDim& t) const;
  void term_block(size_t n);
  const Part& part_at(size_t k) const { return parts_ ? (*parts_)[k] : nest_->parts[k]; }
  void add_threads(Placement& p, const std::vector<DimId>& dims) const;
  void segment(size_t k, const TileDim& t, const Form& at, const Span* masks);
  void inside(size_t k, const Form& coordinate);
  Span span(DimId d) const;
  Span limited(DimId d, const std::vector<Guard>& guards);
  void limit(DimId d, const Guard& guard, Span& s);
  bool to_segment(const Guard& guard, DimId d, Span& s);
  Form first_at_least(const Segment& s, DimId d, const Form& wanted);
  Form quotient(const Form& f, int64_t by);
  bool is_known(const std::vector<Form::Gather>& gathers) const;
  std::optional<Form> easiest(const Form& rest, bool* exact) const;
  DimId open_loop(size_t k, std::vector<Form> lo, std::vector<Form> hi, int64_t step);
  void close_loop(size_t k);
  bool shares(size_t k) const;
  void keep(std::vector<ValueId> values);
  std::vector<ValueId> kept() const;
  bool reduces(size_t k) const { return k >= nest_->points.size(); }
  DimId dim_at(size_t k) const {
    return reduces(k) ? nest_->reduce[k - nest_->points.size()] : nest_->points[k];
  }
  const TileDim* tile_of(DimId d) const;
  std::vector<DimId> state_dims(const Part& p, bool lanes) const;
  void start();
  void step();
  std::vector<ExprId> conditions(const std::vector<Guard>& guards);
  void store_step();
  void finish();
  void fold_lanes();
  void store_all(const std::vector<Store>& stores);
  void rows_to_lanes(const std::vector<DimId>& lanes);
  bool starts_far(const Part& p) const;
  void fetch(const Part& p);
  void fetch_ahead(const tang::Leaf& l, const Key& key);

  // Expressions (nest_expr.cpp).
  const Depends& depends(ExprId e);
  Key key_of(ExprId e);
  ValueId eval(ExprId e);
  ValueId map(ExprId root, const Key& key);
  Ref reference(TensorId t, const std::vector<Form>& at);
  ValueId load(LeafId leaf, const Key& key);
  ValueId expanded(ValueId v, const std::vector<DimId>& dims);
  ExprId leaf(Op& op, ExprId e);
  ExprId argument(Op& op, ValueId v, Kind kind);
  ExprId position(Op& op, const Form& f);
  Form form(const Form& f);
  std::vector<Form> bounds(const tang::Leaf& leaf);
  void masked(std::vector<Form>& valid, const std::vector<DimId>& dims, TensorId t,
              const std::vector<Form>& at) const;
  bool has_room(DimId d, TensorId t, const std::vector<Form>& at) const;
  PlacementId placement(const std::vector<DimId>& dims);
  Format format(Kind k) const;
  std::optional<std::pair<ExprId, ExprId>> factors(uint32_t part);
  bool vanishes(ExprId product, const std::function<bool(const tang::Leaf&)>& zero);
  bool masked_vanish(ExprId product);
  bool beyond_vanish(DimId d, const Span& s);
  ValueId advance(uint32_t part, const std::vector<ExprId>& conditions);
  ValueId chosen(const std::vector<ExprId>& conditions, ValueId yes, ValueId no,
                 const std::vector<DimId>& dims);
  ValueId define(Op op, std::string_view name, const std::vector<DimId>& dims, Kind kind,
                 size_t scope);
  MonoidId monoid(size_t fold);

  Graph& g;
  KernelBuilder& b;
  const Environment& env_;
  const Nest* nest_ = nullptr;
  const std::vector<Part>* parts_ = nullptr;  // in a block of terms
  bool folding_ = false;
  bool late_ = false;  // what states start from is combined after the terms
  std::vector<Scope> scopes_;
  std::map<DimId, size_t> scope_of_;
  std::map<DimId, Form> coordinate_;     // of open coordinates
  std::map<DimId, TileDim> open_tiles_;  // of open tiled ones
  std::vector<Mask> masks_;
  std::vector<Guard> enforced_;  // guards that the loops around imply
  std::vector<State> left_, right_;
  std::map<ExprId, Depends> depends_;
};

}  // namespace tang::tile
