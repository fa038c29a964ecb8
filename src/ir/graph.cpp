#include "ir/graph.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tang {

Format Tensor::storage() const {
  if (format) return *format;
  if (kind == Kind::boolean) return Format::boolean;
  if (kind == Kind::integer) return wide ? Format::i64 : Format::i32;
  return Format::f32;
}

Value Leaf::fill() const {
  if (fill_kind == Kind::real) return Value::real(std::bit_cast<double>(fill_bits));
  const auto i = std::bit_cast<int64_t>(fill_bits);
  return fill_kind == Kind::integer ? Value::integer(i) : Value::boolean(i != 0);
}

void Leaf::set_fill(const Value& v) {
  fill_kind = v.kind;
  fill_bits = v.kind == Kind::real ? std::bit_cast<uint64_t>(v.r) : std::bit_cast<uint64_t>(v.i);
}

ParamId Graph::add_param(std::string name, ExprId value) {
  params.push_back({std::move(name), value, std::nullopt});
  return static_cast<ParamId>(params.size() - 1);
}

DimId Graph::add_dim(std::string name, Poly extent) {
  dims.push_back({std::move(name), std::move(extent)});
  return static_cast<DimId>(dims.size() - 1);
}

TensorId Graph::add_tensor(Tensor t) {
  tensors.push_back(std::move(t));
  return static_cast<TensorId>(tensors.size() - 1);
}

NodeId Graph::add_node(Node n) {
  const auto id = static_cast<NodeId>(nodes.size());
  for (const Target& t : n.targets) tensors[index(t.tensor)].node = id;
  nodes.push_back(std::move(n));
  return id;
}

namespace {

template <class Id, class Named>
std::optional<Id> find(const std::vector<Named>& all, std::string_view name) {
  for (size_t k = 0; k < all.size(); ++k)
    if (all[k].name == name) return static_cast<Id>(k);
  return std::nullopt;
}

}  // namespace

std::optional<TensorId> Graph::find_tensor(std::string_view name) const {
  return find<TensorId>(tensors, name);
}
std::optional<DimId> Graph::find_dim(std::string_view name) const {
  return find<DimId>(dims, name);
}
std::optional<ParamId> Graph::find_param(std::string_view name) const {
  return find<ParamId>(params, name);
}

std::string Graph::fresh_name(const std::string& base) const {
  const auto taken = [this](const std::string& n) {
    return find_tensor(n) || find_dim(n) || find_param(n);
  };
  if (!taken(base)) return base;
  for (int k = 1;; ++k)
    if (const std::string name = base + "_" + std::to_string(k); !taken(name)) return name;
}

DimId Graph::fresh_dim(DimId d) {
  const Dim copy = dims[index(d)];
  for (int k = 1;; ++k)
    if (const std::string name = copy.name + "_" + std::to_string(k);
        !find_tensor(name) && !find_dim(name) && !find_param(name))
      return add_dim(name, copy.extent);
}

LeafId Graph::intern(const Leaf& leaf) {
  const auto [it, inserted] = leaf_index_.try_emplace(leaf, static_cast<LeafId>(leaves_.size()));
  if (inserted) leaves_.push_back(leaf);
  return it->second;
}

ExprId Graph::read(TensorId t, std::vector<Form> forms) {
  Leaf l;
  l.what = Leaf::What::read;
  l.kind = tensors[index(t)].kind;
  l.tensor = t;
  l.forms = std::move(forms);
  return variable(l);
}

ExprId Graph::guarded_read(TensorId t, std::vector<Form> forms, const Value& fill) {
  Leaf l;
  l.what = Leaf::What::read;
  l.kind = tensors[index(t)].kind;
  l.tensor = t;
  l.forms = std::move(forms);
  l.guarded = true;
  l.set_fill(fill);
  return variable(l);
}

ExprId Graph::iota(Form form) {
  if (form.is_constant())
    if (const auto c = form.base.constant()) return pool.integer(*c);
  if (form.gathers.size() == 1 && form.terms.empty() && form.base.is_zero() &&
      form.gathers[0].coeff == Poly(1))
    return pool.var(form.gathers[0].leaf, Kind::integer);
  Leaf l;
  l.what = Leaf::What::iota;
  l.forms = {std::move(form)};
  return variable(l);
}

ExprId Graph::state(uint32_t number, Kind kind) {
  Leaf l;
  l.what = Leaf::What::state;
  l.kind = kind;
  l.number = number;
  return variable(l);
}

