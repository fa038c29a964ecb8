#include "ir/variance.h"

#include <algorithm>
#include <set>

namespace tang {

namespace {

void add_dims(const Graph& g, const Form& form, std::set<DimId>& out) {
  for (const Form::Term& t : form.terms) out.insert(t.dim);
  // A gathered leaf is read through affine forms (algebra.md 2.2), or, after substitution, through
  // forms that gather once more: the depth is bounded by the nesting of definitions inlined.
  for (const Form::Gather& x : form.gathers)
    for (const Form& inner : g.leaf(x.leaf).forms) add_dims(g, inner, out);
}

// Points of `n` among `dims`.
std::vector<DimId> points_among(const Node& n, const std::set<DimId>& dims) {
  std::vector<DimId> result;
  for (DimId p : n.points)
    if (dims.contains(p)) result.push_back(p);
  return result;
}

struct Mentions {
  std::set<uint32_t> arguments, states;
};

Mentions mentions(const Graph& g, ExprId e) {
  Mentions m;
  for (LeafId id : leaves_of(g, e)) {
    const Leaf& l = g.leaf(id);
    if (l.what == Leaf::What::argument) m.arguments.insert(l.number);
    if (l.what == Leaf::What::left || l.what == Leaf::What::right) m.states.insert(l.number);
  }
  return m;
}

bool has_read(const Graph& g, ExprId e) {
  const std::vector<LeafId> leaves = leaves_of(g, e);
  return std::any_of(leaves.begin(), leaves.end(),
                     [&](LeafId l) { return g.leaf(l).what == Leaf::What::read; });
}

struct Reach {
  std::set<DimId> dims;
  bool reads = false;
};

// What each component of one fold depends on: a fixed point over what its combine mentions.
std::vector<Reach> reach_of(const Graph& g, const Fold& fold) {
  const Monoid& m = g[fold.monoid];
  std::vector<Reach> all(m.kinds.size());
  for (size_t k = 0; k < m.lift.size(); ++k)
    for (uint32_t a : mentions(g, m.lift[k]).arguments) {
      if (a >= fold.args.size()) continue;
      for (DimId d : dims_of(g, fold.args[a])) all[k].dims.insert(d);
      all[k].reads |= has_read(g, fold.args[a]);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < m.combine.size(); ++k)
      for (uint32_t other : mentions(g, m.combine[k]).states) {
        const size_t before = all[k].dims.size();
        all[k].dims.insert(all[other].dims.begin(), all[other].dims.end());
        changed |= all[k].dims.size() != before || (all[other].reads && !all[k].reads);
        all[k].reads |= all[other].reads;
      }
  }
  return all;
}

// A scan's state differs from step to step whatever its arguments are; the component that starts
// from an initial state, b of affine maps (a, b), also depends on that.
std::set<DimId> dims_of_scan(const Graph& g, const Scan& scan, size_t component) {
  std::set<DimId> dims = {scan.along};
  if (component == 1)
    for (ExprId e : scan.initial)
      for (DimId d : dims_of(g, e)) dims.insert(d);
  return dims;
}

}  // namespace

std::vector<DimId> dims_of(const Graph& g, const Form& form) {
  std::set<DimId> out;
  add_dims(g, form, out);
  return {out.begin(), out.end()};
}

std::vector<DimId> dims_of(const Graph& g, const Guard& guard) {
  if (guard.what == Guard::What::data) return dims_of(g, guard.condition);
  return dims_of(g, guard.form);
}

std::vector<Component> components(const Graph& g, const Node& n) {
  std::set<DimId> guarded;
  for (const Guard& guard : n.guards)
    for (DimId d : dims_of(g, guard)) guarded.insert(d);
  std::vector<Component> result;
  for (size_t f = 0; f < n.folds.size(); ++f) {
    std::vector<Reach> all = reach_of(g, n.folds[f]);
    for (size_t k = 0; k < all.size(); ++k) {
      all[k].dims.insert(guarded.begin(), guarded.end());
      if (n.scan) all[k].dims.merge(dims_of_scan(g, *n.scan, k));
      result.push_back({f, static_cast<uint32_t>(k), points_among(n, all[k].dims), all[k].reads});
    }
  }
  return result;
}

std::vector<DimId> invariant_points(const Node& n, const std::vector<Component>& all) {
  std::vector<DimId> result;
  for (DimId p : n.points)
    if (std::any_of(all.begin(), all.end(),
                    [p](const Component& c) { return c.reads && !contains(c.varies, p); }))
      result.push_back(p);
  return result;
}

Form address(const std::vector<Poly>& shape, const std::vector<Form>& forms) {
  Form result;
  Poly stride = 1;
  for (size_t axis = forms.size(); axis-- > 0;) {
    result = result + stride * forms[axis];
    stride = stride * shape[axis];
  }
  return result;
}

Poly volume(const std::vector<Poly>& shape) {
  Poly v = 1;
  for (const Poly& p : shape) v = v * p;
  return v;
}

}  // namespace tang
