#include "ir/bind.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/array.h"
#include "ir/inside.h"
#include "ir/print.h"

namespace tang {

namespace {

// Replaces bound parameters in every form of a graph, leaves and gathered leaves included.
class Substitution {
 public:
  explicit Substitution(Graph& graph) : g(graph) {}

  Poly poly(const Poly& p) const {
    return p.bind([this](ParamId id) { return g[id].bound; });
  }

  // Recursion through gathered leaves is bounded by the gather depth of 1.
  Form form(const Form& f) {
    Form result(poly(f.base));
    for (const Form::Term& t : f.terms) result = result + poly(t.coeff) * Form::coordinate(t.dim);
    for (const Form::Gather& x : f.gathers)
      result = result + poly(x.coeff) * Form::gathered(leaf(x.leaf));
    return result;
  }

  LeafId leaf(LeafId id) {
    Leaf l = g.leaf(id);
    for (Form& f : l.forms) f = form(f);
    return g.intern(l);
  }

  ExprId expr(ExprId e) {
    if (e == ExprId::none) return e;
    return substitute_leaves(g, e, [this](LeafId id) -> std::optional<ExprId> {
      const Leaf l = g.leaf(id);
      if (l.forms.empty()) return std::nullopt;
      if (l.what == Leaf::What::iota) return g.iota(form(l.form()));
      return g.pool.var(leaf(id), l.kind);
    });
  }

  void all(std::vector<ExprId>& list) {
    for (ExprId& e : list) e = expr(e);
  }

 private:
  Graph& g;
};

class Binder {
 public:
  Binder(Graph& graph, const Bindings& bindings) : g(graph), b(bindings) {}

  Diagnostics run() {
    from_flags();
    from_shapes();
    if (!out_.empty()) return out_;
    defaults();
    extents();
    if (out_.empty()) shapes();
    if (out_.empty()) reads();
    return std::move(out_);
  }

 private:
  Diagnostic& report(std::string id, std::string message, std::string hint = {}) {
    out_.push_back(error(std::move(id), std::move(message), std::move(hint)).value());
    return out_.back();
  }

  void set(ParamId id, int64_t value, std::string source) {
    Param& p = g.params[index(id)];
    if (sources_.size() < g.params.size()) sources_.resize(g.params.size());
    std::string& first = sources_[index(id)];
    if (first.empty()) {
      if (value < 0)
        report(
            "E0409",
            fmt::format("param `{}` is {} by {}, and a size is at least 0", p.name, value, source),
            fmt::format("give `{}` a size of 0 or more", p.name));
      p.bound = value;
      first = std::move(source);
    } else if (p.bound != value) {
      report("E0711",
             fmt::format("param `{}` is {} by {}, but {} by {}", p.name, *p.bound, first, value,
                         source),
             "all sources of a size must agree: change one of them");
    }
  }

  void from_flags() {
    std::vector<std::string> names;
    for (const Param& p : g.params) names.push_back(p.name);
    for (const auto& [name, value] : b.flags) {
      if (const auto id = g.find_param(name)) {
        set(*id, value, fmt::format("-D {}={}", name, value));
        continue;
      }
      std::string hint = suggestion(name, names);
      if (hint.empty())
        hint = names.empty() ? "the program declares no param"
                             : fmt::format("its params are `{}`", fmt::join(names, "`, `"));
      report("E0710", fmt::format("-D {}={}: the program has no param `{}`", name, value, name),
             hint);
    }
  }

  void from_shapes() {
    for (size_t k = 0; k < g.tensors.size(); ++k) {
      const Tensor& t = g.tensors[k];
      const auto given = b.shapes.find(t.name);
      if (t.role == Role::definition || given == b.shapes.end()) continue;
      const std::vector<int64_t>& shape = given->second;
      if (shape.size() != t.shape.size()) {
        report("E0706",
               fmt::format("the array for `{}` has shape {}, but `{}{}` has {} axes", t.name,
                           shape_text(shape), t.name, print_shape(g, t.shape), t.shape.size()),
               "give an array with as many axes");
        continue;
      }
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (const auto id = t.shape[axis].as_param())
          set(*id, shape[axis],
              fmt::format("axis {} of the array for `{}{}`, whose shape is {}", axis, t.name,
                          print_shape(g, t.shape), shape_text(shape)));
    }
  }

