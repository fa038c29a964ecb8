// What it takes to turn a tile placed one way into the same tile placed another way.
//
// The accumulator of a matrix instruction is seldom where the next instruction wants its operand.
// Often it costs nothing: the element is in the same thread, in another register; or it would be,
// if the positions of the next product's summed axis were read in another order, which a sum
// permits as long as both operands agree. Nothing here knows an instruction: both answers are read
// off the maps.
#pragma once

#include "view/placement.h"

namespace tang {

enum class Relation : uint8_t {
  same,        // every position holds the same element in both
  reg_perm,    // each thread has what it wants, in other registers, the same ones in all threads
  k_perm,      // the same after a permutation of one axis, which a commutative fold over it permits
  shuffle,     // between lanes of a warp
  via_shared,  // between warps or steps, through memory
  fold,        // a partial digit of `from` is none of `to`: the fold over it is taken first
  mask,        // a partial digit of `to` is none of `from`: the identity goes to all but one
};
std::string_view name(Relation r);

struct Conversion {
  Relation relation = Relation::via_shared;
  // reg_perm and k_perm: register r of `to` is registers[r] of `from`. Elements of a register count
  // as registers, so that a pair of f32 and a packed pair of f16 are numbered alike: r * elements +
  // e.
  std::vector<int64_t> registers;
  uint32_t axis = 0;           // k_perm
  std::vector<int64_t> order;  // k_perm: what `to` calls x is order[x] of `from`
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

// The cheapest relation, in the order of the list. Both placements are over the same box.
// `free_axis` is an axis whose order may be permuted. A k_perm that exists is found if the index
// digits of both have one term each.
Conversion relation(const Placement& from, const Placement& to,
                    std::optional<uint32_t> free_axis = std::nullopt);

}  // namespace tang
