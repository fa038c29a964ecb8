// Tracing: bodies written as generic C++ lambdas become scalar expressions (algebra.md 1.9).
//
//   auto body = [](auto q, auto k) { return tang::exp(q * k) * 0.125; };
//   ExprId e = trace(tracer, body, x, y);      // the expression exp(x * y) * 0.125
//   Number v = body(Number(2.0), Number(3.0)); // the interpreter's arithmetic, the same bits
//
// Expr is a handle; `a < b` gives a Cond, which has no conversion to bool, so a data-dependent `if`
// does not compile: write tang::select(c, a, b). The functions here take Expr, Number and plain C++
// numbers, so one lambda runs on all of them (on doubles, `/` is the machine's division).
//
// max and min are objects rather than functions because they name monoids too.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "expr/apply.h"
#include "expr/expr.h"

namespace tang {

// Where traced nodes are made. `make` interns a node whose kind is still to be inferred.
struct Tracer {
  ExprPool& pool;
  NodeBuilder make;

  explicit Tracer(ExprPool& p) : pool(p), make([&p](const ExprNode& n) { return rebuild(p, n); }) {}
  Tracer(ExprPool& p, NodeBuilder m) : pool(p), make(std::move(m)) {}
};

class Cond;

// A constant that no tracer owns yet, a node of a tracer, or broken: what a failed read of a
// builder gives, and everything computed from it.
class Expr {
 public:
  Expr() : broken_(true) {}
  template <std::floating_point T>
  Expr(T x) : constant_(Value::real(static_cast<double>(x))) {}  // NOLINT: numbers are expressions
  template <std::integral T>
  requires(!std::same_as<T, bool>) Expr(T x)
      : constant_(Value::integer(static_cast<int64_t>(x))) {}  // NOLINT
  Expr(const Cond& c);  // NOLINT: a condition used as a number is 0 or 1
  Expr(Tracer* t, ExprId e) : tracer_(t), id_(e), broken_(e == ExprId::none) {}

  bool broken() const { return broken_; }
  Tracer* tracer() const { return tracer_; }
  // The node, interned in t if this is a constant; none if broken or another tracer's.
  ExprId in(Tracer& t) const {
    if (broken_ || (tracer_ && tracer_ != &t)) return ExprId::none;
    return tracer_ ? id_ : t.pool.constant(constant_);
  }

  static Expr apply(Op op, std::initializer_list<Expr> operands, Format format = Format::f64);

 private:
  Tracer* tracer_ = nullptr;
  ExprId id_ = ExprId::none;
  Value constant_;
  bool broken_ = false;
};

// A bool expression. `!` negates, `&&` and `||` combine (both sides are always built).
class Cond {
 public:
  explicit Cond(Expr e) : e_(std::move(e)) {}
  const Expr& expr() const { return e_; }

 private:
  Expr e_;
};

inline Expr::Expr(const Cond& c) : Expr(c.expr()) {}

inline Expr Expr::apply(Op op, std::initializer_list<Expr> operands, Format format) {
  Tracer* t = nullptr;
  for (const Expr& e : operands) {
    if (e.broken_ || (t && e.tracer_ && e.tracer_ != t)) return Expr();
    if (e.tracer_) t = e.tracer_;
  }
  ExprPool scratch;  // infers the kind of a constant
  Tracer local(scratch);
  Tracer& at = t ? *t : local;
  ExprNode n;
  n.op = op;
  n.format = format;
  size_t k = 0;
  for (const Expr& e : operands) n.args[k++] = e.in(at);
  const ExprId id = at.make(n);
  if (t) return Expr(t, id);
  Expr folded;
  folded.broken_ = false;
  folded.constant_ = evaluate(scratch, id, [](uint32_t) { return Value(); });
  return folded;
}

// A number of the interpreter: every operation is the one the oracle does.
class Number {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> Number(T x) {  // NOLINT: numbers convert
    if constexpr (std::same_as<T, bool>)
      value_ = Value::boolean(x);
    else if constexpr (std::integral<T>)
      value_ = Value::integer(static_cast<int64_t>(x));
    else
      value_ = Value::real(static_cast<double>(x));
  }
  explicit Number(const Value& v) : value_(v) {}

  const Value& value() const { return value_; }
  static Number apply(Op op, std::initializer_list<Number> operands, Format format = Format::f64) {
    ExprPool scratch;
    ExprNode n;
    n.op = op;
    n.format = format;
    size_t k = 0;
    for (const Number& x : operands) n.args[k++] = scratch.constant(x.value_);
    return Number(evaluate(scratch, rebuild(scratch, n), [](uint32_t) { return Value(); }));
  }