std::optional<Form> Graph::as_form(ExprId e, bool gathers) {
  const ExprNode n = pool[e];
  if (n.kind != Kind::integer) return std::nullopt;
  if (n.op == Op::constant) return Form(n.value().i);
  if (n.op == Op::var) {
    const Leaf& l = leaf(n.variable());
    if (l.what == Leaf::What::iota && (gathers || l.form().is_affine())) return l.form();
    if (l.what == Leaf::What::read && gathers) return Form::gathered(n.variable());
    return std::nullopt;
  }
  // Affine arithmetic is folded into iotas as it is built, so only sums that gather are left here.
  if (!gathers) return std::nullopt;
  if (n.op == Op::neg) {
    const auto a = as_form(n.args[0], true);
    return a ? std::optional(Poly(-1) * *a) : std::nullopt;
  }
  if (n.op != Op::add && n.op != Op::sub && n.op != Op::mul) return std::nullopt;
  const auto a = as_form(n.args[0], true), b = as_form(n.args[1], true);
  if (!a || !b) return std::nullopt;
  if (n.op == Op::add) return *a + *b;
  if (n.op == Op::sub) return *a - *b;
  if (a->is_constant()) return a->base * *b;
  if (b->is_constant()) return b->base * *a;
  return std::nullopt;
}

namespace {

// pool.make with integer constants beside real operands made real (a literal exponent stays).
ExprId make_real_constants(Graph& g, Op op, ExprId a, ExprId b, ExprId c) {
  const auto real = [&g](ExprId e) { return e != ExprId::none && g.pool[e].kind == Kind::real; };
  const auto fix = [&g](ExprId& e) {
    if (e != ExprId::none) e = g.constant_as(e, Kind::real);
  };
  if (op == Op::select) {
    if (real(b) || real(c)) fix(b), fix(c);
  } else if (info(op).rule == KindRule::real || real(a) || real(b)) {
    fix(a);
    if (op != Op::pow) fix(b);
  }
  return g.pool.make(op, a, b, c);
}

}  // namespace

ExprId Graph::make(Op op, ExprId a, ExprId b, ExprId c) {
  if (op == Op::add || op == Op::sub || op == Op::mul) {
    if (const auto x = as_form(a))
      if (const auto y = as_form(b)) {
        if (op == Op::add) return iota(*x + *y);
        if (op == Op::sub) return iota(*x - *y);
        if (x->is_constant()) return iota(x->base * *y);
        if (y->is_constant()) return iota(y->base * *x);
      }
  } else if (op == Op::neg) {
    if (const auto x = as_form(a)) return iota(Poly(-1) * *x);
    if (pool.is_constant(a)) return pool.real(-pool[a].value().as_real());
  }
  return make_real_constants(*this, op, a, b, c);
}

ExprId Graph::constant_as(ExprId e, Kind k) {
  const ExprNode& n = pool[e];
  if (n.op != Op::constant || n.kind == k || n.kind == Kind::real) return e;
  return pool.constant(n.value().to(k));
}

ExprId Graph::rebuild(const ExprNode& n) {
  if (n.op == Op::cast) return pool.cast(n.format, n.args[0]);
  return make(n.op, n.args[0], n.args[1], n.args[2]);
}

std::vector<std::pair<size_t, size_t>> Graph::state_outputs(const Node& n) const {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t f = 0; f < n.folds.size(); ++f)
    for (size_t k = 0; k < monoids[index(n.folds[f].monoid)].fin.size(); ++k)
      out.emplace_back(f, k);
  return out;
}

std::vector<NodeId> Graph::order() const {
  // Depth-first over definitions in source order, with an explicit stack: (node, next operand).
  std::vector<NodeId> result;
  std::vector<char> done(nodes.size(), 0);
  for (size_t start = 0; start < nodes.size(); ++start) {
    if (!nodes[start].alive || done[start]) continue;
    struct Frame {
      NodeId node;
      std::vector<TensorId> reads;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](NodeId id) {
      done[index(id)] = 1;
      stack.push_back({id, tensors_read(*this, nodes[index(id)])});
    };
    enter(static_cast<NodeId>(start));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.reads.size()) {
        result.push_back(top.node);
        stack.pop_back();
        continue;
      }
      const NodeId operand = tensors[index(top.reads[top.next++])].node;
      if (operand != NodeId::none && nodes[index(operand)].alive && !done[index(operand)])
        enter(operand);
    }
  }
  return result;
}

std::vector<std::vector<NodeId>> Graph::readers() const {
  std::vector<std::vector<NodeId>> result(tensors.size());
  for (size_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].alive)
      for (TensorId t : tensors_read(*this, nodes[n]))
        result[index(t)].push_back(static_cast<NodeId>(n));
  return result;
}

bool Graph::is_output(TensorId t) const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [t](const Output& o) { return o.tensor == t; });
}

