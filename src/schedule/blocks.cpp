#include "schedule/blocks.h"

#include <algorithm>
#include <set>

#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/pivot.h"
#include "ir/variance.h"
#include "schedule/prepared.h"
#include "schedule/windows.h"

namespace tang {

namespace {

constexpr int64_t few = 64;                    // rows of a block
constexpr int64_t largest_window = 64 * 1024;  // elements
constexpr int64_t row_registers = 6;           // by two vectors: 12 accumulators of 16 registers

class Blocks {
 public:
  Blocks(Graph& graph, KernelPlan& plan, const Machine& machine, bool row,
         std::optional<bool> pivot)
      : g(graph), k_(plan), m_(machine), n_(graph[plan.node]), row_(row), wanted_(pivot) {}

  void run() {
    k_.machine = m_.name;
    NestShape shape = shape_of(g, n_);
    if (row_)
      for (DimId d : n_.points) shape.sizes[d] = 1;
    k_.nest = plan_nest(g, shape, m_);
    if (n_.scan && n_.scan->matrix) return matrix_blocks();
    if (n_.folds.size() == 1 && !n_.scan && k_.inlined.empty() && !row_ && strided_blocks(shape))
      return;
    const bool one_fold = n_.folds.size() == 1 && !n_.scan && !n_.reduce.empty();
    const auto pivot = one_fold ? pivot_form(g, n_.folds[0].monoid) : std::nullopt;
    if (pivot && fits(*pivot) && wanted_ != false) {
      k_.pivot = true;
      return term_blocks();
    }
    if (!k_.inlined.empty() && !n_.folds.empty()) return inlined_blocks();
    if (pivot && wanted_.value_or(narrow())) return narrow_blocks();
    if (!one_fold || row_) return;
    k_.nest = plan_nest_in_panels(g, k_, shape, m_);
    if (padded_blocks()) return;
    if (k_.nest.tile.size() == 1)
      column_blocks();
    else
      product_blocks();
  }

  void run_group(int64_t few) {
    k_.machine = m_.name;
    group_rows_ = few;
    const bool one_fold = n_.folds.size() == 1 && !n_.scan && !n_.reduce.empty();
    const auto pivot = one_fold ? pivot_form(g, n_.folds[0].monoid) : std::nullopt;
    if (pivot && fits(*pivot) && wanted_ != false) {
      k_.pivot = true;
      term_blocks();
    } else if (!k_.inlined.empty()) {
      inlined_blocks();
    }
  }

  // Loops of one step around windows, and no register tiles.
  void run_plain() {
    k_.machine = m_.name;
    plain_ = true;
    if (!k_.inlined.empty() && !n_.folds.empty()) inlined_blocks();
  }

 private:
  std::optional<int64_t> size(DimId d) const { return g.extent(d).constant(); }

  // The reads of an expression, by what they depend on.
  bool mentions(LeafId l, DimId d) const {
    const auto& forms = g.leaf(l).forms;
    return std::any_of(forms.begin(), forms.end(),
                       [&](const Form& f) { return contains(dims_of(g, f), d); });
  }

  // ---- the pivot form --------------------------------------------------------------------------

  // Sums that vary along more points than the pivot, or a definition computed inside.
  bool fits(const Pivot& p) {
    const std::vector<Component> all = components(g, n_);
    rows_ = all[p.component].varies;
    bool wider = !k_.inlined.empty();
    for (uint32_t c : p.linear) wider |= all[c].varies.size() > rows_.size();
    if (!wider || row_) return false;
    for (DimId d : n_.points)
      if (!contains(rows_, d) && size(d).value_or(largest_window) > 1024) return false;
    for (NodeId i : k_.inlined) {
      const Node& inner = g[i];
      if (inner.scan || inner.folds.size() != 1) return false;
      for (DimId d : outside_dims(g[i].targets[0].tensor))
        if (contains(n_.points, d) && !contains(rows_, d)) return false;
    }
    return g[n_.folds[0].monoid].commutative;
  }

  // A state of the pivot's rows alone: a pass for the pivots of a block and one for its weights
  // cost one exponential a term where single terms cost two.
  bool narrow() const {
    return rows_.size() == n_.points.size() && g[n_.folds[0].monoid].commutative &&
           size(n_.reduce.back()).value_or(4096) >= few;
  }

