#include "schedule/groups.h"

#include <algorithm>

#include "ir/monoids.h"
#include "ir/pivot.h"
#include "ir/variance.h"
#include "schedule/blocks.h"
#include "schedule/segment.h"
#include "schedule/tiling_group.h"
#include "schedule/windows.h"

namespace tang {

namespace {

constexpr int64_t warp = 32;
constexpr int64_t usual_group = 256;
constexpr int64_t window_skew = 4;
constexpr int64_t longest_row = 16384;  // that is read twice
constexpr int64_t square_block = 128;   // rows and columns of a block of products
constexpr int64_t terms_block = 16;     // of products

class Groups {
 public:
  Groups(Graph& graph, KernelPlan& plan, const Machine& machine)
      : g(graph), k_(plan), m_(machine), n_(graph[plan.node]) {}

  void run(const std::vector<DimId>& rows, std::optional<bool> pivot) {
    start();
    if (n_.scan && n_.scan->matrix) return single();
    const auto form = is_one_fold() ? pivot_form(g, n_.folds[0].monoid) : std::nullopt;
    const bool windows = !k_.inlined.empty() && !n_.folds.empty() && rows.empty();
    if (windows || (form && rows.empty() && wide(*form))) {
      if (inlined(pivot)) return;
      if (windows) return single();
      start();
    }
    NestShape shape = shape_of(g, n_);
    for (DimId d : rows) shape.sizes[d] = 1;
    if (rows.empty() && products(shape)) return;
    group(shape, rows.empty() ? usual_group : usual_group / 2);
    if (form && rows.empty() && narrow(*form)) return pivot_rows();
    point_blocks(rows);
    if (rows.empty()) turn_tiles();
  }

  void run_row() {
    start();
    NestShape shape = shape_of(g, n_);
    for (DimId d : n_.points) shape.sizes[d] = 1;
    k_.group = m_.threads;
    k_.nest = plan_group_nest(g, shape, m_);
    const auto form = is_one_fold() ? pivot_form(g, n_.folds[0].monoid) : std::nullopt;
    k_.pivot = form && narrow(*form);
  }

  // One iteration of all points a group, of one thread.
  void single() {
    start();
    k_.group = 1;
    if (!k_.inlined.empty() && !n_.folds.empty()) return plan_plain(g, k_, m_);
    Machine one = m_;
    one.threads = 1;
    k_.nest = plan_group_nest(g, shape_of(g, n_), one);
    if (n_.scan && n_.scan->matrix) return;
    for (DimId d : n_.points)
      if (!runs_along(d)) k_.blocks.push_back({d, 1});
  }

 private:
  void start() {
    k_.machine = m_.name;
    k_.threads = std::max<int64_t>(m_.cores, 2);
    k_.blocks.clear(), k_.stages.clear();
    k_.pivot = false;
  }

  std::optional<int64_t> size(DimId d) const { return g.extent(d).constant(); }
  bool runs_along(DimId d) const { return n_.scan && n_.scan->along == d; }
  bool is_one_fold() const { return n_.folds.size() == 1 && !n_.scan && !n_.reduce.empty(); }

  bool in_all_targets(DimId d) const {
    return std::all_of(n_.targets.begin(), n_.targets.end(),
                       [d](const Target& t) { return contains(t.points, d); });
  }

  // As many threads as the tile has use for, whole warps of them.
  void group(const NestShape& shape, int64_t most = usual_group) {
    Machine m = m_;
    m.threads = std::min(most, m_.threads);
    for (;;) {
      k_.nest = plan_group_nest(g, shape, m);
      int64_t used = 1;
      for (const TileDim& t : k_.nest.tile) used *= t.threads;
      if (used >= m.threads || m.threads <= warp) break;
      m.threads = std::max(warp, used);
    }
    k_.group = m.threads;
    if (n_.reduce.empty() || n_.scan || groups() >= m_.cores) return;
    // Few points for as many terms: threads share these, with narrower tiles of points if there are
    // too few groups still.
    m.threads = m_.threads;
    const NestPlan usual = k_.nest;
    const int64_t before = k_.group * groups();
    int64_t used = 1;
    for (;; m.vector_bytes = 4) {
      k_.nest = plan_group_nest(g, shape, m, warp);
      used = 1;
      for (const TileDim& t : k_.nest.tile) used *= t.threads;
      if (groups() >= m_.cores || m.vector_bytes <= 4) break;
    }
    if (used * groups() < 2 * before)
      k_.nest = usual;
    else
      k_.group = used;
  }

