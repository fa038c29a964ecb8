#include "eval/walk.h"

#include <algorithm>
#include <tuple>

#include "expr/apply.h"

namespace tang::oracle {

void Walk::start(const Program& p, bool restricted) {
  p_ = &p;
  restricted_ = restricted;
  low.resize(p.restrictions.size());
  high.resize(p.restrictions.size());
  at_.assign(p.reduce.size(), 0);
  end_.assign(p.reduce.size(), 0);
}

bool Walk::points_hold() const {
  if (!restricted_) return true;
  for (size_t k = 0; k < low.size(); ++k) {
    const Restriction& r = p_->restrictions[k];
    if (std::any_of(r.coeff.begin(), r.coeff.end(), [](int64_t c) { return c != 0; })) continue;
    if (high[k] < 0 || (r.zero && low[k] > 0)) return false;
  }
  return true;
}

std::pair<int64_t, int64_t> Walk::interval(int d, int known) const {
  const auto dim = static_cast<size_t>(d);
  int64_t first = 0, last = p_->reduce_extent[dim] - 1;
  if (!restricted_) return {first, last + 1};
  for (size_t k = 0; k < low.size(); ++k) {
    const Restriction& r = p_->restrictions[k];
    const int64_t c = r.coeff[dim];
    if (c == 0) continue;
    int64_t least = low[k], most = high[k];
    for (size_t e = 0; e < r.coeff.size(); ++e) {
      if (e == dim || r.coeff[e] == 0) continue;
      const int64_t span = r.coeff[e] * (p_->reduce_extent[e] - 1);
      const int64_t here = r.coeff[e] * at_[e];
      const bool fixed = static_cast<int>(e) < known;
      least += fixed ? here : std::min<int64_t>(0, span);
      most += fixed ? here : std::max<int64_t>(0, span);
    }
    // c·x + most >= 0, and for an equality c·x + least <= 0.
    if (c > 0) {
      first = std::max(first, -floor_div(most, c));
      if (r.zero) last = std::min(last, floor_div(-least, c));
    } else {
      last = std::min(last, floor_div(most, -c));
      if (r.zero) first = std::max(first, -floor_div(-least, -c));
    }
  }
  return {first, last + 1};
}

bool Walk::settle(int d, bool enter) {
  const int depth = static_cast<int>(at_.size());
  for (;;) {
    if (enter && d == depth) return true;
    if (d < 0) return false;
    const auto k = static_cast<size_t>(d);
    if (enter)
      std::tie(at_[k], end_[k]) = interval(d, d);
    else
      ++at_[k];
    changed_ = std::min(changed_, d);
    enter = at_[k] < end_[k];
    d += enter ? 1 : -1;
  }
}

bool Walk::first() {
  changed_ = 0;
  if (!points_hold()) return false;
  return settle(0, true);
}

bool Walk::next() {
  changed_ = static_cast<int>(at_.size());
  return settle(changed_ - 1, false);
}

}  // namespace tang::oracle
