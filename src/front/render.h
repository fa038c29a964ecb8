// Diagnostics as people read them (language.md 2, Messages): the place, the line of the program
// with its carets, and what to do.
//
//   attention.tang:7:36: error E0401: axis 0 of `k` is too short for this read
//     7 | s[h, i, j] = sum[d](q[h, i, d] * k[h + 1, j, d]) / sqrt(64)
//       |                                    ^^^^^ runs over 1…8, `k[8, seq, 64]` has 0…7
//     hint: shrink `h`, or write `k?[h + 1, …]` to read 0 outside
#pragma once

#include <string>

#include "base/diagnostic.h"
#include "front/source.h"

namespace tang {

// The message, each line ended by a newline. Without a `source` (or a place) the program line is
// left out. `color` adds terminal colours and changes no character otherwise.
std::string render(const Diagnostic& diagnostic, const Source* source, bool color = false);

// All of them, with an empty line between two.
std::string render(const Diagnostics& diagnostics, const Source* source, bool color = false);

}  // namespace tang
