#include "schedule/legal.h"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/pivot.h"
#include "ir/variance.h"
#include "schedule/kept.h"
#include "schedule/streams.h"
#include "schedule/threads.h"
#include "schedule/windows.h"

namespace tang {

namespace {

constexpr size_t most_blocks = 32;
constexpr int64_t most_registers = 64, most_elements = 16;  // of a tile; of a vector

using Verdict = std::optional<Refusal>;

class Legality {
 public:
  Legality(Graph& graph, const KernelPlan& plan, const KernelPlan* around)
      : g(graph), k_(plan), n_(graph[plan.node]), windows_(graph, plan), around_(around) {}

  Verdict run() {
    for (const auto check :
         {&Legality::orders, &Legality::blocks, &Legality::pivot, &Legality::tile, &Legality::rows,
          &Legality::stages, &Legality::computed, &Legality::memory, &Legality::streamed,
          &Legality::threads})
      if (Verdict v = (this->*check)()) return v;
    return std::nullopt;
  }

 private:
  static Verdict no(std::string field, std::string value, std::string rule, std::string law = {},
                    std::string hint = {}) {
    return Refusal{std::move(field), std::move(value), std::move(rule), std::move(law),
                   std::move(hint)};
  }

  const std::string& name(DimId d) const { return g[d].name; }
  const std::string& name(TensorId t) const { return g[t].name; }
  std::string names(const std::vector<DimId>& dims) const {
    std::string text;
    for (DimId d : dims) text += (text.empty() ? "" : " ") + name(d);
    return text;
  }

  bool commutes() const {
    return std::all_of(n_.folds.begin(), n_.folds.end(),
                       [&](const Fold& f) { return g[f.monoid].commutative; });
  }
  std::string monoid() const { return n_.folds.empty() ? "" : g[n_.folds[0].monoid].name; }

  Verdict needs_commutative(std::string field, std::string value) const {
    return no(std::move(field), std::move(value),
              fmt::format("terms of `{}` keep their order, since it is not known to be commutative",
                          monoid()),
              "fold_perm", "a monoid of your own may say `commutative`");
  }

  // The input whose place a target takes, if the kernel reads it: until an element is stored, its
  // old value is wanted.
  TensorId overwritten() const {
    const std::vector<TensorId> reads = tensors_read(g, n_);
    for (const Output& o : g.outputs)
      for (const Target& t : n_.targets)
        if (o.tensor == t.tensor && std::find(reads.begin(), reads.end(), o.into) != reads.end())
          return o.into;
    return TensorId::none;
  }

  // ---- loops -----------------------------------------------------------------------------------

  static constexpr const char* in_order = "a scan runs its terms one by one, in order";
  bool runs_along(DimId d) const { return n_.scan && n_.scan->along == d; }
  bool is_matrix_scan() const { return n_.scan && n_.scan->matrix; }

  static bool is_permutation(std::vector<DimId> a, std::vector<DimId> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return a == b;
  }

  Verdict orders() {
    if (is_matrix_scan() || k_.pivot) return std::nullopt;
    std::vector<DimId> points = n_.points;
    if (n_.scan) std::erase(points, n_.scan->along);
    if (!is_permutation(k_.nest.points, points))
      return no("points", names(k_.nest.points),
                fmt::format("an order has each of {} once", names(points)), "view_range");
    if (n_.scan) return std::nullopt;
    if (!is_permutation(k_.nest.reduce, n_.reduce))
      return no("reduce", names(k_.nest.reduce),
                fmt::format("an order has each of {} once", names(n_.reduce)), "view_range");
    if (k_.nest.reduce != n_.reduce && !commutes())
      return needs_commutative("reduce", names(k_.nest.reduce));
    return std::nullopt;
  }

  bool is_whole(const BlockLoop& b) const {
    const auto extent = g.extent(b.dim).constant();
    return extent && *extent > 0 && *extent <= b.step;
  }