  // Params in program order: a default mentions only params before it.
  void defaults() {
    for (Param& p : g.params) {
      if (p.bound) continue;
      bool known = p.value != ExprId::none;
      if (known)
        for (LeafId l : leaves_of(g, p.value))
          for (const Form& f : g.leaf(l).forms) known &= bound_value(g, f.base).has_value();
      if (known) {
        const Value v = evaluate(g.pool, p.value, [this](uint32_t l) {
          return Value::integer(bound_value(g, g.leaf(l).form().base).value_or(0));
        });
        p.bound = v.as_integer();
        if (*p.bound < 0)
          report("E0409",
                 fmt::format("param `{}` is {} by its default, and a size is at least 0", p.name,
                             *p.bound),
                 fmt::format("bind the params it depends on, or add -D {}=…", p.name));
      } else if (b.require_all) {
        report("E0712", fmt::format("param `{}` has no value", p.name),
               fmt::format("add -D {}=…{}", p.name, axis_hint(p.name)));
      }
    }
  }

  std::string axis_hint(const std::string& param) const {
    const ParamId id = *g.find_param(param);
    for (const Tensor& t : g.tensors)
      if (t.role != Role::definition)
        for (const Poly& extent : t.shape)
          if (extent.as_param() == id)
            return fmt::format(", or give an array for `{}` with --in {}=FILE", t.name, t.name);
    return "";
  }

  bool all_bound(const Poly& p) const {
    for (const Poly::Term& t : p.terms())
      for (ParamId id : t.params)
        if (!g[id].bound) return false;
    return true;
  }

  void extent(const std::string& what, const Poly& p) {
    if (!all_bound(p)) return;
    const auto value = bound_value(g, p);
    if (!value) {
      report("E0903",
             fmt::format("{} is {}, which overflows 64 bits at {}", what, print_poly(g, p),
                         values_text(p)),
             "use smaller sizes")
          .exit = Exit::out_of_memory;
    } else if (*value < 0) {
      report("E0409",
             fmt::format("{} is {} = {} at {}, and an extent is at least 0", what, print_poly(g, p),
                         *value, values_text(p)),
             "use larger sizes");
    }
  }

