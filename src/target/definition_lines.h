// The shape that all `.def` texts of this folder share: blocks of a head line and indented lines.
//
//   # a comment, to the end of the line
//   machine cpu.avx2          a head
//     vector_bytes 32         a line of its body, indented by two spaces
//     formats f32 f64
//         i32                 indented deeper: goes on the line above
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tang {

struct DefinitionLine {
  int number = 0;    // 1-based, of its first line
  std::string text;  // without indentation and comment, lines that go on joined by a space
};

struct DefinitionBlock {
  DefinitionLine head;
  std::vector<DefinitionLine> body;
};

// Error E0111: a line that is indented before any head, or goes on nothing.
Result<std::vector<DefinitionBlock>> read_blocks(std::string_view text);

// Puts the place of `line` in `file` into an error that knows its column at most.
Diagnostic placed(Diagnostic d, const std::string& file, const DefinitionLine& line);

}  // namespace tang
