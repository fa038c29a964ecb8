#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/variance.h"
#include "schedule/blocks.h"
#include "schedule/layout.h"
#include "schedule/schedule.h"
#include "schedule/segment.h"
#include "schedule/threads.h"

namespace tang {

namespace {

constexpr size_t most_lane_states = 8;  // components of folds that are kept lane by lane

double size_of(const Graph& g, const Poly& p, const PlanOptions& options) {
  double total = 0;
  for (const Poly::Term& t : p.terms()) {
    auto product = static_cast<double>(t.coeff);
    for (ParamId id : t.params)
      product *= static_cast<double>(g[id].bound.value_or(options.unknown_extent));
    total += product;
  }
  return total;
}

// True if no unbound parameter occurs.
bool is_known(const Graph& g, const Poly& p) {
  for (const Poly::Term& t : p.terms())
    for (ParamId id : t.params)
      if (!g[id].bound) return false;
  return true;
}

double volume_of(const Graph& g, const std::vector<DimId>& dims, const PlanOptions& options) {
  double v = 1;
  for (DimId d : dims) v *= size_of(g, g.extent(d), options);
  return v;
}

double bytes_of(const Graph& g, TensorId t, const PlanOptions& options) {
  const FormatInfo& f = info(g[t].storage());
  const double bytes = f.bits > 0 ? f.bits / 8.0 : static_cast<double>(f.block_bytes) / f.block;
  return size_of(g, volume(g[t].shape), options) * bytes;
}

std::string name_of(const Graph& g, const Node& n) {
  return n.targets.empty() ? std::string("kernel") : g[n.targets[0].tensor].name;
}

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& opts) : g(graph), options(opts) {}

  Result<Schedule> run() {
    const auto machine = find_machine(options.machine);
    if (!machine) return tl::unexpected(machine.error());
    machine_ = *machine;
    scratch_ = g;
    find_needed();
    for (NodeId id : order_)
      if (g[id].gradient)
        return error("E0690", fmt::format("`{}`: gradients are not built yet", name_of(g, g[id])));
    if (options.inline_contractions) choose_inlined();
    Schedule s;
    for (NodeId id : order_)
      if (!inlined_.contains(id)) s.kernels.push_back(kernel(id));
    place_outputs(g, s);
    return s;
  }

 private:
  // Nodes the outputs reach, in launch order.
  void find_needed() {
    std::set<NodeId> needed;
    std::vector<TensorId> stack;
    for (const Output& o : g.outputs) stack.push_back(o.tensor);
    while (!stack.empty()) {
      const NodeId id = g[stack.back()].node;
      stack.pop_back();
      if (id == NodeId::none || !needed.insert(id).second) continue;
      for (TensorId t : tensors_read(g, g[id])) stack.push_back(t);
    }
    for (NodeId id : g.order())
      if (needed.contains(id)) order_.push_back(id);
  }

  // Reads of `t` in the fold arguments of `n`; nullopt if it is read anywhere else.
  std::optional<std::vector<LeafId>> argument_reads(const Node& n, TensorId t) const {
    std::set<LeafId> in_args, elsewhere;
    const auto collect = [&](ExprId e, std::set<LeafId>& into) {
      const std::vector<uint32_t> direct = g.pool.variables(e);
      for (LeafId l : leaves_of(g, e)) {
        if (g.leaf(l).what != Leaf::What::read || g.leaf(l).tensor != t) continue;
        const bool gathered = std::find(direct.begin(), direct.end(), l) == direct.end();
        (gathered ? elsewhere : into).insert(l);
      }
    };
    for (const Fold& f : n.folds)
      for (ExprId e : f.args) collect(e, in_args);
    for (const Target& target : n.targets) collect(target.value, elsewhere);
    for (const Guard& guard : n.guards) {
      if (guard.what == Guard::What::data) collect(guard.condition, elsewhere);
      for (const Form::Gather& x : guard.form.gathers)
        if (g.leaf(x.leaf).tensor == t) elsewhere.insert(x.leaf);
    }
    if (!elsewhere.empty()) return std::nullopt;
    return std::vector<LeafId>(in_args.begin(), in_args.end());
  }

