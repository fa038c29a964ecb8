// A relation is what it says: the answer, applied at every position, gives the other placement.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/random_placement.h"
#include "view/relation.h"

namespace tang::law {
namespace {

using namespace test;

Position moved_to_register(const Placement& from, Position at, int64_t r) {
  const int64_t elements = from.count(Level::elem);
  at[static_cast<size_t>(Level::reg)] = r / elements;
  at[static_cast<size_t>(Level::elem)] = r % elements;
  return at;
}

// What the registers of `c`, and its order, say `at` of `to` holds, is what it holds.
bool applies(const Conversion& c, const Placement& from, const Placement& to) {
  const int64_t elements = to.count(Level::elem);
  for (int64_t k = 0, n = to.positions(); k < n; ++k) {
    const Position at = to.position(k);
    int64_t r =
        at[static_cast<size_t>(Level::reg)] * elements + at[static_cast<size_t>(Level::elem)];
    if (c.relation != Relation::same) r = c.registers.at(static_cast<size_t>(r));
    Point x = to.coordinates(at);
    if (c.relation == Relation::k_perm) x[c.axis] = c.order.at(static_cast<size_t>(x[c.axis]));
    if (from.coordinates(moved_to_register(from, at, r)) != x) return false;
  }
  return true;
}

// Each coordinate that a warp wants is in that warp.
bool in_warp(const Placement& from, const Placement& to) {
  std::set<std::pair<Position, Point>> there;
  const auto key = [](const Placement& p, Position at) {
    const Point x = p.coordinates(at);
    for (Level l : {Level::lane, Level::reg, Level::elem}) at[static_cast<size_t>(l)] = 0;
    return std::pair(at, x);
  };
  for (int64_t k = 0; k < from.positions(); ++k) there.insert(key(from, from.position(k)));
  for (int64_t k = 0; k < to.positions(); ++k)
    if (!there.contains(key(to, to.position(k)))) return false;
  return true;
}

// A tile and the same one with other strides, levels or order of digits.
std::pair<Placement, Placement> two_placements(Random& random) {
  const Placement p = random_tile(random, 2);
  Placement q = p;
  switch (random() % 3) {
    case 0:
      for (Digit& d : q.digits) d.level = random_level(random);
      break;
    case 1:
      for (Digit& d : q.digits)
        if (d.level == Level::elem) d.level = Level::reg;
      break;
    default:
      break;
  }
  if (random() % 4) shuffle_digits(random, q);
  return {p, q};
}

RC_GTEST_PROP(Relation, IsWhatItSays, (uint64_t seed)) {
  Random random(seed);
  const auto [p, q] = two_placements(random);
  if (!q.fault().empty()) return;
  const Conversion c = relation(p, q, 1);
  switch (c.relation) {
    case Relation::same:
    case Relation::reg_perm:
      RC_ASSERT(applies(c, p, q));
      break;
    case Relation::k_perm: {
      RC_ASSERT(applies(c, p, q));
      RC_ASSERT(c.axis == 1u);
      const std::set<int64_t> values(c.order.begin(), c.order.end());
      RC_ASSERT(values.size() == c.order.size());
      RC_ASSERT(static_cast<int64_t>(values.size()) == q.box()[1]);
      RC_ASSERT(*values.begin() == 0 && *values.rbegin() == q.box()[1] - 1);
      break;
    }
    case Relation::shuffle:
      RC_ASSERT(in_warp(p, q));
      break;
    case Relation::via_shared:
      RC_ASSERT(!in_warp(p, q));
      break;
    default:
      RC_FAIL("no digit is partial");
  }
}

RC_GTEST_PROP(Relation, SameIsAnEquivalence, (uint64_t seed)) {
  Random random(seed);
  const auto [p, q] = two_placements(random);
  Placement r = p;
  std::shuffle(r.digits.begin(), r.digits.end(), random);
  const auto same = [](const Placement& a, const Placement& b) {
    return relation(a, b).relation == Relation::same;
  };
  RC_ASSERT(same(p, p));
  RC_ASSERT(same(p, r));  // the order of writing does not count
  RC_ASSERT(same(p, q) == same(q, p));
  RC_ASSERT(same(p, q) == same(r, q));
}

// Registers dealt anew, and then the digits of one axis renamed: found, or something better is.
RC_GTEST_PROP(Relation, FindsAPermutedAxis, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_tile(random, 2);
  Placement q = p;
  std::vector<Digit*> digits, registers;
  for (Digit& d : q.digits) {
    if (d.use == Use::index && d.terms[0].axis == 1) digits.push_back(&d);
    if (d.level == Level::reg) registers.push_back(&d);
  }
  std::shuffle(registers.begin(), registers.end(), random);
  int64_t stride = 1;
  for (Digit* d : registers) {
    d->stride = stride;
    stride *= d->extent;
  }
  RC_ASSERT(relation(p, q).relation <= Relation::reg_perm);
  std::shuffle(digits.begin(), digits.end(), random);
  int64_t coeff = 1;
  for (Digit* d : digits) {
    d->terms[0].coeff = coeff;
    coeff *= d->extent;
  }
  const Conversion c = relation(p, q, 1);
  RC_ASSERT(c.relation <= Relation::k_perm);
  RC_ASSERT(applies(c, p, q));
}

RC_GTEST_PROP(Relation, PartialDigitsAreFoldedFirst, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_tile(random, 2);
  const Placement rows = project(p, {0}, Use::replica), sums = project(p, {0}, Use::partial);
  if (!sums.has(Use::partial)) return;
  RC_ASSERT(relation(sums, sums).relation == Relation::same);
  RC_ASSERT(relation(sums, rows).relation == Relation::fold);
  RC_ASSERT(relation(rows, sums).relation == Relation::mask);
}

}  // namespace
}  // namespace tang::law
