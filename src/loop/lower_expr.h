// Scalar expressions inside a kernel under construction: where each part is computed, and how.
//
// A kernel's loops are numbered by level from the outside in. Every coordinate has a level, and a
// part of an expression is computed (in a `let`) at the deepest level of the leaves below it, if it
// is used more than once or from deeper inside. A Region is the analysis of a set of roots that are
// wanted at some place; `prepare(region, level)` writes the lets of that level once its loop is
// open.
//
// Reads never touch memory out of range: a guarded or gathered read, and one that is computed
// outside the loops and conditions that keep it in range, tests its bounds and yields the fill.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "loop/builder.h"

namespace tang::loop {

// Where a state component lives; `left` and `right` leaves of steps name slots by number.
struct Slot {
  enum class Where : uint8_t { var, array, buffer, lane };
  Where where = Where::var;
  Kind kind = Kind::real;
  Value var;
  Array array;
  BufferId buffer{};
  std::vector<DimId> inner;  // looped inside the reduce loops; the index is row-major over them
};

struct Region {
  struct Item {
    int level = 0;
    int user_level = 0;  // deepest level of a use
    int uses = 0;
    int depth = 1;  // of the tree as written, lets being leaves
    int size = 1;
    bool bind = false;    // written as a let
    bool tested = false;  // a read that tests its bounds
  };
  std::vector<ExprId> order;  // operands before users
  std::unordered_map<uint32_t, Item> items;
  int body = 0;   // the level from which on every guard holds
  int state = 0;  // the level at which states are read
};

class Expressions {
 public:
  using Inline = std::function<Value(LeafId leaf, int level)>;

  Expressions(Graph& graph, Builder& builder, const std::vector<std::optional<BufferId>>& buffer_of,
              Type real_type)
      : g(graph), b(builder), buffers_(buffer_of), real_(real_type) {}

  // Levels of coordinates, planned or open, and the values of open ones.
  std::map<DimId, int> level_of;
  std::map<DimId, Value> value_of;
  std::map<DimId, std::pair<Value, Value>> inner_index;  // position and extent inside its block
  std::vector<Slot> slots;
  Value lane, right_lane;          // index of lane slots
  std::vector<Value> left, right;  // if not empty, what left and right leaves are, by slot
  Inline inline_read;              // lowers a read of an inlined definition
  std::function<bool(TensorId)> is_inlined;

  Region region(const std::vector<ExprId>& roots, int body, int state);
  void prepare(Region& r, int level);
  Value value(Region& r, ExprId e);
  // The value of a root at `level`, preparing what it needs there.
  Value eval(ExprId e, int level);
  // The value of a component's new state; `a + b * c` on the state is fused if `contract`.
  Value step(Region& r, ExprId e, bool contract);

  Value convert(Value v, Kind to);
  Type type_of(Kind k) const;
  Value load_slot(const Slot& s, Value lane_index);
  void store_slot(const Slot& s, Value v);
  Value address(TensorId t, const std::vector<Form>& forms, Region& r);
  Value form(const Form& f, Region& r);

  // Names of lets end with the block that holds them.
  void open() { scopes_.emplace_back(); }
  void close();
  bool failed() const { return failed_; }
  // Conditions under which a read stays inside its tensor; all axes that need one.
  std::vector<ExprId> tests(LeafId leaf, bool hoisted);

 private:
  std::vector<ExprId> operands(ExprId e, bool hoisted);
  int leaf_level(const Leaf& l, const Region& r) const;
  void measure(Region& r);
  Value build(Region& r, ExprId e);
  Value build_leaf(Region& r, ExprId e);
  Value slot_index(const Slot& s);
  bool trivial(ExprId e) const;

  Graph& g;
  Builder& b;
  const std::vector<std::optional<BufferId>>& buffers_;
  Type real_;
  std::unordered_map<uint32_t, Value> memo_;
  std::vector<std::vector<uint32_t>> scopes_ = {{}};
  bool failed_ = false;
};

}  // namespace tang::loop
