// The text front end: any bytes give a graph or errors; a graph verifies, and its printed form
// parses to a graph that prints the same.
#include "front/elaborate.h"
#include "front/render.h"
#include "fuzz/inputs/target.h"
#include "fuzz/random_graphs/generator.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tang::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> all = texts_in("examples", ".tang");
  for (const char* folder : {"tests/text/derive", "tests/text/why_not"})
    for (std::string& text : texts_in(folder, ".tang")) all.push_back(std::move(text));
  for (uint64_t seed = 1; seed <= 12; ++seed) all.push_back(random_program(seed).text());
  return all;
}

void run(std::string_view input) {
  const Source source("fuzz.tang", std::string(input));
  const auto g = parse(source);
  if (!g) {
    require(!g.error().empty(), "a program that does not parse has an error");
    render(g.error(), &source);
    return;
  }
  if (const Diagnostics bad = verify(*g); !bad.empty())
    require(false, "a parsed graph verifies", render(bad, nullptr));
  const std::string once = print(*g);
  const auto again = parse(once);
  if (!again)
    require(false, "the printed form parses", render(again.error(), nullptr) + "\n" + once);
  const std::string twice = print(*again);
  require(once == twice, "printing is a fixed point", once + "\n---\n" + twice);
}

}  // namespace tang::fuzz