  Verdict blocks() {
    if (k_.blocks.size() > most_blocks)
      return no("blocks", "", fmt::format("a kernel has {} block loops at most", most_blocks));
    size_t next = 0;  // the summed coordinate whose blocks keep the order of terms
    for (size_t k = 0; k < k_.blocks.size(); ++k) {
      const BlockLoop& b = k_.blocks[k];
      const std::string value = fmt::format("{} {}", name(b.dim), b.step);
      if (b.step < 1) return no("blocks", value, "a step is 1 or more", "view_range");
      for (size_t o = 0; o < k; ++o)
        if (k_.blocks[o].dim == b.dim && k_.blocks[o].step % b.step != 0)
          return no(
              "blocks", value,
              fmt::format("the block of {} around it is no multiple of it", k_.blocks[o].step),
              "reshape_bij");
      if (Verdict v =
              contains(n_.reduce, b.dim) ? term_block(b, value, next) : point_block(b, value))
        return v;
      if (k > windows_.first_reduce())
        if (Verdict v = inner_block(b, value)) return v;
    }
    return std::nullopt;
  }

  Verdict point_block(const BlockLoop& b, const std::string& value) const {
    if (runs_along(b.dim)) return no("blocks", value, in_order, "scan_prefix");
    for (const Target& t : n_.targets)
      if (!contains(t.points, b.dim) && g.extent(b.dim).constant().value_or(0) <= 0)
        return no("blocks", value,
                  fmt::format("`{}` has no {}, and is stored once even where that has no elements",
                              name(t.tensor), name(b.dim)),
                  "independent_points");
    if (around_ && contains(n_.points, b.dim))
      return no("blocks", value, "the rows' own points are blocks of the kernel around",
                "independent_points");
    return std::nullopt;
  }

  // Points in blocks inside of blocks of terms: a state would be given the terms again for each.
  Verdict inner_block(const BlockLoop& b, const std::string& value) const {
    if (contains(n_.reduce, b.dim) || is_whole(b)) return std::nullopt;
    for (const Component& c : components(g, n_))
      if (!contains(c.varies, b.dim))
        return no("blocks", value,
                  fmt::format("inside of a block of terms, a state that does not vary along {} "
                              "would take them more than once",
                              name(b.dim)),
                  "fold_split", "put it outside of the blocks of terms");
    return std::nullopt;
  }

  Verdict term_block(const BlockLoop& b, const std::string& value, size_t& next) const {
    if (const TensorId old = overwritten(); old != TensorId::none)
      return no("blocks", value,
                fmt::format("all terms read `{}` before `{}` takes its place", name(old),
                            name(n_.targets[0].tensor)),
                "purity");
    if (commutes() || is_whole(b)) return std::nullopt;
    while (next < n_.reduce.size() && n_.reduce[next] != b.dim &&
           g.extent(n_.reduce[next]).constant() == 1)
      ++next;
    if (next == n_.reduce.size() || n_.reduce[next] != b.dim)
      return needs_commutative("blocks", value);
    if (b.step == 1) ++next;
    return std::nullopt;
  }

  Verdict pivot() {
    if (!k_.pivot) return std::nullopt;
    if (n_.folds.size() != 1 || n_.reduce.empty())
      return no("pivot", "true", "a pivot is that of one fold", "pivot_form");
    if (!pivot_form(g, n_.folds[0].monoid))
      return no("pivot", "true",
                fmt::format("`{}` has no component by which the others are weighted", monoid()),
                "pivot_form");
    if (!commutes()) return needs_commutative("pivot", "true");
    if (const TensorId old = overwritten(); old != TensorId::none)
      return no("pivot", "true", fmt::format("`{}` is overwritten while it is read", name(old)),
                "purity");
    return std::nullopt;
  }

  Verdict tile() {
    if (k_.pivot || is_matrix_scan()) return std::nullopt;
    std::set<DimId> seen;
    int64_t registers = 1, vectors = 0;
    for (const TileDim& t : k_.nest.tile) {
      const std::string value = fmt::format("{} {} of {}", name(t.dim), t.reg, t.elem);
      if (!seen.insert(t.dim).second) return no("tile", value, "a dim has one tile", "reshape_bij");
      if (t.reg < 1 || t.elem < 1)
        return no("tile", value, "`registers` and `elements` are 1 or more", "view_range");
      if (t.elem > most_elements || !std::has_single_bit(static_cast<uint64_t>(t.elem)))
        return no("tile", value,
                  fmt::format("vectors have 1, 2, 4, 8 or {} elements", most_elements), "", "");
      vectors += t.elem > 1 ? 1 : 0;
      if (vectors > 1) return no("tile", value, "the elements of a vector are along one dim");
      registers = t.reg > most_registers ? most_registers + 1 : registers * t.reg;
      if (registers > most_registers)
        return no("tile", value, fmt::format("a tile has {} registers at most", most_registers));
      if (runs_along(t.dim)) return no("tile", value, in_order, "scan_prefix");
      if (contains(n_.reduce, t.dim) && t.size() > 1 && !commutes())
        return needs_commutative("tile", value);
    }
    return std::nullopt;
  }

