#include "loop/nodes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tang::loop {

namespace {

bool all_alike(std::span<const Type> args) {
  return std::all_of(args.begin(), args.end(), [&](Type t) { return t == args[0]; });
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

std::optional<Type> result_type(Op op, std::span<const Type> args) {
  const OpInfo& row = info(op);
  if (args.size() != static_cast<size_t>(row.arity) || args.empty()) return std::nullopt;
  const Type first = args[0];
  switch (row.rule) {
    case OpRule::leaf:
      return std::nullopt;
    case OpRule::real:
      return is_real(first) && all_alike(args) ? std::optional(first) : std::nullopt;
    case OpRule::number:
      return first != Type::boolean && all_alike(args) ? std::optional(first) : std::nullopt;
    case OpRule::compare:
      if (!all_alike(args)) return std::nullopt;
      if (first == Type::boolean && op != Op::eq && op != Op::ne) return std::nullopt;
      return Type::boolean;
    case OpRule::logic:
      return first == Type::boolean && all_alike(args) ? std::optional(first) : std::nullopt;
    case OpRule::select:
      return first == Type::boolean && args[1] == args[2] ? std::optional(args[1]) : std::nullopt;
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

std::string type_complaint(Op op, std::span<const Type> args) {
  const OpInfo& row = info(op);
  if (args.size() != static_cast<size_t>(row.arity)) {
    return fmt::format("`{}` takes {} operands, not {}", row.spelling, row.arity, args.size());
  }
  std::string given;
  for (Type t : args) given += (given.empty() ? "" : ", ") + std::string(name(t));
  return fmt::format("`{}` takes {}, not ({})", row.spelling, wants(row.rule), given);
}

Value append(Kernel& kernel, Node node) {
  int depth = 0;
  uint64_t size = 1;
  for (int k = 0; k < info(node.op).arity; ++k) {
    const Node& arg = kernel[node.args[k]];
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
  constexpr std::array<std::string_view, 7> reserved = {"and", "or",   "not",  "inf",
                                                        "nan", "true", "false"};
  return std::find(reserved.begin(), reserved.end(), name) == reserved.end();
}

}  // namespace tang::loop
