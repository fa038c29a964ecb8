// The rewrites on whatever parses: the derived graph verifies, and its printed form is a fixed
// point.
#include "front/elaborate.h"
#include "front/render.h"
#include "fuzz/inputs/target.h"
#include "fuzz/random_graphs/generator.h"
#include "ir/print.h"
#include "ir/reading.h"
#include "ir/verify.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const char* folder : {"tests/text/derive", "tests/text/why_not"})
    for (std::string& text : texts_in(folder, ".tang")) all.push_back(std::move(text));
  for (uint64_t seed = 1; seed <= 12; ++seed) all.push_back(random_program(seed).text());
  return all;
}

void run(std::string_view input) {
  const auto g = parse(std::string(input));
  if (!g) return;
  const Graph derived = derive(*g).derived;
  if (const Diagnostics bad = verify(derived); !bad.empty())
    require(false, "a derived graph verifies", render(bad, nullptr) + print(derived));
  const std::string once = print(derived);
  const auto again = parse(once);
  if (!again)
    require(false, "the printed form parses", render(again.error(), nullptr) + "\n" + once);
  const std::string twice = print(*again);
  require(once == twice, "printing is a fixed point", once + "\n---\n" + twice);
  make_variant(derived, {});
}

}  // namespace tang::fuzz
