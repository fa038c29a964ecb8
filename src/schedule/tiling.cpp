#include "schedule/tiling.h"

#include <algorithm>
#include <set>

#include "ir/variance.h"
#include "schedule/segment.h"
#include "schedule/tiling_group.h"

namespace tang {

namespace {

class Tiler {
 public:
  Tiler(const Graph& graph, const NestShape& shape, const Machine& machine)
      : g(graph), s(shape), m_(machine) {}

  NestPlan run() {
    NestPlan plan{s.points, s.reduce, {}};
    const std::optional<DimId> vector = best_vector();
    if (!vector) {
      if (const auto d = s.commutative && s.states == 1 ? longest() : std::nullopt)
        plan.tile.push_back({*d, 8, 1});
      return plan;
    }
    const int64_t width = m_.vector_bytes / (s.wide ? 8 : 4);
    TileDim across{*vector, 1, width};
    const bool lanes = contains(s.reduce, *vector);
    const std::optional<DimId> along = best_shared(*vector);
    if (s.reduce.empty()) {
      if (const auto d = turned(*vector, width)) {
        plan.tile.push_back({*d, width, 1});
        plan.tile.push_back(across);
        order(plan, *vector, d);
        return plan;
      }
      across.reg = fit(*vector, width, 2);
    } else if (along && !lanes) {
      registers(*along, across, plan);
    } else {
      const int64_t most = std::max<int64_t>(1, 8 / static_cast<int64_t>(s.states));
      if (along)
        plan.tile.push_back({*along, rows_of(*along, most), 1});
      else
        across.reg = fit(*vector, width, std::min<int64_t>(4, most));
    }
    plan.tile.push_back(across);
    order(plan, *vector, s.reduce.empty() ? std::nullopt : along);
    return plan;
  }

 private:
  std::optional<int64_t> size(DimId d) const {
    const auto found = s.sizes.find(d);
    return found != s.sizes.end() ? found->second : g.extent(d).constant();
  }

  // Without vectors several terms apart wait less for each other: of the longest coordinate.
  std::optional<DimId> longest() const {
    std::optional<DimId> best;
    int64_t most = 31;
    for (DimId d : s.reduce)
      if (const auto n = size(d); n && *n > most && *n % 8 == 0) best = d, most = *n;
    return best;
  }

  // Rows that fold along the lanes of vectors: a power of two, so that they fill one in the end.
  int64_t rows_of(DimId d, int64_t most) const {
    int64_t rows = 1;
    while (2 * rows <= std::min(most, size(d).value_or(most))) rows *= 2;
    return rows;
  }

  // Registers that an extent fills, no more than wanted.
  int64_t fit(DimId d, int64_t width, int64_t wanted) const {
    const auto n = size(d);
    return n ? std::clamp<int64_t>((*n + width - 1) / width, 1, wanted) : wanted;
  }

  // 0: does not move along d; 1: by one element; 2: by more.
  static int motion(const Access& a, DimId d) {
    if (contains(a.gathered, d)) return 2;
    const auto at = a.strides.find(d);
    if (at == a.strides.end() || at->second.is_zero()) return 0;
    return at->second == Poly(1) ? 1 : 2;
  }

  // Loads and stores of a term, each once, and a step of each state: without vectors.
  double scalar_cost() const {
    double total = steps();
    for (const Access& a : s.accesses) total += weight(a);
    return total;
  }

  double steps() const { return s.reduce.empty() ? 0 : static_cast<double>(s.states); }

  // What is the same in all terms counts once for some of them.
  double weight(const Access& a) const {
    return s.reduce.empty() || moves_in_terms(a) ? 1 : 1.0 / 8;
  }

