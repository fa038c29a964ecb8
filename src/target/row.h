// Instructions as data.
//
// A row of a table says everything that the compiler knows about an instruction: what it computes,
// as a comprehension; who holds each operand, as a placement; which sizes there are; when the
// result may be read; what it costs; and its text. Lowering matches the body of a comprehension
// against what rows compute, turns operands into the placements that a row wants (view/relation.h)
// and emits its text. Nothing but the tables knows an instruction's name.
//
//   place accumulator (m, n) = warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m,
//   …
//
//   row wgmma.m64n{n}k16.bf16.ss
//     do d[m, n] = sum a[m, k] * b[n, k]
//     size m 64, n 8..256/8, k 16
//     d reg f32 accumulates overwrites : accumulator
//     a shared bf16 negates : k_span, k_plain, m_span, m_plain
//     …
//
// The notation is that of target/table.h. A row stands for all its sizes: placements are functions
// of them (`reg n/8 -> 8n`), and `wgmma.m64n176k16.bf16.ss` names the row at one size.
//
// Holes of a text, in braces: a size by its axis; an operand by its name (its registers with commas
// between them, its address, matrix descriptor or tensor map); `{a.1}` one register of it;
// `{a.bytes}` its bytes, or what an operand's other facts call for (Operand); and the words of
// `immediates`, which belong to the row as a whole. A text is C or, where the row needs `sm…`, PTX.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>

#include "base/format.h"
#include "expr/expr.h"
#include "view/placement_text.h"

namespace tang {

enum class Space : uint8_t { reg, shared, cluster_shared, packed, global };
// Who carries a row out together.
enum class Scope : uint8_t { thread, warp, warpgroup, one_thread, group, cluster };
// How one learns that it is done. All but `blocking` go on after the row.
enum class Done : uint8_t {
  blocking,         // when the next instruction runs
  commit_group,     // groups committed by the thread or warpgroup, waited for by their number
  mbarrier_tx,      // bytes counted by a barrier in shared memory
  mbarrier_arrive,  // arrivals counted by one
  named,            // a barrier of the block
  bulk_group,       // groups of the thread: written
  bulk_group_read,  // groups of the thread: read, so that the source may be written again
};
// The path to memory. A fence stands between writing by one and reading by another.
enum class Proxy : uint8_t { generic, async };

std::string_view name(Space s);
std::string_view name(Scope s);
std::string_view name(Done d);
std::string_view name(Proxy p);
std::optional<Space> parse_space(std::string_view name);
std::optional<Scope> parse_scope(std::string_view name);
std::optional<Done> parse_done(std::string_view name);
std::optional<Proxy> parse_proxy(std::string_view name);

// Allowed values of a size: from, from + step, … to.
struct Run {
  int64_t from = 1, to = 1, step = 1;
};

struct Choice {
  std::vector<Run> runs;  // ascending, apart from each other

  bool allows(int64_t size) const;
  std::vector<int64_t> values() const;
  std::string text() const;  // `8 16 24 32 48..256/16`
};

struct SizedAxis {
  std::string name;
  Choice sizes;
};

// A value for each axis of a row, in the row's order.
using Sizes = std::vector<int64_t>;

// A placement as a function of sizes: text over axes of its own names.
struct PlacementRule {
  std::string text;
  AxisNames axes;
};

// How an operand may lie in shared memory: a storage over names that the operand's place decides.
//   size  bytes of an element          T     elements in 16 bytes
//   span  bytes of the swizzle         S     elements in a span
//   lbo, sbo  the leading and stride byte offsets of a matrix descriptor
struct Layout {
  std::string name;
  AxisNames axes;
  uint32_t major = 0;          // the axis that runs fastest, of `axes`
  std::vector<int64_t> spans;  // bytes; 0 is no swizzle
  std::string text;
};

// `accumulates`: the old value is added; `overwrites`: it may be left out, by the hole {d.keep} (0
// or 1). `negates`: {a.sign} is 1 or -1. `majors` in `Layout`s: {a.trans} is 0 if the contracted
// axis runs fastest and 1 if not. `masks`: {a.mask} says which elements are touched. `fills`:
// elements outside the tensor are read as 0 ({a.bytes} of them are inside, if the row has no tensor
// map); `clips`: they are not written.
struct Operand {
  std::string name;
  std::vector<Space> spaces;
  std::vector<Format> formats;    // if there are several, all operands of the row take the same one
  std::vector<uint32_t> axes;     // of the row
  PlacementRule holds;            // in registers: who holds which element
  std::vector<uint32_t> layouts;  // in shared memory: numbers in Tables::layouts, if not any
  std::optional<PlacementRule> addresses;  // who gives the address of which elements
  int64_t bytes_per_address = 0;
  bool accumulates = false, overwrites = false, negates = false;
  bool masks = false, fills = false, clips = false, multicast = false;
  bool streams = false;         // written past the caches, seen by others after a fence
  bool not_negative = false;    // coordinates of the box must not be negative
  int64_t align = 1;            // bytes, of an address or a tensor's base
  int64_t stride_multiple = 1;  // bytes, of a tensor's strides but the innermost
  int64_t step_multiple = 1;    // bytes, of the innermost coordinate of a box
};

struct Computes {
  enum class Kind : uint8_t { move, map, contract, fold, shuffle, prefetch };
  Kind kind = Kind::move;
  Op op = Op::add;                 // map: what; contract and fold: the operation that folds
  std::string exchange;            // shuffle: xor, up, down or index
  std::optional<uint32_t> result;  // of Row::operands
  std::vector<uint32_t> arguments;
};

struct Row {
  std::string name;  // with holes for sizes
  std::vector<SizedAxis> axes;
  Computes computes;
  std::vector<Operand> operands;
  Scope scope = Scope::thread;
  Done done = Done::blocking;
  Proxy proxy = Proxy::generic;
  std::string needs;         // a feature of the machine; empty: none
  int accumulator_bits = 0;  // a sum's terms are cut below this many bits of the largest; 0: exact
  bool truncates = false;    // the sum is cut toward zero, not rounded
  int promote_every = 0;  // rows after which an accurate sum moves to another accumulator; 0: never
  std::string issue = "1";    // cycles that the unit is busy, at peak rates: an expression of sizes
  std::string latency = "0";  // cycles to the result; 0: not known
  std::string text;           // lines

  const Operand* find(std::string_view operand) const;
  // The axes that the result has not.
  std::vector<uint32_t> folded() const;

  // Each size is allowed; the message says what is.
  Result<void> check(const Sizes& sizes) const;
  // Values of the axes by name.
  Names names(const Sizes& sizes) const;
  // An operand's placement at allowed sizes, over its own axes; `holds` of one in registers,
  // `addresses` of one that has them.
  Result<Placement> holds(const Operand& operand, const Sizes& sizes) const;
  Result<Placement> addresses(const Operand& operand, const Sizes& sizes) const;
  // The operand's extents, in the order of its axes.
  Point box(const Operand& operand, const Sizes& sizes) const;
  Result<int64_t> issue_cycles(const Sizes& sizes) const;
  Result<int64_t> latency_cycles(const Sizes& sizes) const;
  std::string name_at(const Sizes& sizes) const;
};

// The words of a text's holes that are not sizes, operands or their facts.
extern const std::vector<std::string_view> immediates;

// Replaces `{hole}` by its value; a hole without one stays.
std::string fill_holes(std::string_view text,
                       const std::function<std::optional<std::string>(std::string_view)>& value);
// The holes of a text, in order.
std::vector<std::string_view> holes(std::string_view text);

}  // namespace tang
