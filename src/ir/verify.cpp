#include "ir/verify.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/inside.h"
#include "ir/print.h"

namespace tang {

namespace {

bool holds(Kind wide, Kind narrow) {  // a value of kind `narrow` is one of kind `wide`
  const auto rank = [](Kind k) { return k == Kind::real ? 2 : k == Kind::integer ? 1 : 0; };
  return rank(narrow) <= rank(wide);
}

template <class T>
bool has(const std::vector<T>& all, const T& x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

bool sure_to_differ(const Poly& a, const Poly& b) {
  const auto difference = (a - b).constant();
  return difference && *difference != 0;
}

// What an expression may mention.
struct Scope {
  std::vector<DimId> dims;
  std::vector<Kind> states;  // kinds of the states it may use
  const std::vector<Guard>* guards = nullptr;
  std::string_view what;  // "an argument of the fold"
};

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : g(graph) {}

  Diagnostics run() {
    if (!ids()) return std::move(out_);
    for (const Monoid& m : g.monoids) monoid(m);
    for (size_t k = 0; k < g.nodes.size(); ++k)
      if (g.nodes[k].alive) node(static_cast<NodeId>(k));
    definitions();
    if (out_.empty()) cycles();
    outputs();
    return std::move(out_);
  }

  Diagnostics run(NodeId id) {
    if (node_ids(g[id])) node(id);
    return std::move(out_);
  }

 private:
  void report(std::string id, std::string message, std::string hint = {}) {
    Diagnostic d = error(std::move(id), std::move(message), std::move(hint)).value();
    d.where = where_;
    out_.push_back(std::move(d));
  }
  void broken(std::string message) {
    report("E0998", std::move(message), "this is a defect of tang");
  }

  // ---- ids -------------------------------------------------------------------------------------
  bool known(TensorId t) const { return index(t) < g.tensors.size(); }
  bool known(DimId d) const { return index(d) < g.dims.size(); }
  bool known(ExprId e) const { return index(e) < g.pool.size(); }

  bool poly(const Poly& p) {
    for (const Poly::Term& t : p.terms())
      for (ParamId id : t.params)
        if (index(id) >= g.params.size()) return broken("a parameter is out of range"), false;
    return true;
  }

  bool dims(const std::vector<DimId>& all) {
    for (DimId d : all)
      if (!known(d)) return broken("a dim is out of range"), false;
    return true;
  }

  bool form(const Form& f) {
    for (const Form::Term& t : f.terms)
      if (!dims({t.dim}) || !poly(t.coeff)) return false;
    for (const Form::Gather& x : f.gathers)
      if (!poly(x.coeff) || !leaf(x.leaf)) return false;
    return poly(f.base);
  }

  // Recursion through gathered leaves is bounded by their number: a leaf is interned after those it
  // gathers through.
  bool leaf(LeafId id) {
    if (checked_.contains(id)) return true;
    checked_.insert(id);
    const Leaf& l = g.leaf(id);
    for (const Form& f : l.forms)
      if (!form(f)) return false;
    if (l.what == Leaf::What::iota && l.forms.size() != 1)
      return broken("an iota has one form"), false;
    if (l.what == Leaf::What::read && !known(l.tensor)) return broken("a read of no tensor"), false;
    return true;
  }

  bool expr(ExprId e) {
    if (!known(e)) return broken("an expression is out of range"), false;
    for (uint32_t v : g.pool.variables(e))
      if (!leaf(v)) return false;
    return true;
  }

  bool node_ids(const Node& n) {
    if (!dims(n.points) || !dims(n.reduce)) return false;
    for (const Fold& f : n.folds) {
      if (index(f.monoid) >= g.monoids.size()) return broken("a monoid is out of range"), false;
      if (f.entry && !dims({*f.entry})) return false;
    }
    if (n.scan && !dims({n.scan->along})) return false;
    if (n.scan && n.scan->matrix && !dims({n.scan->matrix->first, n.scan->matrix->second}))
      return false;
    for (const Target& t : n.targets)
      if (!known(t.tensor) || !dims(t.points)) return broken("a target is out of range"), false;
    for (const Guard& guard : n.guards)
      if (!form(guard.form)) return false;
    if (n.gradient) {
      for (TensorId t : n.gradient->wrt)
        if (!known(t)) return broken("a gradient of no tensor"), false;
      for (const Gradient::Seed& s : n.gradient->seeds)
        if (!known(s.of) || (s.cotangent != TensorId::none && !known(s.cotangent)))
          return broken("a seed of no tensor"), false;
    }
    bool ok = true;
    for_each_expr(n, [&](ExprId e) { ok = ok && expr(e); });
    return ok;
  }

  bool ids() {
    for (const Dim& d : g.dims)
      if (!poly(d.extent)) return false;
    for (const Tensor& t : g.tensors) {
      for (const Poly& p : t.shape)
        if (!poly(p)) return false;
      if (t.node != NodeId::none && index(t.node) >= g.nodes.size())
        return broken(fmt::format("`{}` has no node", t.name)), false;
    }
    for (const Node& n : g.nodes)
      if (n.alive && !node_ids(n)) return false;
    for (const Output& o : g.outputs)
      if (!known(o.tensor) || (o.into != TensorId::none && !known(o.into)))
        return broken("an output is out of range"), false;
    return true;
  }

  // ---- monoids ---------------------------------------------------------------------------------
  void monoid(const Monoid& m) {
    where_ = {};
    const size_t states = m.kinds.size();
    const bool spelled = !m.combine.empty();
    if (m.identity.size() != states || m.fields.size() != states ||
        m.arguments.size() != m.argument_kinds.size() || m.outputs.size() != m.fin.size() ||
        m.output_kinds.size() != m.fin.size() ||
        (spelled && (m.lift.size() != states || m.combine.size() != states)) ||
        m.value >= static_cast<int>(m.fin.size()))
      return report("E0506",
                    fmt::format("monoid `{}` does not give one component for each field", m.name));
    for (ExprId e : m.identity) monoid_part(m, e, "identity", {});
    for (ExprId e : m.lift) monoid_part(m, e, "lift", {Leaf::What::argument});
    for (ExprId e : m.combine) monoid_part(m, e, "combine", {Leaf::What::left, Leaf::What::right});
    for (ExprId e : m.fin) monoid_part(m, e, "fin", {Leaf::What::left});
  }

  void monoid_part(const Monoid& m, ExprId e, std::string_view part, std::set<Leaf::What> allowed) {
    if (!expr(e)) return;
    for (uint32_t v : g.pool.variables(e)) {
      const Leaf& l = g.leaf(v);
      if (l.what == Leaf::What::iota && l.form().terms.empty() && l.form().gathers.empty())
        continue;
      const auto& kinds = l.what == Leaf::What::argument ? m.argument_kinds : m.kinds;
      if (!allowed.contains(l.what) || l.number >= kinds.size() || l.kind != kinds[l.number])
        report("E0506", fmt::format("the {} of monoid `{}` uses what it cannot see", part, m.name),
               "a monoid is built from its own parameters, params and constants");
    }
  }

  // ---- nodes -----------------------------------------------------------------------------------
  std::string name(const Node& n) const {
    return n.targets.empty() ? "a definition" : "`" + g[n.targets[0].tensor].name + "`";
  }

  void node(NodeId id) {
    const Node& n = g[id];
    where_ = n.where;
    if (n.targets.empty()) return broken("a node without targets");
    for (const Target& t : n.targets)
      if (g[t.tensor].node != id || g[t.tensor].role != Role::definition)
        return broken(fmt::format("`{}` is not defined by its node", g[t.tensor].name));
    if (n.gradient) return gradient(n);
    distinct(n);
    std::vector<Kind> states;
    for (const auto& [f, k] : g.state_outputs(n))
      states.push_back(g[n.folds[f].monoid].output_kinds[k]);
    folds(n);
    guards(n);
    if (n.scan) scan(n);
    for (const Target& t : n.targets) target(n, t, states);
  }

  void distinct(const Node& n) {
    std::set<DimId> seen;
    for (const auto* dims : {&n.points, &n.reduce})
      for (DimId d : *dims)
        if (!seen.insert(d).second)
          report("E0205", fmt::format("index `{}` stands twice in {}", g[d].name, name(n)),
                 "two indices over one axis are two dims");
  }

  void folds(const Node& n) {
    if (n.folds.empty() && !(n.reduce.empty() && n.guards.empty() && !n.scan))
      broken(fmt::format("{} is a map with reduce indices or conditions", name(n)));
    std::vector<DimId> dims = n.points;
    dims.insert(dims.end(), n.reduce.begin(), n.reduce.end());
    for (const Fold& f : n.folds) {
      const Monoid& m = g[f.monoid];
      if (f.args.size() != m.argument_kinds.size()) {
        report("E0501", fmt::format("`{}` takes {} arguments, and {} gives {}", m.name,
                                    m.argument_kinds.size(), name(n), f.args.size()));
        continue;
      }
      for (size_t k = 0; k < f.args.size(); ++k) {
        if (!holds(m.argument_kinds[k], g.pool[f.args[k]].kind))
          report("E0301", fmt::format("argument {} of `{}` in {} is {}, and {} is needed", k,
                                      m.name, name(n), tang::name(g.pool[f.args[k]].kind),
                                      tang::name(m.argument_kinds[k])));
        const bool offset = n.scan && n.scan->matrix && k == 1;  // B is free of the bound column
        expression(n, f.args[k],
                   {offset ? n.points : dims, {}, &n.guards, "an argument of the fold"});
      }
      entry(n, f, m);
    }
  }

  void entry(const Node& n, const Fold& f, const Monoid& m) {
    const bool topk = m.combine.empty();
    if (topk != f.entry.has_value() || (f.entry && !has(n.points, *f.entry)))
      return report(
          "E0505",
          fmt::format("`{}` in {} names its entry by a point of the node", m.name, name(n)),
          "write `topk[j; n](x)` with `n` on the left-hand side");
    if (!topk) return;
    for (ExprId e : f.args)
      if (has(dims_of(g, e), *f.entry))
        report("E0505", fmt::format("the entry `{}` of topk is used inside it", g[*f.entry].name),
               "the values that are ranked do not depend on the entry");
  }

  void guards(const Node& n) {
    std::vector<DimId> dims = n.points;
    dims.insert(dims.end(), n.reduce.begin(), n.reduce.end());
    const Scope scope{dims, {}, nullptr, "a condition"};
    for (const Guard& guard : n.guards) {
      if (guard.what == Guard::What::data) {
        expression(n, guard.condition, scope);
        if (g.pool[guard.condition].kind != Kind::boolean)
          report("E0301", fmt::format("a condition of {} is not bool", name(n)));
        continue;
      }
      position(n, guard.form, scope, true);
    }
  }

  void scan(const Node& n) {
    const Scan& s = *n.scan;
    if (!has(n.points, s.along))
      report("E0505",
             fmt::format("the index `{}` of a scan is no point of {}", g[s.along].name, name(n)));
    if (!n.guards.empty())
      report("E0502", fmt::format("the scan {} has a condition", name(n)),
             "select on the argument");
    if (n.folds.size() != 1) return broken(fmt::format("the scan {} has not one fold", name(n)));
    if (!s.matrix && !n.reduce.empty())
      report("E0505", fmt::format("the scan {} has reduce indices", name(n)));
    if (s.matrix) {
      const auto [row, column] = *s.matrix;
      if (!has(n.points, row) || n.reduce != std::vector<DimId>{column} ||
          sure_to_differ(g.extent(row), g.extent(column)))
        report("E0505",
               fmt::format("the row and column of {} are a point and a bound index of equal extent",
                           name(n)));
    }
    std::vector<DimId> before = n.points;
    std::erase(before, s.along);
    for (ExprId e : s.initial) expression(n, e, {before, {}, nullptr, "an initial state"});
  }

  void target(const Node& n, const Target& t, const std::vector<Kind>& states) {
    const Tensor& tensor = g[t.tensor];
    auto next = n.points.begin();
    std::vector<Poly> shape;
    for (DimId d : t.points) {
      const auto found = std::find(next, n.points.end(), d);
      if (found == n.points.end())
        return report("E0404", fmt::format("the axes of `{}` are not points of its node in order",
                                           tensor.name));
      next = found + 1;
      shape.push_back(g.extent(d));
    }
    if (shape != tensor.shape)
      report("E0404", fmt::format("`{}{}` is computed over {}", tensor.name,
                                  print_shape(g, tensor.shape), print_shape(g, shape)));
    if (t.value == ExprId::none) return broken(fmt::format("`{}` has no value", tensor.name));
    expression(n, t.value, {n.points, states, nullptr, "a value"});
    const Kind value = g.pool[t.value].kind;
    const Kind wanted = tensor.format ? kind(*tensor.format) : value;
    if (tensor.kind != wanted || (wanted == Kind::boolean && value != Kind::boolean))
      report("E0306", fmt::format("`{}` is {}, and its value is {}", tensor.name,
                                  tang::name(tensor.kind), tang::name(value)));
    if (t.points.size() == n.points.size() || !out_.empty()) return;
    for (DimId d : value_dependencies(g, n, t.value))
      if (has(n.points, d) && !has(t.points, d))
        report("E0408",
               fmt::format("`{}` leaves out `{}`, and its value depends on it", tensor.name,
                           g[d].name),
               fmt::format("keep `{}` among its indices", g[d].name));
  }

  void gradient(const Node& n) {
    if (n.targets.size() != n.gradient->wrt.size())
      return broken(fmt::format("the gradient {} has not one target for each tensor", name(n)));
    for (size_t k = 0; k < n.targets.size(); ++k)
      if (g[n.targets[k].tensor].shape != g[n.gradient->wrt[k]].shape)
        report("E0404", fmt::format("`{}` has not the shape of `{}`", g[n.targets[k].tensor].name,
                                    g[n.gradient->wrt[k]].name));
    for (const Gradient::Seed& s : n.gradient->seeds)
      if (s.cotangent != TensorId::none && g[s.cotangent].shape != g[s.of].shape)
        report("E0404",
               fmt::format("`{}` has not the shape of `{}`", g[s.cotangent].name, g[s.of].name));
  }

  // ---- expressions -----------------------------------------------------------------------------
  void expression(const Node& n, ExprId e, const Scope& scope) {
    for (uint32_t v : g.pool.variables(e)) {
      const Leaf& l = g.leaf(v);
      switch (l.what) {
        case Leaf::What::iota:
          position(n, l.form(), scope, true);
          break;
        case Leaf::What::read:
          read(n, l, scope);
          break;
        case Leaf::What::state:
          if (l.number >= scope.states.size() || scope.states[l.number] != l.kind)
            report("E0204",
                   fmt::format("{} of {} uses a state that is not there", scope.what, name(n)));
          break;
        default:
          report("E0204", fmt::format("{} of {} uses a leaf of a monoid", scope.what, name(n)));
      }
    }
  }

  void read(const Node& n, const Leaf& l, const Scope& scope, bool index_read = false) {
    const Tensor& t = g[l.tensor];
    if (l.forms.size() != t.shape.size())
      return report("E0402",
                    fmt::format("`{}{}` has {} axes, a read in {} gives {}", t.name,
                                print_shape(g, t.shape), t.shape.size(), name(n), l.forms.size()));
    if (l.kind != t.kind)
      report("E0301", fmt::format("a read of `{}` in {} has another kind", t.name, name(n)));
    for (size_t axis = 0; axis < l.forms.size(); ++axis) {
      const Form& f = l.forms[axis];
      if (!position(n, f, scope, !index_read) || l.guarded || !f.is_affine()) continue;
      static const std::vector<Guard> unguarded;
      if (prove_inside(g, f, t.shape[axis], scope.guards ? *scope.guards : unguarded) ==
          Proof::fails)
        range(n, l, axis);
    }
  }

  void range(const Node& n, const Leaf& l, size_t axis) {
    const Tensor& t = g[l.tensor];
    const Form& f = l.forms[axis];
    const auto r = tang::range(f, [this](DimId d) { return g.extent(d); });
    const std::string runs =
        r ? fmt::format(" runs over {}…{}", print_poly(g, r->lo), print_poly(g, r->hi))
          : std::string(" leaves it");
    report("E0401",
           fmt::format("axis {} of `{}{}` is read in {} at {}, which{}", axis, t.name,
                       print_shape(g, t.shape), name(n), print_form(g, f), runs),
           fmt::format("guard the read to get a fill outside of `{}`", t.name));
  }

  // A form's coordinates are in scope, and what it gathers through are affine integer reads.
  bool position(const Node& n, const Form& f, const Scope& scope, bool may_gather) {
    const size_t before = out_.size();
    for (const Form::Term& t : f.terms)
      if (!has(scope.dims, t.dim))
        report("E0204",
               fmt::format("{} of {} uses the index `{}`, which is not bound there", scope.what,
                           name(n), g[t.dim].name),
               "make it a point or reduce over it");
    if (!f.gathers.empty() && !may_gather)
      report("E0405", fmt::format("a read in {} gathers through a gathered index", name(n)),
             "make the inner index a definition of its own");
    for (const Form::Gather& x : f.gathers) {
      const Leaf& l = g.leaf(x.leaf);
      if (l.what != Leaf::What::read || l.kind != Kind::integer)
        report("E0407", fmt::format("an index of {} is no read of an integer tensor", name(n)));
      else if (may_gather)
        read(n, l, scope, true);
    }
    return out_.size() == before;
  }

  // ---- the whole graph -------------------------------------------------------------------------
  void definitions() {
    std::set<TensorId> defined;
    std::set<std::string> names;
    where_ = {};
    for (const Node& n : g.nodes)
      if (n.alive)
        for (const Target& t : n.targets)
          if (!defined.insert(t.tensor).second)
            broken(fmt::format("`{}` is defined twice", g[t.tensor].name));
    for (const Node& n : g.nodes)
      if (n.alive)
        for (TensorId t : tensors_read(g, n))
          if (g[t].role == Role::definition && !defined.contains(t))
            broken(fmt::format("`{}` is read by {} and has no definition", g[t].name, name(n)));
    for (TensorId t : defined)
      if (!names.insert(g[t].name).second)
        report("E0202", fmt::format("two tensors are named `{}`", g[t].name));
  }

  void cycles() {
    // In an order of operands before users, every operand is done when its user comes.
    std::vector<char> done(g.nodes.size(), 0);
    for (NodeId id : g.order()) {
      for (TensorId t : tensors_read(g, g[id]))
        if (const NodeId operand = g[t].node;
            operand != NodeId::none && g[operand].alive && !done[index(operand)]) {
          where_ = g[id].where;
          report("E0203", fmt::format("{} depends on itself", name(g[id])),
                 "a recurrence is a scan");
        }
      done[index(id)] = 1;
    }
  }

  void outputs() {
    std::set<TensorId> seen, taken;
    for (const Output& o : g.outputs) {
      const Tensor& t = g[o.tensor];
      where_ = t.where;
      if (t.role != Role::definition || t.node == NodeId::none || !g[t.node].alive)
        report("E0212", fmt::format("output `{}` has no definition", t.name));
      if (!seen.insert(o.tensor).second)
        report("E0212", fmt::format("`{}` is an output already", t.name));
      if (o.into == TensorId::none) continue;
      const Tensor& into = g[o.into];
      if (into.role == Role::definition || !taken.insert(o.into).second)
        report("E0212", fmt::format("`{}` cannot take the buffer of `{}`", t.name, into.name),
               "give each output an input of its own");
      bool same = t.shape.size() == into.shape.size() && t.storage() == into.storage();
      for (size_t k = 0; same && k < t.shape.size(); ++k)
        same = !sure_to_differ(t.shape[k], into.shape[k]);
      if (!same)
        report(
            "E0404",
            fmt::format("`{}` cannot take the buffer of `{}`: `{}{}` is {}, `{}{}` is {}", t.name,
                        into.name, t.name, print_shape(g, t.shape), tang::name(t.storage()),
                        into.name, print_shape(g, into.shape), tang::name(into.storage())),
            "shape and format must be the same");
    }
  }

  const Graph& g;
  Location where_;
  Diagnostics out_;
  std::set<LeafId> checked_;
};

}  // namespace

Diagnostics verify(const Graph& g) { return Verifier(g).run(); }
Diagnostics verify_node(const Graph& g, NodeId n) { return Verifier(g).run(n); }

std::set<DimId> state_dependencies(const Graph& g, const Node& n, uint32_t number) {
  const auto [f, output] = g.state_outputs(n)[number];
  const Fold& fold = n.folds[f];
  const Monoid& m = g[fold.monoid];
  std::set<uint32_t> components, args;
  std::vector<uint32_t> todo;
  const auto follow = [&](ExprId e) {
    for (uint32_t v : g.pool.variables(e)) {
      const Leaf& l = g.leaf(v);
      if (l.what == Leaf::What::argument) args.insert(l.number);
      const bool state = l.what == Leaf::What::left || l.what == Leaf::What::right;
      if (state && components.insert(l.number).second) todo.push_back(l.number);
    }
  };
  follow(m.fin[output]);
  const bool spelled = !m.combine.empty() && !n.scan;
  while (spelled && !todo.empty()) {
    const uint32_t c = todo.back();
    todo.pop_back();
    follow(m.lift[c]);
    follow(m.combine[c]);
  }
  std::set<DimId> dims;
  const auto add = [&](ExprId e) {
    for (DimId d : dims_of(g, e)) dims.insert(d);
  };
  for (uint32_t k = 0; k < fold.args.size(); ++k)
    if (!spelled || args.contains(k)) add(fold.args[k]);
  for (const Guard& guard : n.guards) {
    if (guard.what == Guard::What::data) add(guard.condition);
    for (const Form::Term& t : guard.form.terms) dims.insert(t.dim);
    for (const Form::Gather& x : guard.form.gathers)
      for (const Form& inner : g.leaf(x.leaf).forms)
        for (const Form::Term& t : inner.terms) dims.insert(t.dim);
  }
  if (fold.entry) dims.insert(*fold.entry);
  if (n.scan) {
    dims.insert(n.scan->along);
    if (n.scan->matrix) dims.insert(n.scan->matrix->first);
    for (ExprId e : n.scan->initial) add(e);
  }
  for (DimId r : n.reduce) dims.erase(r);
  return dims;
}

std::set<DimId> value_dependencies(const Graph& g, const Node& n, ExprId value) {
  std::set<DimId> dims;
  for (DimId d : dims_of(g, value)) dims.insert(d);
  for (uint32_t v : g.pool.variables(value))
    if (g.leaf(v).what == Leaf::What::state)
      for (DimId d : state_dependencies(g, n, g.leaf(v).number)) dims.insert(d);
  return dims;
}

}  // namespace tang
