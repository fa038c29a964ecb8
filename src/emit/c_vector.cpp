#include "emit/c_vector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/c_element.h"
#include "emit/c_rows.h"

namespace tang {

using loop::Op;
using loop::Shape;
using loop::Type;

namespace {

Shape halved(Shape s) { return {s.type, static_cast<uint8_t>(s.lanes / 2)}; }
Shape bools(Shape s) { return {Type::boolean, s.lanes}; }

std::string_view lane_type(Type type) { return type == Type::boolean ? "int32_t" : c_type(type); }

// Lane k of the parameter, as a scalar of the language.
std::string lane_of(std::string_view parameter, Shape shape, int k) {
  if (shape.lanes == 1) return std::string(parameter);
  return shape.type == Type::boolean ? fmt::format("({}[{}] != 0)", parameter, k)
                                     : fmt::format("{}[{}]", parameter, k);
}

std::string as_lane(Type type, const std::string& scalar) {
  return type == Type::boolean ? fmt::format("-(int32_t)({})", scalar) : scalar;
}

// The scalar operation as C writes it; see CExpr.
std::string scalar_operation(Op op, Type type, const std::vector<std::string>& x) {
  const std::string_view t = name(type);
  const loop::OpInfo& row = loop::info(op);
  if (op == Op::fma) return fmt::format("TANG_FMA_{}({}, {}, {})", t, x[0], x[1], x[2]);
  if (op == Op::neg && is_real(type)) return "-" + x[0];
  const bool wraps = is_integer(type) && row.rule == loop::OpRule::number;
  if (row.form == loop::OpForm::infix && !wraps)
    return fmt::format("{} {} {}", x[0], row.spelling, x[1]);
  return fmt::format("tang_{}_{}({})", row.name, t, fmt::join(x, ", "));
}

}  // namespace

int vector_bytes(Shape s) { return s.lanes * (s.type == Type::f64 || s.type == Type::i64 ? 8 : 4); }

bool is_pair(Shape s) { return s.lanes > 1 && vector_bytes(s) > 32; }

// ---- writing ------------------------------------------------------------------------------------

void CVector::add(const std::string& name, const std::string& text) {
  if (!text_.empty()) text_ += "\n";
  text_ += guarded_ ? fmt::format("#if !defined(TANG_HAS_{0})\n#define TANG_HAS_{0} 1\n{1}#endif\n",
                                  name, text)
                    : text;
}

void CVector::define(const CVectorFunction& f, const std::string& name) {
  const auto lines = [](const std::vector<std::string>& body) {
    std::string text;
    for (const std::string& line : body) text += "  " + line + "\n";
    return text;
  };
  std::string text =
      fmt::format("TANG_INLINE {} {}({}) {{\n", f.result, name, fmt::join(f.parameters, ", "));
  if (f.better.empty())
    text += lines(f.body);
  else
    text +=
        fmt::format("#if defined({})\n{}#else\n{}#endif\n", f.when, lines(f.better), lines(f.body));
  add(name, text + "}\n");
}

std::string CVector::type(Shape shape) {
  if (shape.lanes == 1) return std::string(c_type(shape.type));
  const std::string name = "tang_" + loop::text(shape);
  if (!known_.insert(name).second) return name;
  if (is_pair(shape)) {
    const std::string half = type(halved(shape));
    add(name, fmt::format("typedef struct {{\n  {} lo, hi;\n}} {};\n", half, name));
  } else {
    add(name, fmt::format("typedef {} {} __attribute__((vector_size({})));\n",
                          lane_type(shape.type), name, vector_bytes(shape)));
  }
  return name;
}

// A value from its lanes.
std::string CVector::lanes(Shape result, const std::vector<std::string>& scalars) {
  std::vector<std::string> list;
  for (const std::string& s : scalars) list.push_back(as_lane(result.type, s));
  return fmt::format("({}){{{}}}", type(result), fmt::join(list, ", "));
}

// ---- taking apart and putting together ----------------------------------------------------------

std::string CVector::half(Op op, Shape from) {
  const std::string name = fmt::format("tang_{}_{}", loop::info(op).name, loop::text(from));
  if (!known_.insert(name).second) return name;
  const Shape to = halved(from);
  const int start = op == Op::high ? to.lanes : 0;
  CVectorFunction f{type(to), {type(from) + " a"}, {}, {}};
  std::vector<std::string> list;
  for (int e = 0; e < to.lanes; ++e) list.push_back(lane_of("a", from, start + e));
  if (is_pair(from))
    f.body = {fmt::format("return a.{};", op == Op::high ? "hi" : "lo")};
  else if (to.lanes == 1)
    f.body = {fmt::format("return {};", list[0])};
  else
    f.body = {fmt::format("return {};", moved(to, list))};
  if (!is_pair(from) && to.lanes > 1) shuffle(f, to, "a, a", start);
  define(f, name);
  return name;
}

// Lanes of other vectors of the type, -1 and 0 for booleans as they are.
std::string CVector::moved(Shape result, std::vector<std::string> scalars) {
  if (result.type != Type::boolean) return lanes(result, scalars);
  for (std::string& s : scalars)
    if (s.ends_with(" != 0)")) s = s.substr(1, s.size() - 7);
  return fmt::format("({}){{{}}}", type(result), fmt::join(scalars, ", "));
}

// gcc moves constructed vectors through memory.
void CVector::shuffle(CVectorFunction& f, Shape result, std::string_view operands, int start) {
  std::vector<int> order;
  for (int e = 0; e < result.lanes; ++e) order.push_back(start + e);
  f.when = "TANG_SHUFFLE";
  f.better = {fmt::format("return ({})__builtin_shufflevector({}, {});", type(result), operands,
                          fmt::join(order, ", "))};
}

std::string CVector::join(Shape half) {
  const Shape to{half.type, static_cast<uint8_t>(half.lanes * 2)};
  const std::string name = "tang_join_" + loop::text(to);
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(to), {type(half) + " a", type(half) + " b"}, {}, {}};
  std::vector<std::string> list;
  for (const char* x : {"a", "b"})
    for (int e = 0; e < half.lanes; ++e) list.push_back(lane_of(x, half, e));
  if (is_pair(to))
    f.body = {type(to) + " d;", "d.lo = a;", "d.hi = b;", "return d;"};
  else
    f.body = {fmt::format("return {};", half.lanes == 1 ? lanes(to, list) : moved(to, list))};
  if (!is_pair(to) && half.lanes > 1) shuffle(f, to, "a, b", 0);
  define(f, name);
  return name;
}

