// Laws of placements, at every position and coordinate of small random ones.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/random_placement.h"
#include "view/placement.h"
#include "view/placement_text.h"

namespace tang::law {
namespace {

using namespace test;

template <class F>
void for_positions(const Placement& p, F f) {
  for (int64_t k = 0, n = p.positions(); k < n; ++k) f(p.position(k));
}

AxisMap random_map(Random& random, size_t from, size_t to) {
  AxisMap map;
  for (size_t a = 0; a < to; ++a) {
    map.base.push_back(draw(random, -3, 3));
    map.rows.emplace_back();
    for (uint32_t b = 0; b < from; ++b)
      if (const int64_t c = draw(random, -2, 2)) map.rows.back().push_back({b, c});
  }
  return map;
}

Point image(const AxisMap& map, const Point& x) {
  Point y = map.base;
  for (size_t a = 0; a < y.size(); ++a)
    for (const AxisTerm& t : map.rows[a]) y[a] += t.coeff * x[t.axis];
  return y;
}

// `w` after `v`.
AxisMap after(const AxisMap& w, const AxisMap& v, size_t from) {
  AxisMap both;
  for (size_t a = 0; a < w.rows.size(); ++a) {
    int64_t base = w.base[a];
    std::vector<int64_t> row(from, 0);
    for (const AxisTerm& t : w.rows[a]) {
      base += t.coeff * v.base[t.axis];
      for (const AxisTerm& u : v.rows[t.axis]) row[u.axis] += t.coeff * u.coeff;
    }
    both.base.push_back(base);
    both.rows.emplace_back();
    for (uint32_t b = 0; b < from; ++b)
      if (row[b] != 0) both.rows.back().push_back({b, row[b]});
  }
  return both;
}

RC_GTEST_PROP(Placement, PositionsAreEnumeratedOnce, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_placement(random, 2);
  RC_ASSERT(p.fault().empty());
  std::set<Position> seen;
  for_positions(p, [&](const Position& at) {
    for (size_t k = 0; k < level_count; ++k)
      RC_ASSERT(at[k] >= 0 && at[k] < p.count(static_cast<Level>(k)));
    seen.insert(at);
    Position again{};
    for (size_t k = 0; k < p.digits.size(); ++k)
      again[static_cast<size_t>(p.digits[k].level)] += p.digit(k, at) * p.digits[k].stride;
    RC_ASSERT(again == at);
  });
  RC_ASSERT(static_cast<int64_t>(seen.size()) == p.positions());
}

RC_GTEST_PROP(Placement, ComposeMapsCoordinates, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_placement(random, 2);
  const AxisMap map = random_map(random, 2, 3);
  const Placement q = compose(map, p);
  RC_ASSERT(q.fault().empty());
  for_positions(p, [&](const Position& at) {
    RC_ASSERT(q.coordinates(at) == image(map, p.coordinates(at)));
  });
}

RC_GTEST_PROP(Placement, ComposeIsAssociative, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_placement(random, 2);
  const AxisMap v = random_map(random, 2, 3), w = random_map(random, 3, 2);
  const Placement stepwise = compose(w, compose(v, p)), at_once = compose(after(w, v, 2), p);
  RC_ASSERT(stepwise.base == at_once.base);
  for (size_t k = 0; k < p.digits.size(); ++k)
    RC_ASSERT(stepwise.digits[k].terms == at_once.digits[k].terms);
}

RC_GTEST_PROP(Placement, BijectiveIsWhatItSays, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random() % 2 ? random_tile(random, 2, true) : random_placement(random, 1);
  const Point box = p.box();
  std::map<Point, int64_t> times;
  bool inside = true;
  for_positions(p, [&](const Position& at) {
    const Point x = p.coordinates(at);
    for (int64_t e : x) inside = inside && e >= 0;
    ++times[x];
  });
  int64_t points = 1, copies = 1;
  for (int64_t e : box) points *= e;
  for (const Digit& d : p.digits)
    if (d.use != Use::index) copies *= d.extent;
  bool once = inside && static_cast<int64_t>(times.size()) == points;
  for (const auto& [x, n] : times) once = once && n == copies;
  RC_ASSERT(p.is_bijective() == once);
}

RC_GTEST_PROP(Placement, InverseGivesTheDigits, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_tile(random, 2, true);
  const auto digits = inverse(p);
  RC_ASSERT(digits.has_value());
  RC_ASSERT(p.is_bijective());
  for_positions(p, [&](const Position& at) {
    const Point x = p.coordinates(at);
    size_t k = 0;
    for (size_t d = 0; d < p.digits.size(); ++d) {
      if (p.digits[d].use != Use::index) continue;
      const AxisDigit& of = (*digits)[k++];
      RC_ASSERT(x[of.axis] / of.stride % of.extent == p.digit(d, at));
    }
    RC_ASSERT(k == digits->size());
  });
}

RC_GTEST_PROP(Placement, OwnersHoldTheCoordinate, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random() % 2 ? random_tile(random, 2, true) : random_placement(random, 2);
  std::map<Point, std::vector<Position>> held;
  for_positions(p, [&](const Position& at) { held[p.coordinates(at)].push_back(at); });
  for (auto& [x, positions] : held) {
    std::sort(positions.begin(), positions.end());
    RC_ASSERT(owners(p, x) == positions);
  }
  Point outside = p.box();
  RC_ASSERT(held.contains(outside) || owners(p, outside).empty());
}

RC_GTEST_PROP(Placement, ProjectKeepsCoordinates, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_placement(random, 3);
  const Placement q = project(p, {2, 0}, Use::replica);
  RC_ASSERT(q.fault().empty());
  for_positions(p, [&](const Position& at) {
    const Point x = p.coordinates(at);
    RC_ASSERT(q.coordinates(at) == (Point{x[2], x[0]}));
  });
}

RC_GTEST_PROP(Placement, ProjectionOfATileHoldsEachCoordinate, (uint64_t seed)) {
  Random random(seed);
  const Placement q = project(random_tile(random, 2), {1}, Use::partial);
  RC_ASSERT(q.fault().empty());
  RC_ASSERT(q.is_bijective());
}

RC_GTEST_PROP(Placement, RepeatKeepsBijectivity, (uint64_t seed)) {
  Random random(seed);
  const Placement p = random_tile(random, 2);
  const auto axis = static_cast<uint32_t>(random() % 2);
  const int64_t times = draw(random, 1, 3);
  const Placement q = repeat(p, axis, times, random_level(random));
  Point box = p.box();
  box[axis] *= times;
  RC_ASSERT(q.box() == box);
  RC_ASSERT(q.fault().empty());
  RC_ASSERT(q.is_bijective());
}

RC_GTEST_PROP(Placement, TextGivesThePlacementBack, (uint64_t seed)) {
  Random random(seed);
  const AxisNames axes = {"m", "n"};
  const Placement p = random() % 2 ? random_tile(random, 2, true) : random_placement(random, 2);
  const std::string text = print(p, axes);
  const auto q = parse_placement(text, axes);
  RC_ASSERT(q.has_value());
  RC_ASSERT(*q == p);
  // No stride can be left out: with any one of those written taken away, another placement is read.
  for (size_t star = text.find('*'); star != std::string::npos; star = text.find('*', star + 1)) {
    std::string shorter = text;
    shorter.erase(star, text.find(' ', star) - star);
    const auto other = parse_placement(shorter, axes);
    RC_ASSERT(!other || *other != p);
  }
}

}  // namespace
}  // namespace tang::law
