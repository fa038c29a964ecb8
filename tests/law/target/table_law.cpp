// Readers of tables and machines meet texts that are nearly right: they answer, with a place.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "target/definitions.h"
#include "target/machine.h"
#include "target/table.h"

namespace tang::law {
namespace {

using Random = std::mt19937_64;

// A part of a shipped text, with a few characters or lines changed.
std::string mutated(Random& random, std::string_view text) {
  const size_t start = text.find("\nrow", random() % text.size());
  std::string part(text.substr(start == text.npos ? 0 : start, 400 + random() % 400));
  for (size_t k = 1 + random() % 4; k > 0 && !part.empty(); --k) {
    const size_t at = random() % part.size();
    switch (random() % 4) {
      case 0:
        part.erase(at, 1 + random() % 6);
        break;
      case 1:
        part[at] = " \n{}[]():,|*/%-+.09az"[random() % 21];
        break;
      case 2:
        part.insert(at, std::string(1 + random() % 20, "9(-"[random() % 3]));
        break;
      default:
        part.insert(at, part.substr(random() % part.size(), random() % 40));
    }
  }
  // What rows refer to stands before them.
  return random() % 2 ? part : std::string(text.substr(0, text.find("\nrow"))) + part;
}

void check_place(const Diagnostic& d, const std::string& text) {
  RC_ASSERT(d.id == "E0111");
  RC_ASSERT(!d.message.empty());
  RC_ASSERT(d.where.line >= 1 && d.where.col >= 1);
  RC_ASSERT(d.where.line <= 1 + std::count(text.begin(), text.end(), '\n'));
}

RC_GTEST_PROP(Tables, NearlyRightTexts, (uint64_t seed)) {
  Random random(seed);
  constexpr const char* files[] = {"nvidia.def", "cpu.def", "generic.def"};
  const std::string text = mutated(random, definition(files[random() % 3]));
  Tables tables;
  if (const auto read = read_table(text, "x.def", tables); !read) {
    check_place(read.error(), text);
    return;
  }
  for (const Row& row : tables.rows) {
    Sizes least;
    for (const SizedAxis& a : row.axes) least.push_back(a.sizes.runs[0].from);
    RC_ASSERT(row.check(least).has_value());
    for (const Operand& o : row.operands)
      if (o.spaces[0] == Space::reg) RC_ASSERT(row.holds(o, least).has_value());
  }
}

RC_GTEST_PROP(Machines, NearlyRightTexts, (uint64_t seed)) {
  Random random(seed);
  const std::string text = mutated(random, definition("machines.def"));
  if (const auto read = read_machines(text, "x.def"); !read) check_place(read.error(), text);
}

}  // namespace
}  // namespace tang::law
