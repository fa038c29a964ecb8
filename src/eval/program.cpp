#include "eval/program.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace tang::oracle {

namespace {

tl::unexpected<Diagnostic> not_built(const std::string& what, const char* id = "E0590") {
  return error(id, what + " is not built yet in the oracle", "it comes with a later release");
}

class Compiler {
 public:
  Compiler(const Graph& g, std::span<const int64_t> params) : g_(g), params_(params) {}

  Result<Program> node(const Node& n, const std::vector<DimId>& points);
  Result<Program> scan(const Node& n, const std::vector<DimId>& points);
  Result<Program> position(const Node& n, LeafId read, size_t axis, const std::vector<DimId>& dims,
                           bool guarded);

 private:
  // Meaning of the non-coordinate leaves while an expression is compiled; registers by number.
  struct Scope {
    std::vector<int> argument, left, right, state;
    std::map<ExprId, int> done;
  };

  void fail(std::string message) {
    if (!problem_) problem_ = error("E0590", std::move(message)).value();
  }
  Result<void> dims(const std::vector<DimId>& points, const std::vector<DimId>& reduce);
  int64_t constant(const Poly& p);
  int form(const Form& f);
  int form_level(int form) const;
  int expression(ExprId root, Scope& scope);
  int leaf(LeafId id, Scope& scope);
  int read(const Leaf& l);
  int constant(const Value& v);
  int convert(int reg, Kind kind);
  int copy(int reg);
  int emit(Instruction in);
  int fresh(Kind kind, int level, int phase);
  void fold(const Node& n, const Fold& f, std::vector<int>& outputs);
  void guards(const Node& n);
  void target(const Target& t, Scope& scope);
  void for_each_operand(const Instruction& in, const std::function<void(int)>& fn) const;
  void drop_dead();
  Result<Program> finished();

