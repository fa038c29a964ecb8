// Random placements over small tiles.
#pragma once

#include <algorithm>
#include <random>

#include "view/placement.h"

namespace tang::test {

using Random = std::mt19937_64;

inline int64_t draw(Random& random, int64_t lo, int64_t hi) {
  return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
}

// Puts digits without strides in a random order, and counts the strides out in another.
inline void shuffle_digits(Random& random, Placement& p) {
  std::shuffle(p.digits.begin(), p.digits.end(), random);
  std::vector<size_t> order(p.digits.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), random);
  int64_t strides[level_count];
  std::fill(std::begin(strides), std::end(strides), 1);
  for (size_t k : order) {
    Digit& d = p.digits[k];
    d.stride = strides[static_cast<size_t>(d.level)];
    strides[static_cast<size_t>(d.level)] *= d.extent;
  }
}

inline Level random_level(Random& random) {
  constexpr Level levels[] = {Level::reg,  Level::reg,  Level::lane, Level::lane,
                              Level::elem, Level::warp, Level::step};
  return levels[random() % std::size(levels)];
}

// Digits of 1 to 3 that count out a box of `rank` axes, each axis by digits of its own; replica and
// (if wanted) partial digits among them.
inline Placement random_tile(Random& random, size_t rank, bool with_partial = false) {
  Placement p(rank);
  for (uint32_t a = 0; a < rank; ++a) {
    int64_t coeff = 1;
    for (int64_t k = draw(random, 1, 3); k > 0; --k) {
      const int64_t extent = draw(random, 1, 3);
      p.digits.push_back({random_level(random), extent, 1, Use::index, {{a, coeff}}});
      coeff *= extent;
    }
  }
  if (random() % 3 == 0) p.digits.push_back({random_level(random), 2, 1, Use::replica, {}});
  if (with_partial && random() % 2 == 0)
    p.digits.push_back({random_level(random), 2, 1, Use::partial, {}});
  shuffle_digits(random, p);
  return p;
}

// Digits that each move any axes by any amounts.
inline Placement random_placement(Random& random, size_t rank) {
  Placement p = random_tile(random, rank, true);
  for (int64_t& b : p.base) b = draw(random, -2, 4);
  for (Digit& d : p.digits) {
    if (d.use != Use::index) continue;
    d.terms.clear();
    for (uint32_t a = 0; a < rank; ++a)
      if (const int64_t c = draw(random, -2, 5)) d.terms.push_back({a, c});
    if (d.terms.empty()) d.terms.push_back({0, 1});
  }
  return p;
}

}  // namespace tang::test
