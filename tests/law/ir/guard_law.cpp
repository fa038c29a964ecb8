// Laws 2 and 7 of algebra.md 10.1 on graphs: text does not depend on the order of building, guards
// mean the condition they come from, and proofs of ranges agree with every point.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/guards.h"
#include "ir/inside.h"
#include "ir/print.h"

namespace tang::law {
namespace {

using Random = std::mt19937_64;

int64_t draw(Random& random, int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
}

struct Box {
  Graph g;
  std::vector<DimId> dims;
  std::vector<int64_t> extents;

  explicit Box(Random& random, int64_t largest = 5) {
    for (const char* name : {"i", "j", "k"}) {
      extents.push_back(draw(random, 1, largest));
      dims.push_back(g.add_dim(name, Poly(extents.back())));
    }
  }
  Form form(Random& random) {
    Form f(draw(random, -4, 4));
    for (DimId d : dims)
      if (random() % 3) f = f + Poly(draw(random, -2, 2)) * Form::coordinate(d);
    return f;
  }
  template <class F>
  void points(F f) {
    for (int64_t a = 0; a < extents[0]; ++a)
      for (int64_t b = 0; b < extents[1]; ++b)
        for (int64_t c = 0; c < extents[2]; ++c) f(std::vector<int64_t>{a, b, c});
  }
  int64_t value(const Form& f, const std::vector<int64_t>& at) {
    return evaluate(f, {}, [&](DimId d) { return at[index(d)]; });
  }
  bool holds(ExprId e, const std::vector<int64_t>& at) {
    return evaluate(g.pool, e,
                    [&](uint32_t l) { return Value::integer(value(g.leaf(l).form(), at)); })
        .as_bool();
  }
  bool holds(const Guard& guard, const std::vector<int64_t>& at) {
    if (guard.what == Guard::What::data) return holds(guard.condition, at);
    const int64_t x = value(guard.form, at);
    return guard.what == Guard::What::bound ? x >= 0 : x == 0;
  }
  bool all_hold(const std::vector<Guard>& guards, const std::vector<int64_t>& at) {
    return std::all_of(guards.begin(), guards.end(), [&](const Guard& x) { return holds(x, at); });
  }
  ExprId condition(Random& random, int depth) {
    static constexpr Op comparisons[] = {Op::lt, Op::le, Op::eq};
    if (depth > 0 && random() % 2) {
      const ExprId a = condition(random, depth - 1);
      if (random() % 3 == 0) return g.make(Op::logical_not, a);
      const ExprId b = condition(random, depth - 1);
      return g.make(random() % 3 ? Op::logical_and : Op::logical_or, a, b);
    }
    const ExprId a = g.iota(form(random)), b = g.iota(form(random));
    return g.make(comparisons[random() % 3], a, b);
  }
};

RC_GTEST_PROP(Guards, MeanTheirCondition, (uint64_t seed)) {
  Random random(seed);
  Box box(random);
  const ExprId c = box.condition(random, 3);
  const std::vector<Guard> guards = guards_from(box.g, c);
  const ExprId back = condition_of(box.g, guards);
  box.points([&](const auto& at) {
    RC_ASSERT(box.all_hold(guards, at) == box.holds(c, at));
    RC_ASSERT((back == ExprId::none || box.holds(back, at)) == box.holds(c, at));
  });
  if (back != ExprId::none) RC_ASSERT(guards_from(box.g, back) == guards);
}

RC_GTEST_PROP(Guards, DroppedOnesAlwaysHold, (uint64_t seed)) {
  Random random(seed);
  Box box(random);
  std::vector<Guard> guards;
  for (int k = 0; k < 4; ++k) {
    Guard guard;
    guard.form = box.form(random);
    if (random() % 4 == 0) guard.what = Guard::What::zero;
    guards.push_back(guard);
  }
  std::vector<Guard> kept = guards;
  normalise_guards(box.g, kept);
  box.points(
      [&](const auto& at) { RC_ASSERT(box.all_hold(kept, at) == box.all_hold(guards, at)); });
}

RC_GTEST_PROP(Guards, InsideBoundsAreTheTensor, (uint64_t seed)) {
  Random random(seed);
  Box box(random);
  Tensor t;
  t.name = "x";
  t.role = Role::input;
  t.format = Format::f32;
  t.shape = {Poly(draw(random, 0, 6)), Poly(draw(random, 1, 6))};
  const TensorId x = box.g.add_tensor(t);
  const std::vector<Form> forms = {box.form(random), box.form(random)};
  const std::vector<Guard> guards = inside_bounds(box.g, x, forms);
  box.points([&](const auto& at) {
    bool inside = true;
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t v = box.value(forms[axis], at);
      inside = inside && v >= 0 && v < *t.shape[axis].constant();
    }
    RC_ASSERT(box.all_hold(guards, at) == inside);
  });
}

// With numbers the proof is exact.
RC_GTEST_PROP(Inside, ProofsAgreeWithEveryPoint, (uint64_t seed)) {
  Random random(seed);
  Box box(random);
  std::vector<Guard> guards;
  for (uint64_t k = random() % 3; k > 0; --k) {
    Guard guard;
    guard.form = box.form(random);
    if (random() % 2) guard.what = Guard::What::zero;
    guards.push_back(guard);
  }
  const Form f = box.form(random);
  const int64_t extent = draw(random, 1, 7);
  bool inside = true;
  box.points([&](const auto& at) {
    if (!box.all_hold(guards, at)) return;
    const int64_t v = box.value(f, at);
    inside = inside && v >= 0 && v < extent;
  });
  RC_ASSERT(prove_inside(box.g, f, Poly(extent), guards) == (inside ? Proof::holds : Proof::fails));
}

// Law 2: the same expression built in another order prints the same.
class Builder {
 public:
  Builder(Graph& g, const std::vector<ExprId>& leaves, uint64_t shape, Random& order)
      : g(g), leaves_(leaves), shape_(shape), order_(order) {}