  std::string values_text(const Poly& p) const {
    std::vector<std::string> parts;
    for (size_t k = 0; k < g.params.size(); ++k)
      for (const Poly::Term& t : p.terms())
        if (std::find(t.params.begin(), t.params.end(), static_cast<ParamId>(k)) !=
            t.params.end()) {
          parts.push_back(fmt::format("{} = {}", g.params[k].name, g.params[k].bound.value_or(0)));
          break;
        }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void extents() {
    for (const Dim& d : g.dims) extent(fmt::format("the extent of `{}`", d.name), d.extent);
    for (const Tensor& t : g.tensors) {
      if (t.role == Role::definition) continue;
      for (size_t axis = 0; axis < t.shape.size(); ++axis)
        extent(fmt::format("axis {} of `{}`", axis, t.name), t.shape[axis]);
    }
    if (out_.empty())
      for (const Tensor& t : g.tensors) volume(t);
    for (const Tensor& t : g.tensors) blocks(t);
  }

  // The last axis of a block format, now that the params have values.
  void blocks(const Tensor& t) {
    const int block = info(t.storage()).block;
    if (block == 1 || t.shape.empty()) return;
    const auto last = bound_value(g, t.shape.back());
    if (!last || *last % block == 0) return;
    report("E0304",
           fmt::format("the last axis of `{}{}` is {}, which is not a multiple of the block of {}, "
                       "{}",
                       t.name, print_shape(g, t.shape), *last, name(t.storage()), block),
           "pad the last axis to whole blocks, or choose another format");
  }

  void volume(const Tensor& t) {
    std::vector<int64_t> shape;
    for (const Poly& p : t.shape) {
      const auto n = bound_value(g, p);
      if (!n) return;
      shape.push_back(*n);
    }
    const auto count = element_count(shape);
    if (count && (is_block(t.storage()) || bytes_for(t.storage(), *count))) return;
    const double bytes = std::accumulate(shape.begin(), shape.end(), 4.0, [](double a, int64_t n) {
      return a * static_cast<double>(n);
    });
    report("E0903",
           fmt::format("`{}` of shape {} takes about {:.3g} bytes, more than can be addressed",
                       t.name, shape_text(shape), bytes),
           "use smaller sizes")
        .exit = Exit::out_of_memory;
  }

  // Arrays against the declared shapes, now that the params have values.
  void shapes() {
    for (const Tensor& t : g.tensors) {
      const auto given = b.shapes.find(t.name);
      if (t.role == Role::definition || given == b.shapes.end()) continue;
      std::vector<int64_t> want;
      for (const Poly& p : t.shape)
        if (const auto n = bound_value(g, p)) want.push_back(*n);
      if (want.size() != t.shape.size() || want == given->second) continue;
      report(
          "E0706",
          fmt::format("the array for `{}` has shape {}, but `{}{}` is {}", t.name,
                      shape_text(given->second), t.name, print_shape(g, t.shape), shape_text(want)),
          "give an array of that shape, or change the sizes with -D");
    }
  }

  void reads() {
    bool any = false;
    for (const Param& p : g.params) any |= p.bound.has_value();
    if (!any) return;
    const Graph bound = with_bound_params(g);
    for (const Node& n : bound.nodes) {
      if (!n.alive || n.gradient) continue;
      std::vector<LeafId> inside;
      for (const Fold& f : n.folds)
        for (ExprId e : f.args)
          for (LeafId l : leaves_of(bound, e)) inside.push_back(l);
      for (LeafId l : leaves_of(bound, n)) {
        const bool guarded = std::find(inside.begin(), inside.end(), l) != inside.end();
        if (bound.leaf(l).what == Leaf::What::read && !bound.leaf(l).guarded)
          read(bound, n, bound.leaf(l), guarded ? n.guards : std::vector<Guard>{});
      }
    }
  }

  void read(const Graph& bound, const Node& n, const Leaf& l, const std::vector<Guard>& guards) {
    for (DimId d : n.points)
      if (bound.extent(d).is_zero()) return;
    for (size_t axis = 0; axis < l.forms.size(); ++axis) {
      const Form& f = l.forms[axis];
      const auto size = bound[l.tensor].shape[axis].constant();
      if (!f.is_affine() || !size) continue;
      if (prove_inside(bound, f, *size, guards) == Proof::holds) continue;
      const auto r = range(f, [&](DimId d) { return bound.extent(d); });
      if (!r || !r->lo.is_constant() || !r->hi.is_constant()) continue;
      const Tensor& t = g[l.tensor];
      Diagnostic& d = report(
          "E0401",
          fmt::format("`{}` reads axis {} of `{}{}` at {}, which runs over {}…{}, but it has {}",
                      g[n.targets[0].tensor].name, axis, t.name, print_shape(g, t.shape),
                      print_form(bound, f), *r->lo.constant(), *r->hi.constant(),
                      *size > 0 ? fmt::format("0…{}", *size - 1) : "no elements"),
          fmt::format("change the sizes, or write `{}?[…]` to read a fill outside", t.name));
      d.where = n.where;
    }
  }

  Graph& g;
  const Bindings& b;
  std::vector<std::string> sources_;
  Diagnostics out_;
};

}  // namespace

std::optional<int64_t> bound_value(const Graph& g, const Poly& p) {
  std::vector<int64_t> values;
  for (const Param& param : g.params) values.push_back(param.bound.value_or(0));
  for (const Poly::Term& t : p.terms())
    for (ParamId id : t.params)
      if (!g[id].bound) return std::nullopt;
  return p.evaluate(values);
}

Graph with_bound_params(const Graph& g) {
  Graph result = g;
  Substitution s(result);
  for (Dim& d : result.dims) d.extent = s.poly(d.extent);
  for (Tensor& t : result.tensors)
    for (Poly& p : t.shape) p = s.poly(p);
  for (Monoid& m : result.monoids) {
    s.all(m.identity);
    s.all(m.lift);
    s.all(m.combine);
    s.all(m.fin);
  }
  for (Node& n : result.nodes) {
    if (!n.alive) continue;
    map_exprs(n, [&](ExprId e) { return s.expr(e); });
    for (Guard& guard : n.guards)
      if (guard.what != Guard::What::data) guard.form = s.form(guard.form);
  }
  return result;
}

Diagnostics bind(Graph& g, const Bindings& bindings) { return Binder(g, bindings).run(); }

}  // namespace tang
