// The recursive-descent parser of language.md 1.1. It reports the first error of each statement and
// resumes at the next one, so one run finds the syntax errors of the whole file. Recursion is
// bounded by ast::kMaxDepth; flat chains of operators are read in a loop.
#pragma once

#include "base/diagnostic.h"
#include "front/ast.h"
#include "front/source.h"

namespace tang {

// At most this many errors of a file are reported.
inline constexpr std::size_t kMaxErrors = 20;

// Parses `source`; errors of the lexer, then of the parser (E01) are appended to `errors`, see
// finish_errors. `source` must outlive the module.
ast::Module parse_syntax(const Source& source, Diagnostics& errors);

// Sorts by place and keeps the first kMaxErrors.
void finish_errors(Diagnostics& errors);

}  // namespace tang