std::string CVector::runs(Op op, Shape shape, uint32_t run) {
  const std::string name =
      fmt::format("tang_{}_{}_{}", loop::info(op).name, run, loop::text(shape));
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(shape), {type(shape) + " a", type(shape) + " b"}, {}, {}};
  std::vector<std::string> list;
  std::vector<uint32_t> order;
  const uint32_t lanes = shape.lanes;
  for (uint32_t e = 0; e < lanes; ++e) {
    const bool second = e / run % 2 == 1;
    const uint32_t k = e - (second ? run : 0) + (op == Op::odd ? run : 0);
    order.push_back(second ? lanes + k : k);
    list.push_back(lane_of(second ? "b" : "a", shape, static_cast<int>(k)));
  }
  if (is_pair(shape)) {
    const auto part = [&](uint32_t from) {  // of the result, from the two halves of a and b
      const std::string halves[] = {"a.lo", "a.hi", "b.lo", "b.hi"};
      return halves[order[from] / (lanes / 2)];
    };
    const bool whole = run == lanes / 2;
    f.body = {type(shape) + " d;"};
    for (const uint32_t h : {0U, lanes / 2}) {
      const std::string inner = whole ? "" : runs(op, halved(shape), run);
      const char* side = h == 0 ? "lo" : "hi";
      f.body.push_back(whole ? fmt::format("d.{} = {};", side, part(h))
                             : fmt::format("d.{0} = {1}(a.{0}, b.{0});", side, inner));
    }
    f.body.push_back("return d;");
  } else {
    f.body = {fmt::format("return {};", moved(shape, list))};
    f.when = "TANG_SHUFFLE";
    f.better = {fmt::format("return ({})__builtin_shufflevector(a, b, {});", type(shape),
                            fmt::join(order, ", "))};
  }
  define(f, name);
  return name;
}

std::string CVector::lane(Shape from) {
  const std::string name = "tang_lane_" + loop::text(from);
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type({from.type, 1}), {type(from) + " a", "int k"}, {}, {}};
  if (is_pair(from)) {
    const std::string inner = lane(halved(from));
    f.body = {
        fmt::format("return k < {0} ? {1}(a.lo, k) : {1}(a.hi, k - {0});", from.lanes / 2, inner)};
  } else {
    f.body = {from.type == Type::boolean ? "return a[k] != 0;" : "return a[k];"};
  }
  define(f, name);
  return name;
}

std::string CVector::spread(Shape to) {
  const std::string name = "tang_spread_" + loop::text(to);
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(to), {type({to.type, 1}) + " a"}, {}, {}};
  if (is_pair(to)) {
    const std::string inner = spread(halved(to));
    f.body = {type(to) + " d;", fmt::format("d.lo = d.hi = {}(a);", inner), "return d;"};
  } else {
    f.body = {fmt::format("return {};", lanes(to, std::vector<std::string>(to.lanes, "a")))};
    if (const Row* row = find_spread(to, vector_feature))
      f.better = row_body(*row, to, {{"a", "a"}});
  }
  define(f, name);
  return name;
}