  // ---- windows ---------------------------------------------------------------------------------

  bool is_inlined(TensorId t) const {
    return std::any_of(k_.inlined.begin(), k_.inlined.end(),
                       [&](NodeId i) { return g[t].node == i; });
  }

  Verdict stages() {
    std::set<TensorId> seen;
    for (const StagePlan& s : k_.stages) {
      const std::string value = fmt::format("`{}` at level {}", name(s.tensor), s.level);
      if (!seen.insert(s.tensor).second)
        return no("stages", value, "a tensor has one window", "purity");
      if (s.level > k_.blocks.size())
        return no(
            "stages", value,
            fmt::format("levels are 0 to {}, one inside of each block loop", k_.blocks.size()),
            "purity");
      if (s.tensor == overwritten())
        return no("stages", value, "it is overwritten while it is read", "purity");
      if (const KernelPlan* row = k_.by_rows(g[s.tensor].node)) {
        if (Verdict v = row_stage(s, *row, value)) return v;
        continue;
      }
      if (Verdict v = axes(s, value)) return v;
      if (Verdict v = prepared(s, value)) return v;
      if (Verdict v = is_inlined(s.tensor) ? computed_stage(s, value) : copied_stage(s, value))
        return v;
    }
    return std::nullopt;
  }

  Verdict row_stage(const StagePlan& s, const KernelPlan& row, const std::string& value) const {
    if (g[row.node].targets[0].tensor != s.tensor)
      return no("stages", value, fmt::format("rows of `{}` stand for it", row.name), "purity");
    if (s.level < g[row.node].points.size())
      return no("stages", value, "rows are computed inside the loops over their points", "purity");
    if (!s.axes.empty() || s.panel != 0 || s.padded || s.prepared)
      return no("stages", value, "windows of rows have no layout of their own");
    return std::nullopt;
  }

  Verdict axes(const StagePlan& s, const std::string& value) const {
    std::vector<size_t> sorted = s.axes, all;
    for (size_t a = 0; a < g[s.tensor].shape.size(); ++a) all.push_back(a);
    std::sort(sorted.begin(), sorted.end());
    if (sorted != all)
      return no("stages", value, "`axes` has each axis of the tensor once", "reshape_bij");
    if (s.panel != 0 && s.panel < 2)
      return no("stages", value, fmt::format("a panel of width {} is none", s.panel),
                "reshape_bij");
    if (s.phases < 1 || (s.phases > 1 && (!s.padded || s.panel != 0)))
      return no("stages", value,
                fmt::format("{} phases are none of a window with zeros around it, without panels",
                            s.phases),
                "reshape_bij");
    return panels(s, value);
  }

  Verdict panels(const StagePlan& s, const std::string& value) const {
    if (s.panel == 0 || k_.pivot) return std::nullopt;
    for (LeafId l : windows_.reads(s.tensor)) {
      const auto d = g.leaf(l).forms[s.panel_axis].as_pick();
      for (const TileDim& t : k_.nest.tile)
        if (d == t.dim && s.panel % t.elem != 0)
          return no("stages", value,
                    fmt::format("vectors of {} elements along {} do not fit panels of {}", t.elem,
                                name(t.dim), s.panel),
                    "reshape_bij");
    }
    return std::nullopt;
  }

  // What is packed before all runs knows neither blocks nor what changes between runs.
  Verdict prepared(const StagePlan& s, const std::string& value) const {
    if (!s.prepared) return std::nullopt;
    if (s.level != 0)
      return no("stages", value, "what is prepared stands outside of all block loops", "purity",
                "its level is 0");
    if (s.padded) return no("stages", value, "zeros around a window are not prepared", "purity");
    if (!is_constant(g, k_, s.tensor))
      return no("stages", value, "what is prepared reads inputs that are constant alone", "purity",
                "name them with --constant");
    if (!windows_.elements(s))
      return no("stages", value, "what is prepared has a known size", "purity",
                "params around it need values");
    return std::nullopt;
  }

