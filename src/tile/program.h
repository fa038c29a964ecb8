// Tile programs: what the threads of a block do, a tile at a time.
//
// A comprehension is computed by evaluating its body over tiles. A tile of values lies in
// registers, spread over threads by a Placement (view/placement.h), or in a memory, by a Storage.
// Operations load, map, reduce and contract tiles; `contract` is carried out by a row of the
// instruction table (target/row.h), so a scalar loop, an AVX register tile and a warpgroup's matrix
// product are the same operation with other rows.
//
//   kernel product
//     axis m, n, k
//     arg A[m : M, k : K] : bf16
//     …
//     loop p from 0 to K step 64 carry d = d0 {
//       s = receive ring
//       fence registers
//       d1, t = contract k : s.As[m + 64*h, k] * s.Bs[n, k] + d -> D : f32 row wgmma.bf16.ss
//       …
//
// Positions in a tile are its axes; a Form over axes, loop indices and params says where an element
// is read: `As[m + 64*h, k]` is row m + 64h for the tile's own m. A form may gather: the leaf
// number of a gathered term is the index of a value, an integer tile over axes that the reader has,
// as in `x[idx + 3*k, d]`. Nothing else computes addresses.
//
// Time is explicit. A kernel's warps are divided into *roles*; an operation belongs to some of
// them, and a role may be copied (two consumers). An asynchronous operation yields a *token* and is
// done when that has been waited for. What crosses roles goes through a *channel*: a ring of slots
// with a full and an empty signal, both sides counting from the start of the kernel (hopper.md
// section 3: slot = count mod depth, parity = count / depth mod 2). In a loop an operation of
// *stage* s of trip n runs in trip n + s, after all operations of lower order; values belong to
// their trip.
//
// Values are single assignments: a loop carries values through its body (`next` names the new ones)
// and yields the last. Operations are a flat list; regions list them in order.
//
// Written out by tile/text.h, checked by tile/verify.h, run by tile/machine.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "expr/expr.h"
#include "target/row.h"
#include "view/form.h"
#include "view/storage.h"

namespace tang::tile {

enum class ValueId : uint32_t { none = 0xffffffff };
enum class MemoryId : uint32_t { none = 0xffffffff };  // an argument or a memory of the kernel
enum class MapId : uint32_t { none = 0xffffffff };
enum class ChannelId : uint32_t { none = 0xffffffff };
enum class RegionId : uint32_t { none = 0xffffffff };
enum class PlacementId : uint32_t { none = 0xffffffff };
enum class MonoidId : uint32_t { none = 0xffffffff };
using RoleId = uint32_t;
using RoleSet = uint64_t;  // bit r: role r
template <class Id>
constexpr uint32_t index_of(Id id) {
  return static_cast<uint32_t>(id);
}

// ---- names of the index space ------------------------------------------------------------------

// What a DimId of the kernel's forms is.
struct Index {
  enum class What : uint8_t {
    axis,  // of tiles: its coordinate within the tile
    loop,  // the index of a loop
    tile,  // a coordinate of the tile that a loop over tiles is at
    copy,  // which copy of its role this is
  };
  std::string name;
  What what = What::axis;
};

// ---- memories ----------------------------------------------------------------------------------

enum class Life : uint8_t {
  op,
  kernel,
  call,
  program
};  // prepacked constants live for the program

// An argument in global memory, or a tile's place in a memory of the kernel.
struct Memory {
  enum class Role : uint8_t { input, output, work, local };
  std::string name;
  Role role = Role::local;
  Space space = Space::global;
  Format format = Format::f32;
  std::vector<DimId> axes;
  std::vector<Poly> extents;  // one an axis; constants unless it is an argument
  // Of a local one, and of an argument that lives for the program: it is prepared, by one kernel
  // that it is an output of, for others. Other arguments are row-major.
  Storage layout;
  Life life = Life::kernel;
};

// A bulk tensor copy's view of an argument: a box with a layout of its own in shared memory.
struct TensorMap {
  enum class Use : uint8_t { load, store, add };
  std::string name;
  Use use = Use::load;
  MemoryId of = MemoryId::none;
  std::vector<int64_t> box;  // one an axis of the argument
  int64_t swizzle = 0;       // bytes of the span: 0, 32, 64, 128
};

// ---- who does it -------------------------------------------------------------------------------

struct Role {
  std::string name;
  int64_t first_warp = 0;
  int64_t warps = 1;      // of all copies together
  int64_t registers = 0;  // a thread's; 0: as many as there are
  std::optional<DimId> copy;
  int64_t copies = 1;
};

// How one side of a channel tells the other.
struct Signal {
  enum class By : uint8_t {
    transaction,  // an mbarrier that counts the bytes of bulk copies
    arrival,      // an mbarrier that counts arrivals
    named,        // a named barrier of both sides' threads
    bulk_read,    // the producer's own bulk stores have read the slot
  };
  By by = By::arrival;
  RoleSet from = 0;
  int64_t each = 1;   // arrivals from each copy of those roles
  int64_t bytes = 0;  // of a transaction: what one slot receives
  // Phases taken for completed when the kernel starts, mod 2: slots start empty.
  int64_t phase = 0;
};

struct Channel {
  std::string name;
  std::vector<MemoryId> members;  // what a slot holds; none: a plain signal
  int64_t depth = 1;
  bool per_copy = false;  // each copy of the producer's role has a ring of its own
  Signal full, empty = {.phase = 1};
};

// Copies of a role one after the other, in a ring; `first` begins.
struct Turn {
  std::string name;
  RoleId role = 0;
  int64_t first = 0;
};

// ---- values ------------------------------------------------------------------------------------

// A monoid as data. In `combine`, variable 2k is component k of the earlier state and 2k + 1 of the
// later.
struct Monoid {
  std::string name;
  bool builtin = false;  // sum, prod, max, min: declared by use
  std::vector<std::string> fields;
  std::vector<Kind> kinds;  // by field; none: any, all alike
  std::vector<double> identity;
  std::vector<ExprId> combine;
  bool commutative = true;
};

struct Type {
  enum class What : uint8_t { tile, slot, token } what = What::tile;
  PlacementId placement = PlacementId::none;
  Format format = Format::f32;
  MonoidId partial = MonoidId::none;  // of the placement's partial digits
  ChannelId channel = ChannelId::none;
};

struct NamedPlacement {
  std::string name;
  std::vector<DimId> axes;
  Placement placement;
};

struct Value {
  std::string name;
  Type type;
};

// Elements of a memory, of a member of a slot, or of a tensor map's box, by forms over the axes of
// what is read or written, loop indices and params.
struct Ref {
  enum class What : uint8_t { none, memory, member, map } what = What::none;
  MemoryId memory = MemoryId::none;  // a member's too
  ValueId slot = ValueId::none;
  MapId map = MapId::none;
  std::vector<Form> at;  // one an axis of the memory
};

// What a variable of a map's expression is.
struct Leaf {
  std::optional<uint32_t> argument;  // number among the op's arguments; otherwise an integer form
  Form form;
};

enum class OpKind : uint8_t {
#define TANG_TILE_OP(name, group) name,
#include "tile/ops.def"
};
enum class OpGroup : uint8_t { data, channel, order, control };
struct OpInfo {
  std::string_view name;
  OpGroup group = OpGroup::data;
};
const OpInfo& info(OpKind kind);
std::optional<OpKind> parse_op(std::string_view name);

enum class Fence : uint8_t { registers, async };

struct Op {
  OpKind kind = OpKind::next;
  RoleSet roles = 0;
  uint8_t stage = 0;
  bool one_thread = false;
  std::vector<ValueId> results;
  // Tiles; slots and tokens of channel and order operations; a loop's initial values; `none` is
  // nothing to wait for or release.
  std::vector<ValueId> args;
  std::vector<Ref> refs;    // load: source. store: target. copy: source, target. contract: operands
  std::vector<Form> valid;  // elements where some form is negative get the fill, or are not written
  double fill = 0;
  std::string row;                   // of the instruction table; empty: any
  std::vector<DimId> over;           // contract, reduce
  std::vector<int64_t> box;          // copy: extents of `over`, the axes that its refs mention
  MonoidId monoid = MonoidId::none;  // reduce, fold: a tile for each component
  ExprId body = ExprId::none;
  std::vector<Leaf> leaves;  // of body's variables
  std::vector<Form> from;    // slice: where, one an axis; constant once loops are unrolled
  bool negate = false;       // contract: subtracts the products
  ChannelId channel = ChannelId::none;
  uint32_t turn = 0;
  Fence fence = Fence::registers;