  // Blocks of the tiles.
  int64_t groups() const {
    int64_t all = 1;
    for (DimId d : n_.points) {
      const int64_t n = std::min(extent(d), int64_t{1} << 20), tile = tile_size(d);
      all = std::min((n + tile - 1) / tile * all, int64_t{1} << 30);
    }
    return all;
  }

  int64_t tile_size(DimId d) const {
    for (const TileDim& t : k_.nest.tile)
      if (t.dim == d) return t.size();
    return 1;
  }

  // A block is what one tile holds. Points that some target lacks run inside.
  void point_blocks(const std::vector<DimId>& rows) {
    for (DimId d : rows) k_.blocks.push_back({d, 1});
    if (!rows.empty()) return;
    for (DimId d : n_.points)
      if (!runs_along(d) && in_all_targets(d) && size(d) != 1)
        k_.blocks.push_back({d, tile_size(d)});
  }

  // ---- what lies across ------------------------------------------------------------------------

  // Without folds: a read that moves by more than one element along the coordinate that neighbours
  // take, but by one along another, goes through a window that has a tile of both.
  void turn_tiles() {
    if (!n_.folds.empty() || n_.scan || k_.nest.tile.empty() || !k_.inlined.empty()) return;
    const DimId fast = k_.nest.tile.back().dim;
    for (LeafId l : leaves_of(g, n_)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || leaf.guarded) continue;
      const std::optional<DimId> across =
          leaf.forms.empty() ? std::nullopt : leaf.forms.back().as_pick();
      if (!across || *across == fast || !is_plain(leaf) || !mentions(leaf, fast)) continue;
      if (Windows(g, k_).reads(leaf.tensor).size() != 1) continue;
      turn(*across, fast, leaf.tensor);
      return;
    }
  }

  void turn(DimId across, DimId fast, TensorId t) {
    if (size(across).value_or(warp) < 8 || size(fast).value_or(warp) < 8 || !in_all_targets(across))
      return;
    const int64_t rows = 8 * k_.group / usual_group;
    k_.nest.tile = {{across, warp / std::max<int64_t>(rows, 1), 1, std::max<int64_t>(rows, 1)},
                    {fast, 1, 1, warp}};
    k_.group = warp * std::max<int64_t>(rows, 1);
    k_.blocks.clear();
    for (DimId d : n_.points)
      if (size(d) != 1 && in_all_targets(d)) k_.blocks.push_back({d, tile_size(d)});
    StagePlan s;
    s.tensor = t;
    for (size_t a = 0; a < g[t].shape.size(); ++a) s.axes.push_back(a);
    s.level = k_.blocks.size();
    s.skew = 1;
    k_.stages.push_back(std::move(s));
  }

  static bool is_plain(const Leaf& leaf) {
    return std::all_of(leaf.forms.begin(), leaf.forms.end(),
                       [](const Form& f) { return f.as_pick() || f.is_constant(); });
  }
  bool mentions(const Leaf& leaf, DimId d) const {
    return std::any_of(leaf.forms.begin(), leaf.forms.end(),
                       [&](const Form& f) { return contains(dims_of(g, f), d); });
  }

  // ---- sums of products ------------------------------------------------------------------------

