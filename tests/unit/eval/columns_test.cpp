// The batched operations and apply() agree bit for bit, on random expressions over awkward values.
#include <cmath>
#include <limits>

#include "base/random.h"
#include "build.h"

namespace tang {
namespace {

using test::Program;

constexpr double inf = std::numeric_limits<double>::infinity();

class RandomExpressions {
 public:
  explicit RandomExpressions(uint64_t seed) : stream_(seed, "expressions") {}

  ExprId make(Program& p, std::vector<ExprId> pool, int operations) {
    for (int k = 0; k < operations; ++k) pool.push_back(operation(p, pool));
    return pool.back();
  }

 private:
  int64_t draw(int64_t high) { return stream_.integer(next_++, 0, high - 1); }

  ExprId operation(Program& p, const std::vector<ExprId>& pool) {
    const auto pick = [&] {
      return pool[static_cast<size_t>(draw(static_cast<int64_t>(pool.size())))];
    };
    static constexpr Op ops[] = {
#define TANG_OP(name, arity, spelling, cost, rank, rule) Op::name,
#include "expr/ops.def"
    };
    for (;;) {
      const Op op = ops[static_cast<size_t>(draw(std::size(ops)))];
      if (op == Op::constant || op == Op::var) continue;
      if (op == Op::cast) return p.g.pool.cast(static_cast<Format>(draw(14)), pick());
      if (op == Op::pow) {
        const ExprId n = draw(2) ? p.g.pool.integer(draw(7) - 3) : pick();
        return p.g.pool.make(op, pick(), n);
      }
      const int arity = info(op).arity;
      return p.g.pool.make(op, pick(), arity > 1 ? pick() : ExprId::none,
                           arity > 2 ? pick() : ExprId::none);
    }
  }

  RandomStream stream_;
  uint64_t next_ = 0;
};

TEST(Columns, AgreeWithTheDefinition) {
  const std::vector<double> reals = {0.0,    -0.0, 1,    -1,  0.5,  2,    -3.25,     1e300, -1e300,
                                     5e-324, inf,  -inf, NAN, 23.7, -700, 3.0000001, 1e6,   0.3};
  const std::vector<double> integers = {0, 1,   -1,   2, 7, -7, 100, -128, 127,
                                        3, 1e9, -1e9, 5, 6, -2, 4,   8,    9};
  const auto n = static_cast<int64_t>(reals.size());
  for (uint64_t trial = 0; trial < 400; ++trial) {
    Program p;
    const DimId i = p.dim("i", n), j = p.dim("j", n);
    const TensorId x = p.input("x", {n}, reals);
    const TensorId k = p.input("k", {n}, integers, Format::i64);
    const ExprId a = p.g.read(x, {p.at(i)}), b = p.g.read(x, {p.at(j)});
    const ExprId c = p.g.read(k, {p.at(j)}), q = p.g.make(Op::lt, a, b);
    const std::vector<ExprId> leaves = {a, b, c, p.g.iota(p.at(i)), q, p.g.pool.real(1.5)};
    const ExprId root = RandomExpressions(trial).make(p, leaves, 12);
    const Values got = p.value(p.map("y", {i, j}, root));
    for (int64_t flat = 0; flat < n * n; ++flat) {
      const int64_t at[] = {flat / n, flat % n};
      const Value want = evaluate(p.g.pool, root, [&](uint32_t leaf) {
        const Leaf& l = p.g.leaf(leaf);
        const int64_t here = at[l.form().mentions(i) ? 0 : 1];
        if (l.what == Leaf::What::iota) return Value::integer(here);
        return l.tensor == x
                   ? Value::real(reals[static_cast<size_t>(here)])
                   : Value::integer(static_cast<int64_t>(integers[static_cast<size_t>(here)]));
      });
      ASSERT_TRUE(same_bits(got.at(flat), want)) << "trial " << trial << " at " << flat;
    }
  }
}

}  // namespace
}  // namespace tang
