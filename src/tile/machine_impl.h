// The machine's state and its parts; see machine.h for what it is.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>

#include "expr/apply.h"
#include "tile/machine.h"
#include "tile/vm_barrier.h"
#include "tile/vm_body.h"

namespace tang::tile {

// A warp's part of a tile: element lane * registers + register.
struct Part {
  PlacementId placement = PlacementId::none;
  std::vector<double> elements;
};

struct Token {
  Agent agent = 0;
  uint32_t number = 0;
};

// What a value is for one warp.
struct Instance {
  // `nothing` is what the text calls none; `unknown` has no value in this trip.
  enum class What : uint8_t { unknown, nothing, tile, slot, token } what = What::unknown;
  std::shared_ptr<Part> part;
  std::optional<Token> in_flight;  // what fills the part
  uint64_t touched = 0;            // when an operation other than a matrix unit's wrote it
  Token token;
  ChannelId channel = ChannelId::none;
  size_t ring = 0;
  int64_t slot = 0;
};

struct Frame {
  RegionId region = RegionId::none;
  size_t at = 0;
  const Op* op = nullptr;  // the loop or branch whose body this is
  int64_t trips = 1, trip = 0, stages = 0;
  int64_t first = 0, step = 1;
  std::vector<Point> tiles;
  int64_t current = 0;  // the trip that the operation being run belongs to
  uint64_t part = 1;    // that the loop or branch is in
  std::map<int64_t, std::unordered_map<uint32_t, Instance>> values;  // by trip
};

struct Warp {
  uint32_t id = 0;
  RoleId role = 0;
  int64_t copy = 0, within = 0;  // which copy of the role, which warp of the copy
  Clock knows, fenced;
  std::vector<int64_t> index;  // values of loop indices, by DimId
  std::vector<Frame> frames;
  std::vector<int64_t> produced, consumed;  // slots counted, by channel
  uint64_t sequence = 0, fenced_at = 0;     // of operations on registers; of the last fence
  int phase = 0;                            // of the operation being run
  int64_t generation = 0;
  uint32_t synced = 0;  // its accesses up to this are ordered before those of all its lanes
  uint64_t part = 1;    // of the kernel, that runs beside others
  std::map<uint32_t, int64_t> visits;  // of collective operations
  const Op* waiting = nullptr;
  bool done = false;
};

// An asynchronous operation between issue and completion.
struct Pending {
  uint32_t number = 0;
  Clock knows, fenced;
  uint64_t part = 1;
  std::function<void(const View&)> perform;
  std::function<void(const Clock& knows, const Clock& fenced)> signal;
};

// The operation that the warps of a copy come together for.
struct Gathering {
  std::map<int64_t, std::vector<Instance>> args;     // by warp of the copy
  std::map<int64_t, std::shared_ptr<Part>> results;  // of a matrix operation
  std::vector<std::vector<double>> states;           // of a reduction, by group of terms
  Token token;
  bool issued = false;
  int64_t left = 0;  // warps that have not gone on yet
};

class Machine {
 public:
  Machine(const Program& program, const Kernel& kernel, std::vector<int64_t> params,
          std::vector<Array*> arguments, MachineOptions options);
  Result<void> run();

 private:
  // Scheduling.
  void find_memories();
  void start_block(int64_t worker);
  void run_block();
  bool step(Warp& w);  // false: blocked
  bool complete_one();
  void perform(Agent agent);
  std::string blocked() const;

  // Control.
  bool add_gathered(Warp& w, const std::vector<Form>& forms, std::vector<int64_t>& index);
  bool enter(Warp& w, const Op& op);
  void leave(Warp& w);
  void forget(Warp& w);
  bool begin_op(Warp& w, Frame& f, const Op& op);
  std::vector<Point> tiles_of(int64_t worker) const;
  bool execute(Warp& w, const Op& op);
  Instance lookup(Warp& w, ValueId v, size_t depth);
  Instance lookup(Warp& w, ValueId v) { return lookup(w, v, w.frames.size()); }
  void define(Warp& w, ValueId v, Instance instance);
  const Op* next_of(RegionId region) const;

