#include "ir/print.h"

#include <algorithm>
#include <set>

#include "ir/guards.h"
#include "ir/monoids.h"
#include "ir/print_expr.h"

namespace tang {

namespace {

std::string join(const std::vector<std::string>& parts, const std::string& separator = ", ") {
  std::string s;
  for (size_t k = 0; k < parts.size(); ++k) s += (k ? separator : "") + parts[k];
  return s;
}

std::string tuple(const std::vector<std::string>& parts) {
  return parts.size() == 1 ? parts[0] : "(" + join(parts) + ")";
}

std::string dim_names(const Graph& g, const std::vector<DimId>& dims) {
  std::vector<std::string> names;
  for (DimId d : dims) names.push_back(g[d].name);
  return join(names);
}

std::string format_suffix(const std::optional<Format>& f) {
  return f ? " : " + std::string(name(*f)) : "";
}

std::string print_target(const Graph& g, const Target& t) {
  const Tensor& tensor = g[t.tensor];
  return tensor.name + (t.points.empty() ? "" : "[" + dim_names(g, t.points) + "]") +
         format_suffix(tensor.format);
}

class NodePrinter {
 public:
  NodePrinter(const Graph& g, const Node& n) : g(g), n(n) {}

  std::string text() {
    if (n.gradient) return gradient();
    std::vector<std::string> targets, values;
    for (const Target& t : n.targets) targets.push_back(print_target(g, t));
    const std::string left = tuple(targets) + " = ";
    if (n.folds.empty()) return left + tuple(map_values());
    if (const auto direct = projections()) return left + *direct;
    const std::vector<std::string> states = state_names(g, n);
    const ExprPrinter printer(g, {states, Value::real(0)});
    for (const Target& t : n.targets) values.push_back(printer.text(t.value));
    return left + tuple(values) + "\n  where " + tuple(states) + " = " + folds();
  }

 private:
  std::vector<std::string> map_values() {
    std::vector<std::string> values;
    for (const Target& t : n.targets) values.push_back(ExprPrinter(g, {}).text(t.value));
    return values;
  }

  // The folds alone, when the targets are exactly their outputs: `s = sum(…)`,
  // `i = argmax(…).index`, `(w, e) = topk(…)`.
  std::optional<std::string> projections() {
    std::vector<uint32_t> numbers;
    for (const Target& t : n.targets) {
      const ExprNode& value = g.pool[t.value];
      if (value.op != Op::var || g.leaf(value.variable()).what != Leaf::What::state)
        return std::nullopt;
      numbers.push_back(g.leaf(value.variable()).number);
    }
    const auto outputs = g.state_outputs(n);
    if (numbers.size() == 1 && n.folds.size() == 1) {
      const Monoid& m = g[n.folds[0].monoid];
      if (m.value == static_cast<int>(numbers[0])) return folds();
      return folds() + "." + m.outputs[numbers[0]];
    }
    if (numbers.size() != outputs.size()) return std::nullopt;
    for (uint32_t k = 0; k < numbers.size(); ++k)
      if (numbers[k] != k) return std::nullopt;
    const bool plain =
        n.folds.size() == 1 || std::all_of(n.folds.begin(), n.folds.end(), [this](const Fold& f) {
          return g[f.monoid].outputs.size() == 1;
        });
    return plain ? std::optional(folds()) : std::nullopt;
  }

  std::string folds() {
    std::vector<std::string> parts;
    for (const Fold& f : n.folds) parts.push_back(fold(f));
    return tuple(parts);
  }

  std::string fold(const Fold& f) {
    const Monoid& m = g[f.monoid];
    std::vector<std::string> args;
    const ExprPrinter printer(g, {{}, default_fill(g, f.monoid)});
    const size_t written = f.args.size() - (m.flat_index ? 1 : 0);
    for (size_t k = 0; k < written; ++k) args.push_back(printer.text(f.args[k]));
    if (n.scan)
      for (ExprId e : n.scan->initial) args.push_back(ExprPrinter(g, {}).text(e));
    return head(f, m) + "(" + join(args) + ")";
  }

  std::string head(const Fold& f, const Monoid& m) {
    if (n.scan) return scan_head(m);
    std::string s = m.name + "[" + dim_names(g, n.reduce);
    if (f.entry) s += "; " + g[*f.entry].name;
    if (!n.guards.empty()) s += " | " + condition();
    return s + "]";
  }