  void narrow_blocks() {
    k_.pivot = true;
    const DimId across = k_.nest.tile.empty() ? n_.reduce.back() : k_.nest.tile.back().dim;
    if (!row_)
      for (DimId d : n_.points) k_.blocks.push_back({d, d == across ? block(d, few) : 1});
    const int64_t length = contains(n_.points, across) ? few : 2048;
    for (DimId d : n_.reduce) {
      const bool last = d == n_.reduce.back();
      if (last && size(d).value_or(length + 1) <= 2 * length) continue;
      k_.blocks.push_back({d, last ? block(d, length) : 1});
    }
  }

  // Coordinates of the node in its reads of a tensor.
  std::vector<DimId> outside_dims(TensorId t) const {
    std::vector<DimId> dims;
    for (LeafId l : leaves_of(g, n_))
      if (g.leaf(l).what == Leaf::What::read && g.leaf(l).tensor == t)
        for (DimId d : dims_of_read(l))
          if (!contains(dims, d)) dims.push_back(d);
    return dims;
  }

  // Blocks of terms and of the points that definitions computed inside are read at.
  void inlined_blocks() {
    rows_.clear();
    for (DimId d : n_.points)
      for (NodeId i : k_.inlined)
        if (!contains(rows_, d) && contains(outside_dims(g[i].targets[0].tensor), d))
          rows_.push_back(d);
    term_blocks();
  }

  // The recurrence runs for a block of the last column at a time, with all of its rows.
  void matrix_blocks() {
    std::vector<DimId> columns = n_.points;
    std::erase(columns, n_.scan->along);
    std::erase(columns, n_.scan->matrix->first);
    for (DimId d : columns) k_.blocks.push_back({d, d == columns.back() ? block(d, few) : 1});
  }

  void term_blocks() {
    const std::optional<DimId> shared = shared_rows();
    for (DimId d : rows_)
      if (d != shared) k_.blocks.push_back({d, 1});
    if (shared) k_.blocks.push_back({*shared, block(*shared, group_rows_.value_or(few))});
    const size_t points = k_.blocks.size();
    const int64_t length = group_rows_.value_or(shared ? 128 : 512);
    for (DimId d : n_.reduce)
      k_.blocks.push_back({d, d == n_.reduce.back() && !plain_ ? block(d, length) : 1});
    for (NodeId i : k_.inlined) {
      const TensorId t = g[i].targets[0].tensor;
      if (!plain_ && !group_rows_) stage_operand(i, points, shared ? 1 : 0);
      // Inside of all loops that its coordinates belong to.
      const std::vector<DimId> dims = outside_dims(t);
      size_t level = k_.blocks.size();
      while (level > 0 && !contains(dims, k_.blocks[level - 1].dim)) --level;
      StagePlan s{t, level, {}, 0, 0};
      for (size_t a = 0; a < g[t].shape.size(); ++a) s.axes.push_back(a);
      k_.stages.push_back(std::move(s));
    }
  }

  // The row coordinate along which operands of the block stay, so that they are read once for a
  // block of it.
  std::optional<DimId> shared_rows() const {
    std::optional<DimId> best;
    for (DimId d : rows_) {
      if (size(d).value_or(4096) < 2) continue;
      bool stays = false;
      const auto look = [&](const Node& n) {
        for (LeafId l : leaves_of(g, n))
          if (g.leaf(l).what == Leaf::What::read && g[g.leaf(l).tensor].node == NodeId::none)
            stays |= !mentions(l, d);
      };
      look(n_);
      for (NodeId i : k_.inlined) look(g[i]);
      if (stays && !plain_) best = d;
    }
    return best;
  }

  // A block that divides a known extent, if one near the wanted size does.
  int64_t block(DimId d, int64_t wanted) const {
    const auto n = size(d);
    if (!n) return wanted;
    if (*n <= wanted + wanted / 2) return std::max<int64_t>(*n, 1);
    for (int64_t x = wanted + wanted / 2; x >= wanted / 2; x -= 8)
      if (*n % x == 0) return x;
    return wanted;
  }

