#include "fuzz/random_graphs/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tang::fuzz {

std::string Program::text() const {
  std::string s;
  for (const auto& [name, value] : sizes)
    s += fmt::format("param {}  # -D {}={}\n", name, name, value);
  for (const auto& [name, extent] : dims) s += fmt::format("dim {} = {}\n", name, extent);
  for (const std::string& line : inputs) s += fmt::format("input {}\n", line);
  for (const auto& lines : {operations, definitions})
    for (const std::string& line : lines) s += line + "\n";
  return s + fmt::format("output {}\n", fmt::join(outputs, ", "));
}

namespace {

// Removes what can be removed from one list, the last first: users before what they use.
template <class T>
bool drop(Program& program, std::vector<T> Program::*list, size_t least, int& trials,
          const std::function<bool(const Program&)>& fails) {
  bool changed = false;
  for (size_t k = (program.*list).size(); k-- > 0 && trials > 0;) {
    if ((program.*list).size() <= least) break;
    Program smaller = program;
    (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(k));
    --trials;
    if (!fails(smaller)) continue;
    program = std::move(smaller);
    changed = true;
  }
  return changed;
}

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int trials) {
  bool changed = true;
  drop(program, &Program::operations, 0, trials, fails);
  while (changed && trials > 0) {
    changed = drop(program, &Program::outputs, 1, trials, fails);
    changed |= drop(program, &Program::definitions, 1, trials, fails);
  }
  drop(program, &Program::operations, 0, trials, fails);
  drop(program, &Program::inputs, 0, trials, fails);
  drop(program, &Program::dims, 0, trials, fails);
  return program;
}

}  // namespace tang::fuzz
