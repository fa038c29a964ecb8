// The lowering of one kernel of a tile program to a loop program.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loop/from_tile.h"

namespace tang::loop {

class TileLowering {
 public:
  TileLowering(Builder& builder, const tile::Program& program, const tile::Kernel& kernel)
      : b(builder), p_(program), k_(kernel) {}
  std::string run(const std::vector<BufferId>& buffers, bool prepares);

 private:
  // A tile: a scalar or a vector for each register.
  struct Tile {
    tile::PlacementId placement = tile::PlacementId::none;
    std::vector<Value> registers;
  };
  // An affine value at one register of a placement: `base` at the first element, `step` more with
  // each further one.
  struct Lane {
    Value base;
    std::optional<int64_t> step;  // none: not a constant
    Poly step_poly;
  };
  struct Memory {
    std::optional<BufferId> buffer;
    Array array;
  };
  // Where the elements of one register lie.
  struct Address {
    Value index;   // of the first, or a vector of all
    Value stride;  // of a scalar index with lanes
    bool contiguous = true;
    bool gathered = false;
    std::vector<Value> each;  // of each element, where they are not evenly spaced
  };

  void fail(std::string text);

  // Threads of a group (from_tile_threads.cpp).
  void number_threads();
  void declare_scratch();
  static bool is_thread(const Digit& d) { return d.level == Level::lane || d.level == Level::warp; }
  static int64_t thread_stride(const Digit& d);
  std::optional<Value> leads(const tile::NamedPlacement& at);
  std::vector<int64_t> folded_bits(const tile::Op& op) const;
  void across_threads(const tile::Op& op, std::vector<std::vector<Value>>& results);
  void exchange(const tile::Monoid& m, std::vector<std::vector<Value>>& results, int64_t bit);
  void through_memory(const tile::Monoid& m, std::vector<std::vector<Value>>& results,
                      std::span<const int64_t> bits);
  void region(tile::RegionId id);
  void operation(const tile::Op& op);
  void loop(const tile::Op& op);
  void begin(const tile::Op& op);
  void end(const tile::Op& op);
  void branch(const tile::Op& op);
  void next(const tile::Op& op);
  std::vector<Tile> variables(const std::vector<tile::ValueId>& values,
                              const std::vector<tile::ValueId>& initial);

  // Loops in two (from_tile_apart.cpp).
  struct Apart {
    size_t end = 0;  // of the operations of the first loop
    int64_t trips = 0;
    std::vector<tile::ValueId> kept;  // between the loops
  };
  std::optional<Apart> apart(const tile::Op& op) const;
  size_t fold_end(const std::vector<uint32_t>& ops) const;
  bool may_wait(const std::vector<uint32_t>& ops, size_t end) const;
  bool reads(const std::vector<uint32_t>& ops, tile::MemoryId memory) const;
  std::vector<tile::ValueId> used_later(const std::vector<uint32_t>& ops, size_t end) const;
  void loop_apart(const tile::Op& op, const Apart& a);
  void keep(tile::ValueId v, Array array, Value trip, const tile::Op& op, bool back);

