// How many groups of threads have something to do.
#include <algorithm>

#include "emit/gpu_plan.h"
#include "emit/gpu_source.h"

namespace tang {

namespace {

using loop::Kernel;
using loop::Node;
using loop::Op;
using loop::StmtKind;
using loop::Value;

// Integers that depend on symbols only, by the rules of loop programs.
class Sizes {
 public:
  Sizes(const Kernel& kernel, std::span<const int64_t> symbols)
      : kernel_(kernel), symbols_(symbols), lets_(kernel.locals.size()) {
    for (const loop::Stmt& s : kernel.body)
      if (s.kind == StmtKind::let) lets_[index(s.local)] = s.a;
  }

  std::optional<int64_t> of(Value v) const {
    const Node& n = kernel_[v];
    if (n.lanes > 1 || n.type == loop::Type::f32 || n.type == loop::Type::f64) return std::nullopt;
    switch (n.op) {
      case Op::constant:
        return integer_value(n);
      case Op::symbol:
        return symbols_[n.id];
      case Op::local:
        return lets_[n.id] == Value{} ? std::nullopt : of(lets_[n.id]);
      case Op::cast:
        return of(n.args[0]);
      case Op::load:
      case Op::element:
      case Op::thread:
        return std::nullopt;
      default:
        return operation(n);
    }
  }

 private:
  std::optional<int64_t> operation(const Node& n) const {
    std::optional<int64_t> x[3] = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
      if (n.args[k] == Value{}) continue;
      x[k] = of(n.args[k]);
      if (!x[k]) return std::nullopt;
    }
    const int64_t a = *x[0], b = *x[1];
    int64_t r = 0;
    switch (n.op) {
      case Op::add:
        return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      case Op::sub:
        return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      case Op::mul:
        return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
      case Op::neg:
        return __builtin_sub_overflow(0, a, &r) ? std::nullopt : std::optional(r);
      case Op::div:
        if (b == 0) return 0;
        if (b == -1) return -a;
        return a / b - (a % b != 0 && (a < 0) != (b < 0));
      case Op::mod:
        if (b == 0 || b == -1) return 0;
        return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
      case Op::max:
        return std::max(a, b);
      case Op::min:
        return std::min(a, b);
      case Op::abs:
        return a < 0 ? -a : a;
      case Op::relu:
        return std::max<int64_t>(a, 0);
      case Op::floor:
        return a;
      case Op::lt:
        return a < b;
      case Op::le:
        return a <= b;
      case Op::eq:
        return a == b;
      case Op::ne:
        return a != b;
      case Op::logical_and:
        return a && b;
      case Op::logical_or:
        return a || b;
      case Op::logical_not:
        return !a;
      case Op::select:
        return a ? x[1] : x[2];
      default:
        return std::nullopt;
    }
  }

  const Kernel& kernel_;
  std::span<const int64_t> symbols_;
  std::vector<Value> lets_;  // by local
};

}  // namespace

int64_t trips(const Kernel& kernel, std::span<const int64_t> symbols, int64_t unknown) {
  const Sizes sizes(kernel, symbols);
  const std::vector<GpuNest> nests = parallel_nests(kernel);
  if (nests.empty()) return 1;
  int64_t most = 0;
  for (const GpuNest& nest : nests) {
    int64_t all = 1;
    for (const size_t k : nest.loops) {
      const loop::Stmt& s = kernel.body[k];
      const auto first = sizes.of(s.a), end = sizes.of(s.b);
      if (!first || !end) return unknown;
      const int64_t one = *end > *first ? (*end - *first - 1) / s.step + 1 : 0;
      if (__builtin_mul_overflow(all, one, &all)) return INT64_MAX;
    }
    most = std::max(most, all);
  }
  return most;
}

}  // namespace tang
