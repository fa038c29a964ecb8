// Placements and storages as text.
//
//   warp 4 -> 16m, lane 8*4 -> m, lane 4 -> 2n, reg 2 -> n, reg 2 -> 8m, reg n/8 -> 8n
//   lane 4 replica            a digit that holds the same everywhere; `partial` likewise
//   reg 4 -> m + 4n           a digit may move several axes
//   lane 32 -> m, at 64m      the first position holds m = 64
//   single                    one position
//   [k/64 : 16384, m : 128, k%64 : 2] at 512 sw128 align 1024
//   [k/16%4 : 32, m : 128] sw(1,4,3)
//
// `8*4` is extent 8, stride 4. A stride left out is the least that no digit of the level written
// earlier covers, counting from 1: `reg 2, reg 2, reg 32` have strides 1, 2 and 4. Printing leaves
// out a stride exactly when parsing gives it back.
//
// Extents, strides, coefficients (in parentheses: `(n/8)m`) and bytes are integer expressions over
// names that the caller gives values to; a division must come out even. Axes are called by the
// names the caller lists.
#pragma once

#include <string>

#include "view/scanner.h"
#include "view/storage.h"

namespace tang {

using AxisNames = std::vector<std::string>;

// Errors: E0111, with line 1 and the column in `text`; also what Placement::fault says.
Result<Placement> parse_placement(std::string_view text, const AxisNames& axes,
                                  const Names& names = {});
Result<Storage> parse_storage(std::string_view text, const AxisNames& axes,
                              const Names& names = {});

// Parsed with the same axes, the text gives the value back. One name for each axis.
std::string print(const Placement& p, const AxisNames& axes);
std::string print(const Storage& s, const AxisNames& axes);

}  // namespace tang