  const Graph& g_;
  std::span<const int64_t> params_;
  Program p_;
  std::vector<int> level_;  // of each register
  std::vector<int> phase_;  // 0 term, 1 step, 2 finish
  std::map<Instruction, int> known_;
  std::map<std::pair<Kind, int64_t>, int> constants_;
  std::map<LeafId, int> leaves_;
  std::map<DimId, int> lane_of_, reduce_of_;
  std::optional<Diagnostic> problem_;
};

Result<void> Compiler::dims(const std::vector<DimId>& points, const std::vector<DimId>& reduce) {
  p_.lanes = points;
  p_.reduce = reduce;
  for (size_t k = 0; k < points.size(); ++k) {
    const auto n = extent_value(g_, g_.extent(points[k]), params_);
    if (!n) return tl::unexpected(n.error());
    p_.lane_extent.push_back(*n);
    lane_of_[points[k]] = static_cast<int>(k);
  }
  for (size_t k = 0; k < reduce.size(); ++k) {
    const auto n = extent_value(g_, g_.extent(reduce[k]), params_);
    if (!n) return tl::unexpected(n.error());
    p_.reduce_extent.push_back(*n);
    reduce_of_[reduce[k]] = static_cast<int>(k);
  }
  return {};
}

int64_t Compiler::constant(const Poly& p) {
  const auto v = p.evaluate(params_);
  if (!v) fail("a coefficient of a form overflows 64 bits");
  return v.value_or(0);
}

int Compiler::form(const Form& f) {
  FormPlan plan;
  plan.base = constant(f.base);
  for (const Form::Term& t : f.terms) {
    const int64_t c = constant(t.coeff);
    if (c == 0) continue;
    if (const auto lane = lane_of_.find(t.dim); lane != lane_of_.end())
      plan.lanes.emplace_back(lane->second, c);
    else if (const auto r = reduce_of_.find(t.dim); r != reduce_of_.end())
      plan.reduce.emplace_back(r->second, c);
    // A coordinate a target's points drop stands at 0: no value depends on it.
  }
  Scope none;
  for (const Form::Gather& x : f.gathers)
    plan.gathers.emplace_back(leaf(x.leaf, none), constant(x.coeff));
  p_.forms.push_back(std::move(plan));
  return static_cast<int>(p_.forms.size()) - 1;
}

int Compiler::form_level(int form) const {
  const FormPlan& plan = p_.forms[static_cast<size_t>(form)];
  int level = 0;
  for (const auto& [r, c] : plan.reduce) level = std::max(level, r + 1);
  for (const auto& [reg, c] : plan.gathers)
    level = std::max(level, level_[static_cast<size_t>(reg)]);
  return level;
}

int Compiler::fresh(Kind kind, int level, int phase) {
  p_.kinds.push_back(kind);
  level_.push_back(level);
  phase_.push_back(phase);
  return p_.registers++;
}

int Compiler::constant(const Value& v) {
  const Cell cell = cell_of(v);
  const auto [it, inserted] = constants_.try_emplace({v.kind, cell.i}, 0);
  if (inserted) {
    it->second = fresh(v.kind, 0, 0);
    p_.constants.emplace_back(it->second, cell);
  }
  return it->second;
}

int Compiler::emit(Instruction in) {
  if (const auto it = known_.find(in); it != known_.end()) return it->second;
  const Instruction key = in;
  int phase = 0;
  if (in.plan < 0)
    for (int a : in.args)
      if (a >= 0) {
        in.level = std::max(in.level, level_[static_cast<size_t>(a)]);
        phase = std::max(phase, phase_[static_cast<size_t>(a)]);
      }
  in.target = fresh(in.kind, in.level, phase);
  (phase == 0 ? p_.term : phase == 1 ? p_.step : p_.finish).push_back(in);
  known_.emplace(key, in.target);
  return in.target;
}

int Compiler::convert(int reg, Kind kind) {
  const Kind from = p_.kinds[static_cast<size_t>(reg)];
  if (from == kind) return reg;
  Instruction in;
  in.what = Instruction::What::convert;
  in.kind = kind;
  in.args[0] = reg;
  in.kinds[0] = from;
  return emit(in);
}

int Compiler::copy(int reg) {
  Instruction in;
  in.what = Instruction::What::convert;
  in.kind = in.kinds[0] = p_.kinds[static_cast<size_t>(reg)];
  in.args[0] = reg;
  return emit(in);
}

int Compiler::read(const Leaf& l) {
  const Tensor& t = g_[l.tensor];
  ReadPlan plan;
  plan.tensor = l.tensor;
  plan.guarded = l.guarded;
  plan.fill = cell_of(l.fill().to(l.kind));
  const auto shape = shape_value(g_, t.shape, params_);
  if (!shape || shape->size() != l.forms.size()) {
    fail(fmt::format("the shape of `{}` does not fit a read of it", t.name));
    return constant(Value::real(0).to(l.kind));
  }
  plan.shape = *shape;
  plan.strides.assign(shape->size(), 1);
  for (size_t k = shape->size(); k-- > 1;) plan.strides[k - 1] = plan.strides[k] * (*shape)[k];
  int level = 0;
  for (const Form& f : l.forms) {
    const int id = form(f);
    plan.forms.push_back(id);
    plan.affine = plan.affine && p_.forms[static_cast<size_t>(id)].gathers.empty();
    level = std::max(level, form_level(id));
  }
  p_.reads.push_back(std::move(plan));
  Instruction in;
  in.what = Instruction::What::read;
  in.kind = l.kind;
  in.plan = static_cast<int>(p_.reads.size()) - 1;
  in.level = level;
  return emit(in);
}

int Compiler::leaf(LeafId id, Scope& scope) {
  const Leaf& l = g_.leaf(id);
  const auto scoped = [&](const std::vector<int>& registers) {
    if (l.number >= registers.size()) {
      fail("an expression mentions a state or argument that its place does not have");
      return constant(Value::real(0).to(l.kind));
    }
    return convert(registers[l.number], l.kind);
  };
  switch (l.what) {
    case Leaf::What::argument:
      return scoped(scope.argument);
    case Leaf::What::left:
      return scoped(scope.left);
    case Leaf::What::right:
      return scoped(scope.right);
    case Leaf::What::state:
      return scoped(scope.state);
    default:
      break;
  }
  if (const auto it = leaves_.find(id); it != leaves_.end()) return it->second;
  int reg = 0;
  if (l.what == Leaf::What::read) {
    reg = read(l);
  } else {
    Instruction in;
    in.what = Instruction::What::iota;
    in.kind = Kind::integer;
    in.plan = form(l.form());
    in.level = form_level(in.plan);
    reg = convert(emit(in), l.kind);
  }
  leaves_.emplace(id, reg);
  return reg;
}

int Compiler::expression(ExprId root, Scope& scope) {
  for (ExprId id : g_.pool.reachable(root)) {
    if (scope.done.contains(id)) continue;
    const ExprNode& n = g_.pool[id];
    int reg = 0;
    if (n.op == Op::constant) {
      reg = constant(n.value());
    } else if (n.op == Op::var) {
      reg = convert(leaf(n.variable(), scope), n.kind);
    } else {
      Instruction in;
      in.op = n.op;
      in.kind = n.kind;
      in.format = n.format;
      const bool real_result = n.kind == Kind::real && n.op != Op::pow && n.op != Op::cast;
      for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) {
        int a = scope.done.at(n.args[k]);
        if (n.op == Op::select)
          a = convert(a, k == 0 ? Kind::boolean : n.kind);
        else if (info(n.op).rule == KindRule::boolean && n.op != Op::lt && n.op != Op::le &&
                 n.op != Op::eq)
          a = convert(a, Kind::boolean);
        else if (real_result || (n.op == Op::pow && k == 1 && !g_.pool.is_constant(n.args[1])))
          a = convert(a, Kind::real);
        in.args[k] = a;
        in.kinds[k] = p_.kinds[static_cast<size_t>(a)];
      }
      if (n.op == Op::lt || n.op == Op::le || n.op == Op::eq)
        if (in.kinds[0] == Kind::real || in.kinds[1] == Kind::real)
          for (size_t k = 0; k < 2; ++k) {
            in.args[k] = convert(in.args[k], Kind::real);
            in.kinds[k] = Kind::real;
          }
      reg = emit(in);
    }
    scope.done.emplace(id, reg);
  }
  return scope.done.at(root);
}

