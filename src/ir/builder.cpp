#include "ir/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/builder_impl.h"
#include "ir/monoids.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/widths.h"

namespace tang {

namespace {

constexpr std::string_view reserved[] = {
    "param", "dim",  "input", "output",   "grad", "fn",      "monoid",      "sorted",
    "into",  "with", "where", "identity", "lift", "combine", "commutative", "and",
    "or",    "not",  "inf",   "nan",      "true", "false"};

template <class T>
bool has(const std::vector<T>& all, const T& x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

}  // namespace

void Builder::Impl::fail(std::string id, std::string message, std::string hint) {
  if (!problem) problem = error(std::move(id), std::move(message), std::move(hint)).value();
}

void Builder::Impl::fail(Diagnostic d) {
  if (!problem) problem = std::move(d);
}

ExprId Builder::Impl::node_of(const Expr& e, std::string_view what) {
  const ExprId id = e.in(tracer);
  if (id == ExprId::none && !e.broken())
    fail("E0209", fmt::format("{} belongs to another builder", what),
         "build one graph with one builder");
  if (id == ExprId::none && e.broken() && !problem)
    fail("E0209", fmt::format("{} is empty", what), "a handle was used before it was made");
  return id;
}

bool Builder::Impl::free_name(const std::string& name) {
  const auto letter = [](char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
  };
  bool fits = !name.empty();
  for (size_t k = 0; k < name.size(); ++k) fits = fits && letter(name[k], k == 0);
  if (!fits) {
    fail("E0102", fmt::format("`{}` is not a name", name),
         "letters, digits and _, not a digit first");
  } else if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved)) {
    fail("E0105", fmt::format("`{}` is reserved", name),
         fmt::format("write another name, as in `{}_1`", name));
  } else if (g.find_param(name) || g.find_dim(name) || g.find_tensor(name)) {
    fail("E0202", fmt::format("`{}` is defined twice", name), "a name is defined once");
  } else {
    return true;
  }
  return false;
}

std::optional<Poly> Builder::Impl::poly(const Extent& e, const std::string& of) {
  if (e.index) return index_ok(*e.index) ? std::optional(g.extent(e.index->dim())) : std::nullopt;
  const ExprId id = node_of(e.value, fmt::format("an extent of `{}`", of));
  if (id == ExprId::none) return std::nullopt;
  const auto f = g.as_form(id);
  if (f && f->is_constant()) return f->base;
  fail("E0403", fmt::format("an extent of `{}` is no polynomial of params", of),
       "an extent is built from integers, params and dims with + - *");
  return std::nullopt;
}

bool Builder::Impl::index_ok(const Index& i) {
  const ExprId id = node_of(i, "an index");
  return id != ExprId::none;
}

std::optional<std::vector<DimId>> Builder::Impl::dims_of_all(const std::vector<Index>& all,
                                                             std::string_view where) {
  std::vector<DimId> dims;
  for (const Index& i : all) {
    if (!index_ok(i)) return std::nullopt;
    if (has(dims, i.dim())) {
      fail("E0205", fmt::format("index `{}` stands twice {}", g[i.dim()].name, where),
           "two indices over one axis are two dims");
      return std::nullopt;
    }
    dims.push_back(i.dim());
  }
  return dims;
}

bool Builder::Impl::merge_points(const std::vector<TargetSpec>& targets, Node& n) {
  std::vector<const TargetSpec*> longest_first;
  for (const TargetSpec& t : targets) longest_first.push_back(&t);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](auto* a, auto* b) { return a->points.size() > b->points.size(); });
  for (const TargetSpec* t : longest_first) {
    const auto dims = dims_of_all(t->points, fmt::format("on `{}`", t->name.name));
    if (!dims) return false;
    for (DimId d : *dims)
      if (!has(n.points, d)) n.points.push_back(d);
  }
  return true;
}

std::vector<TensorRef> Builder::Impl::finish(const std::vector<TargetSpec>& targets,
                                             const std::vector<ExprId>& values, Node n) {
  const std::vector<TensorRef> broken(targets.size());
  std::vector<Tensor> made;
  for (size_t k = 0; k < targets.size(); ++k) {
    const Named& named = targets[k].name;
    if (!free_name(named.name)) return broken;
    Tensor t;
    t.name = named.name;
    t.format = named.format;
    t.kind = named.format ? kind(*named.format) : g.pool[values[k]].kind;
    if (named.format && is_block(*named.format)) {
      fail("E0303", fmt::format("`{}` is a format of inputs only", name(*named.format)),
           "store a definition in a plain format: f16, bf16, i8, …");
      return broken;
    }
    Target target;
    target.value = values[k];
    for (const Index& i : targets[k].points) {
      target.points.push_back(i.dim());
      t.shape.push_back(g.extent(i.dim()));
    }
    for (const Tensor& other : made)
      if (other.name == t.name)
        return fail("E0202", fmt::format("`{}` is defined twice", t.name)), broken;
    made.push_back(std::move(t));
    n.targets.push_back(std::move(target));
  }
  return add(std::move(made), std::move(n));
}

