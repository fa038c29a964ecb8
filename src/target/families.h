// Blocks that stand for several: `each` lines and the sets of values that they name.
//
//   set boxes r axes : 1 x0 | 2 x0,x1     a head line: values for two names, in two sets
//
//   row tma.load.{r}d.b{bits}
//     each boxes                          a set
//     each bits t : 16 bf16,f16 | 32 f32  values written here
//     do d[{axes}] = a[{axes}]
//
// is four rows. A set has a word for each name, the last name takes the rest up to ` | `. Each line
// multiplies the blocks. `{name}` is replaced everywhere, first the names of the first line, so
// that a value may mention names of later ones.
#pragma once

#include "target/definition_lines.h"

namespace tang {

class Families {
 public:
  explicit Families(std::string file) : file_(std::move(file)) {}

  // A `set` line.
  Result<void> add(const DefinitionLine& line);
  // The blocks that one stands for; the values of its last line change fastest.
  Result<std::vector<DefinitionBlock>> expand(const DefinitionBlock& block) const;

 private:
  using Values = std::vector<std::pair<std::string, std::string>>;

  Result<std::vector<Values>> read(std::string_view text, const DefinitionLine& line) const;
  Result<std::vector<Values>> read_each(const DefinitionLine& line) const;
  Result<std::vector<Values>> combinations(const DefinitionBlock& block) const;

  std::string file_;
  std::vector<std::pair<std::string, std::vector<Values>>> sets_;
};

}  // namespace tang