  // Evaluations of a read: the loops open where its coordinates are all known.
  double evaluations(const Node& reader, LeafId leaf) const {
    std::set<DimId> mentioned;
    for (const Form& f : g.leaf(leaf).forms)
      for (DimId d : dims_of(g, f)) mentioned.insert(d);
    const std::vector<DimId> inner = invariant_points(reader, components(g, reader));
    std::vector<DimId> open;
    for (DimId p : reader.points)
      if (!contains(inner, p) || mentioned.contains(p)) open.push_back(p);
    size_t last = 0;
    for (size_t k = 0; k < reader.reduce.size(); ++k)
      if (mentioned.contains(reader.reduce[k])) last = k + 1;
    open.insert(open.end(), reader.reduce.begin(), reader.reduce.begin() + static_cast<long>(last));
    return volume_of(g, open, options);
  }

  // Whether reads lie in one range along each axis, of a size that follows from that of a block.
  bool one_window(const std::vector<LeafId>& reads) const {
    const std::vector<Form>& first = g.leaf(reads[0]).forms;
    for (const Form& f : first) {
      if (!f.is_affine()) return false;
      for (const Form::Term& t : f.terms)
        if (!t.coeff.constant()) return false;
    }
    return std::all_of(reads.begin(), reads.end(), [&](LeafId l) {
      const std::vector<Form>& forms = g.leaf(l).forms;
      for (size_t a = 0; a < forms.size(); ++a) {
        const Form between = forms[a] - first[a];
        if (!between.is_constant() || !between.base.constant()) return false;
      }
      return true;
    });
  }

  bool inlinable(NodeId id, const std::vector<NodeId>& readers) const {
    const Node& n = g[id];
    if (n.folds.size() != 1 || n.targets.size() != 1 || n.scan || readers.empty()) return false;
    const TensorId t = n.targets[0].tensor;
    if (g.is_output(t) || n.targets[0].points != n.points) return false;
    for (TensorId read : tensors_read(g, n))
      if (g[read].node != NodeId::none && inlined_.contains(g[read].node)) return false;
    double ratio = 0;
    for (NodeId r : readers) {
      if (g[r].scan) return false;
      const auto reads = argument_reads(g[r], t);
      if (!reads || reads->empty() || !one_window(*reads)) return false;
      for (LeafId l : *reads) ratio += evaluations(g[r], l);
    }
    double largest = 0;
    for (size_t k = 0; k < g.tensors.size(); ++k) {
      const auto other = static_cast<TensorId>(k);
      if (g[other].role == Role::input || g.is_output(other))
        largest = std::max(largest, bytes_of(g, other, options));
    }
    const bool required = bytes_of(g, t, options) > largest;
    bool known = true;
    for (DimId d : n.reduce) known &= is_known(g, g.extent(d));
    const double terms = volume_of(g, n.reduce, options);
    if (known ? terms > static_cast<double>(options.longest_inline) : !required) return false;
    ratio /= std::max(1.0, volume_of(g, n.points, options));
    return required || ratio <= static_cast<double>(options.largest_ratio);
  }

  // ---- rows: definitions computed for a row of the kernel that reads them, in that kernel
  // --------

  static bool plain(const Graph& g, const Node& n) {
    if (n.scan || n.gradient) return false;
    for (const Fold& f : n.folds)
      for (Kind k : g[f.monoid].kinds)
        if (k != g[f.monoid].kinds[0]) return false;
    for (const Guard& guard : n.guards)
      for (DimId d : n.reduce)
        if (segment_of(g, guard, d)) return false;
    return true;
  }