std::string CVector::ramp(Shape to) {
  const std::string name = "tang_ramp_" + loop::text(to);
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(to), {type({to.type, 1}) + " a"}, {}, {}};
  if (is_pair(to)) {
    const std::string inner = ramp(halved(to));
    f.body = {
        type(to) + " d;", fmt::format("d.lo = {}(a);", inner),
        fmt::format("d.hi = {}(tang_add_{}(a, {}));", inner, loop::name(to.type), to.lanes / 2),
        "return d;"};
  } else {
    std::vector<std::string> numbers;
    for (int e = 0; e < to.lanes; ++e) numbers.push_back(std::to_string(e));
    const Shape both[] = {to, to};
    f.body = {fmt::format("return {}({}(a), {});", operation(Op::add, both), spread(to),
                          lanes(to, numbers))};
  }
  define(f, name);
  return name;
}

// ---- operations ---------------------------------------------------------------------------------

namespace {

Shape result_of(Op op, std::span<const Shape> args) {
  const loop::OpRule rule = loop::info(op).rule;
  if (rule == loop::OpRule::compare) return bools(args[0]);
  return rule == loop::OpRule::select ? args[1] : args[0];
}

// The operand that names the function.
Shape named_by(Op op, std::span<const Shape> args) { return op == Op::select ? args[1] : args[0]; }

}  // namespace

std::string CVector::operation(Op op, std::span<const Shape> args) {
  const Shape shape = named_by(op, args), result = result_of(op, args);
  const std::string name = fmt::format("tang_{}_{}", loop::info(op).name, loop::text(shape));
  if (!known_.insert(name).second) return name;
  if (snippet(name)) return name;
  CVectorFunction f{type(result), {}, {}, {}};
  for (size_t k = 0; k < args.size(); ++k)
    f.parameters.push_back(fmt::format("{} {}", type(args[k]), "abc"[k]));
  if (is_pair(shape))
    f.body = by_halves(op, args);
  else if (shape.lanes < 8 && has_snippet(op, shape))
    f.body = widened(op, args);
  else
    operation_body(f, op, args);
  define(f, name);
  return name;
}

std::vector<std::string> CVector::by_halves(Op op, std::span<const Shape> args) {
  std::vector<Shape> parts;
  std::string lo, hi;
  for (size_t k = 0; k < args.size(); ++k) {
    parts.push_back(halved(args[k]));
    const char* comma = k ? ", " : "";
    lo += fmt::format("{}{}({})", comma, half(Op::low, args[k]), "abc"[k]);
    hi += fmt::format("{}{}({})", comma, half(Op::high, args[k]), "abc"[k]);
  }
  const std::string inner = operation(op, parts);
  return {
      fmt::format("return {}({}({}), {}({}));", join(result_of(op, parts)), inner, lo, inner, hi)};
}

// Of fewer lanes than the snippet's: the operands twice, and the first half of the result.
std::vector<std::string> CVector::widened(Op op, std::span<const Shape> args) {
  std::vector<Shape> wide;
  std::vector<std::string> operands;
  for (size_t k = 0; k < args.size(); ++k) {
    wide.push_back({args[k].type, static_cast<uint8_t>(args[k].lanes * 2)});
    operands.push_back(fmt::format("{0}({1}, {1})", join(args[k]), "abc"[k]));
  }
  const std::string inner = operation(op, wide);
  return {fmt::format("return {}({}({}));", half(Op::low, result_of(op, wide)), inner,
                      fmt::join(operands, ", "))};
}

void CVector::operation_body(CVectorFunction& f, Op op, std::span<const Shape> args) {
  const Shape shape = named_by(op, args);
  const char* before = op == Op::fma ? "c" : "";
  if (const Row* row = find_operation(op, shape, vector_feature))
    f.better = row_body(*row, shape, row_operands(*row), before);
  else if (op == Op::fma)  // rounds once, as scalars do
    f.better = {fmt::format("return {};", plain(op, args))};
  if (const Row* row = find_operation(op, shape, ""))
    f.body = row_body(*row, shape, row_operands(*row), before);
  else if (const std::string text = composed(op, shape); !text.empty())
    f.body = {fmt::format("return {};", text)};
  else
    f.body = {fmt::format("return {};", plain(op, args))};
}

