#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "ir/variance.h"
#include "unit/lower/support.h"

namespace tang::test {
namespace {

constexpr Kind R = Kind::real;
constexpr double inf = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(LowerMap, ScalarsTransposesAndBroadcasts) {
  Make m;
  const DimId i = m.dim("i", 5), j = m.dim("j", 7);
  const TensorId x = m.input("x", {7, 5}), b = m.input("b", {5}), s = m.input("s", {});
  const ExprId v = m.add(m.op(Op::exp, m.read(x, {j, i})),
                         m.mul(m.read(b, {i}), m.read(s, std::vector<DimId>{})));
  m.output(m.map("y", {i, j}, v));
  check(m.g, 1e-6);
}

TEST(LowerMap, CoordinatesPowersAndCasts) {
  Make m;
  const DimId i = m.dim("i", 33);
  const TensorId x = m.input("x", {33});
  const ExprId xi = m.read(x, {i});
  const ExprId cube = m.op(Op::pow, xi, m.g.pool.integer(3));
  const ExprId back = m.op(Op::pow, m.add(m.op(Op::abs, xi), m.num(1)), m.g.pool.integer(-5));
  const ExprId odd =
      m.op(Op::eq, m.op(Op::mod, m.g.iota(m.at(i)), m.g.pool.integer(2)), m.g.pool.integer(1));
  m.output(m.map("y", {i}, m.op(Op::select, odd, m.add(cube, m.g.iota(m.at(i))), back)));
  m.output(m.map("h", {i}, m.g.pool.cast(Format::f16, m.mul(xi, m.num(3))), Format::f32));
  m.output(m.map("n", {i}, m.g.pool.cast(Format::i8, m.mul(xi, m.num(100)))));
  m.output(m.map("c", {i}, m.op(Op::lt, xi, m.num(0))));
  check(m.g, 1e-6);
}

TEST(LowerMap, ReversedStridedAndDiagonalReads) {
  Make m;
  const DimId i = m.dim("i", 6);
  const TensorId x = m.input("x", {12, 6});
  const ExprId v = m.add(m.read(x, {Form(11) - Poly(2) * m.at(i), m.at(i)}),
                         m.read(x, std::vector<Form>{m.at(i), Form(5) - m.at(i)}));
  m.output(m.map("y", {i}, v));
  check(m.g, 1e-6);
}

// y = sum over c of a product, operands in each layout.
void matmul(int64_t n, int64_t k, int64_t p, bool ta, bool tb, const PlanOptions& options = {}) {
  Make m;
  const DimId i = m.dim("i", n), c = m.dim("c", k), f = m.dim("f", p);
  const TensorId a = m.input("a", ta ? std::vector<Poly>{k, n} : std::vector<Poly>{n, k});
  const TensorId b = m.input("b", tb ? std::vector<Poly>{p, k} : std::vector<Poly>{k, p});
  const ExprId v = m.mul(m.read(a, ta ? std::vector{c, i} : std::vector{i, c}),
                         m.read(b, tb ? std::vector{f, c} : std::vector{c, f}));
  m.output(m.fold("y", {i, f}, {c}, m.monoid("sum", {R}), {v}));
  check(m.g, 1e-5, {}, options);
}

TEST(LowerMatmul, AllLayoutsAtOddSizes) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      matmul(5, 7, 3, ta, tb);
      matmul(9, 33, 70, ta, tb);
      matmul(3, 40, 150, ta, tb);
      matmul(4, 3, 200, ta, tb, {.vectorise = false});
      matmul(31, 21, 37, ta, tb);
      matmul(140, 275, 101, ta, tb);
    }
}

TEST(LowerMatmul, EpilogueAndSeveralFolds) {
  Make m;
  const DimId i = m.dim("i", 9), c = m.dim("c", 40), f = m.dim("f", 70);
  const TensorId x = m.input("x", {9, 40}, Format::f16), u = m.input("u", {40, 70}, Format::bf16),
                 w = m.input("w", {40, 70}), b = m.input("b", {70});
  const MonoidId sum = m.monoid("sum", {R});
  const ExprId gate = m.op(Op::silu, m.add(m.g.state(0, R), m.read(b, {f})));
  m.folds({i, f}, {c},
          {{sum, {m.mul(m.read(x, {i, c}), m.read(u, {c, f}))}, {}},
           {sum, {m.mul(m.read(x, {i, c}), m.read(w, {c, f}))}, {}}},
          {{"y", {i, f}, m.mul(gate, m.g.state(1, R))}});
  m.output(*m.g.find_tensor("y"));
  check(m.g, 1e-5);
}

