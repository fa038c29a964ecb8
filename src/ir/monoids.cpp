#include "ir/monoids.h"

#include <algorithm>
#include <limits>

#include "ir/print.h"

namespace tang {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t integer_lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t integer_highest = std::numeric_limits<int64_t>::max();

// Scalar algebra over the leaves of a monoid under construction.
class Maker {
 public:
  Maker(Graph& g, std::string name) : g(g) { m.name = std::move(name); }

  ExprId leaf(Leaf::What what, uint32_t number, Kind kind) {
    Leaf l;
    l.what = what;
    l.kind = kind;
    l.number = number;
    return g.variable(l);
  }
  ExprId x(uint32_t k) { return leaf(Leaf::What::argument, k, m.argument_kinds[k]); }
  ExprId a(uint32_t k) { return leaf(Leaf::What::left, k, m.kinds[k]); }
  ExprId b(uint32_t k) { return leaf(Leaf::What::right, k, m.kinds[k]); }
  ExprId op(Op o, ExprId p, ExprId q = ExprId::none, ExprId r = ExprId::none) {
    return g.make(o, p, q, r);
  }
  ExprId num(double v) { return g.pool.real(v); }

  void argument(const std::string& name, Kind kind) {
    m.arguments.push_back(name);
    m.argument_kinds.push_back(kind);
  }
  void component(const std::string& name, Kind kind, const Value& identity) {
    m.fields.push_back(name);
    m.kinds.push_back(kind);
    m.identity.push_back(g.pool.constant(identity));
  }
  void output(const std::string& name, ExprId fin) {
    m.outputs.push_back(name);
    m.output_kinds.push_back(g.pool[fin].kind);
    m.fin.push_back(fin);
  }
  void state_outputs() {
    for (uint32_t k = 0; k < m.kinds.size(); ++k) output(m.fields[k], a(k));
  }

