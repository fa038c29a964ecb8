#include "schedule/tiling_group.h"

#include <algorithm>
#include <bit>

#include "ir/variance.h"

namespace tang {

namespace {

constexpr int64_t unknown = 1 << 20;
constexpr int64_t most_apart = 4;    // terms that a thread keeps apart, or elements under way
constexpr int64_t most_filled = 16;  // elements of a thread in a block
constexpr int64_t most_square = 64;  // registers of a tile along two points
constexpr size_t most_states = 8;    // of a fold that threads share

class GroupTiler {
 public:
  GroupTiler(const Graph& graph, const NestShape& shape, const Machine& machine,
             int64_t point_threads)
      : g(graph), s(shape), m_(machine), free_(machine.threads), for_points_(point_threads) {}

  NestPlan run() {
    NestPlan plan{s.points, s.reduce, {}};
    if (m_.threads == 1) return plan;
    const std::optional<DimId> fast = fastest();
    if (!fast) return plan;
    if (const auto rows = shared_with(*fast)) {
      square(*rows, *fast);
    } else {
      TileDim t{*fast, 1, vector(*fast), 1};
      const int64_t parts = blocks_of(*fast, t.elem);
      t.threads = is_term(*fast) ? take(std::min(parts, for_terms(*fast))) : take_points(parts);
      tile_.push_back(t);
      for (size_t k = s.points.size(); k-- > 0;)
        if (s.points[k] != *fast) spread(s.points[k]);
      for (size_t k = s.reduce.size(); k-- > 0;)
        if (s.reduce[k] != *fast && folds_apart()) spread(s.reduce[k]);
      registers();
    }
    std::reverse(tile_.begin(), tile_.end());
    plan.tile = std::move(tile_);
    order(plan.points), order(plan.reduce);
    return plan;
  }

 private:
  int64_t size(DimId d) const {
    const auto found = s.sizes.find(d);
    const auto n = found != s.sizes.end() ? found->second : g.extent(d).constant();
    return std::clamp<int64_t>(n.value_or(unknown), 1, unknown);
  }

  int64_t points() const {
    int64_t all = 1;
    for (DimId d : s.points) all = std::min(all * size(d), unknown);
    return all;
  }

  bool folds_apart() const { return s.commutative && s.states <= most_states; }
  bool is_term(DimId d) const { return contains(s.reduce, d); }

  // 0: does not move along d; 1: by one element; 2: by more.
  static int motion(const Access& a, DimId d) {
    if (contains(a.gathered, d)) return 2;
    const auto at = a.strides.find(d);
    if (at == a.strides.end() || at->second.is_zero()) return 0;
    return at->second == Poly(1) ? 1 : 2;
  }

  bool moves_in_terms(const Access& a) const {
    return s.reduce.empty() ||
           std::any_of(s.reduce.begin(), s.reduce.end(), [&](DimId d) { return motion(a, d) > 0; });
  }

  // What lies side by side along most accesses; among equals a point, and the last one.
  std::optional<DimId> fastest() const {
    std::optional<DimId> best;
    double most = -1;
    const auto consider = [&](DimId d) {
      if (size(d) == 1) return;
      double score = 0;
      for (const Access& a : s.accesses)
        if (motion(a, d) == 1)
          score += (moves_in_terms(a) ? 1 : 0.125) * (a.store ? 1.5 : 1) * (a.local ? 0.125 : 1);
      score *= static_cast<double>(std::min<int64_t>(size(d), 32));
      if (score > most || (score == most && !is_term(d))) best = d, most = score;
    };
    if (folds_apart() && !(s.inside && points() >= m_.threads))
      for (DimId d : s.reduce) consider(d);
    for (DimId d : s.points) consider(d);
    return best;
  }

  // Elements of a vector along d: every access is aligned wherever it begins.
  int64_t vector(DimId d) const {
    int64_t n = m_.vector_bytes / (s.wide ? 8 : 4);
    if (size(d) < n || n <= 1) return 1;
    for (const Access& a : s.accesses) {
      const int how = motion(a, d);
      if (how == 2 && !a.local) return 1;
      if (how != 1) continue;
      for (const auto& [other, stride] : a.strides) {
        const auto c = stride.constant();
        if (other != d && (!c || *c % n != 0)) return 1;
      }
    }
    return n;
  }

  static int64_t blocks(int64_t n, int64_t each) { return (n + each - 1) / each; }
  int64_t blocks_of(DimId d, int64_t each) const { return blocks(size(d), each); }

  // Threads for so many parts, of those that are left.
  int64_t take(int64_t parts) {
    const int64_t n = std::min(free_, power_of_two(parts));
    free_ /= n;
    return n;
  }

  // States of several components cost much to combine: a thread has some terms for each.
  int64_t for_terms(DimId d) const {
    if (s.states == 1) return unknown;
    const int64_t each = 16 * static_cast<int64_t>(s.states);
    return std::max<int64_t>(32, power_of_two(size(d) / each + 1) / 2);
  }

  int64_t take_points(int64_t parts) {
    const int64_t n = take(std::min(parts, for_points_));
    for_points_ = std::max<int64_t>(1, for_points_ / n);
    return n;
  }

