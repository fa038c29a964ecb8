// `tang reduce`: a small program that still fails.
//
// A program is shrunk by edits that leave a valid program: keep one definition with its operands as
// inputs, drop outputs, turn definitions into inputs, make dims and params smaller, drop
// conditions, formats, folds and promises, put a part of an expression, or 1, in its place. An edit
// is kept if the program still fails, as the caller decides, and has become simpler: fewer
// definitions, then fewer words, then smaller numbers. Edits are tried in a fixed order until none
// helps, so the result is the same each time unless the budget ends the search.
//
// Every candidate is printed and parsed again before it is tried, so what is returned is exactly
// what the user will run.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ir/graph.h"

namespace tang {

// True if the program, bound and valid, fails in the way that is looked for.
using FailsStill = std::function<bool(const Graph&)>;

struct ReduceOptions {
  std::chrono::milliseconds budget = std::chrono::seconds(60);
};

struct Reduced {
  Graph graph;
  std::string text;       // print(graph); it parses, and params have their values in it
  int trials = 0;         // candidates that were tried
  bool exhausted = true;  // no edit helps any more; false: the budget ended the search
};

// `failing` is bound and fails. Values of params are written into the program.
Reduced reduce(const Graph& failing, const FailsStill& fails, const ReduceOptions& options = {});

}  // namespace tang
