#include "schedule/inlining.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/variance.h"
#include "schedule/estimate.h"
#include "schedule/legal.h"
#include "schedule/segment.h"

namespace tang {

namespace {

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

class Inlining {
 public:
  Inlining(const Graph& graph, const PlanOptions& opts, const Machine& machine)
      : g(graph), options(opts), machine_(machine) {}

  Result<Inlined> run(const std::vector<NodeId>& order) {
    const auto readers = g.readers();
    const std::set<NodeId> needed(order.begin(), order.end());
    for (NodeId id : order) {
      std::vector<NodeId> users;
      for (const Target& t : g[id].targets)
        for (NodeId r : readers[index(t.tensor)])
          if (needed.contains(r)) users.push_back(r);
      const auto inside = is_chosen(id, users, false);
      if (!inside) return tl::unexpected(inside.error());
      if (*inside) {
        chosen_.nodes.insert(id);
        continue;
      }
      std::sort(users.begin(), users.end());
      users.erase(std::unique(users.begin(), users.end()), users.end());
      const auto by_rows = is_chosen(id, users, true);
      if (!by_rows) return tl::unexpected(by_rows.error());
      if (!*by_rows) continue;
      chosen_.nodes.insert(id);
      chosen_.rows.push_back({id, users[0], *row_points(g[id], g[users[0]])});
    }
    return std::move(chosen_);
  }

 private:
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

  // Whether the kernel of a reader, with the definition computed in it, would bind more buffers
  // than the machine does.
  bool binds_too_many(NodeId id, const std::vector<NodeId>& readers) const {
    if (machine_.buffers == 0) return false;
    return std::any_of(readers.begin(), readers.end(), [&](NodeId r) {
      std::set<TensorId> bound;
      for (const Target& t : g[r].targets) bound.insert(t.tensor);
      for (TensorId t : tensors_read(g, g[r])) {
        const NodeId from = g[t].node;
        if (from != NodeId::none && (from == id || chosen_.nodes.contains(from)))
          for (TensorId operand : tensors_read(g, g[from])) bound.insert(operand);
        else
          bound.insert(t);
      }
      return static_cast<int64_t>(bound.size()) > machine_.buffers;
    });
  }

  // Why a definition cannot be recomputed where its readers read it; empty if it can.
  std::string why_stored(NodeId id, const std::vector<NodeId>& readers) const {
    const Node& n = g[id];
    if (n.folds.size() != 1 || n.targets.size() != 1 || n.scan) return "it is no single fold";
    if (readers.empty()) return "nothing reads it";
    const TensorId t = n.targets[0].tensor;
    if (g.is_output(t)) return "it is an output";
    if (n.targets[0].points != n.points) return "it has points that its fold has not";
    for (TensorId read : tensors_read(g, n))
      if (g[read].node != NodeId::none && chosen_.nodes.contains(g[read].node))
        return fmt::format("it reads `{}`, which is recomputed itself", g[read].name);
    if (binds_too_many(id, readers)) return "its reader would bind too many buffers";
    for (NodeId r : readers) {
      if (g[r].scan) return fmt::format("`{}` is a scan", definition_name(g, r));
      const auto reads = argument_reads(g[r], t);
      if (!reads || reads->empty())
        return fmt::format("`{}` reads it elsewhere than in a fold's terms", definition_name(g, r));
      if (!one_window(*reads))
        return fmt::format("`{}` reads it at places of no common range", definition_name(g, r));
    }
    return "";
  }