void Compiler::fold(const Node& n, const Fold& f, std::vector<int>& outputs) {
  const Monoid& m = g_[f.monoid];
  Scope body, lifted, combined, final;
  for (ExprId e : f.args) lifted.argument.push_back(expression(e, body));
  if (m.flat_index && f.args.size() + 1 == m.arguments.size()) {
    FormPlan flat;
    int64_t stride = 1;
    for (size_t k = n.reduce.size(); k-- > 0; stride *= p_.reduce_extent[k])
      flat.reduce.insert(flat.reduce.begin(), {static_cast<int>(k), stride});
    p_.forms.push_back(flat);
    Instruction in;
    in.what = Instruction::What::iota;
    in.kind = Kind::integer;
    in.plan = static_cast<int>(p_.forms.size()) - 1;
    in.level = form_level(in.plan);
    lifted.argument.push_back(emit(in));
  }
  for (size_t k = 0; k < m.kinds.size(); ++k) {
    combined.left.push_back(fresh(m.kinds[k], 0, 1));
    final.left.push_back(fresh(m.kinds[k], 0, 2));
    combined.right.push_back(convert(expression(m.lift[k], lifted), m.kinds[k]));
    const Value identity = evaluate(g_.pool, m.identity[k], [](uint32_t) { return Value{}; });
    p_.identity.push_back(cell_of(identity.to(m.kinds[k])));
    p_.start.push_back(-1);
    p_.state.push_back(combined.left[k]);
    p_.last.push_back(final.left[k]);
  }
  for (size_t k = 0; k < m.kinds.size(); ++k) {
    int next = convert(expression(m.combine[k], combined), m.kinds[k]);
    // A component that takes another's old value takes a copy, so that all change at once.
    const auto old = std::find(combined.left.begin(), combined.left.end(), next);
    if (old != combined.left.end() && next != combined.left[k]) next = copy(next);
    p_.next.push_back(next);
  }
  for (ExprId e : m.fin) outputs.push_back(expression(e, final));
}

void Compiler::guards(const Node& n) {
  Scope body;
  for (const Guard& guard : n.guards) {
    if (guard.what == Guard::What::data) {
      p_.tests.push_back({convert(expression(guard.condition, body), Kind::boolean), -1, false});
      continue;
    }
    const int id = form(guard.form);
    const FormPlan& plan = p_.forms[static_cast<size_t>(id)];
    const bool zero = guard.what == Guard::What::zero;
    const bool outside = std::all_of(plan.gathers.begin(), plan.gathers.end(), [&](const auto& x) {
      return level_[static_cast<size_t>(x.first)] == 0;
    });
    if (!outside) {
      p_.tests.push_back({-1, id, zero});
      continue;
    }
    Restriction r{id, zero, std::vector<int64_t>(p_.reduce.size(), 0)};
    for (const auto& [k, c] : plan.reduce) r.coeff[static_cast<size_t>(k)] = c;
    p_.restrictions.push_back(std::move(r));
  }
}

