// Monoids under other names lower to the same tile program: nothing looks at a name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "ir/bind.h"
#include "rewrite/pipeline.h"
#include "tile/text.h"
#include "verify/variant.h"

namespace tang {
namespace {

// Every name replaced by a number.
tile::Kernel plain(tile::Kernel k) {
  const auto number = [](auto& list, const char* letter) {
    for (size_t n = 0; n < list.size(); ++n) list[n].name = letter + std::to_string(n);
  };
  k.name = "kernel";
  number(k.indices, "d");
  number(k.memories, "m");
  number(k.placements, "p");
  number(k.values, "v");
  for (size_t n = 0; n < k.monoids.size(); ++n) {
    if (k.monoids[n].builtin) continue;
    k.monoids[n].name = fmt::format("f{}", n);
    for (size_t c = 0; c < k.monoids[n].fields.size(); ++c)
      k.monoids[n].fields[c] = fmt::format("c{}", c);
  }
  return k;
}

std::string tiles_of(const std::string& text) {
  auto g = parse(text);
  EXPECT_TRUE(g) << text;
  if (!g) return {};
  bind(*g, {});
  auto v = make_variant(derive(*g).derived, {});
  EXPECT_TRUE(v) << (v ? "" : v.error().message);
  if (!v) return {};
  for (const auto& tiled : v->lowered.tiled) EXPECT_TRUE(tiled) << "a kernel has no tile program";
  tile::Program tiles = v->lowered.tiles;
  for (tile::Kernel& k : tiles.kernels) k = plain(std::move(k));
  return tile::print(tiles);
}

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

// Names that stand for themselves in `text`, each as $0, $1, …
std::string named(std::string text, const std::vector<std::string>& names) {
  for (size_t n = 0; n < names.size(); ++n)
    for (size_t at; (at = text.find(fmt::format("${}", n))) != std::string::npos;)
      text.replace(at, 2, names[n]);
  return text;
}

const std::string scores =
    "dim h = 2, i = 65, j = 129, d = 16, e = 24\n"
    "input q[h, i, d], k[h, j, d], v[h, j, e] : f32\n"
    "s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])\n";

// A sum of terms weighted relative to the maximum, of component $n.
std::string weighted(const std::string& c) {
  const std::string peak = "select(-inf < max(a.$1, b.$1), max(a.$1, b.$1), 0)";
  return fmt::format("a.{0} * exp(a.$1 - {1}) + b.{0} * exp(b.$1 - {1})", c, peak);
}

TEST(Renamed, WeightsRelativeToAMaximum) {
  const std::string own =
      "monoid $0($1, $2, $3)\n  identity (-inf, 0, 0)\n"
      "  lift(x, y) = (x, select(x == -inf, 0, 1), select(x == -inf, 0, y))\n"
      "  combine(a, b) = (max(a.$1, b.$1), " +
      weighted("$2") + ", " + weighted("$3") + ")\n  commutative\n";
  const std::string use =
      "o[h, i, e] = $3 / $2\n  where ($1, $2, $3) = $0[j](s[h, i, j] * 0.25, v[h, j, e])\n"
      "output o\n";
  const std::string want = tiles_of(scores + named(use, {"online", "m", "l", "o"}));
  const std::vector<std::string> names = {"blend", "top", "mass", "mix"};
  EXPECT_EQ(tiles_of(named(own, names) + scores + named(use, names)), want);
  EXPECT_TRUE(has(want, "contract"));
}

TEST(Renamed, MomentsOfMerges) {
  const std::string own =
      "monoid $0($1, $2, $3)\n  identity (0.0, 0.0, 0.0)\n  lift(x) = (1.0, x, 0.0)\n"
      "  combine(a, b) = (a.$1 + b.$1,\n"
      "    a.$2 + (b.$2 - a.$2) * (b.$1 * select(0 < a.$1 + b.$1, recip(a.$1 + b.$1), 0)),\n"
      "    a.$3 + b.$3 + (b.$2 - a.$2) * ((b.$2 - a.$2)\n"
      "      * (a.$1 * b.$1 * select(0 < a.$1 + b.$1, recip(a.$1 + b.$1), 0))))\n  commutative\n";
  const std::string use =
      "dim c = 6, p = 300\ninput x[c, p] : f32\n"
      "y[c] = $3 / $1 + $2\n  where ($1, $2, $3) = $0[p](x[c, p])\noutput y\n";
  const std::vector<std::string> names = {"pooled", "count", "centre", "spread"};
  EXPECT_EQ(tiles_of(named(own + use, names)),
            tiles_of(named(use, {"moments", "n", "mean", "m2"})));
}

TEST(Renamed, FourComponents) {
  const std::string text =
      "monoid $0($1, $2, $3, $4)\n  identity (-inf, 0, 0, 0)\n"
      "  lift(x, y) = (x, select(x == -inf, 0, 1), select(x == -inf, 0, x),\n"
      "    select(x == -inf, 0, y))\n"
      "  combine(a, b) = (max(a.$1, b.$1), " +
      weighted("$2") + ", " + weighted("$3") + ", " + weighted("$4") + ")\n  commutative\n" +
      scores +
      "(u[h, i], o[h, i, e]) = ($1 + log($2) - $3 / $2, $4 / $2)\n"
      "  where ($1, $2, $3, $4) = $0[j](s[h, i, j] * 0.25, v[h, j, e])\noutput u, o\n";
  const std::string want = tiles_of(named(text, {"entropy", "m", "l", "t", "o"}));
  EXPECT_EQ(tiles_of(named(text, {"disorder", "top", "mass", "work", "mix"})), want);
  EXPECT_TRUE(has(want, "contract"));
}

}  // namespace
}  // namespace tang
