// Loop programs that hold every operation, format and statement.
#pragma once

#include <string>
#include <vector>

#include "loop/program.h"

namespace tang {

struct CorpusEntry {
  std::string name;
  std::vector<std::string> rows;  // what a row of the output is, where it has several
  LoopProgram program;
};

// All that the C emitter runs too: kernels of one thread.
const std::vector<CorpusEntry>& scalar_corpus();
// Groups of threads with shared arrays and barriers.
const std::vector<CorpusEntry>& group_corpus();
// Groups whose threads exchange values.
const std::vector<CorpusEntry>& exchange_corpus();

}  // namespace tang