// Attention as the derivation leaves it: a nested contraction, an online fold, its epilogue.
struct Attention {
  Make m;
  Attention(Poly heads, Poly n, Poly keys, Poly dk, Poly dv,
            std::vector<Guard> (*guards)(Make&, DimId, DimId), bool all_outputs = true,
            Format format = Format::f32) {
    const DimId h = m.dim("h", heads), i = m.dim("i", n), j = m.dim("j", keys), d = m.dim("d", dk),
                e = m.dim("e", dv);
    const TensorId q = m.input("q", {heads, n, dk}, format),
                   k = m.input("k", {heads, keys, dk}, format),
                   v = m.input("v", {heads, keys, dv}, format);
    const TensorId s = m.fold("s_1", {h, i, j}, {d}, m.monoid("sum", {R}),
                              {m.mul(m.read(q, {h, i, d}), m.read(k, {h, j, d}))});
    const MonoidId online = m.monoid("online", {R, R});
    const ExprId l = m.g.state(1, R);
    const ExprId rl = m.op(Op::select, m.op(Op::lt, l, m.num(0.5)), m.num(0), m.op(Op::recip, l));
    const ExprId score = m.mul(m.read(s, {h, i, j}), m.num(0.125));
    std::vector<Make::Result> results = {{"o", {h, i, e}, m.mul(m.g.state(2, R), rl)}};
    if (all_outputs) {
      results.push_back({"m", {h, i}, m.g.state(0, R)});
      results.push_back({"l", {h, i}, l});
    }
    const auto made = m.folds({h, i, e}, {j}, {{online, {score, m.read(v, {h, j, e})}, {}}},
                              results, guards(m, i, j));
    for (TensorId t : made) m.output(t);
  }
};

std::vector<Guard> no_guards(Make&, DimId, DimId) { return {}; }
std::vector<Guard> causal(Make& m, DimId i, DimId j) { return {m.bound(m.at(i) - m.at(j))}; }
std::vector<Guard> window(Make& m, DimId i, DimId j) {
  return {m.bound(m.at(i) - m.at(j)), m.bound(m.at(j) - m.at(i) + Form(3))};
}
std::vector<Guard> strictly_later(Make& m, DimId i, DimId j) {  // the last row has no term
  return {m.bound(m.at(j) - m.at(i) - Form(1))};
}

TEST(LowerAttention, FusedWithGuards) {
  for (auto guards : {no_guards, causal, window, strictly_later}) {
    Attention a(2, 9, 9, 40, 5, guards);
    check(a.m.g, 1e-5);
    Compiled c(a.m.g);
    EXPECT_EQ(c.lowered().program.kernels.size(), 1u);
    EXPECT_TRUE(c.lowered().allocations.empty());
  }
}

TEST(LowerAttention, ValueSizesThatDifferAndLargeStates) {
  check(Attention(1, 3, 7, 128, 512, causal).m.g, 1e-5);
  check(Attention(1, 3, 7, 192, 128, no_guards).m.g, 1e-5);
  check(Attention(1, 2, 5, 7, 5000, no_guards).m.g, 1e-5);  // accumulators in workspace
  check(Attention(1, 5, 20, 64, 6, no_guards, true, Format::bf16).m.g, 1e-5);
}

TEST(LowerAttention, SymbolicSizesWithOneCompilation) {
  Graph g;
  Make sizes;
  const Poly n = Poly::param(static_cast<ParamId>(0)), e = Poly::param(static_cast<ParamId>(1));
  Attention a(1, n, n, 40, e, causal);
  a.m.g.params = {{"n", ExprId::none, {}}, {"e", ExprId::none, {}}};
  Compiled c(a.m.g);
  SCOPED_TRACE(c.text());
  for (const Sizes& s :
       {Sizes{{"n", 1}, {"e", 1}}, Sizes{{"n", 19}, {"e", 4}}, Sizes{{"n", 2}, {"e", 100}},
        Sizes{{"n", 0}, {"e", 3}}, Sizes{{"n", 3}, {"e", 0}}}) {
    const Store in = draw(a.m.g, s);
    const Store want = reference(a.m.g, in, s);
    const Ran ran = c.run(in, s);
    for (const char* name : {"o", "m", "l"})
      compare(name, ran.outputs.at(name), want.at(name), 1e-5);
  }
  // Accumulators of one row, which no number of rows enters.
  for (const Allocation& x : c.lowered().allocations) {
    const Poly size = volume(x.shape);
    for (const Poly::Term& t : size.terms())
      for (ParamId p : t.params) EXPECT_EQ(p, static_cast<ParamId>(1)) << x.name;
  }
}