  // Waiting.
  bool channel_op(Warp& w, const Op& op);
  void define_slot(Warp& w, const Op& op, size_t ring, int64_t slot);
  bool acquire(Warp& w, const Op& op);
  bool commit(Warp& w, const Op& op);
  bool receive(Warp& w, const Op& op);
  bool release(Warp& w, const Op& op);
  bool drain(Warp& w, const Op& op);
  bool order_op(Warp& w, const Op& op);
  bool meet(Warp& w, NamedBarrier& barrier);
  bool is_done(const Token& t) const;
  void learn(Warp& w, const Clock& knows, const Clock& fenced);
  size_t ring_of(const Warp& w, ChannelId c) const;
  bool within_role(ChannelId c) const;
  bool arrives(const Warp& w, const Signal& s) const;
  void check(const MBarrier& barrier);

  // Data.
  bool data_op(Warp& w, const Op& op);
  void load(Warp& w, const Op& op);
  void store(Warp& w, const Op& op);
  bool copy(Warp& w, const Op& op);
  void copy_in(Warp& w, const Op& op);
  void copy_out(Warp& w, const Op& op);
  void copy_all(Warp& w, const Op& op);
  void map(Warp& w, const Op& op);
  void convert(Warp& w, const Op& op);
  bool contract(Warp& w, const Op& op);
  void multiply(const Warp& w, const Op& op, const std::map<int64_t, std::vector<Instance>>& args,
                const std::map<int64_t, std::shared_ptr<Part>>& results, const View& view);
  void issue(Warp& w, const Op& op, Gathering& g);
  uint32_t op_number(const Op& op) const;
  void check_registers(Warp& w, const Op& op, const std::vector<Instance>& args);

  // Elements.
  struct Layout {  // a placement's coordinates for one warp of a copy
    size_t rank = 0, registers = 1;
    std::vector<int64_t> coordinates;  // of element e: rank numbers from e * rank on
    std::vector<Position> at;
    std::vector<uint8_t> leads;  // of replicas in other threads this is the first
    int32_t lane(size_t e) const { return static_cast<int32_t>(e / registers); }
    Point point(size_t e) const {
      const auto first = coordinates.begin() + static_cast<long>(e * rank);
      return Point(first, first + static_cast<long>(rank));
    }
  };
  const Layout& layout(PlacementId p, int64_t within);
  struct Flat {  // a form at these params; gathered values have indices after the kernel's own
    int64_t base = 0;
    std::vector<std::pair<uint32_t, int64_t>> terms;
    int64_t at(const std::vector<int64_t>& index) const;
  };
  Flat flat(const Form& f) const;
  std::vector<Flat> flat(const std::vector<Form>& forms) const;
  // Values that forms gather, and where the elements of a placement find them.
  struct Gathers {
    bool held = true;
    std::vector<std::pair<size_t, Instance>> values;  // by index
    std::vector<const std::vector<size_t>*> where;
  };
  Gathers gathers(Warp& w, const Op& op, PlacementId at);
  // Sets the indices of an element of the placement: coordinates, then gathered values.
  void set_index(std::vector<int64_t>& index, PlacementId at, const Layout& l, size_t e,
                 Gathers& gathers) const;
  struct Place {  // of elements of a ref
    const Memory* memory = nullptr;
    MemoryId id = MemoryId::none;
    std::vector<Flat> at;
    int64_t base = 0;  // byte of shared memory
    Point extents;
  };
  Place place(Warp& w, const Ref& ref);
  // Elements of another tile of the same thread or warp, for each element of a tile.
  using Table = std::vector<size_t>;
  const Table& aligned(const Warp& w, PlacementId from, PlacementId to);
  const Table& moved(const Warp& w, PlacementId from, PlacementId to, const Point& offset);
  struct Plan {           // of a reduction: terms of each group in order, and each result's group
    bool across = false;  // warps: terms are numbered through all of them
    std::vector<Table> groups;
    Table group_of;
  };
  const Plan& plan(const Warp& w, PlacementId from, PlacementId to, bool folds);
  bool is_across_warps(PlacementId from, PlacementId to, bool folds) const;
  bool combine(Warp& w, const Op& op, bool folds);
  std::vector<std::vector<double>> folded(const Op& op, const Plan& p,
                                          const std::map<int64_t, std::vector<Instance>>& args);
  void scan(Warp& w, const Op& op);
  void solve(Warp& w, const Op& op);
  // b after a, by the monoid.
  std::vector<double> combined(const Monoid& m, const std::vector<double>& a,
                               const std::vector<double>& b);
  double read(const Place& p, const Point& x, const View& view);
  void write(const Place& p, const Point& x, double value, const View& view);
  void add(const Place& p, const Point& x, double value, const View& view);
  bool inside(const Place& p, const std::vector<int64_t>& index, Point& x);
  View view(const Warp& w, int32_t lane = several_lanes) const;
  std::shared_ptr<Part> new_part(PlacementId p, int64_t within);
  Instance tile_of(Warp& w, ValueId v, bool by_matrix_unit = false);
  void result(Warp& w, const Op& op, size_t k, std::shared_ptr<Part> part);
  Agent agent_of_slot(ChannelId c, size_t ring, int64_t slot) const;