  // Both operands of a block of rows and columns in windows, a block of terms at a time; the sums
  // stay in registers.
  bool products(const NestShape& shape) {
    if (!is_one_fold() || !facts(g, n_.folds[0].monoid).sum || n_.reduce.size() != 1) return false;
    if (!n_.guards.empty() || !k_.inlined.empty() || m_.threads < usual_group) return false;
    const DimId terms = n_.reduce[0];
    std::optional<DimId> columns, rows;
    for (DimId d : n_.points) {
      const auto n = size(d);
      if (!in_all_targets(d) || (n && *n < warp)) continue;
      if (contains(n_.targets[0].points, d) && n_.targets[0].points.back() == d)
        columns = d;
      else
        rows = d;
    }
    if (!columns || !rows || (size(terms) && *size(terms) < terms_block)) return false;
    const auto across = operand(*columns, *rows, terms), down = operand(*rows, *columns, terms);
    if (!across || !down || shape.wide) return false;
    int64_t m = block(*rows), n = block(*columns);
    while ((m + n + 2 * window_skew) * terms_block * 4 > m_.shared_bytes && std::max(m, n) > warp)
      (m > n ? m : n) /= 2;
    while (tiles(*rows, m, *columns, n) < m_.cores && std::max(m, n) > 2 * warp)
      (m > n ? m : n) /= 2;
    k_.group = usual_group;
    const int64_t width = size(*columns).value_or(1) % 4 == 0 && m_.vector_bytes >= 16 ? 4 : 1;
    k_.nest.points = n_.points;
    k_.nest.reduce = n_.reduce;
    const int64_t across_threads = std::min<int64_t>(16, n / width);
    const int64_t down_threads = usual_group / across_threads;
    k_.nest.tile = {{*rows, m / down_threads, 1, down_threads, true},
                    {*columns, n / across_threads / width, width, across_threads}};
    for (DimId d : n_.points)
      if (size(d) != 1) k_.blocks.push_back({d, d == *rows ? m : d == *columns ? n : 1});
    k_.blocks.push_back({terms, terms_block});
    k_.stages.push_back(window(*across, *columns));
    k_.stages.push_back(window(*down, *rows));
    return true;
  }

  // Groups of a product whose blocks have m rows and n columns.
  int64_t tiles(DimId rows, int64_t m, DimId columns, int64_t n) const {
    int64_t all = 1;
    for (DimId d : n_.points) {
      const int64_t each = d == rows ? m : d == columns ? n : 1;
      all = std::min((extent(d) + each - 1) / each * all, int64_t{1} << 30);
    }
    return all;
  }

  int64_t block(DimId d) const {
    return std::min(square_block, std::max(warp, power_of_two(size(d).value_or(square_block))));
  }

  // The one read that moves along d and the terms and not along the other.
  std::optional<LeafId> operand(DimId d, DimId other, DimId terms) const {
    std::optional<LeafId> found;
    for (LeafId l : leaves_of(g, n_)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || !mentions(leaf, d) || !mentions(leaf, terms)) continue;
      if (found || !is_plain(leaf) || mentions(leaf, other) || leaf.guarded) return std::nullopt;
      if (Windows(g, k_).reads(leaf.tensor).size() != 1) return std::nullopt;
      found = l;
    }
    return found;
  }

  // What lies side by side in the window is the coordinate of the tile; the skew keeps threads that
  // write along the other out of each other's banks.
  StagePlan window(LeafId l, DimId d) const {
    const Leaf& leaf = g.leaf(l);
    StagePlan s;
    s.tensor = leaf.tensor;
    size_t last = 0;
    for (size_t a = 0; a < leaf.forms.size(); ++a) {
      if (leaf.forms[a] == Form::coordinate(d)) last = a;
    }
    for (size_t a = 0; a < leaf.forms.size(); ++a)
      if (a != last) s.axes.push_back(a);
    s.axes.push_back(last);
    s.level = k_.blocks.size();
    s.skew = window_skew;
    return s;
  }

  // ---- the pivot form, and definitions in windows
  // ------------------------------------------------

  // Sums along more points than the pivot's.
  bool wide(const Pivot& p) const {
    const std::vector<Component> all = components(g, n_);
    return std::any_of(p.linear.begin(), p.linear.end(), [&](uint32_t c) {
      return all[c].varies.size() > all[p.component].varies.size();
    });
  }

