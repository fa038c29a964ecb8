#include "view/form.h"

#include <gtest/gtest.h>

namespace tang {
namespace {

const DimId i{0}, k{1};

std::function<Poly(DimId)> extents(std::vector<int64_t> n) {
  return [n](DimId d) { return Poly(n.at(index(d))); };
}

TEST(Form, RangeOfTheAlgebra) {  // 2i + k - 1 over i < 3, k < 3
  const Form f = Poly(2) * Form::coordinate(i) + Form::coordinate(k) - Form(1);
  const auto r = range(f, extents({3, 3}));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->lo, Poly(-1));
  EXPECT_EQ(r->hi, Poly(5));
}

TEST(Form, NormalForm) {
  const Form f = Form::coordinate(i) + Form::coordinate(k) - Form::coordinate(i);
  EXPECT_EQ(f, Form::coordinate(k));
  EXPECT_EQ(f.as_pick(), k);
  EXPECT_EQ(Form::coordinate(i) - Form::coordinate(i), Form(0));
  EXPECT_EQ(Poly(0) * Form::coordinate(i), Form(0));
  EXPECT_FALSE((Form::coordinate(i) + Form(1)).as_pick());
}

TEST(Form, SubstitutionIsSimultaneous) {
  const Form f = Form::coordinate(i) + Poly(3) * Form::coordinate(k);
  const Form g = substitute(f, [](DimId d) -> std::optional<Form> {
    return d == i ? Form::coordinate(k) : Form::coordinate(i);
  });
  EXPECT_EQ(g, Form::coordinate(k) + Poly(3) * Form::coordinate(i));
}

TEST(Form, SymbolicRange) {
  const Poly n = Poly::param(static_cast<ParamId>(0));
  const auto size = [&](DimId) { return n; };
  const auto r = range(n * Form::coordinate(i) + Form::coordinate(k), size);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->hi, n * n - Poly(1));
  EXPECT_FALSE(range((n - Poly(2)) * Form::coordinate(i), size));  // the sign is not proved
  EXPECT_FALSE(range(Form::gathered(0), size));
}

TEST(Poly, NormalFormAndText) {
  const Poly n = Poly::param(static_cast<ParamId>(0)), m = Poly::param(static_cast<ParamId>(1));
  EXPECT_EQ(n * m, m * n);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_TRUE((n - n).is_zero());
  EXPECT_TRUE((n + Poly(2)).proved_nonnegative());
  EXPECT_FALSE((n - Poly(2)).proved_nonnegative());
  const auto name = [](ParamId p) { return std::string(index(p) == 0 ? "n" : "m"); };
  EXPECT_EQ((Poly(2) * n + Poly(1)).text(name), "2*n + 1");
  EXPECT_EQ((n * m - Poly(3)).text(name), "n*m - 3");
  const std::vector<int64_t> huge = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FALSE((n * m).evaluate(huge));
}

}  // namespace
}  // namespace tang
