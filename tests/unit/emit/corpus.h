// Loop programs that hold every operation, format and statement.
#pragma once

#include <string>
#include <vector>

#include "loop/program.h"

namespace tang {

struct CorpusEntry {
  std::string name;
  LoopProgram program;
};

// All that the C emitter runs too: kernels of one thread.
const std::vector<CorpusEntry>& scalar_corpus();
// Groups of threads with shared arrays and barriers.
const std::vector<CorpusEntry>& group_corpus();

}  // namespace tang
