#include "emit/gpu_plan.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace tang {

using loop::Hint;
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
constexpr int64_t narrow_most = INT32_MAX;
constexpr int64_t wide_symbol = int64_t{1} << 40;
constexpr int64_t wide_most = int64_t{1} << 62;

bool is_ring(Op op) { return op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg; }

}  // namespace

GpuPlan::GpuPlan(const loop::Program& program, const Kernel& kernel, bool wide)
    : program_(program),
      kernel_(kernel),
      wide_(wide),
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
    const int64_t low = bound(s.a).value_or(symbol_), high = bound(s.b).value_or(symbol_);
    k.bound = std::min(std::max(low, high), symbol_);
    k.nonnegative = nonnegative(s.a);
    k.pure = true;
    k.varies = false;  // its bounds are made the same for all where that matters
    k.multiple = std::gcd(multiple(s.a), s.step);
  }
  if (s.kind == StmtKind::let && kernel_[s.local].type != Type::i64)
    locals_[index(s.local)].varies = varies(s.a);
  if (s.kind != StmtKind::let || kernel_[s.local].type != Type::i64) return;
  Known& k = locals_[index(s.local)];
  k.bound = bound(s.a);
  k.nonnegative = nonnegative(s.a);
  k.pure = pure(s.a);
  k.varies = varies(s.a);
  k.multiple = multiple(s.a);
  index_[index(s.local)] = k.bound || (!counted_[index(s.local)] && k.pure);
}

std::optional<int64_t> GpuPlan::fit(std::optional<int64_t> x) const {
  return x && *x <= most_ ? x : std::nullopt;
}

std::optional<int64_t> GpuPlan::cast(const Node& n) const {
  const Node& arg = kernel_[n.args[0]];
  if (arg.type == Type::boolean) return 1;
  if (arg.type != Type::i32) return std::nullopt;
  if (arg.op != Op::load) return int64_t{1} << 31;
  const Format f = program_.buffers[arg.id].format;
  return std::max(-integer_min(f), integer_max(f));
}

std::optional<int64_t> GpuPlan::arithmetic(const Node& n) const {
  const auto a = bound(n.args[0]);
  if (!a) return std::nullopt;
  if (n.args[1] == Value{}) return a;
  const auto b = bound(n.args[1]);
  if (!b) return std::nullopt;
  int64_t result = 0;
  switch (n.op) {
    case Op::add:
    case Op::sub:
      return *a + *b;
    case Op::mul:
      if (__builtin_mul_overflow(*a, *b, &result)) return std::nullopt;
      return std::max({result, *a, *b});
    case Op::div: {
      const Node& by = kernel_[n.args[1]];
      const bool constant = by.op == Op::constant && integer_value(by) > 0;
      return constant && nonnegative(n.args[0]) ? *a / integer_value(by) : *a + 1;
    }
    case Op::mod:
      return *b;
    default:
      return std::max(*a, *b);
  }
}

std::optional<int64_t> GpuPlan::bound(Value v) const {
  const Node& n = kernel_[v];
  if (n.type != Type::i64) return std::nullopt;
  switch (n.op) {
    case Op::constant:
      if (integer_value(n) == INT64_MIN) return std::nullopt;
      return fit(std::abs(integer_value(n)));
    case Op::symbol:
      return symbol_;
    case Op::thread:
      return kernel_.threads - 1;
    case Op::local:
      return locals_[n.id].bound;
    case Op::cast:
      return fit(cast(n));
    case Op::spread:
    case Op::low:
    case Op::high:
    case Op::lane:
      return bound(n.args[0]);
    case Op::ramp: {
      const auto a = bound(n.args[0]);
      return fit(a ? std::optional(*a + loop::max_lanes) : a);
    }
    case Op::select: {
      const auto a = bound(n.args[1]), b = bound(n.args[2]);
      return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
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
