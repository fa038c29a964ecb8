#include "loop/nodes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tang::loop {

namespace {

bool all_alike(std::span<const Shape> args) {
  return std::all_of(args.begin(), args.end(), [&](Shape s) { return s == args[0]; });
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view wants(OpRule rule) {
  switch (rule) {
    case OpRule::real:
      return "reals of one type";
    case OpRule::number:
      return "numbers of one type";
    case OpRule::compare:
      return "two values of one type";
    case OpRule::logic:
      return "bools";
    case OpRule::select:
      return "a bool and two values of one type";
    case OpRule::leaf:
      break;
  }
  return "nothing";
}

}  // namespace

std::optional<Shape> result_shape(Op op, std::span<const Shape> args) {
  const OpInfo& row = info(op);
  if (args.size() != static_cast<size_t>(row.arity) || args.empty()) return std::nullopt;
  const Type first = args[0].type;
  const auto same = [&](bool ok) { return ok ? std::optional(args[0]) : std::nullopt; };
  switch (row.rule) {
    case OpRule::leaf:
      return std::nullopt;
    case OpRule::real:
      return same(is_real(first) && all_alike(args));
    case OpRule::number:
      return same(first != Type::boolean && all_alike(args));
    case OpRule::compare:
      if (!all_alike(args)) return std::nullopt;
      if (first == Type::boolean && op != Op::eq && op != Op::ne) return std::nullopt;
      return Shape{Type::boolean, args[0].lanes};
    case OpRule::logic:
      return same(first == Type::boolean && all_alike(args));
    case OpRule::select:
      if (first != Type::boolean || args[1] != args[2]) return std::nullopt;
      return args[0].lanes == args[1].lanes ? std::optional(args[1]) : std::nullopt;
  }
  return std::nullopt;
}

bool castable(Type from, Type to) { return from != to; }

bool roundable(Format format, Type type) {
  if (is_block(format)) return false;
  switch (kind(format)) {
    case Kind::real:
      return is_real(type);
    case Kind::integer:
      return is_integer(type);
    case Kind::boolean:
      break;
  }
  return false;
}

std::string type_complaint(Op op, std::span<const Shape> args) {
  const OpInfo& row = info(op);
  if (args.size() != static_cast<size_t>(row.arity)) {
    return fmt::format("`{}` takes {} operands, not {}", row.spelling, row.arity, args.size());
  }
  std::string given;
  for (Shape s : args) given += (given.empty() ? "" : ", ") + text(s);
  return fmt::format("`{}` takes {}, not ({})", row.spelling, wants(row.rule), given);
}

std::optional<Node> vector_node(const Kernel& kernel, Op op, std::span<const Value> args,
                                int64_t lanes, int64_t k) {
  if (args.size() != static_cast<size_t>(info(op).arity)) return std::nullopt;
  const Shape first = kernel[args[0]].shape();
  Node node;
  node.op = op;
  node.type = first.type;
  std::copy(args.begin(), args.end(), node.args);
  bool ok = false;
  switch (op) {
    case Op::spread:
    case Op::ramp:
      ok = first.lanes == 1 && lanes > 1 && is_lanes(lanes);
      ok = ok && (op == Op::spread || is_integer(first.type));
      break;
    case Op::low:
    case Op::high:
      ok = first.lanes > 1;
      lanes = first.lanes / 2;
      break;
    case Op::join:
      ok = kernel[args[1]].shape() == first && first.lanes < max_lanes;
      lanes = 2 * first.lanes;
      break;
    case Op::even:
    case Op::odd:
      ok = kernel[args[1]].shape() == first && k > 0 && first.lanes % (2 * k) == 0;
      node.id = static_cast<uint32_t>(k);
      lanes = first.lanes;
      break;
    case Op::lane:
      ok = first.lanes > 1 && k >= 0 && k < first.lanes;
      node.id = static_cast<uint32_t>(k);
      lanes = 1;
      break;
    default:
      break;
  }
  node.lanes = static_cast<uint8_t>(lanes);
  return ok ? std::optional(node) : std::nullopt;
}

std::string address_fault(const Kernel& kernel, Value index, Value stride, Value first, int lanes,
                          bool gathers) {
  const Shape at = kernel[index].shape();
  const auto is_size = [&](Value v) { return kernel[v].shape() == Shape{Type::i64, 1}; };
  if (at.lanes > 1) {
    if (!gathers) return "only a buffer's elements are read by a vector of indices";
    if (!is_integer(at.type)) return fmt::format("an index is an integer, not {}", text(at));
    const bool plain = stride == Value{} && first == Value{} && lanes == at.lanes;
    return plain ? "" : "a vector of indices has no `by`, no `first` and as many lanes";
  }
  if (at.type != Type::i64) return fmt::format("an index is i64, not {}", text(at));
  if (!is_lanes(lanes)) return fmt::format("a vector has 2, 4, 8 or 16 lanes, not {}", lanes);
  if (lanes == 1)
    return stride == Value{} && first == Value{} ? "" : "`by` and `first` are for vectors";
  if (stride != Value{} && !is_size(stride)) return "the stride after `by` is an i64";
  if (first != Value{} && !is_size(first)) return "the count after `first` is an i64";
  return "";
}

Value append(Kernel& kernel, Node node) {
  int depth = 0;
  uint64_t size = 1;
  for (const Value v : Operands(node)) {
    const Node& arg = kernel[v];
    depth = std::max<int>(depth, arg.depth);
    size += arg.size;
  }
  node.depth = static_cast<uint16_t>(std::min(depth + 1, 60000));
  node.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
  kernel.nodes.push_back(node);
  return Value{static_cast<uint32_t>(kernel.nodes.size() - 1)};
}

bool valid_name(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name) {
    if (!is_letter(c) && !is_digit(c)) return false;
  }
  constexpr std::array<std::string_view, 8> reserved = {"and", "or",   "not",   "inf",
                                                        "nan", "true", "false", "thread"};
  return std::find(reserved.begin(), reserved.end(), name) == reserved.end();
}

}  // namespace tang::loop
