// The text of loop programs: any bytes give a program or an error; what parses can be verified, and
// prints a text that parses to the same.
#include "front/elaborate.h"
#include "fuzz/inputs/target.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::string& text : texts_in("examples", ".tang")) {
    const auto g = parse(text);
    if (!g) continue;
    if (const auto v = make_variant(derive(*g).derived, {}))
      all.push_back(loop::print(v->program()));
  }
  return all;
}

void run(std::string_view input) {
  const auto program = loop::parse_program(input, "fuzz");
  if (!program) return;
  const std::string once = loop::print(*program);
  const auto again = loop::parse_program(once, "fuzz");
  require(again.has_value(), "the printed form parses",
          again ? "" : again.error().message + "\n" + once);
  const std::string twice = loop::print(*again);
  require(once == twice, "printing is a fixed point", once + "\n---\n" + twice);
  loop::verify(*program);
}

}  // namespace tang::fuzz