  bool inlinable(NodeId id, const std::vector<NodeId>& readers) const {
    if (!why_stored(id, readers).empty()) return false;
    const Node& n = g[id];
    const TensorId t = n.targets[0].tensor;
    double ratio = 0;
    for (NodeId r : readers) {
      const std::vector<LeafId> reads = argument_reads(g[r], t).value();
      for (LeafId l : reads) ratio += evaluations(g[r], l);
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

  // ---- rows: definitions computed for a row of the kernel that reads them ----------------------

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
    const NestPlan p = plan_nest(g, shape_of(g, n), machine_);
    if (machine_.kind == Machine::Kind::gpu)  // threads that are left over take other rows
      return p.tile.empty() || !contains(rows, p.tile.back().dim);
    return std::none_of(p.tile.begin(), p.tile.end(),
                        [&](const TileDim& t) { return contains(rows, t.dim); });
  }

  // Why a definition cannot be computed a row at a time in the kernel that reads it.
  std::string why_no_row(NodeId id, const std::vector<NodeId>& readers) const {
    const Node& n = g[id];
    if (readers.size() != 1) return "not just one definition reads it";
    if (n.folds.empty() || n.points.empty()) return "it is no fold that has points";
    const Node& reader = g[readers[0]];
    if (!plain(g, n) || !plain(g, reader) || !reader.folds.empty())
      return "rows are those of a fold, read by a definition without one";
    for (const Target& t : n.targets)
      if (g.is_output(t.tensor) || t.points != n.points)
        return "it is an output, or has points that its fold has not";
    for (const Target& t : reader.targets)
      for (const Output& o : g.outputs)
        if (o.tensor == t.tensor && o.into != TensorId::none)
          return "its reader takes the place of an input";
    for (TensorId read : tensors_read(g, n))
      if (g[read].node != NodeId::none && chosen_.nodes.contains(g[read].node))
        return fmt::format("it reads `{}`, which is recomputed itself", g[read].name);
    if (binds_too_many(id, readers)) return "its reader would bind too many buffers";
    const auto at = row_points(n, reader);
    if (!at || at->size() >= reader.points.size())
      return "its reader does not read it at a point of each row";
    for (const Rows& other : chosen_.rows)
      if (other.reader == readers[0] && other.at != *at)
        return "rows of one kernel run along the same points";
    return "";
  }

  bool row_inlinable(NodeId id, const std::vector<NodeId>& readers) const {
    if (!options.vectorise || !why_no_row(id, readers).empty()) return false;
    const Node& reader = g[readers[0]];
    const std::vector<DimId> at = *row_points(g[id], reader);
    if (const KernelPins* pins = options.pins.find(definition_name(g, readers[0]));
        pins && pins->blocks) {
      if (pins->blocks->size() < at.size()) return false;
      for (size_t a = 0; a < at.size(); ++a)
        if ((*pins->blocks)[a].dim != g[at[a]].name) return false;
    }
    return untiled(reader, at) && untiled(g[id], g[id].points);
  }

  // ---- pins ------------------------------------------------------------------------------------

  // What the readers' pins say of a definition: to be recomputed there (or computed by rows), not
  // to be, or nothing.
  struct Wish {
    NodeId yes = NodeId::none, no = NodeId::none;  // readers that say so
  };

  Wish wish(NodeId id, const std::vector<NodeId>& readers, bool rows) const {
    Wish w;
    const std::string name = definition_name(g, id);
    for (NodeId r : readers) {
      const KernelPins* pins = options.pins.find(definition_name(g, r));
      if (!pins) continue;
      std::optional<bool> says;
      if (rows ? pins->rows.has_value() : pins->inlined.has_value())
        says = rows ? pins->row(name) != nullptr
                    : std::find(pins->inlined->begin(), pins->inlined->end(), name) !=
                          pins->inlined->end();
      else if (!rows && pins->stages)
        says = std::any_of(pins->stages->begin(), pins->stages->end(),
                           [&](const StagePin& s) { return s.tensor == name; });
      if (says == true && (rows ? pins->rows.has_value() : pins->inlined.has_value())) w.yes = r;
      if (says == false) w.no = r;
    }
    return w;
  }

  // Whether a definition is recomputed, or computed by rows, by its readers' word or by choice.
  Result<bool> is_chosen(NodeId id, const std::vector<NodeId>& readers, bool rows) const {
    const Wish w = wish(id, readers, rows);
    const std::string field = rows ? "rows" : "inlined", name = "`" + definition_name(g, id) + "`";
    if (w.yes == NodeId::none)
      return w.no == NodeId::none && (rows ? row_inlinable(id, readers) : inlinable(id, readers));
    std::string why = rows ? why_no_row(id, readers) : why_stored(id, readers);
    if (why.empty() && w.no != NodeId::none)
      why = fmt::format("`{}` reads it stored", definition_name(g, w.no));
    if (why.empty()) return true;
    return tl::unexpected(
        refused(options.pins.source, definition_name(g, w.yes), {field, name, why, "purity", ""}));
  }

  const Graph& g;
  const PlanOptions& options;
  const Machine& machine_;
  Inlined chosen_;
};

}  // namespace

std::string definition_name(const Graph& g, NodeId id) {
  return g[id].targets.empty() ? std::string("kernel") : g[g[id].targets[0].tensor].name;
}

Result<Inlined> choose_inlined(const Graph& g, const std::vector<NodeId>& order,
                               const PlanOptions& options, const Machine& machine) {
  return Inlining(g, options, machine).run(order);
}

}  // namespace tang