  // A long row whose terms lie side by side: a pass for its pivot and one for its weights cost one
  // exponential a term, where states that are combined cost two.
  bool narrow(const Pivot& p) const {
    const bool rows = components(g, n_)[p.component].varies.size() == n_.points.size();
    const bool along = !k_.nest.tile.empty() && contains(n_.reduce, k_.nest.tile.back().dim);
    return rows && along && !wide(p) && n_.reduce.size() == 1 && k_.inlined.empty() &&
           g[n_.folds[0].monoid].commutative && size(n_.reduce[0]).value_or(0) >= usual_group &&
           *size(n_.reduce[0]) <= longest_row;
  }

  void pivot_rows() {
    if (std::any_of(n_.points.begin(), n_.points.end(),
                    [&](DimId d) { return !in_all_targets(d); }))
      return point_blocks({});
    k_.pivot = true;
    k_.group = std::min(usual_group, m_.threads);
    for (DimId d : n_.points) k_.blocks.push_back({d, 1});
  }

  bool inlined(std::optional<bool> pivot) {
    for (k_.group = std::min<int64_t>(usual_group / 2, m_.threads); k_.group > 0; k_.group /= 2)
      for (const int64_t few : {64, 32, 16, 8, 4}) {
        k_.blocks.clear(), k_.stages.clear();
        plan_group_blocks(g, k_, m_, few, pivot);
        // Where smaller blocks can follow, what a fold usually takes is enough.
        const int64_t folded = few == 4 ? most_folded() : 8;
        if (bytes(folded) > m_.shared_bytes || !shares_points()) continue;
        Machine m = m_;
        m.threads = k_.group;
        NestShape shape = shape_of(g, n_);
        for (const BlockLoop& b : k_.blocks) shape.sizes[b.dim] = std::min(b.step, extent(b.dim));
        k_.nest = plan_group_nest(g, shape, m);
        return true;
      }
    return false;
  }

  int64_t extent(DimId d) const { return size(d).value_or(int64_t{1} << 20); }

  // Every loop around the terms is over a point that all targets have.
  bool shares_points() const {
    for (const BlockLoop& b : k_.blocks)
      if (!contains(n_.reduce, b.dim)) return in_all_targets(b.dim) && size(b.dim) != 0;
    return false;
  }

  int64_t box(const std::vector<DimId>& dims) const {
    int64_t total = 1;
    for (DimId d : dims) {
      int64_t n = size(d).value_or(int64_t{1} << 20);
      for (const BlockLoop& b : k_.blocks)
        if (b.dim == d) n = std::min(n, b.step);
      total = std::min(total * n, int64_t{1} << 30);
    }
    return total;
  }

  // Windows, states between blocks, what a block of the pivot form keeps, and what threads fold
  // through memory, `folded` elements each.
  int64_t bytes(int64_t folded) const {
    std::string unknown_tensor;
    const auto windows = Windows(g, k_).bytes(&unknown_tensor);
    if (!windows) return int64_t{1} << 40;
    int64_t elements = 0;
    const std::vector<Component> all = components(g, n_);
    for (const Component& c : all) elements += box(c.varies);
    if (const auto p = k_.pivot ? pivot_form(g, n_.folds[0].monoid) : std::nullopt) {
      std::vector<DimId> rows = all[p->component].varies;
      elements += 3 * box(rows);
      rows.insert(rows.end(), n_.reduce.begin(), n_.reduce.end());
      elements += box(rows);
    }
    return *windows + 4 * elements + 4 * folded * k_.group;
  }

  int64_t most_folded() const {
    int64_t most = 8;
    for (NodeId i : k_.inlined) most = std::max(most, std::min<int64_t>(box(g[i].points), 16));
    return most;
  }

  Graph& g;
  KernelPlan& k_;
  const Machine& m_;
  const Node n_;
};

}  // namespace

void plan_group(Graph& g, KernelPlan& k, const Machine& machine, const std::vector<DimId>& rows,
                std::optional<bool> pivot) {
  Groups(g, k, machine).run(rows, pivot);
}

void plan_group_row(Graph& g, KernelPlan& k, const Machine& machine) {
  Groups(g, k, machine).run_row();
}

void plan_single(Graph& g, KernelPlan& k, const Machine& machine) {
  Groups(g, k, machine).single();
}

}  // namespace tang
