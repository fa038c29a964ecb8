#include "rewrite/split.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/softmax.h"
#include "ir/topk_chain.h"
#include "ir/variance.h"
#include "rewrite/edit.h"

namespace tang {

namespace {

ExprId monoid_leaf(Graph& g, Leaf::What what, size_t number, Kind kind) {
  Leaf l;
  l.what = what;
  l.number = static_cast<uint32_t>(number);
  l.kind = kind;
  return g.variable(l);
}

bool gives_its_state(Graph& g, const Monoid& m) {
  if (m.fin.size() != m.kinds.size()) return false;
  for (size_t k = 0; k < m.fin.size(); ++k)
    if (m.fin[k] != monoid_leaf(g, Leaf::What::left, k, m.kinds[k])) return false;
  return true;
}

bool takes_its_state(Graph& g, const Monoid& m) {
  if (m.argument_kinds != m.kinds || m.flat_index) return false;
  for (size_t k = 0; k < m.lift.size(); ++k)
    if (m.lift[k] != monoid_leaf(g, Leaf::What::argument, k, m.kinds[k])) return false;
  return true;
}

// The monoid as one of a user's, whose value is its state.
Monoid spelled(Graph& g, Monoid m, const std::string& suffix) {
  m.name += suffix;
  m.builtin = m.flat_index = false;
  m.facts.reset();
  m.value = m.kinds.size() == 1 ? 0 : -1;
  m.outputs = m.fields;
  m.output_kinds = m.kinds;
  m.fin.clear();
  for (size_t k = 0; k < m.kinds.size(); ++k)
    m.fin.push_back(monoid_leaf(g, Leaf::What::left, k, m.kinds[k]));
  for (size_t k = 0; k < m.arguments.size(); ++k)
    if (m.arguments[k].empty()) m.arguments[k] = fmt::format("r{}", k);
  return m;
}

// Finds or adds; a name is used for one algebra.
MonoidId add_monoid(Graph& g, Monoid m) {
  const std::string base = m.name, key = algebra_key(g, m);
  for (int n = 1;; ++n) {
    const auto taken = std::find_if(g.monoids.begin(), g.monoids.end(),
                                    [&](const Monoid& other) { return other.name == m.name; });
    if (taken == g.monoids.end()) break;
    if (algebra_key(g, *taken) == key && taken->kinds == m.kinds)
      return static_cast<MonoidId>(taken - g.monoids.begin());
    m.name = fmt::format("{}_{}", base, n);
  }
  g.monoids.push_back(std::move(m));
  return static_cast<MonoidId>(g.monoids.size() - 1);
}

// The monoid over its own terms that gives states, and the one over states.
MonoidId of_terms(Graph& g, MonoidId id) {
  const Monoid m = g[id];
  return gives_its_state(g, m) && !m.flat_index ? id : add_monoid(g, spelled(g, m, "_part"));
}

MonoidId of_states(Graph& g, MonoidId id) {
  Monoid m = g[id];
  if (gives_its_state(g, m) && takes_its_state(g, m)) return id;
  m.arguments = m.fields;
  m.argument_kinds = m.kinds;
  for (size_t k = 0; k < m.kinds.size(); ++k)
    m.lift[k] = monoid_leaf(g, Leaf::What::argument, k, m.kinds[k]);
  return add_monoid(g, spelled(g, m, "_states"));
}

class FoldSplit {
 public:
  FoldSplit(Derivation& derivation, const Split& asked)
      : d_(derivation), g(derivation.derived), rw(g, MathMode::real, true), split_(asked) {}

  Result<void> run() {
    if (auto ok = find(); !ok) return ok;
    if (auto ok = divide(); !ok) return ok;
    const auto before = rw.texts({node_});
    if (split_.parts > 1) {
      g = softmax_reading(g);  // which a max is known for as long as it is one fold
      store_parts();
      fold_parts();
      rw.fired("split", split_.strided ? "fold_perm" : "fold_split",
               fmt::format("{} over {} in {} parts", split_.definition, split_.dim, split_.parts),
               before, {part_, node_});
    }
    d_.log.insert(d_.log.end(), rw.log.begin(), rw.log.end());
    return {};
  }

