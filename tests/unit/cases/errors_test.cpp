// Errors that name things (V39): the tensor, both shapes, the rule that is broken, and what to do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"

namespace tang::cases {
namespace {

struct Malformed {
  const char* what;
  const char* text;
  const char* id;
  std::vector<std::string> words;                           // each is in the message
  std::map<std::string, std::vector<int64_t>> shapes = {};  // of arrays given
  std::map<std::string, int64_t> sizes = {};
};

const std::string top =
    "param n\ndim i = n, j = n, k = 8, h = 4\ninput x[i, k], w[h, k], b[k] : f32, t[k] : i32\n";

const Malformed programs[] = {
    {"shape mismatch of a product",
     "y[i, h] = sum[k](x[i, k] * w[k, h])\noutput y\n",
     "E0401",
     {"`w`", "0…7", "0…3", "`w[4, 8]`", "axis 0"}},
    {"a read shifted out", "y[i] = x[i, k + 1]\noutput y\n", "E0204", {"`k`"}},
    {"a shifted read",
     "y[i, k] = x[i, k + 1]\noutput y\n",
     "E0401",
     {"`x`", "1…8", "`x[n, 8]`", "x?["}},
    {"bad permutation",
     "y[k, i] = x[k, i]\noutput y\n",
     "E0401",
     {"`x[n, 8]`", "axis 0", "0…7", "0…4"},
     {},
     {{"n", 5}}},
    {"rank", "y[i] = x[i]\noutput y\n", "E0402", {"`x[n, 8]`", "2", "1"}},
    {"unknown tensor", "y[i, k] = xx[i, k]\noutput y\n", "E0201", {"`xx`", "`x`"}},
    {"unknown operation", "y[i] = summ[k](x[i, k])\noutput y\n", "E0206", {"`summ`", "`sum`"}},
    {"unbound index", "y[i] = x[i, k]\noutput y\n", "E0204", {"`k`"}},
    {"an index twice", "y[i, i] = x[i, 0]\noutput y\n", "E0205", {"`i`"}},
    {"cyclic", "y[i, k] = z[i, k]\nz[i, k] = y[i, k]\noutput z\n", "E0203", {"`z`"}},
    {"recursive", "y[i, k] = y[i, k] + 1\noutput y\n", "E0203", {"`y`"}},
    {"defined twice", "y[k] = b[k]\ny[k] = b[k]\noutput y\n", "E0202", {"`y`"}},
    {"kind clash: a real index", "y[k] = b[b[k]]\noutput y\n", "E0407", {"b[k]", "integer"}},
    {"kind clash: a number as condition",
     "y[k] = select(b[k], 1, 0)\noutput y\n",
     "E0301",
     {"real", "bool"}},
    {"format clash: a real stored as bool",
     "y[k] : bool = b[k]\noutput y\n",
     "E0306",
     {"`y`", "real", "bool"}},
    {"division in a read", "y[k] = w[k / 2, k]\noutput y\n", "E0405", {"`/`", "dim"}},
    {"a product of indices in a read",
     "y[h, k] = b[h * k]\noutput y\n",
     "E0405",
     {"product", "b[h * k]", "`x[r[i]]`"}},
    {"wrong arguments", "y[k] = tanh(b[k], 2)\noutput y\n", "E0213", {"`tanh`", "1", "2"}},
    {"unknown output", "y[k] = b[k]\noutput z\n", "E0201", {"`z`"}},
    {"in place with another shape",
     "y[i] = x[i, 0]\noutput y into x\n",
     "E0404",
     {"`y`", "`x`", "[n]", "[n, 8]"}},
    {"in place with another format",
     "y[k] : f16 = b[k]\noutput y into b\n",
     "E0404",
     {"`y`", "`b`", "f16", "f32"}},
    {"an argument count of a tuple",
     "(y[k], z[k]) = b[k]\noutput y\n",
     "E0305",
     {"2 targets", "1 component"}},
    {"an array of another shape",
     "y[i, k] = x[i, k]\noutput y\n",
     "E0706",
     {"`x`", "[5, 9]", "[n, 8]"},
     {{"x", {5, 9}}}},
    {"an array of another rank",
     "y[i, k] = x[i, k]\noutput y\n",
     "E0706",
     {"`x`", "[5]", "[n, 8]"},
     {{"x", {5}}}},
    {"two sizes of one param",
     "y[i, k] = x[i, k]\noutput y\n",
     "E0711",
     {"`n`", "5", "6"},
     {{"x", {5, 8}}},
     {{"n", 6}}},
    {"no size", "y[i, k] = x[i, k]\noutput y\n", "E0712", {"`n`", "-D n="}},
    {"an unknown param",
     "y[k] = b[k]\noutput y\n",
     "E0710",
     {"`m`", "`n`"},
     {},
     {{"n", 5}, {"m", 6}}},
    {"a negative size", "y[i, k] = x[i, k]\noutput y\n", "E0409", {"`n`", "-1"}, {}, {{"n", -1}}},
    {"a size too small for a read",
     "y[k] = x[3, k]\noutput y\n",
     "E0401",
     {"`x[n, 8]`", "3…3", "0…1", "axis 0"},
     {},
     {{"n", 2}}},
};

// All that is said about a program until it is bound.
Diagnostics errors_of(const Malformed& m) {
  auto g = parse(top + m.text, "model.tang");
  if (!g) return g.error();
  Bindings bindings;
  bindings.flags = m.sizes;
  bindings.shapes = m.shapes;
  return bind(*g, bindings);
}

TEST(V39, EveryMalformedProgramIsToldItsNamesShapesRuleAndRemedy) {
  for (const Malformed& m : programs) {
    SCOPED_TRACE(m.what);
    const Diagnostics errors = errors_of(m);
    ASSERT_FALSE(errors.empty()) << m.text;
    const Diagnostic& d = errors[0];
    const Source source("model.tang", top + m.text);
    const std::string shown = render(d, &source);
    EXPECT_EQ(d.id, m.id) << shown;
    EXPECT_EQ(d.exit, Exit::bad_input) << shown;
    EXPECT_FALSE(d.hint.empty()) << shown;
    for (const std::string& word : m.words)
      EXPECT_NE(shown.find(word), std::string::npos) << "no " << word << " in\n" << shown;
    // Errors of the text stand where they are.
    if (m.sizes.empty() && m.shapes.empty() && d.id != "E0712") {
      EXPECT_GT(d.where.line, 3) << shown;
      EXPECT_NE(shown.find("model.tang:"), std::string::npos) << shown;
      EXPECT_NE(shown.find("^"), std::string::npos) << shown;
    }
  }
}

TEST(V39, AllErrorsOfAFileAreReportedInOrder) {
  auto g = parse(
      top +
          "y[i] = x[i]\nz[k] = bb[k]\nu[k] = select(b[k], 1, 0)\nv[h, k] = w[h + 1, k]\noutput v\n",
      "m");
  ASSERT_FALSE(g);
  ASSERT_EQ(g.error().size(), 4u) << render(g.error(), nullptr);
  const char* const ids[] = {"E0402", "E0201", "E0301", "E0401"};
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(g.error()[k].id, ids[k]);
    EXPECT_EQ(g.error()[k].where.line, static_cast<int>(4 + k));
  }
}

}  // namespace
}  // namespace tang::cases