  Graph& g;
  Monoid m;
};

// sum, prod, max, min over one kind; any, all over bools.
Monoid plain(Graph& g, std::string_view name, Kind kind, Op op, const Value& identity) {
  Maker k(g, std::string(name));
  k.argument("x", kind);
  k.component("", kind, identity);
  k.m.lift = {k.x(0)};
  k.m.combine = {k.op(op, k.a(0), k.b(0))};
  k.state_outputs();
  return k.m;
}

Monoid arg_extreme(Graph& g, std::string_view name, Kind kind, bool largest) {
  Maker k(g, std::string(name));
  k.argument("x", kind);
  k.argument("", Kind::integer);
  k.m.flat_index = true;
  const Value worst = kind == Kind::real
                          ? Value::real(largest ? -infinity : infinity)
                          : Value::integer(largest ? integer_lowest : integer_highest);
  k.component("value", kind, worst);
  k.component("index", Kind::integer, Value::integer(integer_highest));
  k.m.lift = {k.x(0), k.x(1)};
  const ExprId v1 = k.a(0), v2 = k.b(0), i1 = k.a(1), i2 = k.b(1);
  const ExprId earlier = k.op(Op::lt, i2, i1);
  const ExprId better = largest ? k.op(Op::lt, v1, v2) : k.op(Op::lt, v2, v1);
  ExprId right = k.op(Op::logical_or, better, k.op(Op::logical_and, k.op(Op::eq, v1, v2), earlier));
  if (kind == Kind::real) {  // a NaN is above all; among NaNs the lower index wins
    const ExprId nan1 = k.op(Op::logical_not, k.op(Op::eq, v1, v1));
    const ExprId nan2 = k.op(Op::logical_not, k.op(Op::eq, v2, v2));
    right = k.op(
        Op::logical_or,
        k.op(Op::logical_and, nan2, k.op(Op::logical_or, k.op(Op::logical_not, nan1), earlier)),
        k.op(Op::logical_and, k.op(Op::logical_not, nan1), right));
  }
  k.m.combine = {k.op(Op::select, right, v2, v1), k.op(Op::select, right, i2, i1)};
  k.output("value", k.a(0));
  k.output("index", k.op(Op::select, k.op(Op::eq, k.a(1), g.pool.integer(integer_highest)),
                         g.pool.integer(-1), k.a(1)));
  k.m.value = 1;
  return k.m;
}

// The safe weight w(a, m) = exp(a - m°) of algebra.md 1.3.
ExprId safe_weight(Maker& k, ExprId a, ExprId m) {
  const ExprId finite = k.op(Op::lt, k.num(-infinity), m);
  return k.op(Op::exp, k.op(Op::sub, a, k.op(Op::select, finite, m, k.num(0))));
}

Monoid online(Graph& g, std::string_view name, size_t values) {
  Maker k(g, std::string(name));
  const auto numbered = [values](const char* base, size_t c) {
    return values == 1 ? std::string(base) : base + std::to_string(c + 1);
  };
  k.argument("s", Kind::real);
  for (size_t c = 0; c < values; ++c) k.argument(numbered("g", c), Kind::real);
  k.component("m", Kind::real, Value::real(-infinity));
  k.component("l", Kind::real, Value::real(0));
  for (size_t c = 0; c < values; ++c) k.component(numbered("o", c), Kind::real, Value::real(0));

  const ExprId masked = k.op(Op::eq, k.x(0), k.num(-infinity));
  k.m.lift = {k.x(0), k.op(Op::select, masked, k.num(0), k.num(1))};
  for (uint32_t c = 1; c <= values; ++c)
    k.m.lift.push_back(k.op(Op::select, masked, k.num(0), k.x(c)));

  const ExprId m = k.op(Op::max, k.a(0), k.b(0));
  const ExprId w1 = safe_weight(k, k.a(0), m), w2 = safe_weight(k, k.b(0), m);
  k.m.combine = {m};
  for (uint32_t c = 1; c <= values + 1; ++c)
    k.m.combine.push_back(k.op(Op::add, k.op(Op::mul, k.a(c), w1), k.op(Op::mul, k.b(c), w2)));
  return k.m;
}

Monoid online_softmax(Graph& g, size_t values) {
  Monoid m = online(g, "online", values);
  Maker k(g, "");
  k.m.kinds = m.kinds;
  k.m.fields = m.fields;
  k.state_outputs();
  m.outputs = k.m.outputs;
  m.output_kinds = k.m.output_kinds;
  m.fin = k.m.fin;
  m.value = values > 0 ? 2 : 1;
  return m;
}

Monoid logsumexp(Graph& g) {
  Monoid m = online(g, "logsumexp", 0);
  Maker k(g, "");
  k.m.kinds = m.kinds;
  m.outputs = {""};
  m.output_kinds = {Kind::real};
  m.fin = {k.op(Op::add, k.a(0), k.op(Op::log, k.a(1)))};
  return m;
}

Monoid moments(Graph& g, bool weighted) {
  Maker k(g, "moments");
  if (weighted) k.argument("weight", Kind::real);
  k.argument("x", Kind::real);
  for (const char* field : {"n", "mean", "m2"}) k.component(field, Kind::real, Value::real(0));
  if (weighted) {  // a term of weight 0 is the identity
    const ExprId counted = k.op(Op::select, k.op(Op::eq, k.x(0), k.num(0)), k.num(0), k.x(1));
    k.m.lift = {k.x(0), counted, k.num(0)};
  } else {
    k.m.lift = {k.num(1), k.x(0), k.num(0)};
  }

  const ExprId n = k.op(Op::add, k.a(0), k.b(0));
  const ExprId rn = k.op(Op::select, k.op(Op::lt, k.num(0), n), k.op(Op::recip, n), k.num(0));
  const ExprId delta = k.op(Op::sub, k.b(1), k.a(1));
  const ExprId q = k.op(Op::mul, k.op(Op::mul, k.a(0), k.b(0)), rn);
  k.m.combine = {
      n, k.op(Op::add, k.a(1), k.op(Op::mul, delta, k.op(Op::mul, k.b(0), rn))),
      k.op(Op::add, k.op(Op::add, k.a(2), k.b(2)), k.op(Op::mul, delta, k.op(Op::mul, delta, q)))};
  k.state_outputs();
  k.m.value = 1;
  return k.m;
}

Monoid affine(Graph& g) {
  Maker k(g, "affine");
  k.argument("a", Kind::real);
  k.argument("b", Kind::real);
  k.component("a", Kind::real, Value::real(1));
  k.component("b", Kind::real, Value::real(0));
  k.m.lift = {k.x(0), k.x(1)};
  k.m.combine = {k.op(Op::mul, k.b(0), k.a(0)),
                 k.op(Op::add, k.op(Op::mul, k.b(0), k.a(1)), k.b(1))};
  k.state_outputs();
  k.m.value = 1;
  k.m.commutative = false;
  return k.m;
}

// Top-k keeps k pairs; its size is the extent of the node's entry dim, so its state is not spelled
// out here and lowering treats it on its own.
Monoid topk(Graph& g) {
  Maker k(g, "topk");
  k.argument("x", Kind::real);
  k.argument("", Kind::integer);
  k.m.flat_index = true;
  k.component("value", Kind::real, Value::real(-infinity));
  k.component("index", Kind::integer, Value::integer(-1));
  k.state_outputs();
  return k.m;
}

Kind number_kind(Kind k) { return k == Kind::boolean ? Kind::integer : k; }

std::optional<Monoid> make_plain(Graph& g, std::string_view name, Kind arg) {
  const Kind k = number_kind(arg);
  const bool r = k == Kind::real;
  if (name == "sum") return plain(g, name, k, Op::add, Value::integer(0).to(k));
  if (name == "prod") return plain(g, name, k, Op::mul, Value::integer(1).to(k));
  if (name == "max")
    return plain(g, name, k, Op::max, r ? Value::real(-infinity) : Value::integer(integer_lowest));
  if (name == "min")
    return plain(g, name, k, Op::min, r ? Value::real(infinity) : Value::integer(integer_highest));
  if (name == "argmax") return arg_extreme(g, name, k, true);
  if (name == "argmin") return arg_extreme(g, name, k, false);
  if (name == "logsumexp") return logsumexp(g);
  if (name == "topk") return topk(g);
  if (name == "moments") return moments(g, false);
  if (arg != Kind::boolean) return std::nullopt;
  if (name == "any") return plain(g, name, arg, Op::logical_or, Value::boolean(false));
  if (name == "all") return plain(g, name, arg, Op::logical_and, Value::boolean(true));
  return std::nullopt;
}

std::optional<Monoid> make_builtin(Graph& g, std::string_view name, std::span<const Kind> args) {
  if (name == "online" && !args.empty()) return online_softmax(g, args.size() - 1);
  if (name == "affine" && args.size() == 2) return affine(g);
  if (name == "moments" && args.size() == 2) return moments(g, true);
  if (args.size() == 1) return make_plain(g, name, args[0]);
  return std::nullopt;
}

}  // namespace

