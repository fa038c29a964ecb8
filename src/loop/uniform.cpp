#include "loop/uniform.h"

#include <algorithm>

namespace tang::loop {

// What varies only grows, so that this ends after as many rounds as there are locals.
Uniformity::Uniformity(const Kernel& kernel)
    : kernel_(kernel), nodes_(kernel.nodes.size()), locals_(kernel.locals.size()) {
  while (changed_) {
    changed_ = false;
    look_at_nodes();
    walk();
  }
}

bool Uniformity::splits(const Stmt& stmt) const {
  if (stmt.kind == StmtKind::if_) return varies(stmt.a);
  return stmt.kind == StmtKind::for_ && (varies(stmt.a) || varies(stmt.b));
}

// Whether a node varies by itself, whatever its operands.
bool Uniformity::own(const Node& node) const {
  if (node.op == Op::thread) return true;
  return (node.op == Op::local || node.op == Op::element) && locals_[node.id];
}

void Uniformity::look_at_nodes() {
  for (size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = kernel_.nodes[k];
    const Operands operands(node);
    nodes_[k] = own(node) ||
                std::any_of(operands.begin(), operands.end(), [&](Value v) { return varies(v); });
  }
}

void Uniformity::mark(LocalId id) {
  if (kernel_[id].shared || locals_[index(id)]) return;
  locals_[index(id)] = true;
  changed_ = true;
}

void Uniformity::walk() {
  std::vector<bool> apart = {false};  // of the open bodies
  const auto any = [&](std::initializer_list<Value> values) {
    return std::any_of(values.begin(), values.end(),
                       [&](Value v) { return v != Value{} && varies(v); });
  };
  for (const Stmt& s : kernel_.body) {
    switch (s.kind) {
      case StmtKind::for_:
        if (splits(s)) mark(s.local);
        apart.push_back(apart.back() || splits(s));
        break;
      case StmtKind::if_:
        apart.push_back(apart.back() || splits(s));
        break;
      case StmtKind::end:
        if (apart.size() > 1) apart.pop_back();
        break;
      case StmtKind::exchange:
        mark(s.local);
        break;
      case StmtKind::let:
      case StmtKind::var:
      case StmtKind::assign:
      case StmtKind::set:
        if (apart.back() || any({s.a, s.b, s.stride, s.first})) mark(s.local);
        break;
      default:
        break;
    }
  }
}

}  // namespace tang::loop
