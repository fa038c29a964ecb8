#include "view/relation.h"

#include <algorithm>
#include <map>
#include <set>

namespace tang {

namespace {

constexpr std::string_view relation_names[] = {"same",       "reg_perm", "k_perm", "shuffle",
                                               "via_shared", "fold",     "mask"};

size_t number(Level level) { return static_cast<size_t>(level); }

// A number's digit that partial values are spread over.
struct Part {
  Level level = Level::lane;
  int64_t stride = 1, extent = 1;
  friend auto operator<=>(const Part&, const Part&) = default;
};

// Partial digits, adjacent ones as one.
std::vector<Part> partials(const Placement& p) {
  std::vector<Part> all, merged;
  for (const Digit& d : p.digits)
    if (d.use == Use::partial && d.extent > 1) all.push_back({d.level, d.stride, d.extent});
  std::sort(all.begin(), all.end());
  for (const Part& part : all) {
    Part* last = merged.empty() ? nullptr : &merged.back();
    if (last && last->level == part.level && last->stride * last->extent == part.stride)
      last->extent *= part.extent;
    else
      merged.push_back(part);
  }
  return merged;
}

// A thread (and step): a position without its register and element.
Position thread_of(Position at) {
  at[number(Level::reg)] = at[number(Level::elem)] = 0;
  return at;
}

// What each thread's registers hold, in register order. A point here is a coordinate followed by
// the values of the partial digits, since parts of one element are different values.
using Held = std::map<Position, std::vector<Point>>;

Held held(const Placement& p) {
  const std::vector<Part> parts = partials(p);
  const int64_t elements = p.count(Level::elem);
  const auto registers = static_cast<size_t>(p.count(Level::reg) * elements);
  Held result;
  for (int64_t k = 0, n = p.positions(); k < n; ++k) {
    const Position at = p.position(k);
    Point x = p.coordinates(at);
    for (const Part& d : parts) x.push_back(at[number(d.level)] / d.stride % d.extent);
    std::vector<Point>& list = result[thread_of(at)];
    list.resize(registers);
    const int64_t r = at[number(Level::reg)] * elements + at[number(Level::elem)];
    list[static_cast<size_t>(r)] = std::move(x);
  }
  return result;
}

// Looks for registers of `from` that hold what each register of `to` wants, in every thread, where
// the coordinates of `axis`, if any, may be renamed one to one.
class Matching {
 public:
  Matching(const Held& from, const Held& to, std::optional<uint32_t> axis, int64_t extent)
      : axis_(axis),
        order_(static_cast<size_t>(extent), -1),
        taken_(static_cast<size_t>(extent), false) {
    for (const auto& [thread, wanted] : to) {
      const auto at = from.find(thread);
      if (at == from.end()) return;
      threads_.push_back({&at->second, &wanted});
    }
    complete_ = !threads_.empty();
  }

  bool find() {
    if (!complete_) return false;
    const size_t wanted = threads_[0].to->size(), there = threads_[0].from->size();
    for (size_t r = 0; r < wanted; ++r) {
      size_t source = 0;
      while (source < there && !fits(r, source)) ++source;
      if (source == there) return false;
      registers.push_back(static_cast<int64_t>(source));
    }
    return std::find(order_.begin(), order_.end(), -1) == order_.end();
  }

  std::vector<int64_t> registers;
  const std::vector<int64_t>& order() const { return order_; }

 private:
  struct Pair {
    const std::vector<Point>* from;
    const std::vector<Point>* to;
  };

  // If register `source` serves for `wanted` everywhere, takes on the renamings that this needs.
  bool fits(size_t wanted, size_t source) {
    std::vector<int64_t> renamed;
    for (const Pair& thread : threads_)
      if (!agree((*thread.to)[wanted], (*thread.from)[source], renamed)) {
        for (int64_t x : renamed) rename(x, -1);
        return false;
      }
    return true;
  }

  bool agree(const Point& x, const Point& y, std::vector<int64_t>& renamed) {
    if (!axis_) return x == y;
    for (size_t a = 0; a < x.size(); ++a)
      if (a != *axis_ && x[a] != y[a]) return false;
    const int64_t to = x[*axis_], from = y[*axis_];
    const auto size = static_cast<int64_t>(order_.size());
    if (to < 0 || to >= size || from < 0 || from >= size) return false;
    if (order_[static_cast<size_t>(to)] >= 0) return order_[static_cast<size_t>(to)] == from;
    if (taken_[static_cast<size_t>(from)]) return false;
    rename(to, from);
    renamed.push_back(to);
    return true;
  }

  void rename(int64_t to, int64_t from) {
    int64_t& entry = order_[static_cast<size_t>(to)];
    taken_[static_cast<size_t>(from < 0 ? entry : from)] = from >= 0;
    entry = from;
  }

  std::optional<uint32_t> axis_;
  std::vector<Pair> threads_;
  std::vector<int64_t> order_;
  std::vector<bool> taken_;
  bool complete_ = false;
};

// Everything that a warp wants is held by some lane of that warp.
bool within_warps(const Held& from, const Held& to) {
  const auto warp = [](Position at) {
    at[number(Level::lane)] = 0;
    return at;
  };
  std::map<Position, std::set<Point>> there;
  for (const auto& [thread, points] : from)
    there[warp(thread)].insert(points.begin(), points.end());
  return std::all_of(to.begin(), to.end(), [&](const auto& entry) {
    const auto at = there.find(warp(entry.first));
    return at != there.end() && std::all_of(entry.second.begin(), entry.second.end(),
                                            [&](const Point& x) { return at->second.contains(x); });
  });
}

// `fold` or `mask` if the two are partial over different digits.
std::optional<Relation> partial_relation(const Placement& from, const Placement& to) {
  const std::vector<Part> a = partials(from), b = partials(to);
  if (a == b) return std::nullopt;
  return std::includes(b.begin(), b.end(), a.begin(), a.end()) ? Relation::mask : Relation::fold;
}

}  // namespace

std::string_view name(Relation r) { return relation_names[static_cast<size_t>(r)]; }

Conversion relation(const Placement& from, const Placement& to, std::optional<uint32_t> free_axis) {
  if (const auto r = partial_relation(from, to)) return {*r, {}, 0, {}};
  const Held a = held(from), b = held(to);
  if (a == b) return {Relation::same, {}, 0, {}};
  Matching plain(a, b, std::nullopt, 0);
  if (plain.find()) return {Relation::reg_perm, std::move(plain.registers), 0, {}};
  if (free_axis) {
    Matching renamed(a, b, free_axis, to.box()[*free_axis]);
    if (renamed.find())
      return {Relation::k_perm, std::move(renamed.registers), *free_axis, renamed.order()};
  }
  return {within_warps(a, b) ? Relation::shuffle : Relation::via_shared, {}, 0, {}};
}

}  // namespace tang