 private:
  tl::unexpected<Diagnostic> refuse(const std::string& why, const std::string& hint) const {
    return error("E0805",
                 fmt::format("split of `{}` over `{}`: {}", split_.definition, split_.dim, why),
                 hint);
  }

  Result<void> find() {
    const auto t = g.find_tensor(split_.definition);
    const bool defined = t && g[*t].node != NodeId::none && g[g[*t].node].alive;
    if (!defined || g[g[*t].node].folds.empty())
      return refuse("the derived program has no fold of that name",
                    "`tang derive` lists its definitions");
    node_ = g[*t].node;
    const Node& n = g[node_];
    if (n.scan) return refuse("it is a scan", "scans are not split");
    for (const Fold& f : n.folds)
      if (f.entry) return refuse("it is a top-k", "top-k is not split yet");
    for (const ChainMember& m : topk_chains(g))
      if (m.node == node_)
        return refuse("it is one of a chain of arg-maxima, which reads as a top-k",
                      "top-k is not split yet");
    const auto at = std::find_if(n.reduce.begin(), n.reduce.end(),
                                 [&](DimId d) { return g[d].name == split_.dim; });
    if (at == n.reduce.end()) {
      std::vector<std::string> names;
      for (DimId d : n.reduce) names.push_back(g[d].name);
      return refuse("it does not reduce over that",
                    fmt::format("it reduces over {}", fmt::join(names, ", ")));
    }
    dim_ = *at;
    if (split_.parts < 1)
      return refuse(fmt::format("{} parts", split_.parts), "there is at least one part");
    for (const Fold& f : n.folds) {
      const Monoid& m = g[f.monoid];
      if (m.commutative) continue;
      if (split_.strided)
        return refuse(fmt::format("`{}` does not commute, and parts that take every {}th term "
                                  "change the order (law fold_perm)",
                                  m.name, split_.parts),
                      "leave `strided` out, or say `commutative` if it is");
      if (at != n.reduce.begin())
        return refuse(fmt::format("`{}` does not commute, and only parts of the outermost index "
                                  "keep the order (law fold_split)",
                                  m.name),
                      fmt::format("split over `{}`", g[n.reduce[0]].name));
    }
    return {};
  }

  // The extent of a part, and whether the last ones are shorter. A param keeps its letter: parts
  // that take every P-th term then count to the whole extent, and the condition ends them.
  Result<void> divide() {
    const Poly extent = g.extent(dim_);
    const int64_t parts = split_.parts;
    if (const auto n = extent.constant()) {
      length_ = Poly((*n + parts - 1) / parts);
      uneven_ = *n % parts != 0;
      return {};
    }
    Poly length;
    for (const Poly::Term& t : extent.terms()) {
      if (t.coeff % parts != 0) {
        if (!split_.strided)
          return refuse(fmt::format("its extent is not known to be a multiple of {}", parts),
                        "take every part's terms with a stride (`strided`), or write the extent "
                        "as a multiple");
        length_ = extent;
        uneven_ = true;
        return {};
      }
      Poly term(t.coeff / parts);
      for (ParamId id : t.params) term = term * Poly::param(id);
      length = length + term;
    }
    length_ = length;
    return {};
  }

  // ---- the fold of each part ------------------------------------------------------------------