std::vector<TensorRef> Builder::Impl::add(std::vector<Tensor> made, Node n) {
  const size_t tensors = g.tensors.size(), nodes = g.nodes.size();
  std::vector<TensorRef> refs;
  for (size_t k = 0; k < made.size(); ++k) {
    n.targets[k].tensor = g.add_tensor(std::move(made[k]));
    refs.emplace_back(builder, n.targets[k].tensor);
  }
  const NodeId id = g.add_node(std::move(n));
  const Diagnostics found = verify_node(g, id);
  if (found.empty()) return refs;
  fail(found[0]);
  g.tensors.resize(tensors);
  g.nodes.resize(nodes);
  return std::vector<TensorRef>(refs.size());
}

std::optional<std::vector<uint32_t>> Builder::Impl::picks(size_t targets,
                                                          const std::vector<FoldSpec>& folds) {
  std::vector<uint32_t> single, flat;
  bool numbers = true;
  uint32_t first = 0;
  for (const FoldSpec& f : folds) {
    const auto count = static_cast<uint32_t>(g[f.fold.monoid].outputs.size());
    numbers = numbers && f.value >= 0;
    single.push_back(first + static_cast<uint32_t>(std::max(f.value, 0)));
    if (f.picked) flat.push_back(single.back());
    for (uint32_t k = 0; !f.picked && k < count; ++k) flat.push_back(first + k);
    first += count;
  }
  if (numbers && single.size() == targets) return single;
  if (flat.size() == targets) return flat;
  if (targets == 1 && folds.size() == 1)
    fail("E0305",
         fmt::format("`{}` has {} fields, and one number is needed here",
                     g[folds[0].fold.monoid].name, flat.size()),
         fmt::format("pick a field: {}", fmt::join(g[folds[0].fold.monoid].outputs, ", ")));
  else
    fail("E0305", fmt::format("{} targets for {} components", targets, flat.size()),
         "name one target for each component, in order");
  return std::nullopt;
}

std::optional<std::vector<ExprId>> Builder::Impl::fold_values(size_t targets,
                                                              const std::vector<FoldSpec>& folds,
                                                              const Node& n,
                                                              const Epilogue& epilogue) {
  std::vector<ExprId> all;
  std::vector<std::string> names;
  for (const auto& [f, k] : g.state_outputs(n)) {
    const Monoid& m = g[n.folds[f].monoid];
    all.push_back(g.state(static_cast<uint32_t>(all.size()), m.output_kinds[k]));
    names.push_back(m.outputs[k]);
  }
  if (epilogue) return nodes_of(epilogue(states(all, names)), {}, "a value");
  const auto chosen = picks(targets, folds);
  if (!chosen) return std::nullopt;
  std::vector<ExprId> values;
  for (uint32_t k : *chosen) values.push_back(all[k]);
  return values;
}

std::vector<TensorRef> Builder::Impl::define(const std::vector<TargetSpec>& targets,
                                             const std::vector<FoldSpec>& folds,
                                             const Epilogue& epilogue) {
  const std::vector<TensorRef> broken(targets.size());
  Node n;
  if (folds.empty())
    return fail("E0507", "a definition without a fold is a map", "use map"), broken;
  for (const FoldSpec& f : folds) {
    if (!f.ok) return broken;
    if (f.reduce != folds[0].reduce || f.guards != folds[0].guards ||
        (f.scan && folds.size() > 1)) {
      fail("E0507", "these reductions do not run over the same indices",
           "one definition has one index set: give each binder the same indices and condition");
      return broken;
    }
    n.folds.push_back(f.fold);
  }
  n.reduce = folds[0].reduce;
  n.guards = folds[0].guards;
  n.scan = folds[0].scan;
  if (!merge_points(targets, n)) return broken;
  const auto values = fold_values(targets.size(), folds, n, epilogue);
  if (!values) return broken;
  if (!counts_fit(targets.size(), values->size())) return broken;
  return finish(targets, *values, std::move(n));
}

