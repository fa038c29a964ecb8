#include "view/placement.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tang {

namespace {

constexpr std::string_view level_names[level_count] = {"device", "grid", "cluster", "group", "warp",
                                                       "lane",   "reg",  "elem",    "step"};
// Positions are enumerated with the last of these fastest.
constexpr Level slow_to_fast[level_count] = {Level::device, Level::grid, Level::cluster,
                                             Level::group,  Level::step, Level::warp,
                                             Level::lane,   Level::reg,  Level::elem};

size_t number(Level level) { return static_cast<size_t>(level); }

// The digits of a level by ascending stride.
std::vector<Digit> by_stride(const Placement& p, Level level) {
  std::vector<Digit> digits;
  for (const Digit& d : p.digits)
    if (d.level == level) digits.push_back(d);
  std::stable_sort(digits.begin(), digits.end(),
                   [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  return digits;
}

}  // namespace

std::string_view name(Level level) { return level_names[number(level)]; }

std::optional<Level> parse_level(std::string_view name) {
  for (size_t k = 0; k < level_count; ++k)
    if (level_names[k] == name) return static_cast<Level>(k);
  return std::nullopt;
}

int64_t Placement::count(Level level) const {
  int64_t n = 1;
  for (const Digit& d : digits)
    if (d.level == level) n *= d.extent;
  return n;
}

int64_t Placement::positions() const {
  int64_t n = 1;
  for (const Digit& d : digits) n *= d.extent;
  return n;
}

Position Placement::position(int64_t k) const {
  Position at{};
  for (size_t i = level_count; i-- > 0;) {
    const int64_t n = count(slow_to_fast[i]);
    at[number(slow_to_fast[i])] = k % n;
    k /= n;
  }
  return at;
}

int64_t Placement::digit(size_t k, const Position& at) const {
  const Digit& d = digits[k];
  return at[number(d.level)] / d.stride % d.extent;
}

Point Placement::coordinates(const Position& at) const {
  Point x = base;
  for (size_t k = 0; k < digits.size(); ++k)
    for (const AxisTerm& t : digits[k].terms) x[t.axis] += t.coeff * digit(k, at);
  return x;
}

Point Placement::box() const {
  Point extents = base;
  for (int64_t& e : extents) e += 1;
  for (const Digit& d : digits)
    for (const AxisTerm& t : d.terms)
      extents[t.axis] += std::max<int64_t>(t.coeff, 0) * (d.extent - 1);
  return extents;
}

namespace {

std::string term_fault(const Digit& d, size_t rank) {
  if (d.use == Use::index && d.terms.empty())
    return fmt::format("a digit of `{}` indexes no axis and is not said to be a replica",
                       name(d.level));
  if (d.use != Use::index && !d.terms.empty())
    return fmt::format("a digit of `{}` indexes and is a replica or partial", name(d.level));
  for (size_t k = 0; k < d.terms.size(); ++k) {
    if (d.terms[k].axis >= rank) return fmt::format("axis {} of {}", d.terms[k].axis, rank);
    if (d.terms[k].coeff == 0) return "a coefficient is 0";
    if (k > 0 && d.terms[k - 1].axis >= d.terms[k].axis) return "terms are not ascending by axis";
  }
  return {};
}

}  // namespace

std::string Placement::fault() const {
  for (const Digit& d : digits) {
    if (d.extent < 1 || d.stride < 1)
      return fmt::format("a digit of `{}` has {} values of stride {}", name(d.level), d.extent,
                         d.stride);
    if (std::string wrong = term_fault(d, rank()); !wrong.empty()) return wrong;
  }
  for (size_t k = 0; k < level_count; ++k) {
    int64_t stride = 1;
    for (const Digit& d : by_stride(*this, static_cast<Level>(k))) {
      if (d.extent == 1) continue;
      if (d.stride != stride)
        return fmt::format("the digits of `{}` cover its numbers below {} and then go on at {}",
                           level_names[k], stride, d.stride);
      stride *= d.extent;
    }
  }
  return {};
}

bool Placement::has(Use use) const {
  return std::any_of(digits.begin(), digits.end(),
                     [use](const Digit& d) { return d.use == use && d.extent > 1; });
}

bool Placement::is_bijective() const {
  int64_t wanted = 1, values = 1;
  for (const Digit& d : digits)
    if (d.use == Use::index) values *= d.extent;
  for (int64_t e : box()) {
    if (e < 1 || e > values / wanted) return false;
    wanted *= e;
  }
  if (values != wanted) return false;
  if (inverse(*this)) return true;
  std::set<Point> seen;
  for (int64_t k = 0, n = positions(); k < n; ++k) {
    Point x = coordinates(position(k));
    if (std::any_of(x.begin(), x.end(), [](int64_t e) { return e < 0; })) return false;
    seen.insert(std::move(x));
  }
  return static_cast<int64_t>(seen.size()) == wanted;
}

int64_t Placement::next_stride(Level level) const {
  int64_t stride = 1;
  for (const Digit& d : by_stride(*this, level))
    if (d.stride == stride) stride *= d.extent;
  return stride;
}

Placement& Placement::add(Level level, int64_t extent, Use use, std::vector<AxisTerm> terms) {
  digits.push_back({level, extent, next_stride(level), use, std::move(terms)});
  return *this;
}

// ---- algebra -----------------------------------------------------------------------------------

Placement compose(const AxisMap& map, const Placement& p) {
  Placement result(map.rows.size());
  result.digits = p.digits;
  for (Digit& d : result.digits) d.terms.clear();
  for (uint32_t a = 0; a < map.rows.size(); ++a) {
    result.base[a] = map.base[a];
    for (const AxisTerm& row : map.rows[a]) {
      result.base[a] += row.coeff * p.base[row.axis];
      for (size_t k = 0; k < p.digits.size(); ++k)
        for (const AxisTerm& t : p.digits[k].terms) {
          if (t.axis != row.axis) continue;
          std::vector<AxisTerm>& terms = result.digits[k].terms;
          if (!terms.empty() && terms.back().axis == a)
            terms.back().coeff += row.coeff * t.coeff;
          else
            terms.push_back({a, row.coeff * t.coeff});
          if (terms.back().coeff == 0) terms.pop_back();
        }
    }
  }
  for (Digit& d : result.digits)
    if (d.use == Use::index && d.terms.empty()) d.use = Use::replica;
  return result;
}

Placement project(const Placement& p, const std::vector<uint32_t>& axes, Use others) {
  Placement result(axes.size());
  for (size_t a = 0; a < axes.size(); ++a) result.base[a] = p.base[axes[a]];
  for (Digit d : p.digits) {
    std::vector<AxisTerm> kept;
    for (uint32_t a = 0; a < axes.size(); ++a)
      for (const AxisTerm& t : d.terms)
        if (t.axis == axes[a]) kept.push_back({a, t.coeff});
    if (d.use == Use::index && kept.empty()) d.use = others;
    d.terms = std::move(kept);
    result.digits.push_back(std::move(d));
  }
  return result;
}

Placement repeat(const Placement& p, uint32_t axis, int64_t times, Level level) {
  Placement result = p;
  if (times > 1) result.add(level, times, Use::index, {{axis, p.box()[axis]}});
  return result;
}

std::optional<std::vector<AxisDigit>> inverse(const Placement& p) {
  std::vector<AxisDigit> digits;
  for (const Digit& d : p.digits) {
    if (d.use != Use::index) continue;
    if (d.terms.size() != 1 || d.terms[0].coeff < 1 || p.base[d.terms[0].axis] != 0)
      return std::nullopt;
    digits.push_back({d.terms[0].axis, d.terms[0].coeff, d.extent});
  }
  std::vector<AxisDigit> sorted = digits;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> strides(p.rank(), 1);
  for (const AxisDigit& d : sorted) {
    if (d.extent == 1) continue;
    if (d.stride != strides[d.axis]) return std::nullopt;
    strides[d.axis] *= d.extent;
  }
  return digits;
}

namespace {

// The position with the index digits of `x` and 0 for the others, if there is one.
std::optional<Position> first_owner(const Placement& p, const std::vector<AxisDigit>& digits,
                                    const Point& x) {
  Position at{};
  size_t k = 0;
  for (const Digit& d : p.digits) {
    if (d.use != Use::index) continue;
    const AxisDigit& of = digits[k++];
    if (x[of.axis] < 0) return std::nullopt;
    at[number(d.level)] += x[of.axis] / of.stride % of.extent * d.stride;
  }
  return p.coordinates(at) == x ? std::optional(at) : std::nullopt;
}

std::vector<Position> owners_by_search(const Placement& p, const Point& x) {
  std::vector<Position> result;
  for (int64_t k = 0, n = p.positions(); k < n; ++k)
    if (const Position at = p.position(k); p.coordinates(at) == x) result.push_back(at);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<Position> owners(const Placement& p, const Point& coordinate) {
  const auto digits = inverse(p);
  if (!digits) return owners_by_search(p, coordinate);
  const auto first = first_owner(p, *digits, coordinate);
  if (!first) return {};
  std::vector<Position> result = {*first};
  for (const Digit& d : p.digits) {
    if (d.use == Use::index) continue;
    const size_t count = result.size();
    for (int64_t value = 1; value < d.extent; ++value)
      for (size_t k = 0; k < count; ++k) {
        result.push_back(result[k]);
        result.back()[number(d.level)] += value * d.stride;
      }
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace tang
