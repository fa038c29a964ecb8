// Diagnostics: errors as values. Library code never throws, prints, aborts on user input or reads
// the environment; a function that can fail returns Result<T>, or appends to a Diagnostics list
// when one run should report several errors (the text front end).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace tang {

// Exit codes of the command line (language.md section 2). Every diagnostic carries the one it
// causes.
enum class Exit : int {
  ok = 0,
  wrong_result = 1,  // wrong result, or a budget exceeded
  bad_input = 2,     // bad usage or bad input
  no_device = 3,     // device, driver or compiler missing
  target_limit = 4,  // a limit of the target is exceeded
  out_of_memory = 5,
  interrupted = 130,
};

// A place in a program text. line and col are 1-based; length counts characters to underline.
// line == 0 means "no place" (a file reader, the command line).
struct Location {
  std::string file;
  int line = 0;
  int col = 0;
  int length = 1;
};

struct Diagnostic {
  std::string id;       // stable, "E0401"; "W0101" for warnings
  std::string message;  // one sentence: names, both shapes, the rule broken
  Location where;
  std::string label;  // text after the carets: "runs over 1…8, `k[8, seq, 64]` has 0…7"
  std::string hint;   // what to do
  Exit exit = Exit::bad_input;
};

using Diagnostics = std::vector<Diagnostic>;

template <class T>
using Result = tl::expected<T, Diagnostic>;

// Shorthand for `return error("E0701", "…", "hint");` from a function returning Result<T>.
inline tl::unexpected<Diagnostic> error(std::string id, std::string message, std::string hint = {},
                                        Exit exit = Exit::bad_input) {
  Diagnostic d;
  d.id = std::move(id);
  d.message = std::move(message);
  d.hint = std::move(hint);
  d.exit = exit;
  return tl::unexpected<Diagnostic>(std::move(d));
}

}  // namespace tang