  // An operand of an inlined product that moves by more than one element along the coordinate that
  // vectors should run along: the last of those summed outside.
  void stage_operand(NodeId inner, size_t points, size_t shared) {
    const Node& n = g[inner];
    const TensorId t = n.targets[0].tensor;
    if (shared == 0) return;
    for (LeafId l : leaves_of(g, n)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || leaf.guarded) continue;
      // The axis of the operand that becomes the last summed coordinate outside.
      std::optional<size_t> axis;
      for (size_t a = 0; a < leaf.forms.size(); ++a)
        for (size_t p = 0; p < n.points.size(); ++p)
          if (leaf.forms[a] == Form::coordinate(n.points[p]) && is_last_reduce(t, p)) axis = a;
      if (!axis || *axis + 1 == leaf.forms.size()) continue;
      const bool plain = std::all_of(leaf.forms.begin(), leaf.forms.end(),
                                     [](const Form& f) { return f.is_affine(); });
      if (!plain || count_reads(leaf.tensor) != 1) continue;
      StagePlan s;
      s.tensor = leaf.tensor;
      for (size_t a = 0; a < leaf.forms.size(); ++a) s.axes.push_back(a);
      s.panel_axis = *axis;
      s.panel = m_.vector_bytes / 4;
      // All of it outside of the rows' loop if it is small enough, a block of terms otherwise.
      double all = 1, block = 1;
      for (DimId d : dims_of_read(l)) {
        const double whole = static_cast<double>(size(d).value_or(1 << 30));
        const bool point = contains(n.points, d);
        all *= point && is_row(t, n, d) ? 1 : whole;
        block *= !point ? whole
                 : is_last_reduce(t, index_in(n.points, d))
                     ? static_cast<double>(k_.blocks.back().step)
                     : 1;
      }
      if (all <= largest_window)
        s.level = points - shared;
      else if (block <= largest_window)
        s.level = k_.blocks.size();
      else
        continue;
      k_.stages.push_back(std::move(s));
    }
  }

