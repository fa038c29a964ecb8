#include "view/storage.h"

#include <algorithm>
#include <map>
#include <set>

namespace tang {

int64_t Swizzle::apply(int64_t address) const {
  const int64_t mask = (int64_t{1} << bits) - 1;
  return address ^ (((address >> (base + shift)) & mask) << base);
}

int64_t Swizzle::period() const { return bits == 0 ? 1 : int64_t{1} << (base + shift + bits); }

Swizzle span_swizzle(int64_t bytes) {
  uint8_t bits = 0;
  while (bytes > 16) bytes /= 2, ++bits;
  return {bits, 4, 3};
}

int64_t Storage::address(const Point& coordinate) const {
  int64_t a = origin;
  for (const StorageDigit& d : digits) {
    const int64_t x = coordinate[d.of.axis] / d.of.stride;
    a += (d.of.extent > 0 ? x % d.of.extent : x) * d.bytes;
  }
  return swizzle.apply(a);
}

namespace {

// Calls `each` for every point of the box, last axis fastest.
template <class Each>
void for_points(const Point& box, const Each& each) {
  int64_t total = 1;
  for (int64_t e : box) total *= e;
  Point x(box.size(), 0);
  for (int64_t k = 0; k < total; ++k) {
    each(x);
    for (size_t a = box.size(); a-- > 0;) {
      if (++x[a] < box[a]) break;
      x[a] = 0;
    }
  }
}

}  // namespace

int64_t Storage::bytes(const Point& box, int64_t element) const {
  int64_t end = 0;
  for_points(box, [&](const Point& x) { end = std::max(end, address(x) + element); });
  return end;
}

bool Storage::is_injective(const Point& box, int64_t element) const {
  std::vector<int64_t> taken;
  for_points(box, [&](const Point& x) { taken.push_back(address(x)); });
  std::sort(taken.begin(), taken.end());
  for (size_t k = 1; k < taken.size(); ++k)
    if (taken[k] < taken[k - 1] + element) return false;
  return true;
}

Storage row_major(const Point& box, int64_t element) {
  Storage s;
  s.align = element;
  for (size_t a = box.size(); a-- > 0;) {
    s.digits.insert(s.digits.begin(), {{static_cast<uint32_t>(a), 1, 0}, element});
    element *= box[a];
  }
  return s;
}

namespace {

// Addresses of each thread's registers, in register order.
std::map<Position, std::vector<int64_t>> addresses(const Placement& p, const Storage& s) {
  const auto level = [](Level l) { return static_cast<size_t>(l); };
  const int64_t elements = p.count(Level::elem), registers = p.count(Level::reg) * elements;
  std::map<Position, std::vector<int64_t>> result;
  for (int64_t k = 0; k < p.positions(); ++k) {
    Position at = p.position(k);
    const int64_t r = at[level(Level::reg)] * elements + at[level(Level::elem)];
    const int64_t address = s.address(p.coordinates(at));
    at[level(Level::reg)] = at[level(Level::elem)] = 0;
    auto& list = result[at];
    list.resize(static_cast<size_t>(registers));
    list[static_cast<size_t>(r)] = address;
  }
  return result;
}

}  // namespace

int64_t vector_width(const Placement& p, const Storage& s, int64_t element, int64_t most) {
  const auto all = addresses(p, s);
  const auto fits = [&](int64_t width) {
    if (s.align % (width * element) != 0) return false;
    return std::all_of(all.begin(), all.end(), [&](const auto& entry) {
      const std::vector<int64_t>& list = entry.second;
      if (static_cast<int64_t>(list.size()) % width != 0) return false;
      for (size_t r = 0; r < list.size(); ++r) {
        const size_t first = r - r % static_cast<size_t>(width);
        if (list[r] != list[first] + static_cast<int64_t>(r - first) * element) return false;
        if (list[first] % (width * element) != 0) return false;
      }
      return true;
    });
  };
  int64_t width = 1;
  while (width * 2 <= most && fits(width * 2)) width *= 2;
  return width;
}

int64_t bank_conflicts(const Placement& p, const Storage& s, int64_t element, int64_t width) {
  constexpr int64_t banks = 32, word = 4;
  const int64_t bytes = element * width;
  const int64_t lanes_a_pass = banks * word / std::max(bytes, word);
  std::map<std::pair<Position, int64_t>, std::vector<int64_t>> passes;
  for (const auto& [thread, list] : addresses(p, s)) {
    Position warp = thread;
    warp[static_cast<size_t>(Level::lane)] /= lanes_a_pass;
    for (size_t r = 0; r < list.size(); r += static_cast<size_t>(width))
      passes[{warp, static_cast<int64_t>(r)}].push_back(list[r]);
  }
  int64_t worst = 1;
  for (const auto& [key, list] : passes) {
    std::map<int64_t, std::set<int64_t>> words;  // by bank
    for (int64_t a : list)
      for (int64_t b = a / word; b * word < a + bytes; ++b) words[b % banks].insert(b);
    for (const auto& [bank, touched] : words)
      worst = std::max(worst, static_cast<int64_t>(touched.size()));
  }
  return worst;
}

}  // namespace tang