  // Some terms of a thread are under way together.
  void spread(DimId d) {
    if (free_ == 1 || size(d) == 1) return;
    if (!is_term(d)) return tile_.push_back({d, 1, 1, take_points(size(d))});
    TileDim t{d, 1, 1, take(size(d))};
    if (s.states <= 2) t.reg = std::clamp<int64_t>(size(d) / t.threads, 1, most_apart);
    tile_.push_back(t);
  }

  // Several elements of a thread that do not wait for each other: of terms, or of the fastest
  // point.
  void registers() {
    TileDim& fast = tile_[0];
    if (s.inside) return fill();
    if (is_term(fast.dim) && s.states == 1) {
      fast.reg = std::clamp<int64_t>(size(fast.dim) / (fast.elem * fast.threads), 1, most_apart);
      return;
    }
    if (fast.elem >= most_apart) return;
    if (s.reduce.empty() || is_term(fast.dim)) {
      const int64_t each = fast.elem * fast.threads;
      fast.reg = std::clamp<int64_t>(size(fast.dim) / each, 1, most_apart / fast.elem);
      return;
    }
    if (!folds_apart() || s.states > 2) return;
    for (DimId d : s.reduce) {
      const bool tiled =
          std::any_of(tile_.begin(), tile_.end(), [d](const TileDim& t) { return t.dim == d; });
      if (tiled || size(d) < 4 * most_apart) continue;
      tile_.push_back({d, most_apart, 1, 1});
      return;
    }
  }

  // Of a block all is under way at once, up to some elements a thread.
  void fill() {
    int64_t room =
        std::max<int64_t>(1, most_filled / tile_[0].elem / static_cast<int64_t>(s.states));
    for (TileDim& t : tile_) {
      if (is_term(t.dim)) continue;
      t.reg = std::clamp<int64_t>(size(t.dim) / (t.elem * t.threads), 1, room);
      room /= t.reg;
    }
    for (size_t k = s.points.size(); k-- > 0 && room > 1;) {
      const DimId d = s.points[k];
      const bool tiled =
          std::any_of(tile_.begin(), tile_.end(), [d](const TileDim& t) { return t.dim == d; });
      if (tiled || size(d) == 1) continue;
      tile_.push_back({d, std::min(size(d), room), 1, 1});
      room /= tile_.back().reg;
    }
  }

  // A point along which some read of the terms stays, and some moves, as along `fast`: a tile of
  // both reads each once for all of it.
  std::optional<DimId> shared_with(DimId fast) const {
    if (s.reduce.empty() || is_term(fast) || s.states > 2) return std::nullopt;
    const auto stays = [&](DimId d, DimId other) {
      return std::any_of(s.accesses.begin(), s.accesses.end(), [&](const Access& a) {
        return !a.store && moves_in_terms(a) && motion(a, d) == 0 && motion(a, other) > 0;
      });
    };
    std::optional<DimId> best;
    for (DimId d : s.points)
      if (d != fast && size(d) > 1 && stays(d, fast) && stays(fast, d) &&
          (!best || size(d) >= size(*best)))
        best = d;
    return best;
  }

  void square(DimId rows, DimId columns) {
    const int64_t n = std::min<int64_t>(size(columns), 128), m = std::min<int64_t>(size(rows), 128);
    const int64_t width = vector(columns);
    // About as many columns as rows for each thread.
    const int64_t each = std::clamp<int64_t>(blocks(n * m, m_.threads), 1,
                                             most_square / static_cast<int64_t>(s.states));
    int64_t across = width;
    while (across * across < each && across < n) across *= 2;
    TileDim fast{columns, 1, width, 1};
    fast.threads = take(std::max<int64_t>(1, blocks(n, across)));
    fast.reg = std::clamp<int64_t>(blocks(n, fast.elem * fast.threads), 1, 8);
    TileDim slow{rows, 1, 1, 1, true};
    slow.threads = take(m);
    slow.reg = std::clamp<int64_t>(blocks(m, slow.threads), 1,
                                   std::max<int64_t>(1, most_square / (fast.reg * fast.elem)));
    tile_ = {fast, slow};
    for (size_t k = s.points.size(); k-- > 0;)
      if (s.points[k] != columns && s.points[k] != rows) spread(s.points[k]);
  }

  // Tiled coordinates run inside the others.
  void order(std::vector<DimId>& dims) const {
    std::stable_partition(dims.begin(), dims.end(), [&](DimId d) {
      return std::none_of(tile_.begin(), tile_.end(), [d](const TileDim& t) { return t.dim == d; });
    });
  }

  const Graph& g;
  const NestShape& s;
  const Machine& m_;
  int64_t free_, for_points_;  // threads that are not spread yet; of those, for points
  std::vector<TileDim> tile_;  // fastest first
};

}  // namespace

int64_t power_of_two(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
}

NestPlan plan_group_nest(const Graph& g, const NestShape& shape, const Machine& machine,
                         int64_t point_threads) {
  return GroupTiler(g, shape, machine, point_threads).run();
}

}  // namespace tang