TEST(LowerAttention, NoKeysAndMaskedRows) {
  check(Attention(1, 4, 0, 8, 8, no_guards).m.g, 1e-5);
  // A bool mask as data, row 2 all false.
  Make m;
  const DimId i = m.dim("i", 4), j = m.dim("j", 4), e = m.dim("e", 8);
  const TensorId s = m.input("s", {4, 4}), v = m.input("v", {4, 8}),
                 mask = m.input("mask", {4, 4}, Format::boolean);
  const MonoidId online = m.monoid("online", {R, R});
  Guard data;
  data.what = Guard::What::data;
  data.condition = m.read(mask, {i, j});
  const ExprId l = m.g.state(1, R);
  const ExprId rl = m.op(Op::select, m.op(Op::lt, l, m.num(0.5)), m.num(0), m.op(Op::recip, l));
  const auto made = m.folds({i, e}, {j}, {{online, {m.read(s, {i, j}), m.read(v, {j, e})}, {}}},
                            {{"o", {i, e}, m.mul(m.g.state(2, R), rl)}}, {data});
  m.output(made[0]);
  Store in = draw(m.g);
  for (size_t k = 8; k < 12; ++k) in["mask"][k] = 0;
  check(m.g, in, 1e-6);
}

TEST(LowerAttention, MaskedValuesDoNotLeak) {
  // Scores of -inf: the values behind them are NaN.
  Make m;
  const DimId i = m.dim("i", 3), j = m.dim("j", 6), e = m.dim("e", 4);
  const TensorId s = m.input("s", {3, 6}), v = m.input("v", {6, 4});
  const MonoidId online = m.monoid("online", {R, R});
  const auto made = m.folds({i, e}, {j}, {{online, {m.read(s, {i, j}), m.read(v, {j, e})}, {}}},
                            {{"o", {i, e}, m.g.state(2, R)}, {"m", {i}, m.g.state(0, R)}});
  for (TensorId t : made) m.output(t);
  Store in = draw(m.g);
  for (size_t row = 0; row < 3; ++row) in["s"][row * 6 + 4] = -inf;
  for (size_t c = 0; c < 4; ++c) in["v"][4 * 4 + c] = nan_value;
  for (size_t col = 0; col < 6; ++col) in["s"][2 * 6 + col] = -inf;
  check(m.g, in, 1e-6);
}

TEST(LowerContraction, MaterialisedWhenRecomputationCosts) {
  // o[i, e] = sum_j s[i, j] v[j, e] with a plain sum: s is stored, unless its buffer is the
  // largest.
  for (int64_t n : {4, 60}) {
    Make m;
    const DimId i = m.dim("i", n), j = m.dim("j", n), d = m.dim("d", 8), e = m.dim("e", 16);
    const TensorId q = m.input("q", {n, 8}), k = m.input("k", {n, 8}), v = m.input("v", {n, 16});
    const TensorId s = m.fold("s", {i, j}, {d}, m.monoid("sum", {R}),
                              {m.mul(m.read(q, {i, d}), m.read(k, {j, d}))});
    m.output(m.fold("o", {i, e}, {j}, m.monoid("sum", {R}),
                    {m.mul(m.op(Op::tanh, m.read(s, {i, j})), m.read(v, {j, e}))}));
    Compiled c(m.g);
    EXPECT_EQ(c.lowered().allocations.size(), n == 4 ? 1u : 0u) << c.text();
    check(m.g, 1e-5);
    check(m.g, 1e-5, {}, {.inline_contractions = false});
  }
}

