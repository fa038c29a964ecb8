#include "unit/lower/support.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "ir/variance.h"
#include "loop/text.h"
#include "run/c_device.h"

namespace tang::test {

TensorId Make::input(const std::string& name, std::vector<Poly> shape, Format f) {
  Tensor t;
  t.name = name;
  t.shape = std::move(shape);
  t.kind = kind(f);
  t.format = f;
  t.role = Role::input;
  return g.add_tensor(t);
}

ExprId Make::read(TensorId t, const std::vector<DimId>& dims) {
  std::vector<Form> forms;
  for (DimId d : dims) forms.push_back(Form::coordinate(d));
  return g.read(t, forms);
}

MonoidId Make::monoid(const std::string& name, std::vector<Kind> kinds) {
  return builtin_monoid(g, name, kinds).value();
}

Guard Make::bound(Form f) {
  Guard guard;
  guard.form = std::move(f);
  return guard;
}

Guard Make::zero(Form f) {
  Guard guard = bound(std::move(f));
  guard.what = Guard::What::zero;
  return guard;
}

TensorId Make::tensor(const std::string& name, const std::vector<DimId>& points, Kind kind,
                      std::optional<Format> format) {
  Tensor t;
  t.name = name;
  for (DimId d : points) t.shape.push_back(g.extent(d));
  t.kind = kind;
  t.format = format;
  return g.add_tensor(t);
}

TensorId Make::map(const std::string& name, std::vector<DimId> points, ExprId value,
                   std::optional<Format> format) {
  Node n;
  n.points = points;
  const TensorId t = tensor(name, points, g.pool[value].kind, format);
  n.targets = {{t, points, value}};
  g.add_node(n);
  return t;
}

TensorId Make::fold(const std::string& name, std::vector<DimId> points, std::vector<DimId> reduce,
                    MonoidId m, std::vector<ExprId> args, std::vector<Guard> guards,
                    std::optional<Format> format) {
  Node n;
  n.points = points;
  n.reduce = std::move(reduce);
  n.guards = std::move(guards);
  if (g[m].flat_index) args.push_back(flat(n.reduce));
  n.folds = {{m, std::move(args), {}}};
  const auto value = static_cast<uint32_t>(g[m].value);
  const Kind kind = g[m].output_kinds[value];
  const TensorId t = tensor(name, points, kind, format);
  n.targets = {{t, points, g.state(value, kind)}};
  g.add_node(n);
  return t;
}

std::vector<TensorId> Make::folds(std::vector<DimId> points, std::vector<DimId> reduce,
                                  std::vector<Fold> folds, std::vector<Result> results,
                                  std::vector<Guard> guards) {
  Node n;
  n.points = std::move(points);
  n.reduce = std::move(reduce);
  n.guards = std::move(guards);
  n.folds = std::move(folds);
  std::vector<TensorId> made;
  for (const Result& r : results) {
    made.push_back(tensor(r.name, r.points, g.pool[r.value].kind, {}));
    n.targets.push_back({made.back(), r.points, r.value});
  }
  g.add_node(n);
  return made;
}

ExprId Make::flat(const std::vector<DimId>& reduce) {
  Form f;
  for (DimId d : reduce) f = g.extent(d) * f + Form::coordinate(d);
  return g.iota(f);
}

namespace {

struct Evaluator {
  const Graph& g;
  Store& store;
  std::vector<int64_t> params;
  std::map<DimId, int64_t> at;
  std::vector<Value> states;
  std::vector<Value> left, right, arguments;

  int64_t size(const Poly& p) const { return p.evaluate(params).value(); }

  int64_t form(const Form& f) {
    int64_t v = size(f.base);
    for (const Form::Term& t : f.terms) v += size(t.coeff) * at.at(t.dim);
    for (const Form::Gather& x : f.gathers) v += size(x.coeff) * leaf(x.leaf).as_integer();
    return v;
  }

  Value leaf(uint32_t id) {
    const Leaf& l = g.leaf(id);
    switch (l.what) {
      case Leaf::What::iota:
        return Value::integer(form(l.form()));
      case Leaf::What::state:
        return states[l.number];
      case Leaf::What::left:
        return left[l.number];
      case Leaf::What::right:
        return right[l.number];
      case Leaf::What::argument:
        return arguments[l.number];
      case Leaf::What::read:
        break;
    }
    int64_t flat = 0;
    for (size_t a = 0; a < l.forms.size(); ++a) {
      const int64_t v = form(l.forms[a]), n = size(g[l.tensor].shape[a]);
      if (v < 0 || v >= n) return l.fill().to(l.kind);
      flat = flat * n + v;
    }
    return Value::real(store.at(g[l.tensor].name)[static_cast<size_t>(flat)]).to(l.kind);
  }