bool Builder::Impl::counts_fit(size_t targets, size_t values) {
  if (targets == values) return true;
  fail("E0305",
       fmt::format("{} target{} for {} component{}", targets, targets == 1 ? "" : "s", values,
                   values == 1 ? "" : "s"),
       "name one target for each component, in order");
  return false;
}

Builder::Builder() : impl_(std::make_unique<Impl>(this)) {}
Builder::~Builder() = default;

const std::optional<Diagnostic>& Builder::problem() const { return impl_->problem; }

Expr Builder::param(const std::string& name) {
  if (!impl_->free_name(name)) return Expr();
  return impl_->expr(impl_->g.iota(Form(Poly::param(impl_->g.add_param(name)))));
}

Expr Builder::param(const std::string& name, const Expr& value) {
  const ExprId id = impl_->node_of(value, fmt::format("the value of `{}`", name));
  if (id == ExprId::none || !impl_->free_name(name)) return Expr();
  if (impl_->g.pool[id].kind != Kind::integer || !dims_of(impl_->g, id).empty()) {
    impl_->fail("E0403", fmt::format("the value of param `{}` is no integer over params", name));
    return Expr();
  }
  return impl_->expr(impl_->g.iota(Form(Poly::param(impl_->g.add_param(name, id)))));
}

Index Builder::dim(const std::string& name, const Extent& extent) {
  const auto size = impl_->poly(extent, name);
  if (!size || !impl_->free_name(name)) return Index();
  if (size->constant().value_or(0) < 0) {
    impl_->fail("E0409", fmt::format("the extent of `{}` is {}", name, *size->constant()),
                "an extent is at least 0");
    return Index();
  }
  const DimId d = impl_->g.add_dim(name, *size);
  return Index(this, d, impl_->expr(impl_->g.iota(Form::coordinate(d))));
}

TensorRef Builder::input(const std::string& name, const std::vector<Extent>& shape, Format format) {
  Tensor t;
  t.name = name;
  t.role = Role::input;
  t.format = format;
  t.kind = kind(format);
  for (const Extent& e : shape) {
    const auto size = impl_->poly(e, name);
    if (!size) return TensorRef();
    t.shape.push_back(*size);
    t.axes.push_back(e.index ? impl_->g[e.index->dim()].name : print_poly(impl_->g, *size));
    if (e.index && !has(t.axis_dims, e.index->dim())) t.axis_dims.push_back(e.index->dim());
  }
  if (!impl_->free_name(name)) return TensorRef();
  if (is_block(format)) {
    const auto last = t.shape.empty() ? std::nullopt : t.shape.back().constant();
    if (t.shape.empty() || (last && *last % info(format).block != 0)) {
      impl_->fail(
          "E0304",
          fmt::format("the last axis of `{}{}` is not a multiple of the block of {}, {}", name,
                      print_shape(impl_->g, t.shape), tang::name(format), info(format).block));
      return TensorRef();
    }
  }
  return TensorRef(this, impl_->g.add_tensor(std::move(t)));
}

void Builder::sorted(const TensorRef& t) {
  if (t.broken()) return;
  Tensor& tensor = impl_->g[t.id()];
  if (tensor.shape.empty())
    impl_->fail("E0212", fmt::format("`{}` has no axis to be sorted along", tensor.name));
  else
    tensor.sorted = true;
}

MonoidRef Builder::monoid(MonoidSpec spec) {
  const bool taken = std::any_of(impl_->specs.begin(), impl_->specs.end(),
                                 [&](const MonoidSpec& s) { return s.name == spec.name; });
  if (is_builtin_monoid(spec.name) || function_named(spec.name))
    impl_->fail("E0214", fmt::format("`{}` is a built-in operation", spec.name));
  else if (taken)
    impl_->fail("E0202", fmt::format("operation `{}` is defined twice", spec.name));
  if (!spec.combine) {
    impl_->fail("E0506", fmt::format("monoid `{}` has no combine", spec.name));
    spec.combine = [](const States& a, const States&) { return Parts(a[0]); };
  }
  impl_->specs.push_back(std::move(spec));
  MonoidRef r("");
  r.spec_ = static_cast<int>(impl_->specs.size() - 1);
  return r;
}

std::vector<TensorRef> Builder::map_values(const std::vector<TargetSpec>& targets,
                                           const Parts& values) {
  const std::vector<TensorRef> broken(targets.size());
  Node n;
  if (!impl_->merge_points(targets, n)) return broken;
  const auto ids = impl_->nodes_of(values, {}, "a value");
  if (!ids || !impl_->counts_fit(targets.size(), ids->size())) return broken;
  return impl_->finish(targets, *ids, std::move(n));
}