void Compiler::target(const Target& t, Scope& scope) {
  const Tensor& tensor = g_[t.tensor];
  int reg = convert(expression(t.value, scope), tensor.kind);
  if (tensor.format) {
    Instruction in;
    in.op = Op::cast;
    in.format = *tensor.format;
    in.kind = kind(*tensor.format);
    in.args[0] = reg;
    in.kinds[0] = tensor.kind;
    reg = convert(emit(in), tensor.kind);
  }
  p_.results.emplace_back(t.tensor, reg);
}

void Compiler::for_each_operand(const Instruction& in, const std::function<void(int)>& fn) const {
  const auto gathers = [&](int form) {
    for (const auto& [reg, c] : p_.forms[static_cast<size_t>(form)].gathers) fn(reg);
  };
  if (in.what == Instruction::What::iota) return gathers(in.plan);
  if (in.what == Instruction::What::read) {
    for (int f : p_.reads[static_cast<size_t>(in.plan)].forms) gathers(f);
    return;
  }
  for (int a : in.args)
    if (a >= 0) fn(a);
}

// Removes state components and instructions that no result of this program depends on. A register
// is defined once, so one backward sweep over each list marks it; the step is swept again while a
// state component becomes live.
void Compiler::drop_dead() {
  std::vector<char> live(static_cast<size_t>(p_.registers), 0);
  const auto mark = [&](int reg) { live[static_cast<size_t>(reg)] = 1; };
  const auto is_live = [&](int reg) { return live[static_cast<size_t>(reg)] != 0; };
  const auto sweep = [&](const std::vector<Instruction>& list) {
    for (size_t k = list.size(); k-- > 0;)
      if (is_live(list[k].target)) for_each_operand(list[k], mark);
  };
  const auto mark_form = [&](int form) {
    for (const auto& [reg, c] : p_.forms[static_cast<size_t>(form)].gathers) mark(reg);
  };
  for (const auto& [tensor, reg] : p_.results) mark(reg);
  for (const Restriction& r : p_.restrictions) mark_form(r.form);
  for (const Test& t : p_.tests) t.condition >= 0 ? mark(t.condition) : mark_form(t.form);
  for (int reg : p_.start)
    if (reg >= 0) mark(reg);
  if (p_.scan && p_.scan->matrix) mark(p_.scan->factor), mark(p_.scan->offset);
  sweep(p_.finish);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = 0; k < p_.state.size(); ++k)
      if ((is_live(p_.last[k]) || is_live(p_.state[k])) && !is_live(p_.next[k])) {
        mark(p_.next[k]);
        changed = true;
      }
    sweep(p_.step);
    for (size_t k = 0; k < p_.state.size(); ++k)
      changed = changed || (is_live(p_.state[k]) && !is_live(p_.next[k]));
  }
  sweep(p_.term);
  for (auto* list : {&p_.term, &p_.step, &p_.finish})
    std::erase_if(*list, [&](const Instruction& in) { return !is_live(in.target); });
  size_t kept = 0;
  for (size_t k = 0; k < p_.state.size(); ++k) {
    if (!is_live(p_.last[k]) && !is_live(p_.state[k])) continue;
    p_.state[kept] = p_.state[k];
    p_.last[kept] = p_.last[k];
    p_.next[kept] = p_.next[k];
    p_.identity[kept] = p_.identity[k];
    p_.start[kept] = p_.start[k];
    ++kept;
  }
  p_.state.resize(kept);
  p_.last.resize(kept);
  p_.next.resize(kept);
  p_.identity.resize(kept);
  p_.start.resize(kept);
  p_.folds = kept > 0;
}

Result<Program> Compiler::finished() {
  if (problem_) return tl::unexpected(*problem_);
  drop_dead();
  std::stable_sort(p_.term.begin(), p_.term.end(),
                   [](const Instruction& a, const Instruction& b) { return a.level < b.level; });
  for (int level = 0; level <= static_cast<int>(p_.reduce.size()) + 1; ++level) {
    const auto at = std::partition_point(p_.term.begin(), p_.term.end(),
                                         [&](const Instruction& i) { return i.level < level; });
    p_.level_begin.push_back(static_cast<size_t>(at - p_.term.begin()));
  }
  return std::move(p_);
}