TEST(LowerContraction, RoundsToTheWrittenFormat) {
  Make m;
  const DimId i = m.dim("i", 40), j = m.dim("j", 40), d = m.dim("d", 16), e = m.dim("e", 4);
  const TensorId q = m.input("q", {40, 16}), k = m.input("k", {40, 16}), v = m.input("v", {40, 4});
  const TensorId s = m.fold("s", {i, j}, {d}, m.monoid("sum", {R}),
                            {m.mul(m.read(q, {i, d}), m.read(k, {j, d}))}, {}, Format::f8e4m3);
  m.output(
      m.fold("o", {i, e}, {j}, m.monoid("online", {R, R}), {m.read(s, {i, j}), m.read(v, {j, e})}));
  check(m.g, 2e-2);  // sums on a rounding boundary of f8 may fall either way
}

TEST(LowerReduce, EveryMonoidAlongRowsAndColumns) {
  Make m;
  for (int64_t n : {1, 3, 5, 17, 100})
    for (bool rows : {true, false}) {
      const std::string tag = (rows ? "r" : "c") + std::to_string(n);
      const int64_t count = rows ? 3 : 70;
      const DimId i = m.dim("i" + tag, count), j = m.dim("j" + tag, n);
      const TensorId x =
          m.input("x" + tag, rows ? std::vector<Poly>{count, n} : std::vector<Poly>{n, count});
      for (const char* name :
           {"sum", "prod", "max", "min", "argmax", "argmin", "logsumexp", "moments"})
        m.output(m.fold(name + tag, {i}, {j}, m.monoid(name, {R}),
                        {m.read(x, rows ? std::vector{i, j} : std::vector{j, i})}));
    }
  check(m.g, 1e-5);
}

TEST(LowerReduce, NanAndTies) {
  Make m;
  const DimId i = m.dim("i", 6), j = m.dim("j", 40);
  const TensorId x = m.input("x", {6, 40});
  for (const char* name : {"max", "min", "argmax", "argmin"})
    m.output(m.fold(std::string("y_") + name, {i}, {j}, m.monoid(name, {R}), {m.read(x, {i, j})}));
  Store in = draw(m.g);
  in["x"][7] = nan_value;
  in["x"][40 + 39] = nan_value;
  in["x"][80] = nan_value;
  for (size_t k = 0; k < 40; ++k) in["x"][120 + k] = -inf;
  for (size_t k = 0; k < 40; ++k) in["x"][160 + k] = 1;
  in["x"][200 + 20] = inf;
  in["x"][200 + 33] = inf;
  check(m.g, in, 0);
  check(m.g, in, 0, {}, {.vectorise = false});
}

TEST(LowerReduce, WelfordIsStable) {
  Make m;
  const DimId c = m.dim("c", 4), p = m.dim("p", 9), q = m.dim("q", 50);
  const TensorId x = m.input("x", {4, 9, 50});
  const MonoidId moments = m.monoid("moments", {R});
  const auto made = m.folds({c}, {p, q}, {{moments, {m.read(x, {c, p, q})}, {}}},
                            {{"mu", {c}, m.g.state(1, R)}, {"m2", {c}, m.g.state(2, R)}});
  for (TensorId t : made) m.output(t);
  Store in = draw(m.g);
  for (double& v : in["x"]) v = round_to(Format::f32, v + 1000);
  check(m.g, in, 1e-4);
  const std::vector<TileDim> tile = Compiled(m.g).schedule().kernels[0].nest.tile;
  ASSERT_FALSE(tile.empty());
  EXPECT_EQ(tile.back().dim, q);
  EXPECT_EQ(tile.back().elem, 8);
}

TEST(LowerReduce, NonCommutativeKeepsItsOrder) {
  Make m;
  const DimId i = m.dim("i", 3), t = m.dim("t", 200);
  const TensorId a = m.input("a", {3, 200}), b = m.input("b", {3, 200});
  m.output(m.fold("h", {i}, {t}, m.monoid("affine", {R, R}),
                  {m.op(Op::sigmoid, m.read(a, {i, t})), m.read(b, {i, t})}));
  check(m.g, 1e-5);
  Compiled c(m.g);
  for (const TileDim& d : c.schedule().kernels[0].nest.tile) EXPECT_EQ(d.dim, i);
}