 private:
  Value value_;
};

namespace traced {

template <class T>
concept Expression =
    std::derived_from<std::remove_cvref_t<T>, Expr> || std::same_as<std::remove_cvref_t<T>, Cond>;
template <class T>
concept Interpreted = std::same_as<std::remove_cvref_t<T>, Number>;
template <class T>
concept Plain = std::is_arithmetic_v<std::remove_cvref_t<T>>;
template <class T>
concept Scalar = Expression<T> || Interpreted<T> || Plain<T>;

template <class... T>
using Common = std::conditional_t<(Expression<T> || ...), Expr,
                                  std::conditional_t<(Interpreted<T> || ...), Number, double>>;

// op over operands of one type after conversion to it.
template <class... T>
auto call(Op op, const T&... x) {
  using C = Common<T...>;
  if constexpr (std::same_as<C, double>)
    return Number::apply(op, {Number(x)...}).value().as_real();
  else
    return C::apply(op, {C(x)...});
}

template <class... T>
concept Lifted = (Scalar<T> && ...) && !(Plain<T> && ...);

}  // namespace traced

#define TANG_TRACED_OPERATOR(symbol, op) \
  template <class A, class B>            \
  requires traced::Lifted<A, B>          \
  auto operator symbol(const A& a, const B& b) { return traced::call(Op::op, a, b); }
TANG_TRACED_OPERATOR(+, add)
TANG_TRACED_OPERATOR(-, sub)
TANG_TRACED_OPERATOR(*, mul)
TANG_TRACED_OPERATOR(/, quot)
#undef TANG_TRACED_OPERATOR

template <class A>
requires traced::Lifted<A>
auto operator-(const A& a) { return traced::call(Op::neg, a); }

#define TANG_TRACED_FUNCTION(name)    \
  template <traced::Scalar A>         \
  auto name(const A& a) {             \
    return traced::call(Op::name, a); \
  }
TANG_TRACED_FUNCTION(exp)
TANG_TRACED_FUNCTION(log)
TANG_TRACED_FUNCTION(sqrt)
TANG_TRACED_FUNCTION(rsqrt)
TANG_TRACED_FUNCTION(recip)
TANG_TRACED_FUNCTION(sin)
TANG_TRACED_FUNCTION(cos)
TANG_TRACED_FUNCTION(tanh)
TANG_TRACED_FUNCTION(abs)
TANG_TRACED_FUNCTION(sigmoid)
TANG_TRACED_FUNCTION(relu)
TANG_TRACED_FUNCTION(silu)
TANG_TRACED_FUNCTION(gelu)
TANG_TRACED_FUNCTION(gelu_tanh)
TANG_TRACED_FUNCTION(erf)
TANG_TRACED_FUNCTION(erfc)
TANG_TRACED_FUNCTION(softplus)
TANG_TRACED_FUNCTION(log1p)
TANG_TRACED_FUNCTION(floor)
#undef TANG_TRACED_FUNCTION

#define TANG_TRACED_FUNCTION(name)              \
  template <traced::Scalar A, traced::Scalar B> \
  auto name(const A& a, const B& b) {           \
    return traced::call(Op::name, a, b);        \
  }
TANG_TRACED_FUNCTION(atan2)
TANG_TRACED_FUNCTION(pow)
TANG_TRACED_FUNCTION(div)
TANG_TRACED_FUNCTION(mod)
#undef TANG_TRACED_FUNCTION

struct Extreme {
  Op op;
  template <traced::Scalar A, traced::Scalar B>
  auto operator()(const A& a, const B& b) const {
    return traced::call(op, a, b);
  }
};
inline constexpr Extreme max{Op::max};
inline constexpr Extreme min{Op::min};

// The rounding of a format inside an expression.
inline Expr cast(Format format, const Expr& a) { return Expr::apply(Op::cast, {a}, format); }
inline Number cast(Format format, const Number& a) { return Number::apply(Op::cast, {a}, format); }

namespace traced {

// Comparisons: a Cond over expressions, a bool over the interpreter's numbers.
template <class A, class B>
auto compare(Op op, const A& a, const B& b) {
  if constexpr (std::same_as<Common<A, B>, Expr>)
    return Cond(call(op, a, b));
  else
    return call(op, a, b).value().as_bool();
}

}  // namespace traced

#define TANG_TRACED_COMPARISON(symbol, result) \
  template <class A, class B>                  \
  requires traced::Lifted<A, B>                \
  auto operator symbol(const A& a, const B& b) { return result; }
TANG_TRACED_COMPARISON(<, traced::compare(Op::lt, a, b))
TANG_TRACED_COMPARISON(<=, traced::compare(Op::le, a, b))
TANG_TRACED_COMPARISON(>, traced::compare(Op::lt, b, a))
TANG_TRACED_COMPARISON(>=, traced::compare(Op::le, b, a))
TANG_TRACED_COMPARISON(==, traced::compare(Op::eq, a, b))
TANG_TRACED_COMPARISON(!=, !traced::compare(Op::eq, a, b))
#undef TANG_TRACED_COMPARISON

inline Cond operator!(const Cond& c) { return Cond(Expr::apply(Op::logical_not, {c})); }
inline Cond operator&&(const Cond& a, const Cond& b) {
  return Cond(Expr::apply(Op::logical_and, {a, b}));
}
inline Cond operator||(const Cond& a, const Cond& b) {
  return Cond(Expr::apply(Op::logical_or, {a, b}));
}

// Lazy in meaning: the branch not taken is discarded, NaN and all.
inline Expr select(const Cond& c, const Expr& t, const Expr& f) {
  return Expr::apply(Op::select, {c, t, f});
}
template <traced::Scalar A, traced::Scalar B>
requires(!traced::Expression<A> && !traced::Expression<B>) auto select(bool c, const A& t,
                                                                       const B& f) {
  return traced::call(Op::select, Number(c), t, f);
}

// The values of f over the given expressions.
template <class F, class... X>
ExprId trace(Tracer& t, F&& f, X... x) {
  return Expr(f(Expr(&t, x)...)).in(t);
}

}  // namespace tang
