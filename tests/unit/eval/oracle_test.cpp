#include "eval/oracle.h"

#include <cmath>
#include <limits>

#include "build.h"
#include "eval/compare.h"
#include "gmock/gmock.h"

namespace tang {
namespace {

using test::Program;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Reals = std::vector<double>;

TEST(Oracle, MatrixProduct) {
  Program p;
  const DimId i = p.dim("i", 2), j = p.dim("j", 3), k = p.dim("k", 2);
  const TensorId a = p.input("a", {2, 2}, {1, 2, 3, 4});
  const TensorId b = p.input("b", {2, 3}, {1, 2, 3, 4, 5, 6});
  const ExprId body =
      p.g.make(Op::mul, p.g.read(a, {p.at(i), p.at(k)}), p.g.read(b, {p.at(k), p.at(j)}));
  const TensorId c = p.fold("c", {i, j}, {k}, "sum", {body});
  EXPECT_EQ(p.reals(c), (Reals{9, 12, 15, 19, 26, 33}));
  OracleOptions sampled;
  sampled.extent = OracleOptions::Extent::sampled;
  EXPECT_EQ(p.reals(c, sampled), p.reals(c));
}

// algebra.md 3.2: s = (1,3,-inf,2), v = (10,20,30,40).
TEST(Oracle, OnlineSoftmaxVector) {
  Program p;
  const DimId j = p.dim("j", 4);
  const TensorId s = p.input("s", {4}, {1, 3, -inf, 2});
  const TensorId v = p.input("v", {4}, {10, 20, nan, 40});
  const ExprId score = p.g.read(s, {p.at(j)}), value = p.g.read(v, {p.at(j)});
  const TensorId m = p.fold("m", {}, {j}, "online", {score, value}, {}, 0);
  const TensorId l = p.fold("l", {}, {j}, "online", {score, value}, {}, 1);
  const TensorId o = p.fold("o", {}, {j}, "online", {score, value}, {}, 2);
  const TensorId lse = p.fold("lse", {}, {j}, "logsumexp", {score});
  EXPECT_THAT(p.reals(m), ElementsAre(3));
  EXPECT_THAT(p.reals(l), ElementsAre(DoubleEq(1.5032147244080551)));
  EXPECT_THAT(p.reals(o), ElementsAre(DoubleEq(36.068530479223824)));
  EXPECT_THAT(p.reals(lse), ElementsAre(DoubleEq(3.4076059644443806)));
}

TEST(Oracle, MaskedRowIsTheIdentity) {
  Program p;
  const DimId j = p.dim("j", 3);
  const TensorId s = p.input("s", {3}, {-inf, -inf, -inf});
  const ExprId score = p.g.read(s, {p.at(j)});
  EXPECT_EQ(p.reals(p.fold("m", {}, {j}, "online", {score, score}, {}, 0)), Reals{-inf});
  EXPECT_EQ(p.reals(p.fold("l", {}, {j}, "online", {score, score}, {}, 1)), Reals{0});
  EXPECT_EQ(p.reals(p.fold("o", {}, {j}, "online", {score, score}, {}, 2)), Reals{0});
  EXPECT_EQ(p.reals(p.fold("lse", {}, {j}, "logsumexp", {score})), Reals{-inf});
}

// algebra.md 3.3: 1, 2, 4, 7 give (4, 3.5, 21).
TEST(Oracle, WelfordVector) {
  Program p;
  const DimId j = p.dim("j", 4);
  const ExprId x = p.g.read(p.input("x", {4}, {1, 2, 4, 7}), {p.at(j)});
  EXPECT_EQ(p.reals(p.fold("n", {}, {j}, "moments", {x}, {}, 0)), Reals{4});
  EXPECT_EQ(p.reals(p.fold("mean", {}, {j}, "moments", {x}, {}, 1)), Reals{3.5});
  EXPECT_EQ(p.reals(p.fold("m2", {}, {j}, "moments", {x}, {}, 2)), Reals{21});
}

// algebra.md 3.5: prefixes of an affine fold, as folds under t' <= t; order matters.
TEST(Oracle, AffinePrefixes) {
  Program p;
  const DimId t = p.dim("t", 4), u = p.dim("u", 4);
  const ExprId a = p.g.read(p.input("a", {4}, {0.5, 2, -1, 0.25}), {p.at(u)});
  const ExprId b = p.g.read(p.input("b", {4}, {1, -1, 3, 0.5}), {p.at(u)});
  const Guard until = Program::bound(p.at(t) - p.at(u));
  EXPECT_EQ(p.reals(p.fold("A", {t}, {u}, "affine", {a, b}, {until}, 0)),
            (Reals{0.5, 1, -1, -0.25}));
  EXPECT_EQ(p.reals(p.fold("B", {t}, {u}, "affine", {a, b}, {until}, 1)), (Reals{1, 1, 2, 1}));
}

// cases.md V06 and rule 2.
TEST(Oracle, MaxAndArgmaxWithNaN) {
  struct Case {
    Reals x;
    double max, arg;
  };
  const Case cases[] = {{{nan, 6, 8}, nan, 0},  {{6, nan, 8}, nan, 1},   {{6, 8, nan}, nan, 2},
                        {{inf, nan}, nan, 1},   {{-inf, -inf}, -inf, 0}, {{2, 5, 5, 1}, 5, 1},
                        {{nan, 1, nan}, nan, 0}};
  for (const Case& c : cases) {
    Program p;
    const auto n = static_cast<int64_t>(c.x.size());
    const DimId j = p.dim("j", n);
    const ExprId x = p.g.read(p.input("x", {n}, c.x), {p.at(j)});
    const double max = p.reals(p.fold("m", {}, {j}, "max", {x}))[0];
    const double arg = p.reals(p.fold("a", {}, {j}, "argmax", {x}))[0];
    EXPECT_TRUE(std::isnan(c.max) ? std::isnan(max) : max == c.max);
    EXPECT_EQ(arg, c.arg);
  }
}

TEST(Oracle, ArgmaxIsTheFlatIndex) {
  Program p;
  const DimId i = p.dim("i", 2), j = p.dim("j", 3);
  const ExprId x = p.g.read(p.input("x", {2, 3}, {1, 2, 3, 9, 2, 9}), {p.at(i), p.at(j)});
  EXPECT_EQ(p.reals(p.fold("a", {}, {i, j}, "argmax", {x})), Reals{3});
  EXPECT_EQ(p.reals(p.fold("b", {}, {j, i}, "argmax", {x})), Reals{1});
}

// algebra.md 4 and cases.md V20.
TEST(Oracle, ZeroSizes) {
  Program p;
  const DimId i = p.dim("i", 3), e = p.dim("e", 0);
  const ExprId x = p.g.read(p.input("x", {3, 0}, {}), {p.at(i), p.at(e)});
  EXPECT_EQ(p.reals(p.fold("s", {i}, {e}, "sum", {x})), (Reals{0, 0, 0}));
  EXPECT_EQ(p.reals(p.fold("p", {i}, {e}, "prod", {x})), (Reals{1, 1, 1}));
  EXPECT_EQ(p.reals(p.fold("m", {i}, {e}, "max", {x})), (Reals{-inf, -inf, -inf}));
  EXPECT_EQ(p.reals(p.fold("l", {i}, {e}, "logsumexp", {x})), (Reals{-inf, -inf, -inf}));
  EXPECT_EQ(p.reals(p.fold("a", {i}, {e}, "argmax", {x})), (Reals{-1, -1, -1}));
  EXPECT_EQ(p.reals(p.fold("w", {i}, {e}, "moments", {x}, {}, 2)), (Reals{0, 0, 0}));
  EXPECT_EQ(p.reals(p.fold("c", {e}, {i}, "sum", {x})), Reals{});
  EXPECT_EQ(p.value(p.map("y", {i, e}, x)).shape, (std::vector<int64_t>{3, 0}));
}

// A target that drops a point is computed even where that point's extent is 0.
TEST(Oracle, TargetsMayDropPoints) {
  for (int64_t width : {2, 0}) {
    Program p;
    const DimId i = p.dim("i", 2), e = p.dim("e", width), j = p.dim("j", 3);
    const TensorId s = p.input("s", {2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorId v = p.input("v", {3, width}, Reals(static_cast<size_t>(3 * width), 1));
    const std::vector<ExprId> args = {p.g.read(s, {p.at(i), p.at(j)}),
                                      p.g.read(v, {p.at(j), p.at(e)})};
    const MonoidId m = p.monoid("online", args);
    const TensorId top = p.tensor("top", {2}, Kind::real, Role::definition);
    const TensorId o = p.tensor("o", {2, width}, Kind::real, Role::definition);
    Node n;
    n.points = {i, e};
    n.reduce = {j};
    n.folds = {{m, args, {}}};
    n.targets = {{o, {i, e}, p.g.state(2, Kind::real)}, {top, {i}, p.g.state(0, Kind::real)}};
    const NodeId id = p.g.add_node(n);
    const auto all = evaluate_node(p.g, id, {}, p.given);
    ASSERT_TRUE(all.has_value());
    EXPECT_EQ(all->at(top).at(0).r, 3);
    EXPECT_EQ(all->at(top).at(1).r, 6);
    EXPECT_EQ(all->at(o).elements(), 2 * width);
  }
}

TEST(Oracle, GuardedReadsYieldTheFill) {
  Program p;
  const DimId i = p.dim("i", 4);
  const TensorId x = p.input("x", {3}, {1, 2, 3});
  const ExprId before = p.g.guarded_read(x, {p.at(i) - Form(1)}, Value::real(-7));
  EXPECT_EQ(p.reals(p.map("y", {i}, before)), (Reals{-7, 1, 2, 3}));
}

TEST(Oracle, Gathers) {
  Program p;
  const DimId t = p.dim("t", 4), c = p.dim("c", 2);
  const TensorId emb = p.input("emb", {3, 2}, {0, 1, 10, 11, 20, 21});
  const TensorId tok = p.input("tok", {4}, {2, -1, 3, 0}, Format::i32);
  Leaf index;
  index.what = Leaf::What::read;
  index.kind = Kind::integer;
  index.tensor = tok;
  index.forms = {p.at(t)};
  Leaf l;
  l.what = Leaf::What::read;
  l.kind = Kind::real;
  l.tensor = emb;
  l.forms = {Form::gathered(p.g.intern(index)), p.at(c)};
  l.set_fill(Value::real(5));
  const TensorId y = p.map("y", {t, c}, p.g.variable(l));
  EXPECT_EQ(p.reals(y), (Reals{20, 21, 5, 5, 5, 5, 0, 1}));

  OracleOptions verify;
  verify.verify_gathers = true;
  const auto bad = evaluate_tensors(p.g, {}, p.given, {y}, verify);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().id, "E0417");
  EXPECT_EQ(bad.error().exit, Exit::wrong_result);
  EXPECT_EQ(bad.error().message,
            "position -1 on axis 0 of `emb` is outside 0…2 at t = 1 (gathered through `tok`)");
  l.guarded = true;
  EXPECT_EQ(p.reals(p.map("z", {t, c}, p.g.variable(l)), verify), p.reals(y));
}

// Indices in slots that a term guard skips are not read, so they are not errors.
TEST(Oracle, GuardedTermsMayHoldForeignIndices) {
  Program p;
  const DimId j = p.dim("j", 3);
  const TensorId x = p.input("x", {2}, {4, 6});
  const TensorId page = p.input("page", {3}, {1, 0, 99}, Format::i32);
  const TensorId len = p.input("len", {}, {2}, Format::i32);
  const LeafId n = p.g.pool[p.g.read(len, {})].variable();
  const LeafId at = p.g.pool[p.g.read(page, {p.at(j)})].variable();
  const ExprId value = p.g.read(x, {Form::gathered(at)});
  const Guard valid = Program::bound(Form::gathered(n) - Form(1) - p.at(j));
  OracleOptions verify;
  verify.verify_gathers = true;
  EXPECT_EQ(p.reals(p.fold("y", {}, {j}, "sum", {value}, {valid}), verify), Reals{10});
  EXPECT_FALSE(evaluate_tensors(p.g, {}, p.given, {p.fold("z", {}, {j}, "sum", {value})}, verify));
}

// out[q] = sum[p, r | 2p + r - 1 == q](x[p] w[r]), in both orders of the coordinates.
TEST(Oracle, TransposedConvolution) {
  Program p;
  const int64_t n = 700;
  const DimId q = p.dim("q", 2 * n), a = p.dim("p", n), r = p.dim("r", 3);
  Reals xs;
  for (int64_t k = 0; k < n; ++k) xs.push_back(static_cast<double>(k % 17) - 3);
  const Reals ws = {1, -2, 5};
  const ExprId x = p.g.read(p.input("x", {n}, xs), {p.at(a)});
  const ExprId w = p.g.read(p.input("w", {3}, ws), {p.at(r)});
  const Guard here = Program::zero(Poly(2) * p.at(a) + p.at(r) - Form(1) - p.at(q));
  Reals want(static_cast<size_t>(2 * n), 0);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t s = 0; s < 3; ++s)
      if (const int64_t to = 2 * k + s - 1; to >= 0 && to < 2 * n)
        want[static_cast<size_t>(to)] += xs[static_cast<size_t>(k)] * ws[static_cast<size_t>(s)];
  OracleOptions slow;
  slow.slow_guards = true;
  const ExprId body = p.g.make(Op::mul, x, w);
  for (const auto& order : {std::vector<DimId>{a, r}, std::vector<DimId>{r, a}}) {
    const TensorId y = p.fold("y", {q}, order, "sum", {body}, {here});
    EXPECT_EQ(p.reals(y), want);
    EXPECT_EQ(p.reals(y, slow), want);
  }
}

// Random affine guards: restricted loops and the test of every point agree bit for bit.
TEST(Oracle, RestrictedLoopsEqualTheSlowMode) {
  uint64_t seed = 12345;
  const auto draw = [&](int64_t low, int64_t high) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + static_cast<int64_t>((seed >> 33) % static_cast<uint64_t>(high - low + 1));
  };
  for (int trial = 0; trial < 200; ++trial) {
    Program p;
    const DimId i = p.dim("i", draw(1, 40)), e = p.dim("e", draw(1, 30));
    const DimId a = p.dim("a", draw(0, 7)), b = p.dim("b", draw(1, 9));
    const auto form = [&] {
      return Form(draw(-6, 6)) + Poly(draw(-2, 2)) * p.at(i) + Poly(draw(-1, 1)) * p.at(e) +
             Poly(draw(-2, 2)) * p.at(a) + Poly(draw(-3, 3)) * p.at(b);
    };
    std::vector<Guard> guards;
    for (int64_t k = draw(1, 3); k > 0; --k) guards.push_back(Program::bound(form()));
    if (draw(0, 1)) guards.push_back(Program::zero(form()));
    if (draw(0, 2) == 0)
      guards.push_back(Program::data(p.g.make(Op::lt, p.g.iota(form()), p.g.pool.integer(2))));
    const ExprId x = p.g.make(Op::sin, p.g.iota(Poly(7) * p.at(a) + p.at(b) + p.at(i)));
    const TensorId y = p.fold("y", {i, e}, {a, b}, "affine", {x, x}, guards);
    OracleOptions slow, sampled;
    slow.slow_guards = true;
    sampled.extent = OracleOptions::Extent::sampled;
    EXPECT_EQ(p.reals(y), p.reals(y, slow)) << "trial " << trial;
    EXPECT_EQ(p.reals(y), p.reals(y, sampled)) << "trial " << trial;
  }
}

TEST(Oracle, IntegersAreExact) {
  Program p;
  const DimId j = p.dim("j", 3);
  auto array = make_array(Format::i64, {3}).value();
  const int64_t big = (int64_t{1} << 53) + 1;
  array.set_integer(0, big);
  array.set_integer(1, big);
  array.set_integer(2, std::numeric_limits<int64_t>::max());
  const TensorId x = p.tensor("x", {3}, Kind::integer, Role::input, Format::i64);
  p.given[x] = &array;
  const ExprId e = p.g.read(x, {p.at(j)});
  const auto wrapped = static_cast<int64_t>(2 * static_cast<uint64_t>(big) +
                                            static_cast<uint64_t>(array.integer_at(2)));
  EXPECT_EQ(p.value(p.fold("s", {}, {j}, "sum", {e})).at(0).i, wrapped);
  EXPECT_EQ(p.value(p.map("y", {j}, e)).at(0).i, big);
  const ExprId negative = p.g.make(Op::lt, e, p.g.pool.integer(0));
  EXPECT_EQ(p.value(p.fold("c", {}, {j}, "sum", {negative})).at(0).i, 0);
}

TEST(Oracle, CastsAndWrittenFormats) {
  Program p;
  const DimId j = p.dim("j", 4);
  const ExprId x = p.g.read(p.input("x", {4}, {1.0 / 3, 1e6, 2.5, nan}), {p.at(j)});
  EXPECT_THAT(p.reals(p.map("h", {j}, x, Format::f16)),
              ElementsAre(0.333251953125, inf, 2.5, IsNan()));
  EXPECT_THAT(p.reals(p.map("q", {j}, p.g.pool.cast(Format::f8e4m3, x))),
              ElementsAre(0.34375, 448, 2.5, IsNan()));
  EXPECT_THAT(p.reals(p.map("b", {j}, p.g.pool.cast(Format::i8, x))), ElementsAre(0, 127, 2, 0));
  EXPECT_THAT(p.reals(p.map("f", {j}, x)), ElementsAre(1.0 / 3, 1e6, 2.5, IsNan()));
  const TensorId wide = p.map("wide", {j}, p.g.iota(Poly(int64_t{1} << 40) * p.at(j)));
  EXPECT_EQ(p.value(wide).at(3).i, 3 * (int64_t{1} << 40));
}

// Inputs are decoded from their format.
TEST(Oracle, InputFormats) {
  Program p;
  const DimId j = p.dim("j", 2);
  const ExprId x = p.g.read(p.input("x", {2}, {1.0 / 3, 3}, Format::bf16), {p.at(j)});
  EXPECT_EQ(p.reals(p.map("y", {j}, x)), (Reals{0.333984375, 3}));
  const ExprId n = p.g.read(p.input("n", {2}, {-8, 7}, Format::i4), {p.at(j)});
  EXPECT_EQ(p.reals(p.map("z", {j}, n)), (Reals{-8, 7}));
}

TEST(Oracle, UnbuiltConstructsSaySo) {
  Program p;
  const DimId t = p.dim("t", 2);
  const ExprId x = p.g.read(p.input("x", {2}, {1, 2}), {p.at(t)});
  const TensorId y = p.fold("y", {t}, {}, "sum", {x});
  p.g[p.g[y].node].gradient = Gradient{};
  EXPECT_EQ(evaluate_tensors(p.g, {}, p.given, {y}).error().id, "E0690");
}

// A sampled point of a scan needs its whole lane, a matrix scan all of them.
TEST(Oracle, SampledScansEqualFullOnes) {
  for (const bool matrix : {false, true}) {
    Program p;
    const DimId b = p.dim("b", 40), t = p.dim("t", 50), c = p.dim("c", 40);
    Reals values;
    for (int k = 0; k < 40 * 50; ++k) values.push_back(std::sin(k));
    const TensorId x = p.input("x", {40, 50}, values);
    const ExprId read = p.g.read(x, {p.at(b), p.at(t)});
    const ExprId step = p.g.make(Op::select, p.g.make(Op::eq, p.g.iota(p.at(b)), p.g.iota(p.at(c))),
                                 p.g.pool.real(0.5), p.g.pool.real(0.01));
    const TensorId y = matrix ? p.fold("y", {b, t}, {c}, "affine", {step, read})
                              : p.fold("y", {b, t}, {}, "sum", {read});
    Scan& scan = p.g[p.g[y].node].scan.emplace();
    scan.along = t;
    if (matrix) {
      scan.matrix = std::pair(b, c);
      scan.initial = {p.g.pool.real(1)};
    }
    OracleOptions full, sampled;
    full.extent = OracleOptions::Extent::full;
    sampled.extent = OracleOptions::Extent::sampled;
    sampled.points = 64;
    const auto all = evaluate_tensors(p.g, {}, p.given, {y}, full);
    const auto some = evaluate_tensors(p.g, {}, p.given, {y}, sampled);
    ASSERT_TRUE(all && some);
    const Values& part = some->at(y);
    ASSERT_TRUE(part.points);
    EXPECT_GE(part.points->count(), 64);
    for (int64_t flat : part.points->members())
      EXPECT_EQ(part.data()[part.points->rank(flat)].r, all->at(y).at(flat).r) << flat;
  }
}

// Operands that are not given are computed; those that are given are used as they are.
TEST(Oracle, OneNodeFromGivenOperands) {
  Program p;
  const DimId i = p.dim("i", 3), j = p.dim("j", 3);
  const TensorId x = p.input("x", {3}, {1, 2, 3});
  const TensorId y = p.map("y", {i}, p.g.make(Op::mul, p.g.read(x, {p.at(i)}), p.g.pool.real(2)));
  const TensorId z = p.fold("z", {}, {j}, "sum", {p.g.read(y, {p.at(j)})});
  const NodeId node = p.g[z].node;
  EXPECT_EQ(evaluate_node(p.g, node, {}, p.given)->at(z).at(0).r, 12);
  Array rounded = make_array(Format::f32, {3}).value();
  for (int64_t k = 0; k < 3; ++k) rounded.set(k, 5);
  Given given = {{y, &rounded}};
  EXPECT_EQ(evaluate_node(p.g, node, {}, given)->at(z).at(0).r, 15);
}

// Sampled points of a chain equal the same points of the full evaluation.
TEST(Oracle, SampledEqualsFull) {
  Program p;
  const DimId i = p.dim("i", 60), j = p.dim("j", 60), e = p.dim("e", 40), j2 = p.dim("j2", 60);
  Reals xs, vs;
  for (int k = 0; k < 60 * 40; ++k) xs.push_back(std::sin(k)), vs.push_back(std::cos(3.0 * k));
  const TensorId x = p.input("x", {60, 40}, xs), v = p.input("v", {60, 40}, vs);
  const TensorId s =
      p.fold("s", {i, j}, {e}, "sum",
             {p.g.make(Op::mul, p.g.read(x, {p.at(i), p.at(e)}), p.g.read(x, {p.at(j), p.at(e)}))});
  const ExprId args[] = {p.g.read(s, {p.at(i), p.at(j2)}), p.g.read(v, {p.at(j2), p.at(e)})};
  const TensorId o =
      p.fold("o", {i, e}, {j2}, "online", {args[0], args[1]}, {Program::bound(p.at(i) - p.at(j2))});
  OracleOptions sampled;
  sampled.extent = OracleOptions::Extent::sampled;
  sampled.points = 100;
  const Values some = p.value(o, sampled), all = p.value(o);
  ASSERT_TRUE(some.sampled());
  EXPECT_LE(some.stored(), 100);
  EXPECT_GE(some.stored(), 50);
  const Comparison c = compare(some, all);
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(c.compared, some.stored());
}

TEST(Oracle, AMissingInputIsNamed) {
  Program p;
  const DimId i = p.dim("i", 2);
  const TensorId x = p.input("x", {2}, {1, 2});
  const TensorId y = p.map("y", {i}, p.g.read(x, {p.at(i)}));
  p.given.clear();
  const auto out = evaluate_tensors(p.g, {}, p.given, {y});
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().message, "input `x` has no value");
}

}  // namespace
}  // namespace tang
