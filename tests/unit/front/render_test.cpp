#include "front/render.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

Diagnostic at(int line, int col, int length) {
  Diagnostic d;
  d.id = "E0401";
  d.message = "axis 0 of `k` is too short for this read";
  d.where = {"attention.tang", line, col, length};
  d.label = "runs over 1…8, `k[8, seq, 64]` has 0…7";
  d.hint = "shrink `h`, or write `k?[h + 1, …]` to read 0 outside";
  return d;
}

TEST(Render, TheContractsFirstExample) {
  Source source("attention.tang",
                "\n\n\n\n\n\ns[h, i, j] = sum[d](q[h, i, d] * k[h + 1, j, d]) / sqrt(64)\n");
  EXPECT_EQ(
      render(at(7, 36, 5), &source),
      "attention.tang:7:36: error E0401: axis 0 of `k` is too short for this read\n"
      "  7 | s[h, i, j] = sum[d](q[h, i, d] * k[h + 1, j, d]) / sqrt(64)\n"
      "    |                                    ^^^^^ runs over 1…8, `k[8, seq, 64]` has 0…7\n"
      "  hint: shrink `h`, or write `k?[h + 1, …]` to read 0 outside\n");
}

TEST(Render, TheContractsSecondExample) {
  Source source("gqa.tang", "\n\n\n\ns[h, i, j] = sum[d](q[h, i, d] * k[h / 4, j, d])\n");
  Diagnostic d;
  d.id = "E0405";
  d.message = "`/` is not affine, so it cannot stand in a read";
  d.where = {"gqa.tang", 5, 36, 5};
  d.hint = "make the heads two dims: `dim kv = 8, g = 4`, read `q[kv, g, i, d]` and `k[kv, j, d]`";
  EXPECT_EQ(render(d, &source),
            "gqa.tang:5:36: error E0405: `/` is not affine, so it cannot stand in a read\n"
            "  5 | s[h, i, j] = sum[d](q[h, i, d] * k[h / 4, j, d])\n"
            "    |                                    ^^^^^\n"
            "  hint: make the heads two dims: `dim kv = 8, g = 4`, read `q[kv, g, i, d]` and "
            "`k[kv, j, d]`\n");
}

TEST(Render, GutterGrowsWithTheLineNumber) {
  Source source("a", std::string(11, '\n') + "xy = z\n");
  Diagnostic d;
  d.id = "W0101";
  d.message = "m";
  d.where = {"a", 12, 6, 1};
  EXPECT_EQ(render(d, &source), "a:12:6: warning W0101: m\n  12 | xy = z\n     |      ^\n");
}

TEST(Render, WithoutAPlace) {
  Diagnostic d;
  d.id = "E0701";
  d.message = "`seq` has no value";
  d.hint = "add -D seq=512";
  EXPECT_EQ(render(d, nullptr), "error E0701: `seq` has no value\n  hint: add -D seq=512\n");
  d.where.file = "x.npy";
  EXPECT_EQ(render(d, nullptr), "x.npy: error E0701: `seq` has no value\n  hint: add -D seq=512\n");
}

TEST(Render, SeveralStandApart) {
  Diagnostic d;
  d.id = "E0701";
  d.message = "m";
  EXPECT_EQ(render(Diagnostics{d, d}, nullptr), "error E0701: m\n\nerror E0701: m\n");
}

TEST(Render, ControlCharactersAreNotSentToTheTerminal) {
  Source source("a", "x\ty\x1b[31m\xff\n");
  Diagnostic d;
  d.id = "E0102";
  d.message = "m";
  d.where = {"a", 1, 4, 1};
  EXPECT_EQ(render(d, &source), "a:1:4: error E0102: m\n  1 | x y?[31m?\n    |    ^\n");
}

TEST(Render, LongLinesShowAWindow) {
  std::string line = "x = " + std::string(5000, 'a') + " + é" + std::string(5000, 'b');
  Source source("a", line + "\n");
  Diagnostic d;
  d.id = "E0102";
  d.message = "m";
  d.where = {"a", 1, 5008, 1};
  std::string text = render(d, &source);
  EXPECT_LT(text.size(), 600u);
  EXPECT_NE(text.find("+ é"), std::string::npos);
}

TEST(Render, ColourChangesNoText) {
  Source source("a", "xy = z\n");
  Diagnostic d = at(1, 1, 2);
  std::string coloured = render(d, &source, true);
  std::string plain;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      plain += coloured[i];
  }
  EXPECT_EQ(plain, render(d, &source));
}

}  // namespace
}  // namespace tang