  // A definition is computed at its own points alone.
  Verdict computed_stage(const StagePlan& s, const std::string& value) const {
    if (s.padded) return no("stages", value, "zeros stand around what is read, not computed");
    if (s.prepared && s.panel > 0)
      return no("stages", value, "a definition is prepared without panels");
    for (LeafId l : windows_.reads(s.tensor)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.guarded || !inside_bounds(g, s.tensor, leaf.forms).empty())
        return no("stages", value, "it is read outside of its points", "purity");
    }
    return std::nullopt;
  }

  Verdict copied_stage(const StagePlan& s, const std::string& value) const {
    const std::vector<LeafId> reads = windows_.reads(s.tensor);
    if (reads.empty()) return no("stages", value, "the kernel does not read it", "purity");
    const Leaf& first = g.leaf(reads[0]);
    for (LeafId l : reads) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.guarded && (leaf.fill_bits != first.fill_bits || leaf.fill_kind != first.fill_kind))
        return no("stages", value, "its reads have different values outside", "fuse_guarded");
      if (!is_where_blocks_are(l, s.level))
        return no("stages", value,
                  "what reads it is computed at other places than those of the blocks", "purity");
    }
    if (!comes_before_readers(s, reads))
      return no("stages", value, "nothing reads it any more at this level", "purity",
                "stage it before the definition that reads it");
    return s.padded ? padded(s, value, reads) : std::nullopt;
  }

  // A read in a definition computed here: the block loops' coordinates are its own.
  bool is_where_blocks_are(LeafId l, size_t level) const {
    const NodeId reader = windows_.reader(l);
    if (reader == k_.node) return true;
    const Node& n = g[reader];
    for (size_t k = 0; k < level; ++k) {
      const DimId d = k_.blocks[k].dim;
      const auto& forms = g.leaf(l).forms;
      if (std::none_of(forms.begin(), forms.end(), [d](const Form& f) { return f.mentions(d); }))
        continue;
      if (contains(n.reduce, d)) return false;
      const size_t p =
          static_cast<size_t>(std::find(n.points.begin(), n.points.end(), d) - n.points.begin());
      for (LeafId outside : windows_.reads(n.targets[0].tensor))
        if (p == n.points.size() || g.leaf(outside).forms[p].as_pick() != d) return false;
    }
    return true;
  }

  bool comes_before_readers(const StagePlan& s, const std::vector<LeafId>& reads) const {
    std::set<NodeId> readers;
    for (LeafId l : reads) readers.insert(windows_.reader(l));
    if (readers.contains(k_.node)) return true;
    for (const StagePlan& other : k_.stages) {
      if (other.level < s.level || (other.level == s.level && &other < &s))
        readers.erase(g[other.tensor].node);
    }
    return !readers.empty();
  }

  // Zeros around a window stand for conditions of terms that are products with what is read.
  Verdict padded(const StagePlan& s, const std::string& value,
                 const std::vector<LeafId>& reads) const {
    const bool product = n_.folds.size() == 1 && facts(g, n_.folds[0].monoid).sum &&
                         reads.size() == 1 && !g.leaf(reads[0]).guarded &&
                         is_factor(g, n_, reads[0]);
    if (!product || k_.pivot)
      return no("stages", value, "zeros around a window need terms that are products with it",
                "guard_promote");
    const std::vector<Guard> bounds = inside_bounds(g, s.tensor, g.leaf(reads[0]).forms);
    const bool kept = std::all_of(bounds.begin(), bounds.end(), [&](const Guard& b) {
      return std::find(n_.guards.begin(), n_.guards.end(), b) != n_.guards.end();
    });
    if (bounds.empty() || !kept)
      return no("stages", value, "no conditions keep the read inside, which zeros could stand for",
                "guard_promote");
    for (const StagePlan& other : k_.stages)
      if (&other != &s && other.padded)
        return no("stages", value, "one window has zeros around it", "guard_promote");
    return std::nullopt;
  }

  // What is computed in blocks has a window that it is computed in.
  Verdict computed() {
    if (k_.blocks.empty() && !k_.pivot) return std::nullopt;
    for (NodeId i : k_.inlined) {
      const TensorId t = g[i].targets[0].tensor;
      if (k_.by_rows(i)) continue;
      if (std::none_of(k_.stages.begin(), k_.stages.end(),
                       [t](const StagePlan& s) { return s.tensor == t; }))
        return no("stages", "", fmt::format("`{}` is recomputed and has no window", name(t)),
                  "purity", fmt::format("add {{\"tensor\":\"{}\",\"level\":…}}", name(t)));
    }
    return std::nullopt;
  }

  // ---- rows, memory, threads -------------------------------------------------------------------

  Verdict rows() {
    for (const KernelPlan& row : k_.rows) {
      const Node& n = g[row.node];
      for (LeafId l : leaves_of(g, n_)) {
        const Leaf& leaf = g.leaf(l);
        if (leaf.what != Leaf::What::read || g[leaf.tensor].node != row.node) continue;
        for (size_t a = 0; a < leaf.forms.size(); ++a)
          if (a >= k_.blocks.size() || leaf.forms[a].as_pick() != k_.blocks[a].dim)
            return no("blocks", "",
                      fmt::format("rows of `{}` need blocks of their points first", row.name),
                      "independent_points", "or leave it out of `rows`");
      }
      if (std::none_of(k_.stages.begin(), k_.stages.end(),
                       [&](const StagePlan& s) { return s.tensor == n.targets[0].tensor; }))
        return no("stages", "", fmt::format("rows of `{}` have no window", row.name), "purity",
                  fmt::format("add {{\"tensor\":\"{}\",\"level\":…}}", row.name));
      if (const std::string fault = row.kept ? keeping_fault(g, k_, row) : ""; !fault.empty())
        return no(fmt::format("rows.{}.kept", row.name), "true", fault, "purity");
      if (Verdict v = refusal(g, row, &k_)) {
        v->field = fmt::format("rows.{}.{}", row.name, v->field);
        return v;
      }
    }
    return std::nullopt;
  }

  Verdict memory() {
    if (around_) return std::nullopt;  // counted there
    std::string unknown;
    const auto bytes = windows_.bytes(&unknown);
    const char* field = k_.stages.empty() ? "blocks" : "stages";
    if (!bytes)
      return no(field, "", fmt::format("the size of a window of {} is not known", unknown), "",
                "blocks of the dims around it bound its size; gathers have none");
    if (*bytes > most_window_bytes)
      return no(field, "",
                fmt::format("windows take {} bytes, and there are {}", *bytes, most_window_bytes),
                "", "smaller blocks have smaller windows");
    return std::nullopt;
  }

  Verdict streamed() {
    const auto machine = find_machine(k_.machine);
    std::set<TensorId> seen;
    for (TensorId t : k_.streamed) {
      const std::string fault = machine ? streaming_fault(g, k_, t, **machine) : "";
      if (!fault.empty()) return no("streamed", "`" + name(t) + "`", fault);
      if (!seen.insert(t).second) return no("streamed", "`" + name(t) + "`", "it is named twice");
    }
    return std::nullopt;
  }

  Verdict threads() {
    if (k_.threads < 1) return no("threads", fmt::format("{}", k_.threads), "one is the least");
    if (around_ || k_.threads == 1 || shares_loop(g, k_)) return std::nullopt;
    return no("threads", fmt::format("{}", k_.threads),
              "the outermost loop is not over a point that all targets have", "independent_points",
              "put blocks of such a point first, or ask for 1");
  }

  Graph& g;
  const KernelPlan& k_;
  const Node n_;
  const Windows windows_;
  const KernelPlan* around_;
};

}  // namespace

std::optional<Refusal> refusal(Graph& g, const KernelPlan& k, const KernelPlan* around) {
  return Legality(g, k, around).run();
}

Diagnostic refused(const std::string& source, const std::string& kernel, const Refusal& r) {
  std::string text = fmt::format("{}: kernel `{}`: `{}`", source, kernel, r.field);
  if (!r.value.empty()) text += " " + r.value;
  text += ": " + r.rule;
  if (!r.law.empty()) text += fmt::format(" (law {})", r.law);
  return error("E0805", std::move(text), r.hint.empty() ? "leave the field out" : r.hint).value();
}

}  // namespace tang