Result<Program> Compiler::node(const Node& n, const std::vector<DimId>& points) {
  if (n.gradient) return not_built("a gradient", "E0690");
  if (n.scan) return scan(n, points);
  if (const auto ok = dims(points, n.reduce); !ok) return tl::unexpected(ok.error());
  Scope values;
  for (const Fold& f : n.folds) {
    p_.folds = true;
    fold(n, f, values.state);
  }
  if (p_.folds) guards(n);
  for (const Target& t : n.targets)
    if (t.points == points) target(t, values);
  return finished();
}

Result<Program> Compiler::scan(const Node& n, const std::vector<DimId>& points) {
  const Scan& s = *n.scan;
  std::vector<DimId> lanes = points, loops = {s.along};
  std::erase(lanes, s.along);
  if (s.matrix) loops.push_back(s.matrix->second);
  if (const auto ok = dims(lanes, loops); !ok) return tl::unexpected(ok.error());
  p_.folds = true;
  ScanPlan plan;
  plan.exclusive = s.exclusive;
  plan.reverse = s.reverse;
  plan.strides.assign(lanes.size(), 0);
  int64_t stride = 1;
  for (size_t k = points.size(), lane = lanes.size(); k-- > 0;) {
    (points[k] == s.along ? plan.stride : plan.strides[--lane]) = stride;
    const auto extent = points[k] == s.along ? p_.reduce_extent[0] : p_.lane_extent[lane];
    stride *= std::max<int64_t>(extent, 1);
  }
  Scope values, body;
  fold(n, n.folds[0], values.state);
  // affine composes maps (a, b); started at (1, h0), its b is the recurrence from h0.
  if (!s.initial.empty()) p_.start[1] = convert(expression(s.initial[0], body), Kind::real);
  if (s.matrix) {
    plan.matrix = true;
    plan.row = static_cast<size_t>(lane_of_.at(s.matrix->first));
    plan.factor = convert(expression(n.folds[0].args[0], body), Kind::real);
    plan.offset = convert(expression(n.folds[0].args[1], body), Kind::real);
    plan.state = p_.last[1];
  }
  p_.scan = plan;
  for (const Target& t : n.targets)
    if (t.points == points) target(t, values);
  return finished();
}

Result<Program> Compiler::position(const Node& n, LeafId read, size_t axis,
                                   const std::vector<DimId>& over, bool guarded) {
  if (const auto ok = dims(over, {}); !ok) return tl::unexpected(ok.error());
  if (guarded) guards(n);
  Instruction in;
  in.what = Instruction::What::iota;
  in.kind = Kind::integer;
  in.plan = form(g_.leaf(read).forms[axis]);
  p_.results.emplace_back(g_.leaf(read).tensor, emit(in));
  return finished();
}

}  // namespace

Result<int64_t> extent_value(const Graph& g, const Poly& p, std::span<const int64_t> params) {
  const auto v = p.evaluate(params);
  if (v && *v >= 0) return *v;
  const std::string text = p.text([&](ParamId id) { return g[id].name; });
  if (v)
    return error("E0409", fmt::format("the extent {} is {}; an extent is at least 0", text, *v));
  return tl::unexpected(out_of_memory("an extent of " + text, "more than 9223372036854775807"));
}

Result<std::vector<int64_t>> shape_value(const Graph& g, const std::vector<Poly>& shape,
                                         std::span<const int64_t> params) {
  std::vector<int64_t> out;
  for (const Poly& p : shape) {
    const auto v = extent_value(g, p, params);
    if (!v) return tl::unexpected(v.error());
    out.push_back(*v);
  }
  return out;
}

Result<Program> compile(const Graph& g, const Node& n, std::span<const int64_t> params,
                        const std::vector<DimId>& points) {
  return Compiler(g, params).node(n, points);
}

Result<Program> compile_position(const Graph& g, const Node& n, std::span<const int64_t> params,
                                 LeafId read, size_t axis, const std::vector<DimId>& dims,
                                 bool guarded) {
  return Compiler(g, params).position(n, read, axis, dims, guarded);
}

}  // namespace tang::oracle
