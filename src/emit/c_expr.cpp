#include "emit/c_expr.h"

#include <cmath>

#include <fmt/format.h>

namespace tang {

using loop::Node;
using loop::Op;
using loop::OpForm;
using loop::Type;
using loop::Value;

namespace {

std::string real_constant(const Node& node) {
  const double v = loop::real_value(node);
  const std::string_view suffix = node.type == Type::f32 ? "f" : "";
  if (std::isnan(v)) return node.type == Type::f32 ? "NAN" : "(double)NAN";
  if (std::isinf(v)) {
    return fmt::format("{}{}INFINITY", v < 0 ? "-" : "", node.type == Type::f32 ? "" : "(double)");
  }
  const bool plain = std::abs(v) < 1e6 && v == std::floor(v);
  return plain ? fmt::format("{:.1f}{}", v, suffix) : fmt::format("{:a}{}", v, suffix);
}

std::string integer_constant(const Node& node) {
  const int64_t v = loop::integer_value(node);
  if (v == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
  if (v == INT32_MIN) return "(-2147483647 - 1)";
  if (v > INT32_MAX || v < INT32_MIN) return fmt::format("INT64_C({})", v);
  return fmt::format("{}", v);
}

std::string constant(const Node& node) {
  if (node.type == Type::boolean) return node.bits ? "true" : "false";
  return is_real(node.type) ? real_constant(node) : integer_constant(node);
}

bool starts_negative(const Node& node) {
  if (node.op != Op::constant || node.type == Type::boolean) return false;
  if (!is_real(node.type)) return loop::integer_value(node) < 0;
  return std::signbit(loop::real_value(node));
}

}  // namespace

bool reads_narrowed(const loop::Program& program, const loop::Kernel& kernel, const Node& node) {
  if (node.op != Op::cast || node.type != Type::f32) return false;
  const Node& arg = kernel[node.args[0]];
  return arg.op == Op::load && is_wide_block(program.buffers[arg.id].format);
}

CExpr::CExpr(const loop::Program& program, const loop::Kernel& kernel, Namer names,
             CVector& vectors)
    : program_(program),
      kernel_(kernel),
      names_(std::move(names)),
      vectors_(vectors),
      symbols_(program.symbols.size()),
      buffers_(program.buffers.size()),
      used_symbols_(program.symbols.size(), false) {
  for (const Node& node : kernel.nodes) {
    if (node.op == Op::symbol) used_symbols_[node.id] = true;
  }
  for (size_t k = 0; k < symbols_.size(); ++k) {
    if (used_symbols_[k]) symbols_[k] = names_.name(program.symbols[k]);
  }
  for (const auto* list : {&kernel.reads, &kernel.writes}) {
    for (loop::BufferId id : *list) {
      std::string& text = buffers_[loop::index(id)];
      if (text.empty()) text = names_.name(program[id].name);
    }
  }
  for (const loop::Local& local : kernel.locals) locals_.push_back(names_.name(local.name));
}

bool CExpr::is_infix(const Node& node, bool indexing) const {
  if (loop::info(node.op).form != OpForm::infix && node.op != Op::neg) return false;
  const bool arithmetic =
      node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::neg;
  return !arithmetic || is_real(node.type) || indexing;
}

int CExpr::level(const Node& node, bool indexing) const {
  if (node.lanes > 1) return level_atom;
  switch (node.op) {
    case Op::constant:
      return starts_negative(node) ? level_unary : level_atom;
    case Op::cast:
      // Casts that need a function are atoms; see cast().
      if (reads_narrowed(program_, kernel_, node)) return level_atom;
      return node.type == Type::boolean ? level_equal : level_unary;
    case Op::load:
      return kind(program_.buffers[node.id].format) == Kind::boolean ? level_equal : level_atom;
    case Op::select:
      return level_select;
    case Op::logical_or:
      return level_or;
    case Op::logical_and:
      return level_and;
    case Op::eq:
    case Op::ne:
      return level_equal;
    case Op::lt:
    case Op::le:
      return level_less;
    case Op::add:
    case Op::sub:
      return is_infix(node, indexing) ? level_sum : level_atom;
    case Op::mul:
      return is_infix(node, indexing) ? level_product : level_atom;
    case Op::quot:
      return level_product;
    case Op::neg:
      return is_infix(node, indexing) ? level_unary : level_atom;
    case Op::logical_not:
      return level_unary;
    default:
      return level_atom;
  }
}

std::string CExpr::print(Value v, bool indexing, int least) const {
  const Node& node = kernel_[v];
  const int strength = level(node, indexing);
  std::string text = bare(node, indexing, strength);
  return strength < least ? "(" + text + ")" : text;
}

std::string CExpr::call(const std::string& callee, const Node& node) const {
  std::string text = callee + "(";
  for (int k = 0; k < loop::info(node.op).arity; ++k) {
    text += (k ? ", " : "") + value(node.args[k]);
  }
  return text + ")";
}

std::string CExpr::load(const Node& node, Type as) const {
  return decode_element(program_.buffers[node.id].format, as, buffers_[node.id],
                        index(node.args[0]));
}

std::string CExpr::cast(const Node& node) const {
  const Node& arg = kernel_[node.args[0]];
  const Type from = arg.type;
  if (reads_narrowed(program_, kernel_, node)) return load(arg, Type::f32);
  if (node.type == Type::boolean) return print(node.args[0], false, level_less) + " != 0";
  const bool narrows = is_integer(node.type) && (is_real(from) || (from == Type::i64));
  if (narrows) return call(fmt::format("tang_cast_{}_{}", name(from), name(node.type)), node);
  return fmt::format("({}){}", c_type(node.type), print(node.args[0], false, level_unary));
}

std::string CExpr::infix(const Node& node, bool indexing, int strength) const {
  const Node& a = kernel_[node.args[0]];
  const Node& b = kernel_[node.args[1]];
  // Two plain literals would be added as int.
  const bool literals = a.op == Op::constant && b.op == Op::constant && node.type == Type::i64;
  std::string left = print(node.args[0], indexing, strength);
  if (literals) left = "(int64_t)" + left;
  const std::string_view symbol = node.op == Op::logical_and  ? "&&"
                                  : node.op == Op::logical_or ? "||"
                                                              : loop::info(node.op).spelling;
  return fmt::format("{} {} {}", left, symbol, print(node.args[1], indexing, strength + 1));
}

std::string CExpr::bare(const Node& node, bool indexing, int strength) const {
  const bool apart = node.op == Op::low || node.op == Op::high || node.op == Op::lane;
  if (node.lanes > 1 || apart) return vector(node);
  switch (node.op) {
    case Op::constant:
      return constant(node);
    case Op::symbol:
      return symbols_[node.id];
    case Op::thread:
      return "0";
    case Op::local:
      return locals_[node.id];
    case Op::load:
      return load(node, node.type);
    case Op::element:
      return fmt::format("{}[{}]", locals_[node.id], index(node.args[0]));
    case Op::cast:
      return cast(node);
    case Op::round:
      return call(fmt::format("tang_round_{}_{}", name(node.format), name(node.type)), node);
    case Op::logical_not:
      return "!" + print(node.args[0], false, level_unary);
    case Op::select:
      return fmt::format("{} ? {} : {}", print(node.args[0], false, level_or),
                         print(node.args[1], indexing, level_select),
                         print(node.args[2], indexing, level_select));
    case Op::fma:
      return call(fmt::format("TANG_FMA_{}", name(node.type)), node);
    case Op::neg:
      if (is_infix(node, indexing)) return "-" + print(node.args[0], indexing, level_atom);
      break;
    default:
      break;
  }
  if (is_infix(node, indexing)) {
    const bool arithmetic = strength == level_sum || strength == level_product;
    return infix(node, indexing && arithmetic, strength);
  }
  return call(fmt::format("tang_{}_{}", loop::info(node.op).name, name(node.type)), node);
}

}  // namespace tang