  std::string scan_head(const Monoid& m) {
    const Scan& scan = *n.scan;
    const std::string along = g[scan.along].name;
    if (scan.matrix)
      return "matscan[" + along + "; " + g[scan.matrix->first].name + ", " +
             g[scan.matrix->second].name + "]";
    std::vector<std::string> modifiers;
    if (m.name != "affine" || scan.exclusive || scan.reverse || scan.initial.empty())
      modifiers.push_back(m.name);
    if (m.name == "affine" && !scan.exclusive && !scan.reverse) modifiers.clear();
    if (scan.exclusive) modifiers.push_back("exclusive");
    if (scan.reverse) modifiers.push_back("reverse");
    return "scan[" + along + (modifiers.empty() ? "" : "; " + join(modifiers)) + "]";
  }

  std::string condition() {
    std::vector<std::string> parts;
    for (const Guard& guard : n.guards) parts.push_back(print_guard(guard));
    return join(parts, " and ");
  }

  std::string print_guard(const Guard& guard) {
    if (guard.what == Guard::What::data) {
      const std::string s = ExprPrinter(g, {}).text(guard.condition);
      return g.pool[guard.condition].op == Op::logical_or && n.guards.size() > 1 ? "(" + s + ")"
                                                                                 : s;
    }
    auto [left, right] = sides(guard.form);
    const bool strict = guard.what == Guard::What::bound && left.base.constant_term() >= 1;
    if (strict) left = left - Form(1);
    const std::string op = guard.what == Guard::What::zero ? " == " : strict ? " < " : " <= ";
    return guard.what == Guard::What::zero ? print_form(g, right) + op + print_form(g, left)
                                           : print_form(g, left) + op + print_form(g, right);
  }

  std::string gradient() {
    std::vector<std::string> seeds, names;
    for (const Gradient::Seed& s : n.gradient->seeds)
      seeds.push_back(g[s.of].name +
                      (s.cotangent == TensorId::none ? "" : " with " + g[s.cotangent].name));
    for (size_t k = 0; k < n.targets.size(); ++k)
      names.push_back(g[n.targets[k].tensor].name + ": " + g[n.gradient->wrt[k]].name);
    return "grad " + join(seeds) + " -> " + join(names);
  }

