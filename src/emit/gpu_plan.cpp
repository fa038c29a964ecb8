#include "emit/gpu_plan.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace tang {

using loop::Hint;
using loop::Interval;
using loop::Kernel;
using loop::LocalId;
using loop::LocalKind;
using loop::Node;
using loop::Op;
using loop::Stmt;
using loop::StmtKind;
using loop::Type;
using loop::Value;

// ---- loops --------------------------------------------------------------------------------------

std::vector<size_t> ends_of(const Kernel& kernel) {
  std::vector<size_t> ends(kernel.body.size(), 0), open;
  for (size_t k = 0; k < kernel.body.size(); ++k) {
    const StmtKind kind = kernel.body[k].kind;
    if (kind == StmtKind::for_ || kind == StmtKind::if_) open.push_back(k);
    if (kind != StmtKind::end || open.empty()) continue;
    ends[open.back()] = k;
    open.pop_back();
  }
  return ends;
}

namespace {

bool depends(const Kernel& kernel, Value v, const std::vector<LocalId>& on) {
  if (v == Value{}) return false;
  const Node& n = kernel[v];
  if (n.op == Op::local && std::find(on.begin(), on.end(), static_cast<LocalId>(n.id)) != on.end())
    return true;
  const loop::Operands args(n);
  return std::any_of(args.begin(), args.end(), [&](Value a) { return depends(kernel, a, on); });
}

// The parallel loop directly inside of the one at `k` that makes up its body but for definitions.
std::optional<size_t> inner(const Kernel& kernel, const std::vector<size_t>& ends, size_t k,
                            std::vector<LocalId>& inside) {
  inside.push_back(kernel.body[k].local);
  for (size_t at = k + 1; at < ends[k]; ++at) {
    const Stmt& s = kernel.body[at];
    if (s.kind == StmtKind::comment) continue;
    if (s.kind == StmtKind::let) {
      inside.push_back(s.local);
      continue;
    }
    const bool fits = s.kind == StmtKind::for_ && s.hint == Hint::parallel &&
                      ends[at] + 1 == ends[k] && !depends(kernel, s.a, inside) &&
                      !depends(kernel, s.b, inside);
    return fits ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<GpuNest> parallel_nests(const Kernel& kernel) {
  const std::vector<size_t> ends = ends_of(kernel);
  std::vector<GpuNest> nests;
  for (size_t k = 0; k < kernel.body.size(); ++k) {
    const Stmt& s = kernel.body[k];
    if (s.kind != StmtKind::for_ || s.hint != Hint::parallel) continue;
    GpuNest nest;
    std::vector<LocalId> inside;
    for (std::optional<size_t> at = k; at; at = inner(kernel, ends, *at, inside))
      nest.loops.push_back(*at);
    nests.push_back(std::move(nest));
    k = ends[k];
  }
  return nests;
}

// ---- indices ------------------------------------------------------------------------------------

namespace {

constexpr int64_t narrow_symbol = (int64_t{1} << 30) - 1;
constexpr int64_t narrow_least = INT32_MIN, narrow_most = INT32_MAX;
constexpr int64_t wide_symbol = int64_t{1} << 40;
constexpr int64_t wide_most = int64_t{1} << 62;

Interval hull(Interval a, Interval b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

bool is_ring(Op op) { return op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg; }

}  // namespace

GpuPlan::GpuPlan(const loop::Program& program, const Kernel& kernel, bool wide, bool wraps)
    : program_(program),
      kernel_(kernel),
      wide_(wide),
      wraps_(wraps),
      least_(wide ? -wide_most : narrow_least),
      most_(wide ? wide_most : narrow_most),
      symbol_(wide ? wide_symbol : narrow_symbol),
      locals_(kernel.locals.size()),
      index_(kernel.locals.size(), false),
      counted_(kernel.locals.size(), false) {
  note_uses();
  // What a variable is assigned later counts before it, in a loop around.
  for (int round = 0; round < 2; ++round)
    for (const Stmt& s : kernel.body) look_at(s);
}

void GpuPlan::note_use(Value v, bool addresses) {
  if (v == Value{}) return;
  const Node& n = kernel_[v];
  if (n.op == Op::local && !addresses) counted_[n.id] = true;
  const bool memory = n.op == Op::load || n.op == Op::element;
  const bool passes = is_ring(n.op) || n.op == Op::spread || n.op == Op::ramp || n.op == Op::lane ||
                      n.op == Op::low || n.op == Op::high || n.op == Op::join;
  for (const Value a : loop::Operands(n)) note_use(a, memory || (addresses && passes));
}

// Backwards, so that what a definition is used for is known before what it is made of.
void GpuPlan::note_uses() {
  for (auto s = kernel_.body.rbegin(); s != kernel_.body.rend(); ++s) {
    const bool defines = s->kind == StmtKind::let;
    const bool addresses = s->kind == StmtKind::for_ || s->kind == StmtKind::set ||
                           s->kind == StmtKind::store || s->kind == StmtKind::prefetch ||
                           (defines && !counted_[index(s->local)]);
    note_use(s->a, addresses);
    note_use(s->b, s->kind == StmtKind::for_);
    note_use(s->stride, true);
    note_use(s->first, false);
  }
}

void GpuPlan::look_at(const Stmt& s) {
  if (s.kind == StmtKind::assign || s.kind == StmtKind::var || s.kind == StmtKind::exchange) {
    Known& k = locals_[index(s.local)];
    k.varies = k.varies || varies(s.a) || s.kind == StmtKind::exchange;
    return;
  }
  if (s.kind == StmtKind::for_) {
    Known& k = locals_[index(s.local)];
    index_[index(s.local)] = true;
    k.nonnegative = nonnegative(s.a);
    const Interval any{k.nonnegative ? 0 : -symbol_, symbol_};
    const Interval first = range(s.a).value_or(any), end = range(s.b).value_or(any);
    const int64_t lo = std::clamp(first.lo, -symbol_, symbol_);
    k.range = Interval{lo, std::clamp(end.hi - 1, lo, symbol_)};
    k.pure = true;
    k.varies = false;  // its bounds are made the same for all where that matters
    k.multiple = std::gcd(multiple(s.a), s.step);
  }
  if (s.kind == StmtKind::let && kernel_[s.local].type != Type::i64)
    locals_[index(s.local)].varies = varies(s.a);
  if (s.kind != StmtKind::let || kernel_[s.local].type != Type::i64) return;
  Known& k = locals_[index(s.local)];
  k.range = range(s.a);
  k.nonnegative = nonnegative(s.a);
  k.pure = pure(s.a);
  k.varies = varies(s.a);
  k.multiple = multiple(s.a);
  index_[index(s.local)] = k.range || (!counted_[index(s.local)] && (k.pure || wraps_));
}

std::optional<Interval> GpuPlan::fit(std::optional<Interval> x) const {
  return x && x->lo >= least_ && x->hi <= most_ ? x : std::nullopt;
}

std::optional<Interval> GpuPlan::cast(const Node& n) const {
  const Node& arg = kernel_[n.args[0]];
  if (arg.type == Type::boolean) return Interval{0, 1};
  if (arg.type != Type::i32) return std::nullopt;
  if (arg.op != Op::load) return Interval{INT32_MIN, INT32_MAX};
  const Format f = program_.buffers[arg.id].format;
  return Interval{integer_min(f), integer_max(f)};
}

// Of a division or a remainder. What is divided by 0 is nobody's business.
std::optional<Interval> GpuPlan::quotient(const Node& n, Interval a) const {
  const auto b = range(n.args[1]);
  if (!b) return std::nullopt;
  if (n.op == Op::mod)
    return b->lo >= 0 ? Interval{0, b->hi}
                      : Interval{std::min(b->lo, -b->hi), std::max(-b->lo, b->hi)};
  if (a.lo >= 0 && b->lo > 0) return Interval{a.lo / b->hi, a.hi / b->lo};
  const int64_t most = std::max(-a.lo, a.hi) + 1;
  return Interval{-most, most};
}

std::optional<Interval> GpuPlan::arithmetic(const Node& n) const {
  const auto a = range(n.args[0]);
  if (!a) return std::nullopt;
  if (n.op == Op::neg) return Interval{-a->hi, -a->lo};
  if (n.op == Op::abs) return Interval{0, std::max(-a->lo, a->hi)};
  if (n.op == Op::relu) return Interval{std::max<int64_t>(a->lo, 0), std::max<int64_t>(a->hi, 0)};
  if (n.args[1] == Value{}) return a;
  if (n.op == Op::div || n.op == Op::mod) return quotient(n, *a);
  const auto b = range(n.args[1]);
  if (!b) return std::nullopt;
  switch (n.op) {
    case Op::add:
      return Interval{a->lo + b->lo, a->hi + b->hi};
    case Op::sub:
      return Interval{a->lo - b->hi, a->hi - b->lo};
    case Op::mul: {
      int64_t corners[4];
      const bool over = __builtin_mul_overflow(a->lo, b->lo, &corners[0]) ||
                        __builtin_mul_overflow(a->lo, b->hi, &corners[1]) ||
                        __builtin_mul_overflow(a->hi, b->lo, &corners[2]) ||
                        __builtin_mul_overflow(a->hi, b->hi, &corners[3]);
      if (over) return std::nullopt;
      return Interval{*std::min_element(corners, corners + 4),
                      *std::max_element(corners, corners + 4)};
    }
    case Op::max:
      return Interval{std::max(a->lo, b->lo), std::max(a->hi, b->hi)};
    case Op::min:
      return Interval{std::min(a->lo, b->lo), std::min(a->hi, b->hi)};
    default:
      return hull(*a, *b);
  }
}

std::optional<Interval> GpuPlan::range(Value v) const {
  const Node& n = kernel_[v];
  if (n.type != Type::i64) return std::nullopt;
  switch (n.op) {
    case Op::constant: {
      const int64_t c = integer_value(n);
      return c == INT64_MIN || std::abs(c) > most_ ? std::nullopt : std::optional(Interval{c, c});
    }
    case Op::symbol:
      return Interval{0, symbol_};
    case Op::thread:
      return Interval{0, kernel_.threads - 1};
    case Op::local:
      return locals_[n.id].range;
    case Op::cast:
      return fit(cast(n));
    case Op::spread:
    case Op::low:
    case Op::high:
    case Op::lane:
      return range(n.args[0]);
    case Op::ramp: {
      const auto a = range(n.args[0]);
      return fit(a ? std::optional(Interval{a->lo, a->hi + loop::max_lanes}) : a);
    }
    case Op::select: {
      const auto a = range(n.args[1]), b = range(n.args[2]);
      return a && b ? std::optional(hull(*a, *b)) : std::nullopt;
    }
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
    case Op::div:
    case Op::mod:
    case Op::max:
    case Op::min:
    case Op::abs:
    case Op::relu:
    case Op::floor:
    case Op::join:
    case Op::even:
    case Op::odd:
      return fit(arithmetic(n));
    default:
      return std::nullopt;
  }
}

bool GpuPlan::nonnegative(Value v) const {
  const Node& n = kernel_[v];
  if (const auto r = range(v)) return r->lo >= 0;
  switch (n.op) {
    case Op::constant:
      return integer_value(n) >= 0;
    case Op::symbol:
    case Op::thread:
      return true;
    case Op::local:
      return locals_[n.id].nonnegative;
    case Op::cast:
      return kernel_[n.args[0]].type == Type::boolean;
    case Op::add:
    case Op::mul:
    case Op::div:
    case Op::min:
    case Op::join:
      return nonnegative(n.args[0]) && nonnegative(n.args[1]);
    case Op::max:
      return nonnegative(n.args[0]) || nonnegative(n.args[1]);
    case Op::mod:
      return nonnegative(n.args[1]);
    case Op::abs:
    case Op::relu:
      return true;
    case Op::select:
      return nonnegative(n.args[1]) && nonnegative(n.args[2]);
    case Op::spread:
    case Op::ramp:
    case Op::lane:
    case Op::low:
    case Op::high:
      return nonnegative(n.args[0]);
    default:
      return false;
  }
}

bool GpuPlan::pure(Value v) const {
  const Node& n = kernel_[v];
  if (n.op == Op::load || n.op == Op::element) return false;
  if (n.op == Op::local) return locals_[n.id].pure;
  if (n.op == Op::cast) return false;
  const loop::Operands args(n);
  return std::all_of(args.begin(), args.end(), [&](Value a) { return pure(a); });
}

int64_t GpuPlan::multiple(Value v) const {
  const Node& n = kernel_[v];
  if (n.type != Type::i64) return 1;
  switch (n.op) {
    case Op::constant:
      return integer_value(n) == INT64_MIN ? 1 : std::abs(integer_value(n));
    case Op::local:
      return locals_[n.id].multiple;
    case Op::add:
    case Op::sub:
    case Op::min:
    case Op::max:
      return std::gcd(multiple(n.args[0]), multiple(n.args[1]));
    case Op::select:
      return std::gcd(multiple(n.args[1]), multiple(n.args[2]));
    case Op::mul: {
      const int64_t a = multiple(n.args[0]), b = multiple(n.args[1]);
      int64_t both = 0;
      return __builtin_mul_overflow(a, b, &both) ? 1 : both;
    }
    case Op::mod:
      return std::gcd(multiple(n.args[0]), multiple(n.args[1]));
    case Op::neg:
      return multiple(n.args[0]);
    default:
      return 1;
  }
}

bool GpuPlan::varies(Value v) const {
  if (v == Value{}) return false;
  const Node& n = kernel_[v];
  if (n.op == Op::load || n.op == Op::element || n.op == Op::thread) return true;
  if (n.op == Op::local) return locals_[n.id].varies;
  const loop::Operands args(n);
  return std::any_of(args.begin(), args.end(), [&](Value a) { return varies(a); });
}

bool GpuPlan::reads(Value v, std::optional<loop::BufferId> buffer,
                    std::optional<LocalId> array) const {
  if (v == Value{}) return false;
  const Node& n = kernel_[v];
  if (buffer && n.op == Op::load &&
      program_.storage(static_cast<loop::BufferId>(n.id)) == program_.storage(*buffer))
    return true;
  if (array && n.op == Op::element && static_cast<LocalId>(n.id) == *array) return true;
  const loop::Operands args(n);
  return std::any_of(args.begin(), args.end(), [&](Value a) { return reads(a, buffer, array); });
}

bool GpuPlan::crosses(Value v) const {
  const Node& n = kernel_[v];
  const bool moves = n.op == Op::low || n.op == Op::high || n.op == Op::join || n.op == Op::lane ||
                     n.op == Op::even || n.op == Op::odd;
  const loop::Operands args(n);
  return moves || std::any_of(args.begin(), args.end(), [&](Value a) { return crosses(a); });
}

bool GpuPlan::mentions(Value v, LocalId local) const { return depends(kernel_, v, {local}); }

}  // namespace tang