  // Control.
  RegionId body_region = RegionId::none, other_region = RegionId::none;
  struct Range {
    std::vector<DimId> indices;  // one; of a loop over tiles, one an axis of the order
    bool tiles = false;
    std::vector<Form> lo, hi;  // the greatest, the least
    int64_t step = 1;
    bool down = false;
    bool parallel = false;  // trips are independent: those who run the kernel share them
  };
  Range range;
  std::vector<Form> holds;  // branch: all are >= 0; its results are what `next` of its blocks names
  std::vector<ValueId>
      carried;  // what the body calls a loop's values, parallel to args and results
  Location where;
};

struct Region {
  std::vector<uint32_t> ops;
};

// In which order tiles of the output are computed, and by how many workers.
struct TileOrder {
  std::vector<DimId> axes;    // of the index space
  std::vector<Poly> extents;  // of those axes
  std::vector<int64_t> tile;  // extents of a tile
  struct Digit {
    AxisDigit of;  // of the tile's number along an axis
    bool reversed = false;
  };
  std::vector<Digit> digits;  // slowest first; empty: row-major
  int64_t workers = 0;        // blocks; 0: one a tile
};

struct Kernel {
  std::string name;
  std::string target;  // "nvidia.sm90a": a capability record
  std::vector<Index> indices;
  std::vector<Memory> memories;
  std::vector<TensorMap> maps;
  std::vector<Role> roles;
  std::vector<Channel> channels;
  std::vector<Turn> turns;
  std::vector<NamedPlacement> placements;
  std::vector<Monoid> monoids;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<Region> regions;  // the first is the kernel's body
  std::optional<TileOrder> order;
  ExprPool pool;

  const Memory& operator[](MemoryId id) const { return memories[index_of(id)]; }
  const TensorMap& operator[](MapId id) const { return maps[index_of(id)]; }
  const Channel& operator[](ChannelId id) const { return channels[index_of(id)]; }
  const NamedPlacement& operator[](PlacementId id) const { return placements[index_of(id)]; }
  const Monoid& operator[](MonoidId id) const { return monoids[index_of(id)]; }
  const Value& operator[](ValueId id) const { return values[index_of(id)]; }
  const Region& operator[](RegionId id) const { return regions[index_of(id)]; }
  const Index& operator[](DimId id) const { return indices[index(id)]; }
};

struct Program {
  std::vector<std::string> params;
  std::vector<Kernel> kernels;
};

}  // namespace tang::tile