  const Graph& g;
  const Node& n;
};

std::string print_monoid(const Graph& g, const Monoid& m) {
  // Leaves of a user monoid print by name, as if they were scalars that can be read: arguments
  // alone, states as fields of a and b. Operands stand in this order.
  Graph named = g;
  const auto scalars = [&](const std::string& prefix, const std::vector<std::string>& names) {
    std::vector<TensorId> made;
    for (const std::string& name : names) {
      Tensor t;
      t.name = prefix + name;
      made.push_back(named.add_tensor(t));
    }
    return made;
  };
  const std::vector<TensorId> arguments = scalars("", m.arguments), left = scalars("a.", m.fields),
                              right = scalars("b.", m.fields);
  const auto spell = [&](ExprId e) {
    return ExprPrinter(named, {}).text(substitute_leaves(named, e, [&](LeafId id) {
      const Leaf l = named.leaf(id);
      Leaf r;
      r.what = Leaf::What::read;
      r.kind = l.kind;
      r.tensor = (l.what == Leaf::What::argument ? arguments
                  : l.what == Leaf::What::left   ? left
                                                 : right)[l.number];
      return std::optional(named.variable(r));
    }));
  };
  const auto spell_all = [&](const std::vector<ExprId>& es) {
    std::vector<std::string> parts;
    for (ExprId e : es) parts.push_back(spell(e));
    return tuple(parts);
  };
  std::string s = "monoid " + m.name + "(" + join(m.fields) + ")\n";
  s += "  identity " + spell_all(m.identity) + "\n";
  s += "  lift(" + join(m.arguments) + ") = " + spell_all(m.lift) + "\n";
  s += "  combine(a, b) = " + spell_all(m.combine) + "\n";
  if (m.commutative) s += "  commutative\n";
  return s;
}

// Dims mentioned anywhere in live nodes and inputs.
std::set<DimId> used_dims(const Graph& g, const std::vector<NodeId>& order) {
  std::set<DimId> used;
  for (const Tensor& t : g.tensors)
    if (t.role == Role::input) used.insert(t.axis_dims.begin(), t.axis_dims.end());
  for (NodeId id : order) {
    const Node& n = g[id];
    used.insert(n.points.begin(), n.points.end());
    used.insert(n.reduce.begin(), n.reduce.end());
    for (const Target& t : n.targets) used.insert(t.points.begin(), t.points.end());
    if (n.scan && n.scan->matrix) used.insert({n.scan->matrix->first, n.scan->matrix->second});
  }
  return used;
}

std::string print_params(const Graph& g) {
  std::vector<std::string> parts;
  for (const Param& p : g.params)
    parts.push_back(p.name + (p.value == ExprId::none ? "" : " = " + print_extent(g, p.value)));
  return parts.empty() ? "" : "param " + join(parts) + "\n";
}

std::string print_dims(const Graph& g, const std::vector<NodeId>& order) {
  std::vector<std::string> parts;
  for (DimId d : used_dims(g, order))
    parts.push_back(g[d].name + " = " + print_poly(g, g.extent(d)));
  return parts.empty() ? "" : "dim " + join(parts) + "\n";
}

std::string print_input(const Tensor& t) {
  std::string s = "input " + t.name + (t.axes.empty() ? "" : "[" + join(t.axes) + "]");
  if (t.format && *t.format != Format::f32) s += format_suffix(t.format);
  return s + "\n" + (t.sorted ? "sorted " + t.name + "\n" : "");
}

std::string print_outputs(const Graph& g) {
  std::vector<std::string> parts;
  for (const Output& o : g.outputs)
    parts.push_back(g[o.tensor].name + (o.into == TensorId::none ? "" : " into " + g[o.into].name));
  return parts.empty() ? "" : "output " + join(parts) + "\n";
}

}  // namespace

namespace {

void insert_params(const Graph& g, const Form& f, std::set<std::string>& names) {
  const auto insert = [&](const Poly& p) {
    for (const Poly::Term& t : p.terms())
      for (ParamId id : t.params) names.insert(g[id].name);
  };
  insert(f.base);
  for (const Form::Term& t : f.terms) insert(t.coeff);
  for (const Form::Gather& t : f.gathers) insert(t.coeff);
}

}  // namespace

std::vector<std::string> state_names(const Graph& g, const Node& n) {
  std::set<std::string> taken;
  for (DimId d : n.points) taken.insert(g[d].name);
  for (DimId d : n.reduce) taken.insert(g[d].name);
  for (TensorId t : tensors_read(g, n)) taken.insert(g[t].name);
  for (LeafId l : leaves_of(g, n))
    for (const Form& f : g.leaf(l).forms) insert_params(g, f, taken);
  for (const Guard& guard : n.guards) insert_params(g, guard.form, taken);
  std::vector<std::string> names;
  char next = 'a';
  for (const auto& [fold, output] : g.state_outputs(n)) {
    const std::string& field = g[n.folds[fold].monoid].outputs[output];
    const std::string base = field.empty() ? std::string(1, next++) : field;
    std::string name = base;
    for (int k = 1; !taken.insert(name).second; ++k) name = base + "_" + std::to_string(k);
    names.push_back(name);
  }
  return names;
}

std::string print_node(const Graph& g, NodeId id) { return NodePrinter(g, g[id]).text(); }

std::string print(const Graph& g) {
  const std::vector<NodeId> order = g.order();
  std::string s = print_params(g) + print_dims(g, order);
  for (const Tensor& t : g.tensors)
    if (t.role == Role::input) s += print_input(t);
  std::set<MonoidId> monoids;
  for (NodeId id : order)
    for (const Fold& f : g[id].folds)
      if (!g[f.monoid].builtin) monoids.insert(f.monoid);
  std::set<std::string> defined;  // one monoid used with several kinds is one definition
  for (MonoidId m : monoids)
    if (defined.insert(g[m].name).second) s += print_monoid(g, g[m]);
  for (NodeId id : order) {
    s += print_node(g, id) + "\n";
    for (const Target& t : g[id].targets)
      if (g[t.tensor].sorted) s += "sorted " + g[t.tensor].name + "\n";
  }
  return s + print_outputs(g);
}

}  // namespace tang