TEST(LowerReduce, IntegersBoolsAndCounts) {
  Make m;
  const DimId i = m.dim("i", 4), j = m.dim("j", 77);
  const TensorId x = m.input("x", {4, 77}, Format::i8), b = m.input("b", {4, 77}, Format::boolean),
                 u = m.input("u", {4, 77}, Format::u4), r = m.input("r", {4, 77});
  m.output(m.fold("s", {i}, {j}, m.monoid("sum", {Kind::integer}),
                  {m.mul(m.read(x, {i, j}), m.read(u, {i, j}))}));
  m.output(m.fold("any", {i}, {j}, m.monoid("any", {Kind::boolean}), {m.read(b, {i, j})}));
  m.output(m.fold("all", {i}, {j}, m.monoid("all", {Kind::boolean}), {m.read(b, {i, j})}));
  m.output(m.fold("count", {i}, {j}, m.monoid("sum", {Kind::boolean}),
                  {m.op(Op::lt, m.read(r, {i, j}), m.num(0))}));
  m.output(m.fold("most", {i}, {j}, m.monoid("max", {Kind::integer}), {m.read(x, {i, j})}));
  check(m.g, 0);
}

TEST(LowerReduce, EmptyReductionsGiveTheIdentity) {
  Make m;
  const DimId i = m.dim("i", 128), j = m.dim("j", 0);
  const TensorId x = m.input("x", {0, 128}), y = m.input("y", {128, 0});
  for (const std::string name : {"sum", "prod", "max", "min", "argmax", "logsumexp"}) {
    m.output(m.fold("a" + name, {i}, {j}, m.monoid(name, {R}), {m.read(x, {j, i})}));
    m.output(m.fold("b" + name, {i}, {j}, m.monoid(name, {R}), {m.read(y, {i, j})}));
    m.output(m.fold("c" + name, {j}, {i}, m.monoid(name, {R}), {m.read(x, {j, i})}));
  }
  m.output(m.map("d", {i, j}, m.read(x, {j, i})));
  check(m.g, 0);
}

TEST(LowerReduce, InF64WhereAnInputIs) {
  Make m;
  const DimId i = m.dim("i", 3), j = m.dim("j", 300);
  const TensorId x = m.input("x", {3, 300}, Format::f64), y = m.input("y", {3, 300});
  m.output(m.fold("s", {i}, {j}, m.monoid("sum", {R}),
                  {m.mul(m.read(x, {i, j}), m.read(y, {i, j}))}, {}, Format::f64));
  check(m.g, 1e-14);
}

TEST(LowerReduce, RowsOfInvariantComponents) {
  // Two folds over j, one without e: both in one pass; e is looped inside.
  Make m;
  const DimId i = m.dim("i", 6), j = m.dim("j", 21), e = m.dim("e", 10), f = m.dim("f", 3);
  const TensorId x = m.input("x", {6, 21}), w = m.input("w", {21, 10}), z = m.input("z", {21, 3});
  const MonoidId sum = m.monoid("sum", {R});
  const auto made =
      m.folds({i, e, f}, {j},
              {{sum, {m.mul(m.read(x, {i, j}), m.read(w, {j, e}))}, {}},
               {sum, {m.read(x, {i, j})}, {}},
               {sum, {m.mul(m.read(x, {i, j}), m.read(z, {j, f}))}, {}}},
              {{"a", {i, e}, m.g.state(0, R)},
               {"b", {i}, m.g.state(1, R)},
               {"c", {i, e, f}, m.add(m.mul(m.g.state(0, R), m.g.state(2, R)), m.g.state(1, R))}});
  for (TensorId t : made) m.output(t);
  check(m.g, 1e-5);
}

TEST(LowerConv, GuardedReads) {
  for (int64_t stride : {1, 2}) {
    Make m;
    const int64_t oh = (10 + 2 - 3) / stride + 1;
    const DimId n = m.dim("n", 2), k = m.dim("k", 4), c = m.dim("c", 3), p = m.dim("p", oh),
                q = m.dim("q", oh), r = m.dim("r", 3), s = m.dim("s", 3);
    const TensorId x = m.input("x", {2, 3, 10, 10}, Format::f16), w = m.input("w", {4, 3, 3, 3});
    const ExprId v =
        m.mul(m.guarded(x, {m.at(n), m.at(c), Poly(stride) * m.at(p) + m.at(r) - Form(1),
                            Poly(stride) * m.at(q) + m.at(s) - Form(1)}),
              m.read(w, {k, c, r, s}));
    const TensorId y = m.fold("y", {n, k, p, q}, {c, r, s}, m.monoid("sum", {R}), {v});
    m.output(y);
    const ExprId pool = m.guarded(
        y, {m.at(n), m.at(k), m.at(p) + m.at(r) - Form(1), m.at(q) + m.at(s) - Form(1)}, -inf);
    m.output(m.fold("m", {n, k, p, q}, {r, s}, m.monoid("max", {R}), {pool}));
    check(m.g, 1e-5);
  }
}

