// Expressions on vectors, and stores: calls of the functions of c_vector.h.
#include <fmt/format.h>

#include "emit/c_expr.h"

namespace tang {

using loop::Node;
using loop::Op;
using loop::Shape;
using loop::Stmt;
using loop::StmtKind;
using loop::Type;
using loop::Value;

std::string CExpr::vector(const Node& node) const {
  const Shape from = node.args[0] != Value{} ? kernel_[node.args[0]].shape() : Shape{};
  switch (node.op) {
    case Op::local:
      return locals_[node.id];
    case Op::load:
    case Op::element:
      return vector_load(node, node.type);
    case Op::cast:
      if (reads_narrowed(program_, kernel_, node))
        return vector_load(kernel_[node.args[0]], Type::f32);
      return call(vectors_.cast(from, node.type), node);
    case Op::round:
      return call(vectors_.round(node.format, from), node);
    case Op::spread:
      return call(vectors_.spread(node.shape()), node);
    case Op::ramp:
      return call(vectors_.ramp(node.shape()), node);
    case Op::low:
    case Op::high:
      return call(vectors_.half(node.op, from), node);
    case Op::join:
      return call(vectors_.join(from), node);
    case Op::even:
    case Op::odd:
      return fmt::format("{}({}, {})", vectors_.runs(node.op, from, node.id), value(node.args[0]),
                         value(node.args[1]));
    case Op::lane:
      return fmt::format("{}({}, {})", vectors_.lane(from), value(node.args[0]), node.id);
    default:
      break;
  }
  std::vector<Shape> shapes;
  for (const Value v : loop::Operands(node)) shapes.push_back(kernel_[v].shape());
  return call(vectors_.operation(node.op, shapes), node);
}

// `i, stride, count`
std::string CExpr::address(Value at, Value stride, Value first) const {
  std::string text = index(at);
  if (stride != Value{}) text += ", " + index(stride);
  if (first != Value{}) text += ", " + index(first);
  return text;
}

std::string CExpr::vector_load(const Node& node, Type as) const {
  const bool array = node.op == Op::element;
  const std::string& base = array ? locals_[node.id] : buffers_[node.id];
  const Shape shape{as, node.lanes}, at = kernel_[node.args[0]].shape();
  CVector::Memory m;
  if (!array) m.format = program_.buffers[node.id].format;
  if (at.lanes > 1)
    return fmt::format("{}({}, {})", vectors_.gather(*m.format, shape, at), base,
                       value(node.args[0]));
  m.shape = shape;
  m.by = node.args[1] != Value{};
  m.first = node.args[2] != Value{};
  return fmt::format("{}({}, {})", vectors_.load(m), base,
                     address(node.args[0], node.args[1], node.args[2]));
}

std::string CExpr::vector_store(const Stmt& s) const {
  const bool array = s.kind == StmtKind::set;
  CVector::Memory m;
  if (!array) m.format = program_[s.buffer].format;
  m.shape = kernel_[s.b].shape();
  m.by = s.stride != Value{};
  m.first = s.first != Value{};
  m.streams = s.hint == loop::Hint::stream;
  return fmt::format("{}({}, {}, {});", vectors_.store(m),
                     array ? local(s.local) : buffer(s.buffer), address(s.a, s.stride, s.first),
                     value(s.b));
}

std::string CExpr::prefetch(const Stmt& s) const {
  return fmt::format("TANG_PREFETCH({}, {});", buffer(s.buffer), index(s.a));
}

std::string CExpr::store(const Stmt& s) const {
  if (kernel_[s.b].lanes > 1) return vector_store(s);
  if (s.kind == StmtKind::set)
    return fmt::format("{}[{}] = {};", local(s.local), index(s.a), value(s.b));
  return encode_element(program_[s.buffer].format, kernel_[s.b].type, buffer(s.buffer), index(s.a),
                        value(s.b), print(s.b, false, level_unary));
}

}  // namespace tang