// Operations of reals that are a few others.
std::string CVector::composed(Op op, Shape shape) {
  if (!is_real(shape.type)) return {};
  const Shape args[] = {shape, shape};
  const auto one = [&] { return spread(shape) + (shape.type == Type::f32 ? "(1.0f)" : "(1.0)"); };
  const auto unary = [&](Op o) { return operation(o, std::span(args, 1)); };
  const auto binary = [&](Op o) { return operation(o, args); };
  switch (op) {
    case Op::recip:
      return fmt::format("{}({}, a)", binary(Op::quot), one());
    case Op::rsqrt:
      return fmt::format("{}({}, {}(a))", binary(Op::quot), one(), unary(Op::sqrt));
    case Op::div:
      return fmt::format("{}({}(a, b))", unary(Op::floor), binary(Op::quot));
    case Op::mod:
      return fmt::format("{}(a, {}(b, {}(a, b)))", binary(Op::sub), binary(Op::mul),
                         binary(Op::div));
    case Op::relu: {
      const Type bits = shape.type == Type::f32 ? Type::i32 : Type::i64;
      return fmt::format("({0})(({1})a & ~({1})(a < ({0}){{0}}))", type(shape),
                         type({bits, shape.lanes}));
    }
    default:
      return {};
  }
}

// Without a row: comparisons and choices by the extension's own operators, the rest lane by lane.
std::string CVector::plain(Op op, std::span<const Shape> args) {
  const Shape shape = named_by(op, args), result = result_of(op, args);
  switch (op) {
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne: {
      const std::string compared = fmt::format("a {} b", loop::info(op).spelling);
      return vector_bytes(shape) == vector_bytes(result)
                 ? fmt::format("({})({})", type(result), compared)
                 : fmt::format("__builtin_convertvector({}, {})", compared, type(result));
    }
    case Op::logical_and:
      return "a & b";
    case Op::logical_or:
      return "a | b";
    case Op::logical_not:
      return "~a";
    case Op::select: {
      const bool wide = vector_bytes(shape) != vector_bytes(bools(shape));
      const std::string bits = type({wide ? Type::i64 : Type::i32, shape.lanes});
      const std::string mask =
          wide ? fmt::format("__builtin_convertvector(a, {})", bits) : fmt::format("({})a", bits);
      return fmt::format("({0})(({2} & ({1})b) | (~{2} & ({1})c))", type(shape), bits, mask);
    }
    default:
      break;
  }
  std::vector<std::string> list;
  for (int e = 0; e < shape.lanes; ++e) {
    std::vector<std::string> x;
    for (size_t k = 0; k < args.size(); ++k)
      x.push_back(lane_of(std::string(1, "abc"[k]), args[k], e));
    list.push_back(scalar_operation(op, shape.type, x));
  }
  return lanes(result, list);
}

// ---- conversions --------------------------------------------------------------------------------

std::string CVector::cast(Shape from, Type to) {
  const Shape result{to, from.lanes};
  const std::string name = fmt::format("tang_cast_{}_{}", loop::text(from), loop::text(result));
  if (!known_.insert(name).second) return name;
  CVectorFunction f{type(result), {type(from) + " a"}, {}, {}};
  const bool narrows = is_integer(to) && (is_real(from.type) || from.type == Type::i64);
  if (is_pair(from) || is_pair(result)) {
    const std::string inner = cast(halved(from), to);
    f.body = {fmt::format("return {0}({1}({2}(a)), {1}({3}(a)));", join(halved(result)), inner,
                          half(Op::low, from), half(Op::high, from))};
  } else if (to == Type::boolean) {
    const std::string zero = fmt::format("({}){{0}}", type(from));
    const Shape both[] = {from, from};
    f.body = {fmt::format("return {}(a, {});", operation(Op::ne, both), zero)};
  } else if (narrows) {
    std::vector<std::string> list;
    for (int e = 0; e < from.lanes; ++e)
      list.push_back(
          fmt::format("tang_cast_{}_{}(a[{}])", loop::name(from.type), loop::name(to), e));
    f.body = {fmt::format("return {};", lanes(result, list))};
  } else {
    const char* value = from.type == Type::boolean ? "-a" : "a";
    f.body = {fmt::format("return __builtin_convertvector({}, {});", value, type(result))};
  }
  define(f, name);
  return name;
}

std::string CVector::round(Format format, Shape shape) {
  const std::string name = fmt::format("tang_round_{}_{}", tang::name(format), loop::text(shape));
  if (!known_.insert(name).second) return name;
  if (snippet(name)) return name;
  CVectorFunction f{type(shape), {type(shape) + " a"}, {}, {}};
  if (is_pair(shape)) {
    const std::string inner = round(format, halved(shape));
    f.body = {fmt::format("return {0}({1}(a.lo), {1}(a.hi));", join(halved(shape)), inner)};
  } else {
    std::vector<std::string> list;
    for (int e = 0; e < shape.lanes; ++e)
      list.push_back(
          fmt::format("tang_round_{}_{}(a[{}])", tang::name(format), loop::name(shape.type), e));
    f.body = {fmt::format("return {};", lanes(shape, list))};
  }
  define(f, name);
  return name;
}

}  // namespace tang
