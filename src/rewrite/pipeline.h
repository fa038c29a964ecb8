// The derivation: the rules of rewrite/rule.h in their order of use, to a fixed point.
#pragma once

#include "rewrite/rule.h"

namespace tang {

struct DeriveOptions {
  MathMode math = MathMode::real;
  bool keep_texts = true;  // before and after texts in the log
  int stop_after = -1;     // at most this many applications; -1: all
};

struct Derivation {
  Graph naive;    // as given
  Graph derived;  // after the rules, before the softmax reading
  std::vector<LogEntry> log;
  std::vector<NearMiss> near;  // what nearly applied and never did
};

Derivation derive(const Graph& naive, const DeriveOptions& options = {});

}  // namespace tang
