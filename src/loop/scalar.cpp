#include "loop/scalar.h"

namespace tang::loop {

namespace {

using Scalar = tang::Op;

std::optional<Op> same_op(Scalar op) {
  switch (op) {
// clang-format off
#define TANG_SAME(name) case Scalar::name: return Op::name;
    TANG_SAME(add) TANG_SAME(sub) TANG_SAME(mul) TANG_SAME(quot) TANG_SAME(neg) TANG_SAME(div)
    TANG_SAME(mod) TANG_SAME(floor) TANG_SAME(max) TANG_SAME(min) TANG_SAME(abs)
    TANG_SAME(relu) TANG_SAME(recip) TANG_SAME(sqrt) TANG_SAME(rsqrt) TANG_SAME(sin)
    TANG_SAME(cos) TANG_SAME(atan2) TANG_SAME(exp) TANG_SAME(log) TANG_SAME(log1p)
    TANG_SAME(pow) TANG_SAME(sigmoid) TANG_SAME(tanh) TANG_SAME(silu) TANG_SAME(gelu)
    TANG_SAME(gelu_tanh) TANG_SAME(erf) TANG_SAME(erfc) TANG_SAME(softplus) TANG_SAME(lt)
    TANG_SAME(le) TANG_SAME(eq) TANG_SAME(logical_and) TANG_SAME(logical_or)
    TANG_SAME(logical_not) TANG_SAME(select)
#undef TANG_SAME
    case Scalar::constant:
    case Scalar::var:
    case Scalar::cast:
      return std::nullopt;
    // clang-format on
  }
  return std::nullopt;
}

Kind common(Kind a, Kind b) {
  if (a == Kind::real || b == Kind::real) return Kind::real;
  return a == Kind::integer || b == Kind::integer ? Kind::integer : Kind::boolean;
}

class Operation {
 public:
  Operation(Builder& builder, const ExprPool& pool, const ExprNode& node,
            const std::map<ExprId, Value>& operands, Type real)
      : b(builder), pool_(pool), n(node), operands_(operands), real_(real) {}

  Value value() {
    switch (n.op) {
      case Scalar::constant:
        return constant();
      case Scalar::lt:
      case Scalar::le:
      case Scalar::eq:
        return comparison();
      case Scalar::cast:
        return cast();
      case Scalar::pow:
        return power();
      default:
        return plain();
    }
  }

 private:
  Value operand(size_t k, Kind kind) {
    return b.cast(kind == Kind::real      ? real_
                  : kind == Kind::integer ? Type::i64
                                          : Type::boolean,
                  operands_.at(n.args[k]));
  }

  Value constant() {
    const tang::Value v = n.value();
    if (v.kind == Kind::real) return b.real(real_, v.r);
    return v.kind == Kind::integer ? b.integer(v.i) : b.boolean(v.i != 0);
  }

  Value comparison() {
    Kind k = common(pool_[n.args[0]].kind, pool_[n.args[1]].kind);
    if (k == Kind::boolean && n.op != Scalar::eq) k = Kind::integer;
    return b.op(*same_op(n.op), {operand(0, k), operand(1, k)});
  }

  Value cast() {
    switch (kind(n.format)) {
      case Kind::boolean:
        return operand(0, Kind::boolean);
      case Kind::integer: {
        const Value i = operand(0, Kind::integer);
        return n.format == Format::i64 ? i : b.round(n.format, i);
      }
      case Kind::real:
        break;
    }
    const Value v = operand(0, Kind::real);
    const bool exact = n.format == Format::f64 || (n.format == Format::f32 && real_ == Type::f32);
    return exact ? v : b.round(n.format, v);
  }

  Value power() {
    const ExprNode exponent = pool_[n.args[1]];
    const Value base = operand(0, n.kind);
    if (exponent.op != Scalar::constant || exponent.kind != Kind::integer)
      return b.op(Op::pow, {base, operand(1, Kind::real)});
    const int64_t count = exponent.value().i;
    std::optional<Value> result;
    Value square = base;
    const uint64_t magnitude =
        count < 0 ? 0 - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
    for (uint64_t k = magnitude; k != 0; k >>= 1) {
      if (k & 1) result = result ? b.let("power", b.mul(*result, square)) : square;
      if (k > 1) square = b.let("square", b.mul(square, square));
    }
    const Value one = n.kind == Kind::real ? b.real(real_, 1) : b.integer(1);
    const Value power = result.value_or(one);
    return count < 0 ? b.recip(power) : power;
  }

  Value plain() {
    std::vector<Value> args;
    for (size_t k = 0; k < n.operands().size(); ++k)
      args.push_back(operand(k, n.op == Scalar::select && k == 0 ? Kind::boolean : n.kind));
    if (n.op == Scalar::floor && n.kind != Kind::real) return args[0];
    if (n.op == Scalar::mul) {  // exact
      if (pool_.is_number(n.args[0], 1)) return args[1];
      if (pool_.is_number(n.args[1], 1)) return args[0];
    }
    return b.op(*same_op(n.op), std::span<const Value>(args));
  }

  Builder& b;
  const ExprPool& pool_;
  const ExprNode& n;
  const std::map<ExprId, Value>& operands_;
  Type real_;
};

}  // namespace

Value scalar(Builder& b, const ExprPool& pool, const ExprNode& n,
             const std::map<ExprId, Value>& operands, Type real) {
  return Operation(b, pool, n, operands, real).value();
}

}  // namespace tang::loop