bool is_builtin_monoid(std::string_view name) {
  static constexpr std::string_view names[] = {"sum",    "prod",   "max",    "min",       "any",
                                               "all",    "argmax", "argmin", "logsumexp", "moments",
                                               "online", "affine", "topk"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<MonoidId> builtin_monoid(Graph& g, std::string_view name,
                                       std::span<const Kind> args) {
  std::optional<Monoid> made = make_builtin(g, name, args);
  if (!made) return std::nullopt;
  for (size_t k = 0; k < g.monoids.size(); ++k)
    if (const Monoid& m = g.monoids[k];
        m.builtin && m.name == made->name && m.argument_kinds == made->argument_kinds)
      return static_cast<MonoidId>(k);
  g.monoids.push_back(std::move(*made));
  return static_cast<MonoidId>(g.monoids.size() - 1);
}

std::optional<Value> default_fill(const Graph& g, MonoidId id) {
  const Monoid& m = g[id];
  if (!m.builtin || m.identity.size() != 1 || m.combine.empty()) return std::nullopt;
  return g.pool[m.identity[0]].value();
}

std::optional<Value> empty_value(const Graph& g, MonoidId id, size_t output) {
  const Monoid& m = g[id];
  for (ExprId e : m.identity)
    if (!g.pool.is_constant(e)) return std::nullopt;
  return evaluate(g.pool, m.fin[output],
                  [&](uint32_t v) { return g.pool[m.identity[g.leaf(v).number]].value(); });
}

namespace {

// A component of this kind, whose literals may be of a lesser one: `0` in a real component is 0.0.
// Arms of selects are looked into `depth` deep.
std::string component_text(const Graph& g, ExprId e, Kind kind, int depth = 8) {
  const ExprNode& n = g.pool[e];
  if (n.kind == kind || depth == 0) return print_expr(g, e);
  if (n.op == Op::constant) return print_value(n.value().to(kind), true);
  if (n.op != Op::select) return print_expr(g, e);
  return "select(" + print_expr(g, n.args[0]) + ", " +
         component_text(g, n.args[1], kind, depth - 1) + ", " +
         component_text(g, n.args[2], kind, depth - 1) + ")";
}

}  // namespace

std::string algebra_key(const Graph& g, const Monoid& m) {
  std::string key = m.commutative ? "commutative" : "ordered";
  for (const std::vector<ExprId>* part : {&m.identity, &m.lift, &m.combine}) {
    key += "|";
    for (size_t k = 0; k < part->size(); ++k)
      key += component_text(g, (*part)[k], m.kinds[k]) + ";";
  }
  key += "|";
  for (ExprId e : m.fin) key += print_expr(g, e) + ";";
  return key;
}

MonoidFacts facts(Graph& g, MonoidId id) {
  if (g[id].facts) return *g[id].facts;
  const std::string key = algebra_key(g, g[id]);
  const auto is = [&](std::string_view name, std::vector<Kind> args) {
    Graph scratch;
    const auto m = builtin_monoid(scratch, name, args);
    return m && algebra_key(scratch, scratch[*m]) == key;
  };
  MonoidFacts f;
  for (Kind k : {Kind::real, Kind::integer}) {
    f.sum |= is("sum", {k});
    f.product |= is("prod", {k});
    f.max |= is("max", {k});
    f.min |= is("min", {k});
  }
  if (const size_t n = g[id].argument_kinds.size(); n > 0)
    f.online_softmax = is("online", std::vector<Kind>(n, Kind::real));
  f.argmax = is("argmax", {Kind::real});
  f.argmin = is("argmin", {Kind::real});
  f.welford = is("moments", {Kind::real}) || is("moments", {Kind::real, Kind::real});
  g[id].facts = f;
  return f;
}

}  // namespace tang