TEST(LowerConv, TransposedByEqualities) {
  for (int64_t stride : {1, 2, 3}) {
    Make m;
    const int64_t n = 7, up = stride * n;
    const DimId k = m.dim("k", 3), c = m.dim("c", 2), p = m.dim("p", n), q = m.dim("q", n),
                r = m.dim("r", 3), s = m.dim("s", 3), p2 = m.dim("p2", up), q2 = m.dim("q2", up);
    const TensorId y = m.input("y", {3, n, n}), w = m.input("w", {3, 2, 3, 3});
    m.output(m.fold("up", {c, p2, q2}, {k, p, q, r, s}, m.monoid("sum", {R}),
                    {m.mul(m.read(y, {k, p, q}), m.read(w, {k, c, r, s}))},
                    {m.zero(Poly(stride) * m.at(p) + m.at(r) - Form(1) - m.at(p2)),
                     m.zero(Poly(stride) * m.at(q) + m.at(s) - Form(1) - m.at(q2))}));
    check(m.g, 1e-5);
    Compiled compiled(m.g);
    EXPECT_EQ(compiled.text().find("if "), std::string::npos) << compiled.text();
  }
}

TEST(LowerConv, TermsThatAreNotZeroWhereTheyReadZero) {
  // The sum of w * exp(x) over a window leaves out what lies outside; zeros there would not.
  Make m;
  const DimId o = m.dim("o", 16), c = m.dim("c", 4), q = m.dim("q", 40), s = m.dim("s", 3);
  const TensorId x = m.input("x", {4, 40}), w = m.input("w", {16, 4, 3});
  const Form at = m.at(q) + m.at(s) - Form(1);
  for (bool plain : {false, true}) {
    const ExprId read = m.read(x, std::vector<Form>{m.at(c), at});
    m.output(m.fold(plain ? "y" : "z", {o, q}, {c, s}, m.monoid("sum", {R}),
                    {m.mul(plain ? read : m.op(Op::exp, read), m.read(w, {o, c, s}))},
                    {m.bound(at), m.bound(Form(39) - at)}));
  }
  check(m.g, 1e-5);
}

TEST(LowerConv, WeightsOfTermsLeftOutMayHoldAnything) {
  Make m;
  const DimId o = m.dim("o", 16), c = m.dim("c", 4), q = m.dim("q", 40), s = m.dim("s", 3);
  const TensorId x = m.input("x", {4, 40}), v = m.input("v", {16, 4, 3});
  const Form at = m.at(q) + m.at(s) - Form(1);
  m.output(m.fold("y", {o, q}, {c, s}, m.monoid("sum", {R}),
                  {m.mul(m.read(x, std::vector<Form>{m.at(c), at}), m.read(v, {o, c, s}))},
                  {m.bound(at), m.bound(Form(39) - at)}));
  Store in = draw(m.g);
  for (size_t k = 0; k < 16 * 4; ++k) in["v"][k * 3] = k % 2 == 0 ? nan_value : inf;
  // Only q = 0 leaves s = 0 out, and is a number.
  check(m.g, in, 1e-5);
}

TEST(LowerGather, InRangeAndOut) {
  Make m;
  const DimId t = m.dim("t", 9), c = m.dim("c", 5);
  const TensorId emb = m.input("emb", {6, 5}), tok = m.input("tok", {9}, Format::i32);
  m.output(m.map("y", {t, c}, m.read(emb, {m.gather(m.read(tok, {t})), m.at(c)})));
  const ExprId shifted = m.read(emb, {m.gather(m.read(tok, {t})) - Form(3), m.at(c)});
  m.output(m.fold("z", {t}, {c}, m.monoid("sum", {R}), {shifted}));
  Store in = draw(m.g);
  in["tok"] = {0, 5, 6, -1, 1000000, -2000000000, 3, 2, 8};
  check(m.g, in, 1e-6);
}