  // Loads and stores a term where vectors run along d: one by one where they move by more than an
  // element (a store takes each out of its vector, often under a mask of its own); where they do
  // not move, what is computed of them is computed one by one. Lanes of a fold are folded in the
  // end.
  double cost(DimId d) const {
    const int64_t width = m_.vector_bytes / (s.wide ? 8 : 4);
    const auto n = size(d);
    const int64_t full = n ? (*n + width - 1) / width : 1;
    const double lanes =
        n ? static_cast<double>(*n) / static_cast<double>(std::max<int64_t>(full, 1))
          : static_cast<double>(width);
    double total = steps();
    for (const Access& a : s.accesses) {
      const int how = motion(a, d);
      total += weight(a) * (how == 1 ? 1 : how == 0 ? 1.25 : lanes * (a.store ? 6 : 1));
    }
    total /= lanes;
    if (contains(s.reduce, d))
      total += static_cast<double>(s.states) * 4 / static_cast<double>(n.value_or(64));
    return total;
  }

  std::optional<DimId> best_vector() const {
    std::optional<DimId> best;
    double least = scalar_cost();
    const auto consider = [&](DimId d) {
      if (const auto n = size(d); n && *n < 4) return;
      const double x = cost(d);
      if (x < least || (x == least && best && contains(s.points, d))) {
        best = d;
        least = x;
      }
    };
    for (DimId d : s.points) consider(d);
    if (s.commutative && s.states <= 8)
      for (DimId d : s.reduce) consider(d);
    return best;
  }

  // A point along which some read stays, which is then loaded once for a tile of it.
  std::optional<DimId> best_shared(DimId vector) const {
    if (s.reduce.empty()) return std::nullopt;
    std::optional<DimId> best;
    int most = 0;
    for (DimId d : s.points) {
      if (d == vector) continue;
      const auto n = size(d);
      if (n && *n < 2) continue;
      int shared = 0;
      for (const Access& a : s.accesses)
        if (!a.store && motion(a, d) == 0 && moves_in_terms(a)) shared += motion(a, vector) ? 2 : 1;
      if (shared >= most && shared > 0) {
        best = d;
        most = shared;
      }
    }
    return best;
  }

  // A point along which what is read lies side by side where it does not along the vectors: a tile
  // of both is read in vectors and turned in registers.
  std::optional<DimId> turned(DimId vector, int64_t width) const {
    std::optional<DimId> found;
    for (const Access& a : s.accesses) {
      if (a.store || motion(a, vector) != 2) continue;
      for (DimId d : s.points)
        if (motion(a, d) == 1 && size(d).value_or(width) >= width && a.gathered.empty()) found = d;
    }
    return found;
  }

  bool moves_in_terms(const Access& a) const {
    return std::any_of(s.reduce.begin(), s.reduce.end(), [&](DimId d) { return motion(a, d) > 0; });
  }

  // Registers along two points: the pair that costs least, by loads and operations of a step over
  // all tiles, the borders' too.
  void registers(DimId along, TileDim& across, NestPlan& plan) const {
    const int64_t free = m_.registers - 3;
    const bool some_broadcast =
        std::any_of(s.accesses.begin(), s.accesses.end(), [&](const Access& a) {
          return !a.store && motion(a, across.dim) == 0 && moves_in_terms(a);
        });
    const auto n = size(across.dim), m = size(along);
    double least = 0;
    TileDim rows{along, 1, 1};
    for (int64_t c = 1; c <= 6; ++c)
      for (int64_t r = 1; r * c * static_cast<int64_t>(s.states) <= free; ++r) {
        if (m && r > *m) continue;
        if (n && (c - 1) * across.elem >= *n) continue;
        const double cost = tiles_cost(n, m, r, c, across.elem, some_broadcast);
        if (least == 0 || cost < least) {
          least = cost;
          rows.reg = r;
          across.reg = c;
        }
      }
    plan.tile.push_back(rows);
  }

