// Laws 6 and 8 of algebra.md 10.1 on affine views, at every point of small boxes.
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "view/reshape.h"

namespace tang::law {
namespace {

using Random = std::mt19937_64;

int64_t draw(Random& random, int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
}

DimId dim(size_t k) { return static_cast<DimId>(k); }

// One form an axis over coordinates first .. first + count - 1.
std::vector<Form> random_view(Random& random, size_t axes, size_t first, size_t count) {
  std::vector<Form> forms;
  for (size_t a = 0; a < axes; ++a) {
    Form f(draw(random, -3, 3));
    for (size_t k = 0; k < count; ++k)
      f = f + Poly(draw(random, -2, 3)) * Form::coordinate(dim(first + k));
    forms.push_back(f);
  }
  return forms;
}

// W after V: the coordinates first .. of W become the forms of V.
std::vector<Form> compose(const std::vector<Form>& w, const std::vector<Form>& v, size_t first) {
  std::vector<Form> out;
  for (const Form& f : w)
    out.push_back(substitute(f, [&](DimId d) -> std::optional<Form> {
      const size_t k = index(d) - first;
      return index(d) >= first && k < v.size() ? std::optional(v[k]) : std::nullopt;
    }));
  return out;
}

// Every point of a box, row-major.
template <class F>
void for_points(const std::vector<int64_t>& extents, F f) {
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t n : extents)
    if (n == 0) return;
  for (;;) {
    f(at);
    size_t k = extents.size();
    while (k > 0 && ++at[k - 1] == extents[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}

std::vector<int64_t> values(const std::vector<Form>& v, size_t first,
                            const std::vector<int64_t>& at) {
  std::vector<int64_t> out;
  for (const Form& f : v)
    out.push_back(evaluate(f, {}, [&](DimId d) { return at[index(d) - first]; }));
  return out;
}

RC_GTEST_PROP(View, CompositionIsThatOfTheFunctions, (uint64_t seed)) {
  Random random(seed);
  const auto v = random_view(random, 3, 0, 3), w = random_view(random, 2, 10, 3);
  const auto both = compose(w, v, 10);
  for_points({draw(random, 1, 5), draw(random, 1, 5), draw(random, 1, 5)}, [&](const auto& at) {
    RC_ASSERT(values(both, 0, at) == values(w, 10, values(v, 0, at)));
  });
}

RC_GTEST_PROP(View, CompositionIsAssociativeWithIdentity, (uint64_t seed)) {
  Random random(seed);
  const auto v = random_view(random, 3, 0, 2), w = random_view(random, 3, 10, 3),
             u = random_view(random, 2, 20, 3);
  RC_ASSERT(compose(compose(u, w, 20), v, 10) == compose(u, compose(w, v, 10), 20));
  std::vector<Form> identity;
  for (size_t k = 0; k < 3; ++k) identity.push_back(Form::coordinate(dim(10 + k)));
  RC_ASSERT(compose(w, identity, 10) == w);
  RC_ASSERT(compose(identity, v, 10) == v);
}

RC_GTEST_PROP(View, RangeIsAttained, (uint64_t seed)) {
  Random random(seed);
  const std::vector<int64_t> box = {draw(random, 1, 5), draw(random, 1, 5), draw(random, 1, 5)};
  const Form f = random_view(random, 1, 0, 3)[0];
  const auto r = range(f, [&](DimId d) { return Poly(box[index(d)]); });
  RC_ASSERT(r.has_value());
  int64_t lo = std::numeric_limits<int64_t>::max(), hi = std::numeric_limits<int64_t>::min();
  for_points(box, [&](const auto& at) {
    const int64_t x = values({f}, 0, at)[0];
    lo = std::min(lo, x);
    hi = std::max(hi, x);
  });
  RC_ASSERT(r->lo == Poly(lo) && r->hi == Poly(hi));
}

// ---- reshape -----------------------------------------------------------------------------------

std::vector<Poly> polys(const std::vector<int64_t>& n) { return {n.begin(), n.end()}; }

int64_t product(const std::vector<int64_t>& n) {
  return std::accumulate(n.begin(), n.end(), int64_t{1}, std::multiplies<>());
}

int64_t flat_index(const std::vector<int64_t>& at, const std::vector<int64_t>& extents) {
  int64_t f = 0;
  for (size_t k = 0; k < at.size(); ++k) f = f * extents[k] + at[k];
  return f;
}

// Groups consecutive atoms at random: a shape that the atoms refine.
std::vector<int64_t> grouped(Random& random, const std::vector<int64_t>& atoms) {
  std::vector<int64_t> shape = {1};
  for (int64_t n : atoms) {
    if (random() % 2) shape.push_back(1);
    shape.back() *= n;
  }
  return shape;
}

std::vector<int64_t> random_atoms(Random& random) {
  std::vector<int64_t> atoms;
  for (int64_t k = draw(random, 1, 4); k > 0; --k) atoms.push_back(draw(random, 1, 5));
  return atoms;
}

// Case 1: a split is a view with the same flat index.
RC_GTEST_PROP(Reshape, SplitKeepsFlatIndices, (uint64_t seed)) {
  Random random(seed);
  const std::vector<int64_t> atoms = random_atoms(random), from = grouped(random, atoms);
  std::vector<Form> at;
  for (size_t k = 0; k < atoms.size(); ++k) at.push_back(Form::coordinate(dim(k)));
  const auto view = split_view(polys(from), polys(atoms), at);
  RC_ASSERT(view.has_value());
  for_points(atoms, [&](const auto& x) {
    RC_ASSERT(flat_index(values(*view, 0, x), from) == flat_index(x, atoms));
  });
}

// Case 2b: with q = B·a + b substituted, a loop over q becomes loops over a, b in the same order.
RC_GTEST_PROP(Reshape, MergedCoordinateKeepsOrder, (uint64_t seed)) {
  Random random(seed);
  const std::vector<int64_t> parts = random_atoms(random);
  std::vector<DimId> dims;
  for (size_t k = 0; k < parts.size(); ++k) dims.push_back(dim(k));
  const DimId q = dim(99);
  const Form body = Poly(3) * Form::coordinate(q) + Form(1);
  const Form split = substitute(body, merged_coordinate(q, dims, polys(parts)));
  int64_t next = 0;
  for_points(parts,
             [&](const auto& at) { RC_ASSERT(values({split}, 0, at)[0] == 3 * next++ + 1); });
  RC_ASSERT(next == product(parts));
}

// Case 3: over the atoms of a common refinement both shapes have one flat index.
RC_GTEST_PROP(Reshape, RefinementServesBothShapes, (uint64_t seed)) {
  Random random(seed);
  const std::vector<int64_t> atoms = random_atoms(random);
  const std::vector<int64_t> from = grouped(random, atoms), to = grouped(random, atoms);
  const auto r = refine(polys(from), polys(to));
  RC_ASSERT(r.has_value());
  std::vector<int64_t> extents;
  std::vector<Form> at;
  for (size_t k = 0; k < r->atoms.size(); ++k) {
    extents.push_back(*r->atoms[k].constant());
    at.push_back(Form::coordinate(dim(k)));
  }
  RC_ASSERT(product(extents) == product(from));
  const auto x = axis_positions(*r, r->from, at), y = axis_positions(*r, r->to, at);
  for_points(extents, [&](const auto& p) {
    const int64_t want = flat_index(p, extents);
    RC_ASSERT(flat_index(values(x, 0, p), from) == want);
    RC_ASSERT(flat_index(values(y, 0, p), to) == want);
  });
}

// A refinement exists exactly when suffix products form a divisibility chain.
RC_GTEST_PROP(Reshape, RefinesExactlyDivisibilityChains, (uint64_t seed)) {
  Random random(seed);
  const std::vector<int64_t> from = {draw(random, 1, 6), draw(random, 1, 6), draw(random, 1, 4)};
  std::vector<int64_t> divisors;
  for (int64_t n = 1; n <= product(from); ++n)
    if (product(from) % n == 0) divisors.push_back(n);
  const int64_t inner = divisors[random() % divisors.size()];
  const std::vector<int64_t> to = {product(from) / inner, inner};
  std::vector<int64_t> suffixes = {inner, from[2], from[1] * from[2]};
  bool chain = true;
  for (int64_t a : suffixes)
    for (int64_t b : suffixes) chain &= a % b == 0 || b % a == 0;
  RC_ASSERT(refine(polys(from), polys(to)).has_value() == chain);
}

}  // namespace
}  // namespace tang::law
