// 5.2 substitute_maps: a map is a pure function of what it reads, so its body replaces reads of it,
// with composed views. All consumers take it or none; the cost rule is algebra.md 11.11.
//
//   t[i] = exp(x[i]);  y[i] = sum[j](t[i + j] * w[j])   =   y[i] = sum[j](exp(x[i + j]) * w[j])
//
// A guarded read of T becomes select(G ? b : fill), G the bounds of T; the select is left out when
// one guarded read carries the same bounds and turns the fill into the fill.
#include <algorithm>
#include <cmath>

#include "ir/expand.h"
#include "ir/guards.h"
#include "ir/print.h"
#include "ir/softmax.h"
#include "rewrite/ancestry.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

constexpr int max_operations = 500;
constexpr int64_t max_tree = 10000;
constexpr double tile = 128;   // coordinates are staged in tiles of this many points
constexpr double balance = 8;  // operations per byte

class Substitution {
 public:
  explicit Substitution(Rewriting& rw) : rw(rw), g(rw.g) {}

  bool run() {
    find_softmax_maps();
    readers_ = g.readers();
    ancestry_.emplace(g);  // a substitution leaves what depends on what
    bool any = false;
    for (NodeId id : g.order()) any |= try_map(id);
    remove_dead(g);
    return any;
  }

 private:
  // Maps between a max, its weights and their sums: they always substitute, or 5.5 could not match.
  void find_softmax_maps() {
    // Those that stand alone, which 5.5 takes, and all.
    const std::vector<MaxFold> alone = max_folds(g), all = max_folds(g, true);
    if (all.empty()) return;
    for (NodeId id : g.order()) {
      const Node n = g[id];
      std::vector<DimId> coordinates = n.points;
      coordinates.insert(coordinates.end(), n.reduce.begin(), n.reduce.end());
      std::vector<ExprId> exprs;
      for_each_expr(n, [&](ExprId e) { exprs.push_back(e); });
      for (ExprId e : exprs) mark_weights(id, alone, all, e, coordinates);
    }
  }

  void mark_weights(NodeId reader, const std::vector<MaxFold>& alone,
                    const std::vector<MaxFold>& all, ExprId e, const std::vector<DimId>& at) {
    const ExprId seen = expand_maps(g, e);
    for (ExprId id : g.pool.reachable(seen)) {
      if (g.pool[id].op != Op::exp) continue;
      const ExprId exponent = g.pool[id].args[0];
      if (g[reader].is_map() && (below_a_max(all, exponent) ||
                                 match_weight(g, rw.canon, all, exponent, at, nullptr, true)))
        for (const Target& t : g[reader].targets) weights_.insert(t.tensor);
      const auto w = match_weight(g, rw.canon, alone, exponent, at, nullptr, true);
      if (!w) continue;
      mark_maps(reads_of_weights(e, w->max.tensor));
      mark_maps(tensors_in(g, w->max.score));
    }
  }