  // Cycles of one step over the whole extent, by loads (two a cycle) and multiply-adds (two a
  // cycle, of latency 4). Vectors that find no register beside the tile, a broadcast and a constant
  // are loaded by each row.
  double tiles_cost(std::optional<int64_t> n, std::optional<int64_t> m, int64_t r, int64_t c,
                    int64_t width, bool broadcast) const {
    const auto one = [&](int64_t rows, int64_t columns) {
      const double operations = static_cast<double>(rows * columns);
      const bool held = rows * columns + columns + 2 <= m_.registers;
      const double loads =
          static_cast<double>((held ? columns : rows * columns) + (broadcast ? rows : 0));
      return std::max({operations / 2, loads / 2, 4.0}) + 0.1 * loads;
    };
    const int64_t columns = n ? (*n + width - 1) / width : 60;
    const int64_t rows = m.value_or(60);
    double total = 0;
    for (int64_t j = 0; j < columns; j += c)
      for (int64_t i = 0; i < rows; i += r)
        total += one(std::min(r, rows - i), std::min(c, columns - j));
    return total;
  }

  // The vector's loop inside the other points', or outside that of a shared operand's rows.
  void order(NestPlan& plan, DimId vector, std::optional<DimId> along) const {
    std::vector<DimId>& points = plan.points;
    if (const auto at = std::find(points.begin(), points.end(), vector); at != points.end()) {
      points.erase(at);
      points.push_back(vector);
    }
    if (along) {
      points.erase(std::find(points.begin(), points.end(), *along));
      points.push_back(*along);
    }
    if (const auto at = std::find(plan.reduce.begin(), plan.reduce.end(), vector);
        at != plan.reduce.end()) {
      plan.reduce.erase(at);
      plan.reduce.push_back(vector);
    }
  }

  const Graph& g;
  const NestShape& s;
  const Machine& m_;
};

}  // namespace

Access access_of(const Graph& g, TensorId t, const std::vector<Form>& forms) {
  Access a;
  const Form f = address(g[t].shape, forms);
  for (const Form::Term& term : f.terms) a.strides[term.dim] = term.coeff;
  for (const Form::Gather& x : f.gathers)
    for (const Form& inner : g.leaf(x.leaf).forms)
      for (DimId d : dims_of(g, inner)) a.gathered.push_back(d);
  return a;
}

NestShape shape_of(const Graph& g, const Node& n) {
  NestShape s;
  s.points = n.points, s.reduce = n.reduce;
  if (n.scan) {
    std::erase(s.points, n.scan->along);
    s.reduce = {n.scan->along};
    s.commutative = false;
  }
  for (LeafId l : leaves_of(g, n)) {
    const Leaf& leaf = g.leaf(l);
    if (leaf.what == Leaf::What::read) s.accesses.push_back(access_of(g, leaf.tensor, leaf.forms));
  }
  for (const Target& t : n.targets) {
    std::vector<Form> forms;
    for (DimId d : t.points) forms.push_back(Form::coordinate(d));
    s.accesses.push_back(access_of(g, t.tensor, forms));
    s.accesses.back().store = true;
  }
  // An equality is solved for one summed coordinate at each point, and so is a segment.
  for (const Guard& guard : n.guards) {
    if (guard.what == Guard::What::zero)
      for (const Form::Term& t : guard.form.terms) s.sizes[t.dim] = 1;
    for (DimId d : n.reduce)
      if (segment_of(g, guard, d))
        for (DimId other : dims_of(g, guard)) s.sizes[other] = 1;
  }
  s.states = 0;
  for (const Fold& f : n.folds) {
    s.commutative &= g[f.monoid].commutative;
    s.states += g[f.monoid].kinds.size();
  }
  s.states = std::max<size_t>(s.states, 1);
  return s;
}

NestPlan plan_nest(const Graph& g, const NestShape& shape, const Machine& machine) {
  if (machine.kind == Machine::Kind::gpu) return plan_group_nest(g, shape, machine);
  return Tiler(g, shape, machine).run();
}

}  // namespace tang