  void fault(const Warp* w, const Op* op, std::string text);
  void check_memory(const Warp& w, const Op& op);

  const Program& program_;
  const Kernel& k_;
  std::vector<int64_t> params_;
  std::vector<Array*> arguments_;  // by MemoryId of an argument
  MachineOptions options_;
  std::mt19937_64 random_;

  // Layout of the block.
  std::vector<Warp> warps_;
  std::vector<int64_t> warps_per_copy_;          // by role
  std::vector<std::vector<int64_t>> slot_base_;  // by channel: byte of member m of ring r, slot s
  std::vector<int64_t> memory_base_;             // by MemoryId
  int64_t shared_bytes_ = 0;
  int64_t lanes_ = 1;  // of a warp; one where no placement knows of them
  size_t agents_ = 0;
  std::vector<Agent> matrix_agent_, slot_agent_, store_agent_;  // by role copy, channel, warp

  // The block's state.
  std::optional<SharedMemory> shared_;
  std::vector<std::vector<MBarrier>> full_, empty_;  // by channel: ring * depth + slot
  std::vector<std::vector<NamedBarrier>> meeting_;   // by role: one a copy
  std::vector<std::vector<NamedBarrier>> turn_;      // by turn: one a copy
  std::vector<std::vector<uint32_t>> last_store_;    // by channel: ring * depth + slot
  std::vector<std::deque<Pending>> queue_;           // by agent
  std::vector<uint32_t> issued_, performed_;         // by agent
  std::vector<std::pair<Clock, Clock>> finished_;    // by agent: what completion makes known
  std::map<std::tuple<uint32_t, RoleId, int64_t, int64_t>, Gathering> gatherings_;
  std::map<std::pair<uint32_t, int64_t>, Layout> layouts_;
  std::map<const Ref*, Place> places_;  // of the operands being multiplied
  std::map<std::tuple<uint32_t, uint32_t, int64_t, Point>, Table> tables_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t, bool>, Plan> plans_;
  std::map<const Op*, Body> bodies_;  // of maps
  std::map<const Monoid*, std::vector<Body>> combines_;
  size_t element_ = 0;                 // that a map is at
  std::vector<GlobalMemory> globals_;  // by MemoryId of an argument, of one array by the first
  std::vector<size_t> global_of_;      // by MemoryId
  std::map<std::tuple<uint64_t, uint32_t, int64_t>, uint64_t> parts_;  // trips of parallel loops
  std::optional<Diagnostic> fault_;
  int64_t steps_ = 0;
};

}  // namespace tang::tile