  void store_parts() {
    const Node whole = g[node_];
    parts_ = g.add_dim(g.fresh_name("p"), Poly(split_.parts));
    const DimId inside = g.add_dim(g.fresh_name(g[dim_].name + "_p"), length_);
    const Form p = Form::coordinate(parts_), k = Form::coordinate(inside);
    const Form term = split_.strided ? Poly(split_.parts) * k + p : length_ * p + k;
    const DimMap there = [&](DimId d) { return d == dim_ ? std::optional(term) : std::nullopt; };
    Node n = whole;
    n.points.push_back(parts_);
    std::replace(n.reduce.begin(), n.reduce.end(), dim_, inside);
    for (Guard& guard : n.guards) {
      guard = substitute_dims(g, guard, there);
      if (!uneven_) continue;
      guard.form = indices_inside(guard.form);
      if (guard.what == Guard::What::data) guard.condition = reads_inside(guard.condition);
    }
    if (uneven_) {
      Guard within;
      within.form = Form(g.extent(dim_) - Poly(1)) - term;
      n.guards.push_back(within);
    }
    normalise_guards(g, n.guards);
    for (Fold& f : n.folds) {
      for (ExprId& e : f.args) e = substitute_dims(g, e, there);
      f.monoid = of_terms(g, f.monoid);
    }
    n.targets.clear();
    for (const Component& c : components(g, whole)) {
      const Monoid& m = g[n.folds[c.fold].monoid];
      const std::string& field = m.fields[c.number];
      Target t;
      t.points = c.varies;
      t.points.push_back(parts_);
      t.value = g.state(static_cast<uint32_t>(n.targets.size()), m.kinds[c.number]);
      t.tensor = add_state(split_.definition + (field.empty() ? "" : "_" + field) + "_part",
                           m.kinds[c.number], t.points, whole.where);
      n.targets.push_back(std::move(t));
    }
    states_ = n.targets;
    part_ = g.add_node(std::move(n));
  }

  // Conditions are tested beside each other, so what they read past the end of the last part gets a
  // fill; the term does not count there.
  ExprId reads_inside(ExprId e) {
    return substitute_leaves(g, e, [&](LeafId l) -> std::optional<ExprId> {
      Leaf leaf = g.leaf(l);
      if (leaf.what != Leaf::What::read) return std::nullopt;
      for (Form& f : leaf.forms) f = indices_inside(f);
      return g.variable(inside(leaf));
    });
  }

  Form indices_inside(const Form& form) {
    Form result = form;
    for (const Form::Gather& x : form.gathers)
      result = result - x.coeff * Form::gathered(x.leaf) +
               x.coeff * Form::gathered(g.intern(inside(g.leaf(x.leaf))));
    return result;
  }

  Leaf inside(Leaf read) const {
    if (read.guarded || inside_bounds(g, read.tensor, read.forms).empty()) return read;
    read.guarded = true;
    read.set_fill(Value::integer(0).to(g[read.tensor].kind));
    return read;
  }

  TensorId add_state(const std::string& name, Kind kind, const std::vector<DimId>& points,
                     const Location& where) {
    Tensor t;
    t.name = g.fresh_name(name);
    t.kind = kind;
    t.where = where;
    t.wide = kind == Kind::integer;  // a running index may be as large as the index set
    for (DimId d : points) t.shape.push_back(g.extent(d));
    return g.add_tensor(std::move(t));
  }

  // ---- the fold of the parts ------------------------------------------------------------------

  void fold_parts() {
    Node n = g[node_];
    n.reduce = {parts_};
    n.guards.clear();
    std::vector<ExprId> finals;  // what the targets' states are now
    uint32_t next = 0;
    for (Fold& f : n.folds) {
      const Monoid old = g[f.monoid];
      f.args.clear();
      std::vector<ExprId> components;
      for (Kind kind : old.kinds) {
        const Target& state = states_[next];
        f.args.push_back(read(state));
        components.push_back(g.state(next++, kind));
      }
      for (ExprId fin : old.fin)
        finals.push_back(substitute_leaves(
            g, fin, [&](LeafId l) { return std::optional(components[g.leaf(l).number]); }));
      f.monoid = of_states(g, f.monoid);
    }
    for (Target& t : n.targets)
      t.value = rw.simplify(substitute_leaves(g, t.value, [&](LeafId l) -> std::optional<ExprId> {
        if (g.leaf(l).what != Leaf::What::state) return std::nullopt;
        return finals[g.leaf(l).number];
      }));
    g[node_] = std::move(n);
  }

  ExprId read(const Target& state) {
    std::vector<Form> at;
    for (DimId d : state.points) at.push_back(Form::coordinate(d));
    return g.read(state.tensor, at);
  }

  Derivation& d_;
  Graph& g;
  Rewriting rw;
  Split split_;
  NodeId node_ = NodeId::none, part_ = NodeId::none;
  DimId dim_{}, parts_{};
  Poly length_;
  bool uneven_ = false;
  std::vector<Target> states_;
};

}  // namespace

Result<void> split_fold(Derivation& d, const Split& split) { return FoldSplit(d, split).run(); }

}  // namespace tang
