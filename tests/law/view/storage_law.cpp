// Laws of storages, by brute force over small boxes.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/random_placement.h"
#include "view/placement_text.h"
#include "view/storage.h"

namespace tang::law {
namespace {

using namespace test;

Swizzle random_swizzle(Random& random) {
  if (random() % 2) return {};
  const auto bits = static_cast<uint8_t>(draw(random, 1, 3));
  return {bits, static_cast<uint8_t>(draw(random, 1, 4)), 3};
}

// A box cut into digits that may leave gaps, or overlap.
Storage random_storage(Random& random, const Point& box, int64_t element) {
  Storage s;
  int64_t bytes = element;
  for (uint32_t a = 0; a < box.size(); ++a) {
    const int64_t cut = draw(random, 1, 3);
    s.digits.push_back({{a, 1, cut}, bytes});
    bytes *= cut;
    s.digits.push_back({{a, cut, 0}, bytes});
    bytes *= (box[a] + cut - 1) / cut;
    if (random() % 3 == 0) bytes += element * draw(random, 0, 2);
  }
  if (random() % 4 == 0) s.digits.back().bytes = element * draw(random, 1, 4);
  std::shuffle(s.digits.begin(), s.digits.end(), random);
  s.swizzle = random_swizzle(random);
  s.origin = s.swizzle.period() * draw(random, 0, 2);
  s.align = std::max<int64_t>(s.swizzle.period(), int64_t{1} << draw(random, 0, 6));
  return s;
}

template <class F>
void for_box(const Point& box, F f) {
  Point x(2, 0);
  for (x[0] = 0; x[0] < box[0]; ++x[0])
    for (x[1] = 0; x[1] < box[1]; ++x[1]) f(x);
}

int64_t address_by_hand(const Storage& s, const Point& x) {
  int64_t a = s.origin;
  for (const StorageDigit& d : s.digits) {
    int64_t value = x[d.of.axis] / d.of.stride;
    if (d.of.extent != 0) value %= d.of.extent;
    a += value * d.bytes;
  }
  const Swizzle w = s.swizzle;
  for (int b = 0; b < w.bits; ++b) {
    const int64_t source = (a >> (w.base + w.shift + b)) & 1;
    if (source) a ^= int64_t{1} << (w.base + b);
  }
  return a;
}

RC_GTEST_PROP(Storage, AddressesBytesAndOverlap, (uint64_t seed)) {
  Random random(seed);
  const Point box = {draw(random, 1, 6), draw(random, 1, 6)};
  const int64_t element = int64_t{1} << draw(random, 0, 2);
  const Storage s = random_storage(random, box, element);
  std::map<int64_t, int> used;
  int64_t end = 0;
  bool once = true;
  for_box(box, [&](const Point& x) {
    const int64_t a = s.address(x);
    RC_ASSERT(a == address_by_hand(s, x));
    for (int64_t b = a; b < a + element; ++b) once = ++used[b] == 1 && once;
    end = std::max(end, a + element);
  });
  RC_ASSERT(s.bytes(box, element) == end);
  RC_ASSERT(s.is_injective(box, element) == once);
}

RC_GTEST_PROP(Storage, SwizzleIsAnInvolutionOnItsPeriod, (uint64_t seed)) {
  Random random(seed);
  const Swizzle w = random_swizzle(random);
  const int64_t a = draw(random, 0, 100000);
  RC_ASSERT(w.apply(w.apply(a)) == a);
  RC_ASSERT(w.apply(a + 5 * w.period()) == w.apply(a) + 5 * w.period());
  RC_ASSERT(w.apply(a) / w.period() == a / w.period());
}

RC_GTEST_PROP(Storage, RowMajorIsPacked, (uint64_t seed)) {
  Random random(seed);
  const Point box = {draw(random, 1, 6), draw(random, 1, 6)};
  const Storage s = row_major(box, 4);
  int64_t next = 0;
  for_box(box, [&](const Point& x) {
    RC_ASSERT(s.address(x) == next);
    next += 4;
  });
}

// ---- accesses ----------------------------------------------------------------------------------

// Threads by position, with the address of each register.
std::map<Position, std::map<int64_t, int64_t>> accesses(const Placement& p, const Storage& s) {
  std::map<Position, std::map<int64_t, int64_t>> threads;
  for (int64_t k = 0; k < p.positions(); ++k) {
    const Position at = p.position(k);
    Position thread = at;
    const int64_t r = at[size_t(Level::reg)] * p.count(Level::elem) + at[size_t(Level::elem)];
    thread[size_t(Level::reg)] = thread[size_t(Level::elem)] = 0;
    threads[thread][r] = s.address(p.coordinates(at));
  }
  return threads;
}

bool vectors_fit(const Placement& p, const Storage& s, int64_t element, int64_t width) {
  if (s.align % (width * element) != 0) return false;
  for (const auto& [thread, registers] : accesses(p, s))
    for (const auto& [r, a] : registers) {
      const auto first = registers.find(r / width * width);
      if (a != first->second + r % width * element) return false;
      if (first->second % (width * element) != 0) return false;
      if (!registers.contains(r / width * width + width - 1)) return false;
    }
  return true;
}

RC_GTEST_PROP(Storage, VectorWidthIsTheMost, (uint64_t seed)) {
  Random random(seed);
  Placement p = random_tile(random, 2);
  if (random() % 2) p = repeat(p, 1, 4);
  Storage s = random() % 2 ? random_storage(random, p.box(), 4) : row_major(p.box(), 4);
  if (random() % 2) s.align = 64;
  const int64_t width = vector_width(p, s, 4, 4);
  RC_ASSERT(width == 1 || vectors_fit(p, s, 4, width));
  RC_ASSERT(width == 4 || !vectors_fit(p, s, 4, width * 2));
}

// The times a bank is asked for, counted word by word.
int64_t conflicts_by_hand(const Placement& p, const Storage& s, int64_t element, int64_t width) {
  int64_t worst = 1;
  const int64_t bytes = element * width, lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const auto threads = accesses(p, s);
  for (const auto& [first, unused] : threads)
    for (int64_t r = 0; r < p.count(Level::reg) * p.count(Level::elem); r += width)
      for (int64_t bank = 0; bank < 32; ++bank) {
        std::set<int64_t> words;
        for (const auto& [thread, registers] : threads) {
          Position same = thread;
          same[size_t(Level::lane)] = first[size_t(Level::lane)];
          if (same != first) continue;  // of another warp
          if (thread[size_t(Level::lane)] / lanes != first[size_t(Level::lane)] / lanes) continue;
          for (int64_t b = registers.at(r); b < registers.at(r) + bytes; ++b)
            if (b / 4 % 32 == bank) words.insert(b / 4);
        }
        worst = std::max(worst, static_cast<int64_t>(words.size()));
      }
  return worst;
}

RC_GTEST_PROP(Storage, BankConflicts, (uint64_t seed)) {
  Random random(seed);
  Placement p(2);
  p.add(Level::lane, 8, Use::index, {{0, 1}}).add(Level::lane, 2, Use::index, {{1, 4}});
  p.add(Level::reg, 4, Use::index, {{1, 1}});
  if (random() % 2) p.add(Level::warp, 2, Use::index, {{0, 8}});
  Storage s = row_major({16, draw(random, 2, 10) * 4}, 4);
  s.swizzle = random_swizzle(random);
  s.swizzle.base = 4;
  const int64_t width = int64_t{1} << draw(random, 0, 2);
  RC_ASSERT(bank_conflicts(p, s, 4, width) == conflicts_by_hand(p, s, 4, width));
}

RC_GTEST_PROP(Storage, TextGivesTheStorageBack, (uint64_t seed)) {
  Random random(seed);
  const AxisNames axes = {"m", "n"};
  const Storage s = random_storage(random, {draw(random, 1, 9), draw(random, 1, 9)}, 2);
  const auto t = parse_storage(print(s, axes), axes);
  RC_ASSERT(t.has_value());
  RC_ASSERT(*t == s);
}

}  // namespace
}  // namespace tang::law