FoldSpec Builder::make_fold(const MonoidRef& m, const Over& over, const Parts& args) {
  return impl_->make_fold(m, over, args);
}
FoldSpec Builder::make_scan(const Along& along, const Parts& args) {
  return impl_->make_scan(along, args);
}

std::vector<TensorRef> Builder::define(const std::vector<TargetSpec>& targets,
                                       const std::vector<FoldSpec>& folds,
                                       const Epilogue& epilogue) {
  return impl_->define(targets, folds, epilogue);
}

std::string Builder::unnamed() const {
  for (int k = 1;; ++k)
    if (const std::string name = "t_" + std::to_string(k); impl_->g.fresh_name(name) == name)
      return name;
}

void Builder::output(const TensorRef& t) { output(t, TensorRef()); }

void Builder::output(const TensorRef& t, const TensorRef& into) {
  if (t.broken()) return;
  impl_->g.outputs.push_back({t.id(), into.id()});
  if (Diagnostics found = verify(impl_->g); !found.empty()) {
    impl_->g.outputs.pop_back();
    impl_->fail(found[0]);
  }
}

TensorRef Builder::tensor(const std::string& name) {
  if (const auto t = impl_->g.find_tensor(name)) return TensorRef(this, *t);
  impl_->fail("E0201", fmt::format("there is no tensor `{}`", name));
  return TensorRef();
}

std::vector<TensorRef> Builder::grad(const std::vector<Seed>& seeds,
                                     const std::vector<Wrt>& results) {
  const std::vector<TensorRef> broken(results.size());
  Graph& g = impl_->g;
  const auto real = [&](const TensorRef& t) {
    if (t.broken()) return false;
    if (g[t.id()].kind == Kind::real) return true;
    impl_->fail("E0602", fmt::format("`{}` is {}, only reals have gradients", g[t.id()].name,
                                     name(g[t.id()].kind)));
    return false;
  };
  for (const Seed& s : seeds) {
    if (!real(s.of)) return broken;
    if (s.cotangent.empty() && !g[s.of.id()].shape.empty()) {
      impl_->fail("E0601",
                  fmt::format("`{}{}` is not a single number, so its gradient needs a cotangent",
                              g[s.of.id()].name, print_shape(g, g[s.of.id()].shape)));
      return broken;
    }
    if (!s.cotangent.empty() && !impl_->free_name(s.cotangent)) return broken;
  }
  for (const Wrt& w : results)
    if (!real(w.of) || !impl_->free_name(w.name)) return broken;
  Node n;
  n.gradient.emplace();
  for (const Seed& s : seeds) {
    TensorId cotangent = TensorId::none;
    if (!s.cotangent.empty()) {
      Tensor d;
      d.name = s.cotangent;
      d.shape = g[s.of.id()].shape;
      for (const Poly& p : d.shape) d.axes.push_back(print_poly(g, p));
      d.format = g[s.of.id()].storage();
      d.role = Role::cotangent;
      cotangent = g.add_tensor(std::move(d));
    }
    n.gradient->seeds.push_back({s.of.id(), cotangent});
  }
  std::vector<Tensor> made;
  for (const Wrt& w : results) {
    n.gradient->wrt.push_back(w.of.id());
    n.targets.push_back({TensorId::none, {}, ExprId::none});
    Tensor t;
    t.name = w.name;
    t.shape = g[w.of.id()].shape;
    made.push_back(std::move(t));
  }
  return impl_->add(std::move(made), std::move(n));
}

Expr Builder::read(TensorId t, const std::vector<Expr>& position, Outside outside,
                   const Expr& fill) {
  return impl_->expr(impl_->read(t, position, outside, fill));
}

Expr Builder::size(DimId d) { return impl_->expr(impl_->g.iota(Form(impl_->g.extent(d)))); }

Result<Graph> Builder::build() const {
  if (impl_->problem) return tl::unexpected(*impl_->problem);
  Graph g = impl_->g;
  const std::vector<std::vector<NodeId>> readers = g.readers();
  for (const Node& n : g.nodes)
    if (n.gradient)
      for (const Target& t : n.targets)
        if (readers[index(t.tensor)].empty() && !g.is_output(t.tensor))
          g.outputs.push_back({t.tensor, TensorId::none});
  if (g.outputs.empty()) return error("E0208", "the program has no output", "call output(t)");
  mark_wide(g);
  if (Diagnostics found = verify(g); !found.empty()) return tl::unexpected(found[0]);
  return g;
}

}  // namespace tang