  ExprId build(int depth) {
    if (depth == 0 || shape_() % 5 == 0) return leaves_[shape_() % leaves_.size()];
    static constexpr Op ops[] = {Op::add, Op::mul, Op::max, Op::sub, Op::quot, Op::add, Op::mul};
    if (shape_() % 4 == 0) {
      static constexpr Op unary[] = {Op::exp, Op::neg, Op::sqrt, Op::sigmoid};
      const Op op = unary[shape_() % 4];
      return g.make(op, build(depth - 1));
    }
    const Op op = ops[shape_() % std::size(ops)];
    const ExprId a = build(depth - 1), b = build(depth - 1);
    return is_commutative(op) && order_() % 2 ? g.make(op, b, a) : g.make(op, a, b);
  }

 private:
  Graph& g;
  const std::vector<ExprId>& leaves_;
  Random shape_;
  Random& order_;
};

RC_GTEST_PROP(Text, DoesNotDependOnTheOrderOfBuilding, (uint64_t seed)) {
  std::vector<std::string> texts;
  for (uint64_t order = 0; order < 3; ++order) {
    Random random(order + 1);
    Graph g;
    const DimId i = g.add_dim("i", Poly(4)), j = g.add_dim("j", Poly(4));
    std::vector<TensorId> tensors;
    for (const char* name : {"x", "y"}) {
      Tensor t;
      t.name = name;
      t.role = Role::input;
      t.format = Format::f32;
      t.shape = {Poly(4)};
      tensors.push_back(g.add_tensor(t));
    }
    // The leaves themselves are interned in another order each time.
    std::vector<std::function<ExprId()>> makers = {
        [&] { return g.read(tensors[0], {Form::coordinate(i)}); },
        [&] { return g.read(tensors[0], {Form::coordinate(j)}); },
        [&] { return g.read(tensors[1], {Form::coordinate(i)}); },
        [&] { return g.iota(Form::coordinate(j)); },
        [&] { return g.pool.real(2); },
        [&] { return g.pool.real(-0.5); }};
    std::vector<size_t> sequence = {0, 1, 2, 3, 4, 5};
    std::shuffle(sequence.begin(), sequence.end(), random);
    std::vector<ExprId> leaves(makers.size());
    for (size_t k : sequence) leaves[k] = makers[k]();
    texts.push_back(print_expr(g, Builder(g, leaves, seed, random).build(5)));
  }
  RC_ASSERT(texts[0] == texts[1]);
  RC_ASSERT(texts[0] == texts[2]);
}

}  // namespace
}  // namespace tang::law