  // True if an exponent mentions a max, and coordinates that the max is not read at: it may be a
  // weight with a temperature of its row.
  bool below_a_max(const std::vector<MaxFold>& maxima, ExprId exponent) const {
    const std::vector<DimId> all = dims_of(g, exponent);
    for (LeafId l : leaves_of(g, exponent)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read ||
          std::none_of(maxima.begin(), maxima.end(),
                       [&](const MaxFold& m) { return m.tensor == leaf.tensor; }))
        continue;
      for (DimId d : all)
        if (std::none_of(leaf.forms.begin(), leaf.forms.end(),
                         [d](const Form& f) { return f.mentions(d); }))
          return true;
    }
    return false;
  }

  // Tensors read by e through which it sees the max, or inside an exponential; other factors go
  // their own way.
  std::vector<TensorId> reads_of_weights(ExprId e, TensorId max) {
    std::vector<TensorId> result;
    for (ExprId id : g.pool.reachable(e))
      if (g.pool[id].op == Op::exp)
        for (TensorId t : tensors_in(g, id)) result.push_back(t);
    for (LeafId l : g.pool.variables(e)) {
      const Leaf leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read || leaf.guarded) continue;
      const std::vector<TensorId> seen = tensors_in(g, expand_maps(g, g.variable(leaf)));
      if (std::find(seen.begin(), seen.end(), max) != seen.end()) result.push_back(leaf.tensor);
    }
    return result;
  }

  void mark_maps(std::vector<TensorId> stack) {
    while (!stack.empty()) {
      const TensorId t = stack.back();
      stack.pop_back();
      const NodeId id = g[t].node;
      if (id == NodeId::none || !g[id].is_map() || !softmax_maps_.insert(t).second) continue;
      for (TensorId operand : tensors_read(g, g[id])) stack.push_back(operand);
    }
  }

  bool try_map(NodeId id) {
    if (!g[id].alive || !g[id].is_map() || g[id].targets.size() != 1) return false;
    const TensorId t = g[id].targets[0].tensor;
    std::vector<NodeId> consumers;
    for (NodeId c : readers_[index(t)])
      if (g[c].alive && c != id) consumers.push_back(c);
    if (consumers.empty()) return false;
    if (const auto reason = refuse(id, t, consumers)) {
      rw.missed("substitute_maps", id, *reason);
      return false;
    }
    apply(id, t, consumers);
    return true;
  }

  std::optional<std::string> refuse(NodeId id, TensorId t, const std::vector<NodeId>& consumers) {
    const ExprId body = g[id].targets[0].value;
    const int operations = operation_count(g.pool, body);
    for (NodeId c : consumers) {
      if (g[c].gradient) return "`" + rw.name(c) + "` differentiates it";
      if (const auto reason = refuse_reads(t, c)) return reason;
      int consumer_operations = 0;
      int64_t tree = 0;
      for_each_expr(g[c], [&](ExprId e) {
        consumer_operations = std::max(consumer_operations, operation_count(g.pool, e));
        tree = std::max(tree, tree_size(g.pool, e, max_tree));
      });
      if (operations + consumer_operations > max_operations ||
          tree * tree_size(g.pool, body, max_tree) > max_tree * max_tree / 100 ||
          tree + tree_size(g.pool, body, max_tree) > max_tree)
        return "the body in `" + rw.name(c) + "` would exceed 500 operations";
    }
    if (softmax_maps_.contains(t)) return std::nullopt;
    return too_costly(id, t, consumers);
  }

  std::optional<std::string> refuse_reads(TensorId t, NodeId c) {
    for (LeafId l : leaves_of(g, g[c])) {
      const Leaf leaf = g.leaf(l);
      for (const Form& f : leaf.forms)
        if (!indices_replaced(f, t)) return "`" + rw.name(c) + "` gathers through it";
      if (leaf.what == Leaf::What::read && leaf.tensor == t && !map_body_at(g, t, leaf.forms))
        return "an index would be gathered through a gather in `" + rw.name(c) + "`";
      if (leaf.what == Leaf::What::read && leaf.tensor == t && weights_.contains(t) &&
          !is_whole_view(leaf))
        return "it is a softmax weight, and `" + rw.name(c) + "` reads it elsewhere in its row";
    }
    const std::vector<Guard> guards = g[c].guards;
    for (const Guard& guard : guards)
      if (!indices_replaced(guard.form, t))
        return "a condition of `" + rw.name(c) + "` gathers through it";
    return std::nullopt;
  }

  // The form with index reads of t replaced by its body; nullopt where that is no position with
  // index reads of its own.
  std::optional<Form> indices_replaced(const Form& form, TensorId t) {
    Form result = form;
    for (const Form::Gather& x : form.gathers) {
      const Leaf read = g.leaf(x.leaf);
      if (read.tensor != t) continue;
      if (read.guarded || g[t].format || g[t].sorted) return std::nullopt;
      const auto body = map_body_at(g, t, read.forms);
      const auto position = body ? g.as_form(*body, true) : std::nullopt;
      if (!position || position->gathers.empty()) return std::nullopt;
      for (const Form::Gather& inner : position->gathers)
        for (const Form& f : g.leaf(inner.leaf).forms)
          if (!f.is_affine()) return std::nullopt;
      result = result - x.coeff * Form::gathered(x.leaf) + x.coeff * *position;
    }
    return result;
  }

  // A weight is known by the coordinates that its maximum runs over, so they stay coordinates.
  bool is_whole_view(const Leaf& read) const {
    std::vector<DimId> seen;
    for (size_t axis = 0; axis < read.forms.size(); ++axis) {
      const auto d = read.forms[axis].as_pick();
      if (!d || contains(seen, *d) || g.extent(*d) != g[read.tensor].shape[axis]) return false;
      seen.push_back(*d);
    }
    return true;
  }

  // rho: evaluations of the body after, over before; rho_s the same after staging in tiles.
  std::optional<std::string> too_costly(NodeId id, TensorId t,
                                        const std::vector<NodeId>& consumers) {
    double rho = g.is_output(t) ? 1 : 0, staged = rho;
    for (NodeId c : consumers)
      for_each_expr(g[c], [&](ExprId e) {
        const std::vector<DimId> around = dims_of(g, e);
        for (LeafId l : g.pool.variables(e)) {
          const Leaf& leaf = g.leaf(l);
          if (leaf.what != Leaf::What::read || leaf.tensor != t) continue;
          double times = 1, tiles = 1;
          for (DimId d : around) {
            const bool viewed = std::any_of(leaf.forms.begin(), leaf.forms.end(),
                                            [d](const Form& f) { return f.mentions(d); });
            if (viewed) continue;
            times *= estimated(g, d);
            tiles *= std::ceil(estimated(g, d) / tile);
          }
          rho += times;
          staged += tiles;
        }
      });
    const int body_cost = cost(g.pool, g[id].targets[0].value);
    const double bytes = 8;  // one f32 written and one read for each element
    if (rho <= 1) return std::nullopt;
    if (const auto fold = epilogue_of(id); fold && body_cost > 0)
      return "it can be the epilogue of `" + rw.name(*fold) + "`, which is stored anyway";
    if (body_cost <= 4 || (staged - 1) * body_cost <= balance * bytes) return std::nullopt;
    return "recomputing it costs more than storing it (" + std::to_string(body_cost) +
           " operations, evaluated " + std::to_string(static_cast<int64_t>(staged)) +
           " times per tile)";
  }

  // A fold that this map alone reads, point for point over the same points, when it reads every
  // fold at its own points and none that depends on that one: storing the map's values instead of
  // the fold's takes nothing more.
  std::optional<NodeId> epilogue_of(NodeId id) const {
    const Node& n = g[id];
    std::optional<NodeId> whole;
    for (LeafId l : leaves_of(g, n)) {
      const Leaf& leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read) continue;
      const NodeId operand = g[leaf.tensor].node;
      if (operand == NodeId::none || g[operand].folds.empty()) continue;
      if (leaf.guarded || g[operand].scan || !is_whole_view(leaf)) return std::nullopt;
      const bool alone = readers_[index(leaf.tensor)] == std::vector<NodeId>{id};
      if (leaf.forms.size() == n.points.size() && alone && !g.is_output(leaf.tensor))
        whole = operand;
    }
    if (!whole) return std::nullopt;
    for (TensorId t : tensors_read(g, n))
      if (const NodeId other = g[t].node;
          other != NodeId::none && ancestry_->depends(other, *whole))
        return std::nullopt;
    return whole;
  }

  void apply(NodeId id, TensorId t, const std::vector<NodeId>& consumers) {
    const auto before = rw.texts(touched(id, consumers));
    std::set<std::string> laws;
    for (NodeId c : consumers) {
      laws.insert(g[c].folds.empty() ? "fuse_map_map" : "fuse_map_reduce");
      Node n = g[c];
      map_exprs(n, [&](ExprId e) { return rw.simplify(replaced(e, t, laws)); });
      for (Guard& guard : n.guards) guard.form = *indices_replaced(guard.form, t);
      g[c] = n;
    }
    for (TensorId operand : tensors_read(g, g[id]))
      for (NodeId c : consumers) add_reader(operand, c);
    const std::string into = join_names(g, consumers);
    if (!g.is_output(t)) g[id].alive = false;
    std::string law;
    for (const std::string& l : laws) law += (law.empty() ? "" : ", ") + l;
    rw.fired("substitute_maps", law, g[t].name + " into " + into, before, consumers);
  }

  static std::vector<NodeId> touched(NodeId id, const std::vector<NodeId>& consumers) {
    std::vector<NodeId> all = {id};
    all.insert(all.end(), consumers.begin(), consumers.end());
    return all;
  }

  void add_reader(TensorId t, NodeId c) {
    auto& list = readers_[index(t)];
    if (std::find(list.begin(), list.end(), c) == list.end()) list.push_back(c);
  }

  ExprId replaced(ExprId e, TensorId t, std::set<std::string>& laws) {
    return substitute_leaves(g, e, [&](LeafId l) -> std::optional<ExprId> {
      Leaf leaf = g.leaf(l);
      const std::vector<Form> written = leaf.forms;
      for (Form& f : leaf.forms) f = *indices_replaced(f, t);
      if (leaf.what != Leaf::What::read || leaf.tensor != t)
        return leaf.forms == written ? std::nullopt : std::optional(g.variable(leaf));
      const bool gathers = std::any_of(leaf.forms.begin(), leaf.forms.end(),
                                       [](const Form& f) { return !f.is_affine(); });
      if (gathers) laws.insert("fuse_gather_affine");
      if (!leaf.guarded && !gathers) return map_body_at(g, t, leaf.forms);
      if (leaf.guarded) laws.insert("fuse_guarded");
      return guarded_body(t, leaf);
    });
  }

  // The body read through bounds that may fail.
  ExprId guarded_body(TensorId t, const Leaf& read) {
    const ExprId body = *map_body_at(g, t, read.forms);
    const std::vector<Guard> bounds = inside_bounds(g, t, read.forms);
    const Value fill = read.fill().to(g[t].kind);
    if (bounds.empty()) return body;
    if (const auto direct = fill_passes_through(t, read, body, fill)) return *direct;
    const ExprId inside = with_fill(body, Value::integer(0), read.guarded);
    // The fill replaces the read, so the tensor's format does not round it.
    return g.make(Op::select, condition_of(g, bounds), inside, g.pool.constant(fill));
  }

  // Every read of the body guarded, with this fill; the indices it gathers through with 0.
  ExprId with_fill(ExprId body, const Value& fill, bool guarded) {
    return substitute_leaves(g, body, [&](LeafId l) -> std::optional<ExprId> {
      Leaf leaf = g.leaf(l);
      const bool indices = guard_indices(leaf);
      if (leaf.what != Leaf::What::read)
        return indices ? std::optional(g.variable(leaf)) : std::nullopt;
      const std::vector<Guard> bounds = inside_bounds(g, leaf.tensor, leaf.forms);
      if (leaf.guarded || bounds.empty())
        return indices ? std::optional(g.variable(leaf)) : std::nullopt;
      leaf.guarded = guarded || std::all_of(leaf.forms.begin(), leaf.forms.end(),
                                            [](const Form& f) { return f.is_affine(); });
      leaf.set_fill(fill.to(leaf.kind));
      return g.variable(leaf);
    });
  }

  // Guards the index reads of a gather that may leave their tensors; true if there were any.
  bool guard_indices(Leaf& leaf) {
    bool changed = false;
    for (Form& f : leaf.forms)
      for (Form::Gather& x : f.gathers) {
        Leaf position = g.leaf(x.leaf);
        if (position.guarded || inside_bounds(g, position.tensor, position.forms).empty()) continue;
        position.guarded = true;
        x.leaf = g.intern(position);
        changed = true;
      }
    return changed;
  }

  // When the body reads one tensor with exactly T's bounds and turns the fill into the fill.
  std::optional<ExprId> fill_passes_through(TensorId t, const Leaf& read, ExprId body,
                                            const Value& fill) {
    const std::vector<uint32_t> variables = g.pool.variables(body);
    if (variables.size() != 1) return std::nullopt;
    const Leaf inner = g.leaf(variables[0]);
    if (inner.what != Leaf::What::read || inner.guarded) return std::nullopt;
    if (inside_bounds(g, inner.tensor, inner.forms) != inside_bounds(g, t, read.forms))
      return std::nullopt;
    const Value inner_fill = fill.to(inner.kind);
    const Value through = evaluate(g.pool, body, [&](uint32_t) { return inner_fill; });
    if (!same_bits(through.to(fill.kind), fill)) return std::nullopt;
    return with_fill(body, inner_fill, read.guarded);
  }

  Rewriting& rw;
  Graph& g;
  std::optional<Ancestry> ancestry_;
  std::set<TensorId> softmax_maps_;
  std::set<TensorId> weights_;  // maps that hold a weight
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

bool substitute_maps(Rewriting& rw) { return Substitution(rw).run(); }

}  // namespace tang