  Value expr(ExprId e) {
    return evaluate(g.pool, e, [&](uint32_t v) { return leaf(v); });
  }

  bool holds(const Guard& guard) {
    if (guard.what == Guard::What::data) return expr(guard.condition).as_bool();
    const int64_t v = form(guard.form);
    return guard.what == Guard::What::zero ? v == 0 : v >= 0;
  }

  void box(const std::vector<DimId>& dims, size_t k, const std::function<void()>& body) {
    if (k == dims.size()) return body();
    const int64_t n = size(g.extent(dims[k]));
    for (int64_t v = 0; v < n; ++v) {
      at[dims[k]] = v;
      box(dims, k + 1, body);
    }
  }

  std::vector<Value> fold(const Node& n, const Fold& f) {
    const Monoid& m = g[f.monoid];
    std::vector<Value> state;
    for (size_t k = 0; k < m.kinds.size(); ++k) state.push_back(expr(m.identity[k]).to(m.kinds[k]));
    box(n.reduce, 0, [&] {
      for (const Guard& guard : n.guards)
        if (!holds(guard)) return;
      arguments.clear();
      for (size_t k = 0; k < f.args.size(); ++k)
        arguments.push_back(expr(f.args[k]).to(m.argument_kinds[k]));
      std::vector<Value> lifted, next;
      for (size_t k = 0; k < m.kinds.size(); ++k) lifted.push_back(expr(m.lift[k]).to(m.kinds[k]));
      left = state;
      right = lifted;
      for (size_t k = 0; k < m.kinds.size(); ++k) next.push_back(expr(m.combine[k]).to(m.kinds[k]));
      state = next;
    });
    left = state;
    std::vector<Value> outputs;
    for (ExprId e : m.fin) outputs.push_back(expr(e));
    return outputs;
  }

  void node(const Node& n) {
    for (const Target& t : n.targets) {
      int64_t count = 1;
      for (const Poly& p : g[t.tensor].shape) count *= size(p);
      store[g[t.tensor].name].assign(static_cast<size_t>(count), 0);
    }
    box(n.points, 0, [&] {
      std::vector<Value> all;
      for (const Fold& f : n.folds)
        for (const Value& v : fold(n, f)) all.push_back(v);
      states = all;
      for (const Target& t : n.targets) {
        int64_t flat = 0;
        for (DimId d : t.points) flat = flat * size(g.extent(d)) + at[d];
        const Tensor& tensor = g[t.tensor];
        double v = expr(t.value).to(tensor.kind).as_real();
        if (tensor.format) v = round_to(*tensor.format, v);
        store[tensor.name][static_cast<size_t>(flat)] = v;
      }
    });
    // Targets that drop points of extent 0 are still defined by an empty fold.
    for (const Target& t : n.targets) empty_points(n, t);
  }