  static size_t index_in(const std::vector<DimId>& list, DimId d) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), d) - list.begin());
  }

  std::vector<DimId> dims_of_read(LeafId l) const {
    std::vector<DimId> dims;
    for (const Form& f : g.leaf(l).forms)
      for (DimId d : dims_of(g, f))
        if (!contains(dims, d)) dims.push_back(d);
    return dims;
  }

  size_t count_reads(TensorId t) const {
    std::set<LeafId> reads;
    const auto collect = [&](const Node& n) {
      for (LeafId l : leaves_of(g, n))
        if (g.leaf(l).what == Leaf::What::read && g.leaf(l).tensor == t) reads.insert(l);
    };
    collect(n_);
    for (NodeId i : k_.inlined) collect(g[i]);
    return reads.size();
  }

  // What the node reads axis p of the inlined tensor at.
  std::optional<DimId> outside(TensorId t, size_t p) const {
    std::optional<DimId> d;
    for (LeafId l : leaves_of(g, n_))
      if (g.leaf(l).what == Leaf::What::read && g.leaf(l).tensor == t)
        d = g.leaf(l).forms[p].as_pick();
    return d;
  }
  bool is_last_reduce(TensorId t, size_t p) const { return outside(t, p) == n_.reduce.back(); }
  bool is_row(TensorId t, const Node& n, DimId d) const {
    const auto o = outside(t, index_in(n.points, d));
    return o && contains(rows_, *o);
  }

  // ---- sums of products ------------------------------------------------------------------------

  // Large operands go to windows that fit the caches (Goto and van de Geijn, "Anatomy of
  // high-performance matrix multiplication", 2008): a panel of terms by vectors' columns in the
  // first level, a block of rows by terms in the second. Vectors run along the columns in which the
  // target lies side by side; an operand that does not is turned on its way to the panels.
  void product_blocks() {
    const MonoidFacts f = facts(g, n_.folds[0].monoid);
    if (!f.sum || k_.nest.tile.size() != 2 || n_.reduce.size() != 1) return;
    const int64_t width = k_.nest.tile[1].elem;
    const auto pair = rows_and_columns();
    if (width == 1 || !pair) return;
    const auto [rows, columns] = *pair;
    const DimId terms = n_.reduce[0];
    const auto m = size(rows), n = size(columns), k = size(terms);
    if (!m || !n || !k || *m < 4 * row_registers) return;
    const auto across = operand(columns, rows, terms), down = operand(rows, columns, terms);
    if (!across || !down) return;
    const bool turned = moves_by_more(*across, columns);
    const bool ready = may_lie_in_panels(g, k_, *across, columns, m_);
    if (turned && !ready ? *k < width || *n < 2 * width : *n * *k * 4 <= m_.l1_bytes) return;
    const Target& target = n_.targets[0];
    const bool in_output = n_.targets.size() == 1 && g[target.tensor].storage() == Format::f32 &&
                           target.points == n_.points;
    const int64_t block_k = in_output ? even(*k, m_.l1_bytes / 16 / width, 8) : *k;
    const int64_t block_n = even(*n, largest_window * 3 / block_k, 2 * width);
    const int64_t block_m = even(*m, m_.l2_bytes / 16 / block_k, row_registers);
    k_.nest.points = n_.points;
    std::erase(k_.nest.points, rows), std::erase(k_.nest.points, columns);
    k_.nest.points.insert(k_.nest.points.end(), {columns, rows});
    k_.nest.reduce = n_.reduce;
    k_.nest.tile = {{rows, row_registers, 1}, {columns, 2, width}};
    for (DimId d : n_.points)
      if (d != rows && d != columns) k_.blocks.push_back({d, 1});
    if (block_n < *n) k_.blocks.push_back({columns, block_n});
    if (block_k < *k) k_.blocks.push_back({terms, block_k});
    k_.stages.push_back(window(*across, columns, 2 * width, k_.blocks.size()));
    if (*m * *k * 4 <= m_.l2_bytes / 4) return;
    if (block_m < *m) k_.blocks.push_back({rows, block_m});
    k_.stages.push_back(window(*down, rows, 0, k_.blocks.size()));
  }

  // Sums along the columns of a matrix that no cache holds: a few rows at a time are read from end
  // to end, and the sums stay in the first level.
  void column_blocks() {
    const MonoidFacts f = facts(g, n_.folds[0].monoid);
    const DimId columns = k_.nest.tile[0].dim;
    if (!f.sum || n_.reduce.size() != 1 || !n_.guards.empty() || !contains(n_.points, columns))
      return;
    const Target& target = n_.targets[0];
    const auto n = size(columns), k = size(n_.reduce[0]);
    if (n_.targets.size() != 1 || g[target.tensor].storage() != Format::f32 || !n || !k) return;
    if (target.points != n_.points || k_.nest.tile[0].elem == 1) return;
    for (LeafId l : leaves_of(g, n_))
      if (may_lie_in_panels(g, k_, l, columns, m_)) return;
    constexpr int64_t rows = 8, page = 4096;
    const int64_t most = m_.l1_bytes / 2 / 4;
    if (*n * 4 < page / 4 || *n * *k * 4 <= m_.l2_bytes / 2 || *k < 2 * rows) return;
    for (DimId d : n_.points)
      if (d != columns) k_.blocks.push_back({d, 1});
    if (*n > most) k_.blocks.push_back({columns, even(*n, most, k_.nest.tile[0].size())});
    k_.blocks.push_back({n_.reduce[0], rows});
  }

  // The two points of a register tile: those of the nest, unless one of them is summed over or the
  // target lies side by side along the other.
  std::optional<std::pair<DimId, DimId>> rows_and_columns() const {
    DimId rows = k_.nest.tile[0].dim, columns = k_.nest.tile[1].dim;
    const std::vector<DimId>& points = n_.targets[0].points;
    if (points.size() < 2 || !contains(n_.points, rows)) return std::nullopt;
    if (rows == points.back() && contains(n_.points, columns)) std::swap(rows, columns);
    if (contains(n_.points, columns)) return std::pair(rows, columns);
    columns = points.back();
    for (DimId d : points)
      if (d != columns && operand(d, columns, n_.reduce[0])) rows = d;
    if (rows == columns) return std::nullopt;
    return std::pair(rows, columns);
  }

  bool moves_by_more(LeafId l, DimId d) const {
    const Access a = access_of(g, g.leaf(l).tensor, g.leaf(l).forms);
    const auto at = a.strides.find(d);
    return at != a.strides.end() && !(at->second == Poly(1));
  }

  // A sum whose conditions keep one operand inside its tensor, and which no row coordinate enters:
  // a window of it with zeros around makes the conditions needless.
  bool padded_blocks() {
    const MonoidFacts f = facts(g, n_.folds[0].monoid);
    if (!f.sum || k_.nest.tile.size() != 2 || n_.guards.empty()) return false;
    const DimId rows = k_.nest.tile[0].dim, columns = k_.nest.tile[1].dim;
    if (k_.nest.tile[1].elem == 1 || !contains(n_.points, columns)) return false;
    for (LeafId l : leaves_of(g, n_)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || leaf.guarded || !mentions(l, columns) ||
          mentions(l, rows) || count_reads(leaf.tensor) != 1 || !is_factor(g, n_, l))
        continue;
      const std::vector<Guard> bounds = inside_bounds(g, leaf.tensor, leaf.forms);
      if (bounds.empty() || !keeps_inside(bounds)) continue;
      double window = 1;
      for (DimId d : dims_of_read(l))
        if (d == columns || !contains(n_.points, d))
          window *= static_cast<double>(size(d).value_or(1 << 30));
      if (window > static_cast<double>(largest_window)) continue;
      for (DimId d : n_.points)
        if (d != rows && d != columns) k_.blocks.push_back({d, 1});
      StagePlan s;
      s.tensor = leaf.tensor;
      for (size_t a = 0; a < leaf.forms.size(); ++a) s.axes.push_back(a);
      s.level = k_.blocks.size();
      s.padded = true;
      k_.stages.push_back(std::move(s));
      return true;
    }
    return false;
  }

  // An operand that moves by several elements along the coordinate in which the target lies side by
  // side: in a window whose phases lie apart it moves by one.
  bool strided_blocks(NestShape shape) {
    const std::vector<DimId>& points = n_.targets[0].points;
    if (points.empty() || n_.scan) return false;
    const DimId d = points.back();
    const NestPlan plain = k_.nest;
    for (LeafId l : leaves_of(g, n_)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || leaf.forms.empty()) continue;
      const auto step = leaf.forms.back().coefficient(d).constant();
      if (!step || *step < 2 || *step > 4) continue;
      const Access one = access_of(g, leaf.tensor, leaf.forms);
      for (Access& a : shape.accesses)
        if (!a.store && a.strides == one.strides) a.strides[d] = Poly(1);
      k_.nest = plan_nest(g, shape, m_);
      const bool along = k_.nest.tile.size() == 2 && k_.nest.tile[1].dim == d;
      if (along && padded_blocks()) {
        k_.stages.back().phases = *step;
        return true;
      }
      k_.nest = plain;
      return false;
    }
    return false;
  }

  // The bounds are conditions of the terms.
  bool keeps_inside(const std::vector<Guard>& bounds) const {
    return std::all_of(bounds.begin(), bounds.end(), [&](const Guard& b) {
      return std::find(n_.guards.begin(), n_.guards.end(), b) != n_.guards.end();
    });
  }

  // The one read that moves along d and the terms and not along the other; its forms are plain
  // coordinates.
  std::optional<LeafId> operand(DimId d, DimId other, DimId terms) const {
    std::optional<LeafId> found;
    for (LeafId l : leaves_of(g, n_)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || !mentions(l, d) || !mentions(l, terms)) continue;
      const bool plain = std::all_of(leaf.forms.begin(), leaf.forms.end(), [](const Form& form) {
        return form.as_pick() || form.is_constant();
      });
      if (found || !plain || mentions(l, other)) return std::nullopt;
      if (leaf.guarded || count_reads(leaf.tensor) != 1) return std::nullopt;
      found = l;
    }
    return found;
  }

  // A window of an operand, in panels along a coordinate if they have a width.
  StagePlan window(LeafId l, DimId d, int64_t width, size_t level) const {
    const Leaf& leaf = g.leaf(l);
    StagePlan s;
    s.tensor = leaf.tensor;
    for (size_t a = 0; a < leaf.forms.size(); ++a) {
      s.axes.push_back(a);
      if (leaf.forms[a] == Form::coordinate(d)) s.panel_axis = a;
    }
    s.panel = width;
    s.level = level;
    return s;
  }

  // Parts of about the wanted size, of equal length.
  static int64_t even(int64_t n, int64_t wanted, int64_t unit) {
    if (n <= wanted) return n;
    const int64_t parts = (n + wanted - 1) / wanted;
    return ((n + parts - 1) / parts + unit - 1) / unit * unit;
  }

  Graph& g;
  KernelPlan& k_;
  const Machine& m_;
  const Node n_;
  const bool row_;  // the points are given
  const std::optional<bool> wanted_;
  bool plain_ = false;
  std::optional<int64_t> group_rows_;  // of blocks for groups of threads
  std::vector<DimId> rows_;
};

}  // namespace

void plan_blocks(Graph& g, KernelPlan& k, const Machine& machine, std::optional<bool> pivot) {
  Blocks(g, k, machine, false, pivot).run();
  prepare_windows(g, k, machine);
}

void plan_plain(Graph& g, KernelPlan& k, const Machine& machine) {
  Blocks(g, k, machine, false, std::nullopt).run_plain();
  prepare_windows(g, k, machine);
}

void plan_group_blocks(Graph& g, KernelPlan& k, const Machine& machine, int64_t few,
                       std::optional<bool> pivot) {
  Blocks(g, k, machine, false, pivot).run_group(few);
}

void plan_row(Graph& g, KernelPlan& k, const Machine& machine, std::optional<bool> pivot) {
  Blocks(g, k, machine, true, pivot).run();
}

}  // namespace tang
