#include "expr/apply.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_map>

namespace tang {

namespace {

double max_real(double a, double b) { return a < b ? b : (b < 1 ? a : (0 < b ? a : b)); }
double min_real(double a, double b) { return b < a ? b : (b < 1 ? a : (0 < b ? a : b)); }
double recip(double x) { return 1.0 / x; }
double sigmoid(double x) { return recip(1 + std::exp(-x)); }
double log1p_macro(double x) {
  const double s = 1 + x, d = s - 1;
  return 0 < d ? std::log(s) * x * recip(d) : x;
}
double gelu_tanh(double x) {
  if (x < -1024) return 0;
  return x * sigmoid(1.5957691216057308 * (x + 0.044715 * (x * x * x)));
}

template <class T>
T power(T base, uint64_t n) {  // repeated squaring
  T result = 1;
  for (uint64_t k = n; k != 0; k >>= 1) {
    if (k & 1) result = result * base;
    base = base * base;
  }
  return result;
}

double power_real(double x, const Value& exponent) {
  if (exponent.kind != Kind::integer) return std::exp(exponent.as_real() * std::log(x));
  const uint64_t n = static_cast<uint64_t>(exponent.i);
  return exponent.i >= 0 ? power(x, n) : recip(power(x, 0 - n));
}

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

Value apply_integer(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::add:
      return Value::integer(wrap(bits(a) + bits(b)));
    case Op::sub:
      return Value::integer(wrap(bits(a) - bits(b)));
    case Op::mul:
      return Value::integer(wrap(bits(a) * bits(b)));
    case Op::neg:
      return Value::integer(wrap(0 - bits(a)));
    case Op::max:
      return Value::integer(a < b ? b : a);
    case Op::min:
      return Value::integer(b < a ? b : a);
    case Op::abs:
      return Value::integer(a < 0 ? wrap(0 - bits(a)) : a);
    case Op::relu:
      return Value::integer(a < 0 ? 0 : a);
    case Op::div:
      return Value::integer(floor_div(a, b));
    case Op::mod:
      return Value::integer(floor_mod(a, b));
    case Op::pow:
      return Value::integer(wrap(power(bits(a), bits(b))));
    default:
      return Value::integer(a);  // floor of an integer
  }
}

double apply_real(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::quot:
      return a * recip(b);
    case Op::neg:
      return -a;
    case Op::recip:
      return recip(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return recip(std::sqrt(a));
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::sin(a + std::numbers::pi / 2);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::floor:
      return std::floor(a);
    case Op::div:
      return std::floor(a / b);
    case Op::mod:
      return a - b * std::floor(a / b);
    case Op::max:
      return max_real(a, b);
    case Op::min:
      return min_real(a, b);
    case Op::abs:
      return a < 0 ? -a : a;
    case Op::relu:
      return a < 0 ? 0 : a;
    case Op::sigmoid:
      return sigmoid(a);
    case Op::tanh:
      return 1 - 2 * recip(std::exp(2 * a) + 1);
    case Op::silu:
      return a < -1024 ? 0 : a * sigmoid(a);
    case Op::log1p:
      return log1p_macro(a);
    case Op::softplus:
      return max_real(a, 0) + log1p_macro(std::exp(-(a < 0 ? -a : a)));
    case Op::erf:
      return 1 - erfc_chebyshev(a);
    case Op::erfc:
      return erfc_chebyshev(a);
    case Op::gelu:
      return a < -1024 ? 0 : a / 2 * erfc_chebyshev(-0.7071067811865476 * a);
    case Op::gelu_tanh:
      return gelu_tanh(a);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool compare(Op op, const Value& a, const Value& b) {
  if (a.kind == Kind::real || b.kind == Kind::real) {
    const double x = a.as_real(), y = b.as_real();
    return op == Op::lt ? x < y : op == Op::le ? x <= y : x == y;
  }
  return op == Op::lt ? a.i < b.i : op == Op::le ? a.i <= b.i : a.i == b.i;
}

Value apply_cast(Format format, const Value& a) {
  if (kind(format) == Kind::real) return Value::real(round_to(format, a.as_real()));
  if (kind(format) == Kind::boolean) return Value::boolean(a.as_bool());
  if (a.kind != Kind::real)
    return Value::integer(std::clamp(a.i, integer_min(format), integer_max(format)));
  return Value::integer(round_to_integer(format, a.r));
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap(0 - bits(a));
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

double erfc_chebyshev(double x) {
  const std::span<const double> c = erfc_coefficients();
  const double z = x < 0 ? -x : x;
  if (std::isinf(z)) return x < 0 ? 2 : 0;
  const double t = 2 * recip(2 + z), y = 4 * t - 2;
  double d = 0, dd = 0;
  for (int j = 27; j >= 1; --j) {
    const double next = y * d - dd + c[j];
    dd = d;
    d = next;
  }
  const double tail = t * std::exp(-z * z + (c[0] + y * d) / 2 - dd);
  return x < 0 ? 2 - tail : tail;
}

Value apply(Op op, Format format, const Value& a, const Value& b, const Value& c, Kind result) {
  switch (op) {
    case Op::lt:
    case Op::le:
    case Op::eq:
      return Value::boolean(compare(op, a, b));
    case Op::logical_and:
      return Value::boolean(a.as_bool() && b.as_bool());
    case Op::logical_or:
      return Value::boolean(a.as_bool() || b.as_bool());
    case Op::logical_not:
      return Value::boolean(!a.as_bool());
    case Op::select:
      return (a.as_bool() ? b : c).to(result);
    case Op::cast:
      return apply_cast(format, a);
    default:
      break;
  }
  if (result == Kind::integer) return apply_integer(op, a.i, b.i);
  if (op == Op::pow) return Value::real(power_real(a.as_real(), b));
  return Value::real(apply_real(op, a.as_real(), b.as_real()));
}

Value evaluate(const ExprPool& pool, ExprId root,
               const std::function<Value(uint32_t variable)>& variable) {
  std::unordered_map<ExprId, Value> value;
  for (ExprId id : pool.reachable(root)) {
    const ExprNode& n = pool[id];
    Value v;
    if (n.op == Op::constant) {
      v = n.value();
    } else if (n.op == Op::var) {
      v = variable(n.variable()).to(n.kind);
    } else {
      std::array<Value, 3> x;
      for (size_t k = 0; k < static_cast<size_t>(n.arity()); ++k) x[k] = value[n.args[k]];
      if (n.op == Op::pow && !pool.is_constant(n.args[1])) x[1] = x[1].to(Kind::real);
      v = apply(n.op, n.format, x[0], x[1], x[2], n.kind);
    }
    value[id] = v;
  }
  return value[root];
}

}  // namespace tang