TEST(LowerGather, BoundsThatGather) {
  // A length per row: the loop ends there. And a paged read under it.
  Make m;
  const DimId b = m.dim("b", 3), n = m.dim("n", 4), t = m.dim("t", 8), e = m.dim("e", 6);
  const TensorId len = m.input("len", {3}, Format::i32),
                 page = m.input("page", {3, 4}, Format::i32), cache = m.input("cache", {5, 8, 6});
  const ExprId length = m.read(len, {b}), slot = m.read(page, {b, n});
  m.output(m.fold("y", {b, e}, {n, t}, m.monoid("sum", {R}),
                  {m.guarded(cache, {m.gather(slot), m.at(t), m.at(e)})},
                  {m.bound(m.gather(length) - Poly(8) * m.at(n) - m.at(t) - Form(1))}));
  Store in = draw(m.g, {}, 4);
  in["len"] = {0, 32, 17};
  check(m.g, in, 1e-5);
}

TEST(LowerGuard, FloorAndCeilingBounds) {
  Make m;
  const DimId i = m.dim("i", 13), j = m.dim("j", 11), k = m.dim("k", 9);
  const TensorId x = m.input("x", {11, 9});
  m.output(m.fold("y", {i}, {j, k}, m.monoid("sum", {R}), {m.read(x, {j, k})},
                  {m.bound(Poly(3) * m.at(j) - Poly(2) * m.at(i) + m.at(k) - Form(1)),
                   m.bound(m.at(i) - Poly(2) * m.at(k) + Form(3)), m.bound(m.at(i) - Form(2))}));
  m.output(m.fold("z", {i}, {j, k}, m.monoid("sum", {R}), {m.read(x, {j, k})},
                  {m.zero(Poly(4) * m.at(j) - Poly(6) * m.at(k) + m.at(i))}));
  check(m.g, 1e-5);
}

TEST(LowerGuard, ReadsImpliedByTheConditionStayInside) {
  // x[i - 1] is in range only where the condition i >= 1 holds.
  Make m;
  const DimId i = m.dim("i", 5), j = m.dim("j", 5);
  const TensorId x = m.input("x", {4}), y = m.input("y", {5});
  m.output(m.fold("s", {i}, {j}, m.monoid("sum", {R}),
                  {m.mul(m.read(x, {m.at(i) - Form(1)}), m.read(y, {j}))},
                  {m.bound(m.at(i) - m.at(j) - Form(1))}));
  check(m.g, 1e-5);
}

TEST(LowerOutput, InPlaceOrdersKernelsOrCopies) {
  // a reads the old x, so the kernel of x2 comes after it, although it is written first.
  Make m;
  const DimId i = m.dim("i", 20);
  const TensorId x = m.input("x", {20});
  const TensorId x2 = m.map("x2", {i}, m.add(m.read(x, {i}), m.num(1)), Format::f32);
  const TensorId a = m.map("a", {i}, m.mul(m.read(x, {Form(19) - m.at(i)}), m.num(2)));
  m.output(x2, x);
  m.output(a);
  check(m.g, 1e-6);
  EXPECT_TRUE(Compiled(m.g).lowered().allocations.empty());

  // A reversal reads what it overwrites: workspace, then a copy.
  Make r;
  const DimId k = r.dim("i", 20);
  const TensorId z = r.input("x", {20});
  r.output(r.map("x2", {k}, r.read(z, {Form(19) - r.at(k)}), Format::f32), z);
  check(r.g, 1e-6);
  EXPECT_EQ(Compiled(r.g).lowered().allocations.size(), 1u);
}

TEST(LowerOutput, GatedUpdateWritesOneRow) {
  Make m;
  const DimId s = m.dim("s", 50), c = m.dim("c", 4);
  const TensorId kc = m.input("kc", {50, 4}), fresh = m.input("fresh", {4}),
                 pos = m.input("pos", {}, Format::i32);
  const ExprId at = m.op(Op::eq, m.g.iota(m.at(s)), m.read(pos, std::vector<DimId>{}));
  m.output(m.map("kc2", {s, c}, m.op(Op::select, at, m.read(fresh, {c}), m.read(kc, {s, c})),
                 Format::f32),
           kc);
  Store in = draw(m.g);
  in["pos"] = {17};
  check(m.g, in, 0);
  in["pos"] = {50};
  check(m.g, in, 0);
  const std::string text = Compiled(m.g).text();
  EXPECT_EQ(text.find("if "), std::string::npos) << text;  // one iteration, not a test of each row
}