  // Memory (from_tile_memory.cpp) and what is there of it (from_tile_conditions.cpp).
  void load(const tile::Op& op);
  void store(const tile::Op& op);
  size_t side_by_side(const tile::Op& op, size_t r) const;
  void prefetch(const tile::Op& op);
  bool is_row_major(tile::MemoryId m) const {
    return memories_[index_of(m)].buffer && k_[m].layout.digits.empty();
  }
  bool turned(const tile::Op& op, size_t r) const;
  std::vector<Value> turn(const tile::Op& op, size_t r, Type type);
  Value loaded(const tile::Op& op, const Address& at, size_t r, int lanes, Type type);
  Address address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r);
  Address buffer_address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r);
  Address local_address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r);
  Value element_address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r, int64_t e);
  Address uneven_address(const tile::Ref& ref, const tile::NamedPlacement& at, size_t r);
  Value joined(std::vector<Value> parts);
  std::optional<Value> digit(const Form& f, const AxisDigit& d, std::vector<int64_t>& lanes);
  Value element_index(const Address& a, int64_t e);
  Value element(const tile::Ref& ref, const Address& at, int64_t e);
  // Conditions of one register: those alike for all elements, a count of the first ones, and those
  // of neither kind.
  struct Valid {
    std::optional<Value> all, first;
    std::vector<std::pair<Value, int64_t>> others;  // value + step * element >= 0
    bool all_or_none() const { return all && !first && others.empty(); }
    bool always() const { return !all && !first && others.empty(); }
  };
  bool always(const Form& f) const;
  Value holds(const Form& f, const std::function<Value(uint32_t)>& read);
  std::optional<Value> all_hold(std::vector<Form> forms,
                                const std::function<Value(uint32_t)>& read);
  Valid valid(const std::vector<Form>& forms, const tile::NamedPlacement& at, size_t r, int lanes);
  Value holds(const Valid& v, int64_t e);
  Value count(const Valid& v, int lanes);

  // Forms.
  Value form(const Form& f);
  Lane lane(const Form& f, const tile::NamedPlacement& at, size_t r);
  Form placed(const Form& f, const tile::NamedPlacement& at, size_t r) const;
  int64_t multiple(Form f) const;
  Value gathered(uint32_t leaf, const tile::NamedPlacement& at, size_t r);

  // Expressions (from_tile_expr.cpp).
  void map(const tile::Op& op);
  void contract(const tile::Op& op);
  void reduce(const tile::Op& op);
  Value expression(const ExprPool& pool, ExprId root, const std::function<Value(uint32_t)>& leaf,
                   Type real);
  Value operation(const ExprPool& pool, const ExprNode& n, const std::map<ExprId, Value>& made,
                  Type real);
  Value power(const ExprPool& pool, const ExprNode& n, Value base, Value exponent, Type real);
  std::vector<Value> combined(const tile::Monoid& m, const std::vector<Value>& left,
                              const std::vector<Value>& right);
  Value at(tile::ValueId v, const tile::NamedPlacement& to, size_t r);
  void define(tile::ValueId v, std::vector<Value> registers);
  int lanes(tile::PlacementId id) const;
  size_t registers(tile::PlacementId id) const;
  Point point(const tile::NamedPlacement& at, size_t r, int64_t element = 0) const;
  std::vector<Value> folded(const tile::Op& op, const Point& x);
  std::vector<Value> tree(const tile::Monoid& m, std::vector<std::vector<Value>> terms);
  std::vector<Value> across(const tile::Monoid& m, std::vector<std::vector<Value>> rows);
  Value zero_based(double fill, Type type);

  Builder& b;
  const tile::Program& p_;
  const tile::Kernel& k_;
  std::vector<Memory> memories_;
  std::map<tile::ValueId, Tile> values_;
  std::map<DimId, Value> index_;        // of open loops, and digits of the thread's number
  int64_t threads_ = 1, subgroup_ = 1;  // of a group; of those, that exchange values
  int64_t vector_bytes_ = 4;            // of a thread's access
  std::map<std::pair<size_t, Type>, Array> scratch_;     // by component
  std::map<std::pair<int64_t, int64_t>, DimId> digits_;  // by stride and extent
  std::map<DimId, int64_t> extents_;  // of indices from 0 on, where they are known
  std::vector<std::pair<std::vector<Form>, Value>> conditions_;  // that open blocks have names for
  struct OpenLoop {
    DimId index;
    int64_t step = 1;
    std::optional<Form> lo;  // where it starts, if at one form
  };
  std::vector<OpenLoop> open_;
  std::vector<std::vector<Tile>> carried_;  // what `next` assigns, innermost last
  std::string failure_;
};

// What a form gains with each further element of a register of the placement.
Poly step_of(const Form& f, const tile::NamedPlacement& at);

}  // namespace tang::loop
