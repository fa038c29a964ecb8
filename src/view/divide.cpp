#include "view/divide.h"

#include <algorithm>

namespace tang {

namespace {

// Takes the digit of the piece out of one of the tile's: its lower part, where it has more values.
// The stride that it has in the tile; empty if no digit of the tile holds it.
std::optional<int64_t> take(std::vector<Digit>& rest, const Digit& wanted) {
  const auto holds = [&](const Digit& d) {
    return d.level == wanted.level && d.use == wanted.use && d.terms == wanted.terms &&
           d.extent % wanted.extent == 0 &&
           (d.level == Level::reg || d.stride == wanted.stride || wanted.extent == 1);
  };
  const auto at = std::find_if(rest.begin(), rest.end(), holds);
  if (at == rest.end()) return wanted.extent == 1 ? std::optional<int64_t>(1) : std::nullopt;
  const int64_t stride = at->stride;
  at->extent /= wanted.extent;
  at->stride *= wanted.extent;
  for (AxisTerm& t : at->terms) t.coeff *= wanted.extent;
  if (at->extent == 1) rest.erase(at);
  return stride;
}

}  // namespace

std::optional<Division> divide(const Placement& tile, const Placement& piece) {
  if (tile.rank() != piece.rank()) return std::nullopt;
  Division result;
  for (const Digit& d : tile.digits)
    if (d.extent > 1) result.rest.push_back(d);
  std::vector<int64_t> strides(piece.digits.size(), 1);
  // Larger digits first, so that a small one does not take the lower part of a larger one's.
  std::vector<size_t> order(piece.digits.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return piece.digits[a].extent > piece.digits[b].extent;
  });
  for (size_t k : order) {
    const auto stride = take(result.rest, piece.digits[k]);
    if (!stride) return std::nullopt;
    strides[k] = *stride;
  }
  for (int64_t r = 0, n = piece.count(Level::reg); r < n; ++r) {
    int64_t number = 0;
    for (size_t k = 0; k < piece.digits.size(); ++k) {
      const Digit& d = piece.digits[k];
      if (d.level == Level::reg) number += r / d.stride % d.extent * strides[k];
    }
    result.registers.push_back(number);
  }
  return result;
}

std::vector<PieceAt> pieces(const Division& division, size_t rank) {
  std::vector<PieceAt> result = {{0, Point(rank, 0)}};
  for (const Digit& d : division.rest) {
    if (d.level != Level::reg) continue;
    std::vector<PieceAt> longer;
    for (const PieceAt& p : result)
      for (int64_t value = 0; value < d.extent; ++value) {
        longer.push_back(p);
        longer.back().register_offset += value * d.stride;
        for (const AxisTerm& t : d.terms) longer.back().offset[t.axis] += value * t.coeff;
      }
    result = std::move(longer);
  }
  return result;
}

}  // namespace tang