  // The reader's points that a definition's points become, in all its reads alike.
  std::optional<std::vector<DimId>> row_points(const Node& n, const Node& reader) const {
    std::optional<std::vector<DimId>> result;
    for (LeafId l : leaves_of(g, reader)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || !is_target(n, leaf.tensor)) continue;
      std::vector<DimId> at;
      for (const Form& f : leaf.forms) {
        const auto d = f.as_pick();
        if (!d || !contains(reader.points, *d) || contains(at, *d)) return std::nullopt;
        at.push_back(*d);
      }
      if (leaf.guarded || at.size() != n.points.size() || (result && *result != at))
        return std::nullopt;
      for (size_t a = 0; a < at.size(); ++a)
        if (!(g.extent(at[a]) == g.extent(n.points[a]))) return std::nullopt;
      result = at;
    }
    return result;
  }

  static bool is_target(const Node& n, TensorId t) {
    return std::any_of(n.targets.begin(), n.targets.end(),
                       [t](const Target& x) { return x.tensor == t; });
  }

  bool untiled(const Node& n, const std::vector<DimId>& rows) const {
    const NestPlan p = plan_nest(g, shape_of(g, n), *machine_);
    return std::none_of(p.tile.begin(), p.tile.end(),
                        [&](const TileDim& t) { return contains(rows, t.dim); });
  }

  bool row_inlinable(NodeId id, const std::vector<NodeId>& readers) const {
    const Node& n = g[id];
    if (!options.vectorise || readers.size() != 1 || n.folds.empty() || n.points.empty())
      return false;
    const Node& reader = g[readers[0]];
    if (!plain(g, n) || !plain(g, reader) || !reader.folds.empty()) return false;
    for (const Target& t : n.targets)
      if (g.is_output(t.tensor) || t.points != n.points) return false;
    for (const Target& t : reader.targets)
      for (const Output& o : g.outputs)
        if (o.tensor == t.tensor && o.into != TensorId::none) return false;
    for (TensorId read : tensors_read(g, n))
      if (g[read].node != NodeId::none && inlined_.contains(g[read].node)) return false;
    const auto at = row_points(n, reader);
    return at && at->size() < reader.points.size() && untiled(reader, *at) && untiled(n, n.points);
  }

  // The kernel's outermost loops run along the rows; its plan has no other blocks.
  void add_rows(NodeId row, KernelPlan& k) const {
    const std::vector<DimId> at = *row_points(g[row], g[k.node]);
    if (k.blocks.empty())
      for (DimId d : at) k.blocks.push_back({d, 1});
    KernelPlan rows;
    rows.node = row;
    rows.name = name_of(g, g[row]);
    rows.contract = options.contract;
    plan_row(scratch_, rows, *machine_);
    k.rows.push_back(std::move(rows));
    StagePlan stage;
    stage.tensor = g[row].targets[0].tensor;
    stage.level = k.blocks.size();
    k.stages.push_back(std::move(stage));
  }

  void choose_inlined() {
    const auto readers = g.readers();
    const std::set<NodeId> needed(order_.begin(), order_.end());
    for (NodeId id : order_) {
      std::vector<NodeId> users;
      for (const Target& t : g[id].targets)
        for (NodeId r : readers[index(t.tensor)])
          if (needed.contains(r)) users.push_back(r);
      if (inlinable(id, users)) {
        inlined_.insert(id);
        continue;
      }
      std::sort(users.begin(), users.end());
      users.erase(std::unique(users.begin(), users.end()), users.end());
      if (!row_inlinable(id, users)) continue;
      // Rows of one reader run along the same points.
      const auto at = row_points(g[id], g[users[0]]);
      const bool fits = std::all_of(rows_of_.begin(), rows_of_.end(), [&](const auto& other) {
        return other.second != users[0] || row_points(g[other.first], g[users[0]]) == at;
      });
      if (!fits) continue;
      inlined_.insert(id);
      rows_of_.emplace_back(id, users[0]);
    }
  }

  // A point that some target lacks is looped inside, so that this target is stored outside of it.
  static bool in_all_targets(const Node& n, DimId p) {
    return std::all_of(n.targets.begin(), n.targets.end(),
                       [p](const Target& t) { return contains(t.points, p); });
  }

  KernelPlan kernel(NodeId id) const {
    const Node& n = g[id];
    KernelPlan k;
    k.node = id;
    k.name = name_of(g, n);
    k.contract = options.contract;
    for (TensorId t : tensors_read(g, n)) {
      const NodeId operand = g[t].node;
      const bool seen = std::any_of(k.inlined.begin(), k.inlined.end(),
                                    [&](const InlinePlan& i) { return i.node == operand; });
      if (operand != NodeId::none && inlined_.contains(operand) && !seen)
        k.inlined.push_back({operand, options.vectorise ? nested_lanes(g[operand]) : 0});
    }
    const std::vector<Component> all = components(g, n);
    const std::vector<DimId> invariant =
        n.folds.empty() ? std::vector<DimId>{} : invariant_points(n, all);
    for (DimId p : n.points)
      if (contains(invariant, p) || !in_all_targets(n, p)) k.inner.push_back(p);
    if (n.scan && n.scan->matrix) k.inner = {n.scan->matrix->first};
    for (DimId p : n.points)
      if (!contains(k.inner, p) && !(n.scan && n.scan->along == p)) k.outer.push_back(p);
    const bool scalar_body = std::all_of(all.begin(), all.end(), [&](const Component& c) {
      return std::none_of(k.inner.begin(), k.inner.end(),
                          [&](DimId d) { return contains(c.varies, d); });
    });
    const bool loops = !n.reduce.empty() || n.scan;
    if (options.vectorise && !n.folds.empty() && loops && (scalar_body || n.scan)) shape_loop(n, k);
    const NestShape shape = shape_of(g, n);
    k.nest = {shape.points, shape.reduce, {}};
    k.machine = machine_->name;
    if (options.vectorise)
      plan_blocks(scratch_, k, *machine_);
    else
      plan_plain(scratch_, k, *machine_);
    for (const auto& [row, reader] : rows_of_)
      if (reader == id) add_rows(row, k);
    plan_threads(g, k, options);
    return k;
  }

  std::vector<LeafId> plain_reads(const Node& n, bool inlined) const {
    std::set<LeafId> result;
    for (const Fold& f : n.folds)
      for (ExprId e : f.args)
        for (LeafId l : leaves_of(g, e)) {
          if (g.leaf(l).what != Leaf::What::read) continue;
          const NodeId operand = g[g.leaf(l).tensor].node;
          const bool is_inlined = operand != NodeId::none && inlined_.contains(operand);
          if (is_inlined == inlined) result.insert(l);
        }
    return {result.begin(), result.end()};
  }

  // How a read moves along d: 0 not at all, 1 by one element, 2 otherwise.
  int motion(LeafId leaf, DimId d) const {
    const Leaf& l = g.leaf(leaf);
    const Form a = address(g[l.tensor].shape, l.forms);
    for (const Form::Gather& x : a.gathers)
      for (const Form& f : g.leaf(x.leaf).forms)
        if (contains(dims_of(g, f), d)) return 2;
    const Poly c = a.coefficient(d);
    return c.is_zero() ? 0 : c == Poly(1) ? 1 : 2;
  }

  bool commutes(const Node& n) const {
    return std::all_of(n.folds.begin(), n.folds.end(),
                       [&](const Fold& f) { return g[f.monoid].commutative; });
  }

  // As many lanes as leave each at least four terms, halved down to 8, which take two; none for
  // very short loops.
  int64_t lanes_for(DimId d) const {
    const auto extent = g.extent(d).constant();
    int64_t lanes = options.lanes;
    while (extent && lanes > 8 && *extent < 4 * lanes) lanes /= 2;
    return lanes >= 8 && (!extent || *extent >= 2 * lanes) ? lanes : 0;
  }

  bool data_guarded(const Node& n, DimId d) const {
    return std::any_of(n.guards.begin(), n.guards.end(), [&](const Guard& guard) {
      return guard.what == Guard::What::data && contains(dims_of(g, guard), d);
    });
  }

  int64_t nested_lanes(const Node& n) const {
    if (n.reduce.empty() || !commutes(n) || data_guarded(n, n.reduce.back())) return 0;
    return lanes_for(n.reduce.back());
  }

  // By forms, since the stride of an axis is 0 where a later one has no elements.
  bool mentioned(const std::vector<LeafId>& leaves, DimId d) const {
    return std::any_of(leaves.begin(), leaves.end(), [&](LeafId l) {
      const std::vector<Form>& forms = g.leaf(l).forms;
      return std::any_of(forms.begin(), forms.end(),
                         [&](const Form& f) { return contains(dims_of(g, f), d); });
    });
  }

  // Chooses lanes along the innermost reduce loop or a vector of points inside it.
  void shape_loop(const Node& n, KernelPlan& k) const {
    const DimId last = n.scan ? n.scan->along : n.reduce.back();
    const std::vector<LeafId> reads = plain_reads(n, false), nested = plain_reads(n, true);
    const bool contiguous =
        std::all_of(reads.begin(), reads.end(), [&](LeafId l) { return motion(l, last) < 2; });
    const bool can_stride = !n.scan && commutes(n) && lanes_for(last) > 0 &&
                            components(g, n).size() <= most_lane_states &&
                            !mentioned(nested, last) && !data_guarded(n, last);
    if (contiguous && can_stride) {
      k.lanes = lanes_for(last);
      return;
    }
    int best = 0;
    for (DimId p : k.outer) {
      const int score = vector_score(n, p, reads, nested);
      if (score > best) {
        best = score;
        k.vector = p;
      }
    }
    if (k.vector) {
      k.block = block_for(*k.vector, nested.empty());
      k.outer.erase(std::find(k.outer.begin(), k.outer.end(), *k.vector));
    } else if (can_stride) {
      k.lanes = lanes_for(last);
    }
  }

  // The guards that mention p are bounds of its loop, and what is read outside of that loop stays
  // inside its tensors without them.
  bool guards_bound(const Node& n, DimId p, const std::vector<LeafId>& reads) const {
    bool any = false;
    for (const Guard& guard : n.guards) {
      if (!contains(dims_of(g, guard), p)) continue;
      any = true;
      if (guard.what != Guard::What::bound || !guard.form.is_affine() ||
          !guard.form.coefficient(p).constant())
        return false;
    }
    if (!any) return true;
    if (reads_in_guards(n)) return false;
    return std::all_of(reads.begin(), reads.end(), [&](LeafId l) {
      const Leaf& leaf = g.leaf(l);
      const bool inside_loop = std::any_of(leaf.forms.begin(), leaf.forms.end(),
                                           [p](const Form& f) { return f.mentions(p); });
      return inside_loop || leaf.guarded || inside_bounds(g, leaf.tensor, leaf.forms).empty();
    });
  }

  static bool reads_in_guards(const Node& n) {
    return std::any_of(n.guards.begin(), n.guards.end(), [](const Guard& guard) {
      return guard.what == Guard::What::data || !guard.form.is_affine();
    });
  }

  int vector_score(const Node& n, DimId p, const std::vector<LeafId>& reads,
                   const std::vector<LeafId>& nested) const {
    const auto extent = g.extent(p).constant();
    if ((extent && *extent < 4) || mentioned(nested, p) || !guards_bound(n, p, reads)) return 0;
    int score = 0;
    for (LeafId l : reads) {
      const int m = motion(l, p);
      score += m == 1 ? 3 : m == 2 ? -4 : 0;
    }
    if (score > 0 && !n.targets.empty() && !n.targets[0].points.empty() &&
        n.targets[0].points.back() == p)
      ++score;
    return score;
  }

  int64_t block_for(DimId p, bool plain) const {
    const auto extent = g.extent(p).constant();
    const int64_t limit = plain ? 2 * options.block : 16 * options.block;
    if (extent && *extent <= limit) return *extent;
    return plain ? options.block : 4 * options.block;
  }

  const Graph& g;
  const PlanOptions& options;
  const Machine* machine_ = nullptr;
  std::vector<std::pair<NodeId, NodeId>> rows_of_;  // a definition, and who computes its rows
  mutable Graph scratch_;                           // what recognition adds goes here
  std::vector<NodeId> order_;
  std::set<NodeId> inlined_;
};

}  // namespace

Result<Schedule> plan(const Graph& g, const PlanOptions& options) {
  return Planner(g, options).run();
}

}  // namespace tang
