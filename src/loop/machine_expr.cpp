#include <algorithm>
#include <cmath>

#include "expr/apply.h"
#include "loop/machine_impl.h"

namespace tang::loop {

namespace {

// The scalar operation of the same name.
tang::Op scalar(Op op) {
  static const std::vector<tang::Op> by_name = [] {
    std::vector<tang::Op> all(static_cast<size_t>(Op::select) + 1, tang::Op::constant);
    for (size_t k = 0; k < all.size(); ++k)
      for (uint8_t n = 0; n <= static_cast<uint8_t>(tang::Op::pow); ++n)
        if (info(static_cast<tang::Op>(n)).name == info(static_cast<Op>(k)).name)
          all[k] = static_cast<tang::Op>(n);
    return all;
  }();
  return by_name[static_cast<size_t>(op)];
}

Number rounded(Type type, double x) {
  return {type == Type::f32 ? static_cast<double>(static_cast<float>(x)) : x, 0};
}

Number wrapped(Type type, uint64_t x) {
  return {0, type == Type::i32 ? static_cast<int32_t>(x) : static_cast<int64_t>(x)};
}

uint64_t bits(const Number& x) { return static_cast<uint64_t>(x.i); }

}  // namespace

Number Machine::eval(Value v) {
  const Node& n = k_[v];
  switch (n.op) {
    case Op::constant:
      return is_real(n.type) ? Number{real_value(n), 0} : Number{0, integer_value(n)};
    case Op::symbol:
      return {0, symbols_[n.id]};
    case Op::thread:
      return {0, me_->number};
    case Op::local:
      return me_->locals[slots_[n.id]];
    case Op::load:
    case Op::element:
      return read(n, eval(n.args[0]).i);
    case Op::low:
      return vector(n.args[0])[0];
    case Op::high:
      return vector(n.args[0])[1];
    case Op::lane:
      return vector(n.args[0])[n.id];
    case Op::select:
      return eval(n.args[eval(n.args[0]).i != 0 ? 1 : 2]);
    case Op::logical_and:
      return {0, eval(n.args[0]).i != 0 && eval(n.args[1]).i != 0};
    case Op::logical_or:
      return {0, eval(n.args[0]).i != 0 || eval(n.args[1]).i != 0};
    default:
      break;
  }
  Number x[3];
  for (size_t k = 0; k < 3 && n.args[k] != Value{}; ++k) x[k] = eval(n.args[k]);
  return operation(n, x);
}

Vector Machine::vector(Value v) {
  const Node& n = k_[v];
  switch (n.op) {
    case Op::local: {
      Vector result;
      std::copy_n(me_->locals.begin() + slots_[n.id], n.lanes, result.begin());
      return result;
    }
    case Op::load:
    case Op::element:
      return read_vector(n);
    case Op::spread:
    case Op::ramp:
    case Op::low:
    case Op::high:
    case Op::join:
      return rearranged(n);
    case Op::even:
    case Op::odd:
      return runs(n);
    default:
      break;
  }
  Vector x[3], result;
  size_t count = 0;
  for (; count < 3 && n.args[count] != Value{}; ++count) x[count] = vector(n.args[count]);
  for (size_t e = 0; e < n.lanes; ++e) {
    Number lane[3];
    for (size_t k = 0; k < count; ++k) lane[k] = x[k][e];
    result[e] = operation(n, lane);
  }
  return result;
}

Vector Machine::runs(const Node& n) {
  const Vector a = vector(n.args[0]), b = vector(n.args[1]);
  Vector result;
  const size_t run = n.id, shift = n.op == Op::odd ? run : 0;
  for (size_t e = 0; e < n.lanes; ++e) {
    const bool second = e / run % 2 == 1;
    const size_t from = e - (second ? run : 0) + shift;
    result[e] = second ? b[from] : a[from];
  }
  return result;
}

Vector Machine::rearranged(const Node& n) {
  const Node& from = k_[n.args[0]];
  Vector result, a;
  if (from.lanes > 1)
    a = vector(n.args[0]);
  else
    a[0] = eval(n.args[0]);
  const size_t half = n.op == Op::high ? n.lanes : 0;
  for (size_t e = 0; e < n.lanes; ++e) result[e] = a[from.lanes > 1 ? half + e : 0];
  if (n.op == Op::join) {
    Vector b;
    if (from.lanes > 1)
      b = vector(n.args[1]);
    else
      b[0] = eval(n.args[1]);
    for (size_t e = from.lanes; e < n.lanes; ++e) result[e] = b[e - from.lanes];
    for (size_t e = 0; e < from.lanes; ++e) result[e] = a[e];
  }
  for (size_t e = 0; n.op == Op::ramp && e < n.lanes; ++e) {
    const uint64_t sum = static_cast<uint64_t>(a[0].i) + e;
    result[e].i = n.type == Type::i32 ? static_cast<int32_t>(sum) : static_cast<int64_t>(sum);
  }
  return result;
}

Vector Machine::read_vector(const Node& n) {
  Vector result{};
  if (k_[n.args[0]].lanes > 1) {
    const Vector at = vector(n.args[0]);
    for (size_t e = 0; e < n.lanes; ++e) result[e] = read(n, at[e].i);
    return result;
  }
  const Address from = address(n.args[0], n.args[1], n.args[2]);
  for (int e = 0; e < n.lanes && e < from.first; ++e)
    result[static_cast<size_t>(e)] = read(n, from.of(e));
  return result;
}

Number Machine::cast(const Node& n, const Number& x) const {
  const Type from = k_[n.args[0]].type;
  if (is_real(n.type)) return rounded(n.type, is_real(from) ? x.r : static_cast<double>(x.i));
  if (n.type == Type::boolean) return {0, is_real(from) ? x.r != 0 : x.i != 0};
  const Format to = n.type == Type::i64 ? Format::i64 : Format::i32;
  if (is_real(from)) return {0, round_to_integer(to, x.r)};
  return {0, n.type == Type::i32 ? std::clamp<int64_t>(x.i, INT32_MIN, INT32_MAX) : x.i};
}

// One lane of an operation whose operands are evaluated.
Number Machine::operation(const Node& n, const Number* x) const {
  switch (n.op) {
    case Op::cast:
      return cast(n, x[0]);
    case Op::round:
      if (is_real(n.type)) return {round_to(n.format, x[0].r), 0};
      return {0, round_to_integer(n.format, static_cast<double>(x[0].i))};
    case Op::select:
      return x[0].i != 0 ? x[1] : x[2];
    case Op::logical_and:
      return {0, x[0].i != 0 && x[1].i != 0};
    case Op::logical_or:
      return {0, x[0].i != 0 || x[1].i != 0};
    case Op::logical_not:
      return {0, x[0].i == 0};
    case Op::fma:
      return rounded(n.type, std::fma(x[0].r, x[1].r, x[2].r));
    case Op::add:
      if (is_real(n.type)) return rounded(n.type, x[0].r + x[1].r);
      return wrapped(n.type, bits(x[0]) + bits(x[1]));
    case Op::sub:
      if (is_real(n.type)) return rounded(n.type, x[0].r - x[1].r);
      return wrapped(n.type, bits(x[0]) - bits(x[1]));
    case Op::mul:
      if (is_real(n.type)) return rounded(n.type, x[0].r * x[1].r);
      return wrapped(n.type, bits(x[0]) * bits(x[1]));
    default:
      return by_name(n, x);
  }
}

// The scalar operation of the same name; fma and != are this language's own. The commonest ones
// stand above for speed.
Number Machine::by_name(const Node& n, const Number* x) const {
  tang::Value a[3];
  for (size_t k = 0; k < 3 && n.args[k] != Value{}; ++k) {
    const Type t = k_[n.args[k]].type;
    a[k] = is_real(t)           ? tang::Value::real(x[k].r)
           : t == Type::boolean ? tang::Value::boolean(x[k].i != 0)
                                : tang::Value::integer(x[k].i);
  }
  if (n.op == Op::ne) return {0, !apply(tang::Op::eq, {}, a[0], a[1], {}, Kind::boolean).as_bool()};
  const Kind kind = is_real(n.type)           ? Kind::real
                    : n.type == Type::boolean ? Kind::boolean
                                              : Kind::integer;
  const tang::Value r = apply(scalar(n.op), {}, a[0], a[1], a[2], kind);
  if (is_real(n.type)) return rounded(n.type, r.as_real());
  const int64_t i = kind == Kind::boolean ? r.as_bool() : r.as_integer();
  return {0, n.type == Type::i32 ? static_cast<int32_t>(i) : i};
}

}  // namespace tang::loop