bool contains(const std::vector<DimId>& dims, DimId d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

void for_each_expr(const Node& n, const std::function<void(ExprId)>& fn) {
  for (const Fold& f : n.folds)
    for (ExprId e : f.args) fn(e);
  for (const Guard& g : n.guards)
    if (g.what == Guard::What::data) fn(g.condition);
  if (n.scan)
    for (ExprId e : n.scan->initial) fn(e);
  for (const Target& t : n.targets)
    if (t.value != ExprId::none) fn(t.value);
}

void map_exprs(Node& n, const std::function<ExprId(ExprId)>& fn) {
  for (Fold& f : n.folds)
    for (ExprId& e : f.args) e = fn(e);
  for (Guard& g : n.guards)
    if (g.what == Guard::What::data) g.condition = fn(g.condition);
  if (n.scan)
    for (ExprId& e : n.scan->initial) e = fn(e);
  for (Target& t : n.targets)
    if (t.value != ExprId::none) t.value = fn(t.value);
}

namespace {

// Adds a leaf and the leaves its forms gather through (depth 1 by algebra.md 2.2).
void collect(const Graph& g, LeafId id, std::set<LeafId>& out) {
  std::vector<LeafId> stack = {id};
  while (!stack.empty()) {
    const LeafId top = stack.back();
    stack.pop_back();
    if (!out.insert(top).second) continue;
    for (const Form& f : g.leaf(top).forms)
      for (const Form::Gather& x : f.gathers) stack.push_back(x.leaf);
  }
}

void collect(const Graph& g, ExprId e, std::set<LeafId>& out) {
  for (uint32_t v : g.pool.variables(e)) collect(g, v, out);
}

}  // namespace

std::vector<LeafId> leaves_of(const Graph& g, const Node& n) {
  std::set<LeafId> out;
  for_each_expr(n, [&](ExprId e) { collect(g, e, out); });
  for (const Guard& guard : n.guards)
    for (const Form::Gather& x : guard.form.gathers) collect(g, x.leaf, out);
  return {out.begin(), out.end()};
}

std::vector<LeafId> leaves_of(const Graph& g, ExprId e) {
  std::set<LeafId> out;
  collect(g, e, out);
  return {out.begin(), out.end()};
}

std::vector<TensorId> tensors_read(const Graph& g, const Node& n) {
  std::set<TensorId> out;
  for (LeafId l : leaves_of(g, n))
    if (g.leaf(l).what == Leaf::What::read) out.insert(g.leaf(l).tensor);
  if (n.gradient) {
    for (const Gradient::Seed& s : n.gradient->seeds) {
      out.insert(s.of);
      if (s.cotangent != TensorId::none) out.insert(s.cotangent);
    }
    out.insert(n.gradient->wrt.begin(), n.gradient->wrt.end());
  }
  return {out.begin(), out.end()};
}

std::vector<DimId> dims_of(const Graph& g, ExprId e) {
  std::set<DimId> out;
  for (LeafId l : leaves_of(g, e))
    for (const Form& f : g.leaf(l).forms)
      for (const Form::Term& t : f.terms) out.insert(t.dim);
  return {out.begin(), out.end()};
}

namespace {

// A leaf with coordinates replaced; gathered leaves are replaced first. Depth is bounded by the
// gather depth of 1.
LeafId substitute_leaf(Graph& g, LeafId id, const DimMap& image) {
  Leaf l = g.leaf(id);
  if (l.forms.empty()) return id;
  for (Form& f : l.forms) f = substitute_dims(g, f, image);
  return g.intern(l);
}

}  // namespace

Form substitute_dims(Graph& g, const Form& f, const DimMap& image) {
  return substitute(f, image, [&](uint32_t leaf) { return substitute_leaf(g, leaf, image); });
}

ExprId substitute_dims(Graph& g, ExprId e, const DimMap& image) {
  return substitute_leaves(g, e, [&](LeafId id) -> std::optional<ExprId> {
    const Leaf& l = g.leaf(id);
    if (l.what == Leaf::What::iota) return g.iota(substitute_dims(g, Form(l.form()), image));
    if (l.what != Leaf::What::read) return std::nullopt;
    return g.pool.var(substitute_leaf(g, id, image), g.leaf(id).kind);
  });
}

Guard substitute_dims(Graph& g, const Guard& guard, const DimMap& image) {
  Guard result = guard;
  if (guard.what == Guard::What::data)
    result.condition = substitute_dims(g, guard.condition, image);
  else
    result.form = substitute_dims(g, guard.form, image);
  return result;
}

ExprId substitute_leaves(Graph& g, ExprId e,
                         const std::function<std::optional<ExprId>(LeafId)>& leaf) {
  return substitute(g.pool, e, leaf, [&g](const ExprNode& n) { return g.rebuild(n); });
}

ExprId rewrite_expr(Graph& g, ExprId e, const RewriteStep& step) {
  std::unordered_map<ExprId, ExprId> image;
  for (ExprId id : g.pool.reachable(e)) {
    const ExprNode old = g.pool[id];
    ExprNode now = old;
    for (size_t k = 0; k < static_cast<size_t>(now.arity()); ++k)
      now.args[k] = image.at(now.args[k]);
    const std::optional<ExprId> to = step(id, now);
    image[id] = to ? *to : now == old ? id : g.rebuild(now);
  }
  return image.at(e);
}

}  // namespace tang