  void empty_points(const Node& n, const Target& t) {
    bool empty = false;
    for (DimId d : n.points)
      if (size(g.extent(d)) == 0) {
        if (std::find(t.points.begin(), t.points.end(), d) != t.points.end()) return;
        empty = true;
        at[d] = 0;
      }
    if (!empty) return;
    Node only = n;
    only.points = t.points;
    only.targets = {t};
    node(only);
  }
};

std::vector<int64_t> values_of(const Graph& g, const Sizes& sizes) {
  std::vector<int64_t> result;
  for (const Param& p : g.params) result.push_back(sizes.count(p.name) ? sizes.at(p.name) : 0);
  return result;
}

}  // namespace

Store reference(const Graph& g, const Store& inputs, const Sizes& sizes) {
  Store store = inputs;
  Evaluator e{g, store, values_of(g, sizes), {}, {}, {}, {}, {}};
  for (NodeId id : g.order()) e.node(g[id]);
  return store;
}

Store draw(const Graph& g, const Sizes& sizes, int64_t top, uint64_t seed) {
  Store store;
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  const std::vector<int64_t> params = values_of(g, sizes);
  for (const Tensor& t : g.tensors) {
    if (t.role != Role::input) continue;
    Data d(static_cast<size_t>(volume(t.shape).evaluate(params).value()));
    for (double& v : d) {
      if (t.kind == Kind::real)
        v = round_to(*t.format, normal(rng));
      else
        v = static_cast<double>(rng() %
                                static_cast<uint64_t>(t.kind == Kind::boolean ? 2 : top + 1));
    }
    store[t.name] = d;
  }
  return store;
}

struct Compiled::State {
  Graph g;
  Schedule schedule;
  Lowered lowered;
  CDevice device;
  std::unique_ptr<Executable> program;
};

Compiled::Compiled(const Graph& g, const PlanOptions& options) : state_(std::make_unique<State>()) {
  state_->g = g;
  auto schedule = plan(g, options);
  if (!schedule) throw std::runtime_error(schedule.error().message);
  state_->schedule = *schedule;
  auto lowered = lower(g, *schedule);
  if (!lowered) throw std::runtime_error(lowered.error().message);
  state_->lowered = std::move(*lowered);
  Diagnostics warnings;
  CompileOptions compile;
  compile.use_cache = false;
  compile.threads = static_cast<int>(options.threads);
  auto program = state_->device.compile(state_->lowered.program, compile, warnings);
  if (!program) throw std::runtime_error(program.error().message + "\n" + text());
  state_->program = std::move(*program);
}

Compiled::~Compiled() = default;
const Lowered& Compiled::lowered() const { return state_->lowered; }
const Schedule& Compiled::schedule() const { return state_->schedule; }
std::string Compiled::text() const { return loop::print(state_->lowered.program); }

Ran Compiled::run(const Store& inputs, const Sizes& sizes, int repeats) {
  const LoopProgram& p = state_->lowered.program;
  const std::vector<int64_t> symbols = values_of(state_->g, sizes);
  std::map<uint32_t, std::vector<std::byte>> memory;
  std::vector<void*> pointers;
  for (loop::BufferId id : p.arguments()) {
    const loop::Buffer& buffer = p[id];
    const loop::BufferId owner = p.storage(id);
    auto [it, fresh] = memory.try_emplace(index(owner));
    if (fresh) {
      const int64_t count = buffer.count.evaluate(symbols).value();
      it->second.assign(static_cast<size_t>(bytes_for(buffer.format, count).value()) + 64,
                        std::byte{0xff});
      if (buffer.role == loop::Role::input)
        for (int64_t k = 0; k < count; ++k)
          store_element(buffer.format, it->second.data(), k,
                        inputs.at(buffer.name)[static_cast<size_t>(k)]);
    }
    pointers.push_back(it->second.data());
  }
  auto bytes = state_->program->workspace_bytes(symbols);
  if (!bytes) throw std::runtime_error(bytes.error().message);
  std::vector<std::byte> workspace(static_cast<size_t>(*bytes) + 64, std::byte{0xff});
  void* base = workspace.data();
  size_t room = workspace.size();
  std::align(64, static_cast<size_t>(*bytes), base, room);
  if (auto ready = state_->program->prepare(pointers, symbols, base); !ready)
    throw std::runtime_error(ready.error().message);
  Ran ran;
  ran.ms = 1e300;
  for (int k = 0; k < repeats; ++k) {
    auto times = state_->program->run(pointers, symbols, base);
    if (!times) throw std::runtime_error(times.error().message);
    ran.ms = std::min(ran.ms, times->total_ms);
  }
  size_t k = 0;
  for (loop::BufferId id : p.arguments()) {
    const loop::Buffer& buffer = p[id];
    const auto* data = static_cast<const std::byte*>(pointers[k++]);
    if (buffer.role != loop::Role::output) continue;
    Data& out = ran.outputs[buffer.name];
    const int64_t count = buffer.count.evaluate(symbols).value();
    for (int64_t e = 0; e < count; ++e) out.push_back(load_element(buffer.format, data, e));
  }
  ran.allocations = state_->lowered.allocations;
  return ran;
}

void compare(const std::string& name, const Data& got, const Data& want, double tol) {
  ASSERT_EQ(got.size(), want.size()) << name;
  double scale = 1e-30;
  for (double v : want)
    if (std::isfinite(v)) scale = std::max(scale, std::fabs(v));
  for (size_t k = 0; k < got.size(); ++k) {
    const double a = got[k], b = want[k];
    if (std::isnan(b) || std::isinf(b)) {
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b)
          << name << "[" << k << "] got " << a << " want " << b;
    } else {
      ASSERT_LE(std::fabs(a - b), tol * scale)
          << name << "[" << k << "] got " << a << " want " << b;
    }
  }
}

void check(const Graph& g, const Store& inputs, double tol, const Sizes& sizes,
           const PlanOptions& options) {
  Compiled c(g, options);
  SCOPED_TRACE(c.text());
  const Ran ran = c.run(inputs, sizes);
  const Store want = reference(g, inputs, sizes);
  for (const Output& o : g.outputs)
    compare(g[o.tensor].name, ran.outputs.at(g[o.tensor].name), want.at(g[o.tensor].name), tol);
}

void check(const Graph& g, double tol, const Sizes& sizes, const PlanOptions& options) {
  check(g, draw(g, sizes), tol, sizes, options);
}

}  // namespace tang::test
