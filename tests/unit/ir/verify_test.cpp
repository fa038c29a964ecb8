// Graphs broken in one way each, and the error that says so.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/inside.h"
#include "ir/monoids.h"
#include "ir/print.h"

namespace tang {
namespace {

// s[i] = sum[j | j <= i](x[i - j] * w[j]); y[i] = s[i] * 2
class VerifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    i = g.add_dim("i", Poly(8));
    j = g.add_dim("j", Poly(8));
    x = tensor("x", Role::input);
    w = tensor("w", Role::input);
    const ExprId body = g.make(Op::mul, g.read(x, {Form::coordinate(i) - Form::coordinate(j)}),
                               g.read(w, {Form::coordinate(j)}));
    s = tensor("s", Role::definition);
    const Kind real = Kind::real;
    Node n;
    n.points = {i};
    n.reduce = {j};
    n.guards = {{Guard::What::bound, Form::coordinate(i) - Form::coordinate(j)}};
    n.folds = {{*builtin_monoid(g, "sum", std::span(&real, 1)), {body}, {}}};
    n.targets = {{s, {i}, g.state(0, Kind::real)}};
    fold = g.add_node(n);
    y = tensor("y", Role::definition);
    Node m;
    m.points = {i};
    m.targets = {{y, {i}, g.make(Op::mul, g.read(s, {Form::coordinate(i)}), g.pool.real(2))}};
    map = g.add_node(m);
    g.outputs = {{y, TensorId::none}};
  }

  TensorId tensor(const std::string& name, Role role) {
    Tensor t;
    t.name = name;
    t.shape = {Poly(8)};
    t.role = role;
    if (role == Role::input) t.format = Format::f32;
    return g.add_tensor(t);
  }

  void expect(const char* id) {
    const Diagnostics d = verify(g);
    ASSERT_FALSE(d.empty());
    EXPECT_EQ(d[0].id, id) << d[0].message;
  }

  Graph g;
  DimId i{}, j{};
  TensorId x{}, w{}, s{}, y{};
  NodeId fold{}, map{};
};

TEST_F(VerifyTest, AcceptsTheGraph) {
  for (const Diagnostic& d : verify(g)) ADD_FAILURE() << d.id << " " << d.message;
}

TEST_F(VerifyTest, TheGuardProvesTheRead) {
  g[fold].guards.clear();
  expect("E0401");
}
TEST_F(VerifyTest, ATooWeakGuardDoesNot) {
  g[fold].guards[0].form = Form::coordinate(i) - Form::coordinate(j) + Form(1);
  expect("E0401");
}
TEST_F(VerifyTest, SymbolsAreDeferred) {
  const ParamId n = g.add_param("n");
  g.dims[index(j)].extent = Poly::param(n);  // w[j] with j < n: left to bind
  for (const Diagnostic& d : verify(g)) ADD_FAILURE() << d.id << " " << d.message;
}
TEST_F(VerifyTest, Rank) {
  g[map].targets[0].value = g.read(s, {});
  expect("E0402");
}
TEST_F(VerifyTest, UnboundIndex) {
  g[map].targets[0].value = g.read(s, {Form::coordinate(j)});
  expect("E0204");
}
TEST_F(VerifyTest, StateOutOfRange) {
  g[fold].targets[0].value = g.state(1, Kind::real);
  expect("E0204");
}
TEST_F(VerifyTest, StateInAMap) {
  g[map].targets[0].value = g.state(0, Kind::real);
  expect("E0204");
}
TEST_F(VerifyTest, PointsTwice) {
  g[fold].reduce = {i};
  expect("E0205");
}
TEST_F(VerifyTest, Shape) {
  g[y].shape = {Poly(7)};
  expect("E0404");
}
TEST_F(VerifyTest, DroppedPoint) {
  g[y].shape.clear();
  g[map].targets[0].points.clear();
  expect("E0408");
}
TEST_F(VerifyTest, FoldArguments) {
  g[fold].folds[0].args.push_back(g.pool.real(1));
  expect("E0501");
}
TEST_F(VerifyTest, Cycle) {
  g[fold].folds[0].args[0] = g.read(y, {Form::coordinate(j)});
  expect("E0203");
}
TEST_F(VerifyTest, DeadOperand) {
  g[fold].alive = false;
  expect("E0998");
}
TEST_F(VerifyTest, IdsOutOfRange) {
  g[map].targets[0].value = static_cast<ExprId>(1000000);
  expect("E0998");
}
TEST_F(VerifyTest, OutputWithoutDefinition) {
  g.outputs = {{x, TensorId::none}};
  expect("E0212");
}
TEST_F(VerifyTest, MapWithReduceIndices) {
  g[map].reduce = {j};
  expect("E0998");
}
TEST_F(VerifyTest, ConditionOfAScan) {
  g[fold].points = {i, j};
  g[fold].reduce.clear();
  g[fold].scan = Scan{i};
  g[fold].targets[0].points = {i, j};
  g[s].shape = {Poly(8), Poly(8)};
  expect("E0502");
}

TEST(Inside, GuardsTightenBoxesOfAnySize) {
  Graph g;
  const DimId p = g.add_dim("p", Poly(1 << 20)), r = g.add_dim("r", Poly(3)),
              q = g.add_dim("q", Poly(1 << 21));
  const Form at = Poly(2) * Form::coordinate(p) + Form::coordinate(r) - Form(1);
  const Guard zero{Guard::What::zero, at - Form::coordinate(q)};
  const Poly size(1 << 21);
  EXPECT_EQ(prove_inside(g, at, size, {}), Proof::fails);
  EXPECT_EQ(prove_inside(g, at, size, {zero}), Proof::holds);
  EXPECT_EQ(prove_inside(g, at, size - Poly(1), {zero}), Proof::fails);
  // 2p == 2r + 1 has no solutions, so anything is inside.
  const Guard never{Guard::What::zero,
                    Poly(2) * Form::coordinate(p) - Poly(2) * Form::coordinate(r) - Form(1)};
  EXPECT_EQ(prove_inside(g, at, Poly(1), {never}), Proof::holds);
}

TEST(Inside, SymbolicProofs) {
  Graph g;
  const Poly n = Poly::param(g.add_param("n"));
  const DimId i = g.add_dim("i", n), j = g.add_dim("j", n);
  const Form difference = Form::coordinate(i) - Form::coordinate(j);
  EXPECT_EQ(prove_inside(g, Form::coordinate(i), n, {}), Proof::holds);
  EXPECT_EQ(prove_inside(g, difference, n, {{Guard::What::bound, difference}}), Proof::holds);
  EXPECT_EQ(prove_inside(g, Form::coordinate(i) + Form(1), n, {}), Proof::fails);
  EXPECT_EQ(prove_inside(g, Form::coordinate(i), Poly(64), {}), Proof::open);
  g.params[0].bound = 32;
  EXPECT_EQ(prove_inside(g, Form::coordinate(i), Poly(64), {}), Proof::holds);
  g.params[0].bound = 65;
  EXPECT_EQ(prove_inside(g, Form::coordinate(i), Poly(64), {}), Proof::fails);
}

}  // namespace
}  // namespace tang