TEST(LowerOutput, InputsAndIntermediatesAsOutputs) {
  Make m;
  const DimId i = m.dim("i", 6), j = m.dim("j", 5);
  const TensorId x = m.input("x", {6, 5});
  const TensorId s = m.fold("s", {i}, {j}, m.monoid("sum", {R}), {m.read(x, {i, j})});
  m.output(m.map("y", {i, j}, m.mul(m.read(x, {i, j}), m.read(s, {i}))));
  m.output(s);
  check(m.g, 1e-6);
}

TEST(LowerStorage, NarrowFormatsRoundWhenStored) {
  for (Format f : {Format::f16, Format::bf16, Format::f8e4m3, Format::f8e5m2, Format::f64}) {
    Make m;
    const DimId i = m.dim("i", 100);
    const TensorId x = m.input("x", {100}, f);
    const TensorId y = m.map("y", {i}, m.mul(m.read(x, {i}), m.num(1.5)), f);
    m.output(y);
    m.output(m.map("z", {i}, m.add(m.read(y, {i}), m.num(1))));
    check(m.g, 1e-6);
  }
}

TEST(LowerSize, SymbolicMatmulWithOneCompilation) {
  for (bool tb : {false, true}) {
    Make m;
    const Poly n = m.param("n"), k = m.param("k"), p = m.param("p");
    const DimId i = m.dim("i", n), c = m.dim("c", k), f = m.dim("f", p);
    const TensorId a = m.input("a", {n, k}),
                   b = m.input("b", tb ? std::vector<Poly>{p, k} : std::vector<Poly>{k, p});
    m.output(
        m.fold("y", {i, f}, {c}, m.monoid("sum", {R}),
               {m.mul(m.read(a, {i, c}), m.read(b, tb ? std::vector{f, c} : std::vector{c, f}))}));
    Compiled compiled(m.g);
    for (const auto& [x, y, z] : {std::array<int64_t, 3>{1, 1, 1},
                                  {5, 33, 64},
                                  {3, 100, 131},
                                  {0, 4, 4},
                                  {4, 0, 5},
                                  {4, 5, 0}}) {
      const Sizes s = {{"n", x}, {"k", y}, {"p", z}};
      const Store in = draw(m.g, s);
      compare("y", compiled.run(in, s).outputs.at("y"), reference(m.g, in, s).at("y"), 1e-5);
    }
  }
}

TEST(LowerSafe, LargeEqualScoresGiveEqualWeights) {
  // V04: subtract first, then scale; no contraction of the scaled score with the maximum.
  Make m;
  const DimId i = m.dim("i", 1), j = m.dim("j", 4);
  const TensorId x = m.input("x", {1, 4});
  const ExprId scaled = m.mul(m.read(x, {i, j}), m.num(0.1));
  const TensorId top = m.fold("top", {i}, {j}, m.monoid("max", {R}), {scaled});
  const TensorId p = m.map("p", {i, j}, m.op(Op::exp, m.op(Op::sub, scaled, m.read(top, {i}))));
  const TensorId l = m.fold("l", {i}, {j}, m.monoid("sum", {R}), {m.read(p, {i, j})});
  m.output(m.map("y", {i, j}, m.op(Op::quot, m.read(p, {i, j}), m.read(l, {i}))));
  Compiled c(m.g);
  const Ran ran = c.run({{"x", Data(4, 118587908096.0)}});
  for (double v : ran.outputs.at("y")) EXPECT_EQ(v, 0.25);
}

TEST(LowerLimits, UnbuiltConstructsAreNamed) {
  Make m;
  const DimId t = m.dim("t", 4);
  const TensorId x = m.input("x", {4});
  m.output(m.fold("y", {}, {t}, m.monoid("sum", {R}), {m.read(x, {t})}));
  m.g.nodes.back().gradient.emplace();
  const auto s = plan(m.g);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().id, "E0690");
}

}  // namespace
}  // namespace tang::test
