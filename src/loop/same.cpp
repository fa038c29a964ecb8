#include "loop/same.h"

#include <algorithm>
#include <map>

namespace tang::loop {

namespace {

class Signature {
 public:
  Signature(const Program& program, const Kernel& kernel)
      : program_(program), kernel_(kernel), buffers_(buffers_in_order(kernel)) {}

  std::string write() {
    add(buffers_.size());
    add(kernel_.threads);
    for (const BufferId id : buffers_) buffer(id);
    add(kernel_.locals.size());
    for (const Local& l : kernel_.locals)
      add(l.kind), add(l.type), add(l.lanes), add(l.count), add(l.shared);
    add(kernel_.nodes.size());
    for (const Node& n : kernel_.nodes) node(n);
    for (const Stmt& s : kernel_.body)
      if (s.kind != StmtKind::comment) statement(s);
    return std::move(text_);
  }

 private:
  // What a parameter looks like, and the first parameter with the same memory.
  void buffer(BufferId id) {
    add(program_[id].format);
    add(std::find(kernel_.writes.begin(), kernel_.writes.end(), id) != kernel_.writes.end());
    const auto same = std::find_if(buffers_.begin(), buffers_.end(), [&](BufferId other) {
      return program_.storage(other) == program_.storage(id);
    });
    add(same - buffers_.begin());
  }

  void node(const Node& n) {
    add(n.op), add(n.type), add(n.lanes), add(n.format), add(n.bits);
    add(n.op == Op::load ? number(static_cast<BufferId>(n.id)) : n.id);
    for (const Value v : n.args) add(v.id);
  }

  void statement(const Stmt& s) {
    add(s.kind), add(s.hint), add(s.local), add(s.step);
    for (const Value v : {s.a, s.b, s.stride, s.first}) add(v.id);
    if (s.kind == StmtKind::store || s.kind == StmtKind::prefetch) add(number(s.buffer));
  }

  uint64_t number(BufferId id) const {
    const auto at = std::find(buffers_.begin(), buffers_.end(), id);
    return static_cast<uint64_t>(at - buffers_.begin());
  }

  template <class T>
  void add(T x) {
    const auto word = static_cast<uint64_t>(x);
    for (int shift = 0; shift < 64; shift += 8) text_ += static_cast<char>(word >> shift & 0xff);
  }

  const Program& program_;
  const Kernel& kernel_;
  const std::vector<BufferId> buffers_;
  std::string text_;
};

}  // namespace

std::vector<BufferId> buffers_in_order(const Kernel& kernel) {
  std::vector<BufferId> order;
  const auto touch = [&](BufferId id) {
    if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
  };
  for (const Node& n : kernel.nodes)
    if (n.op == Op::load) touch(static_cast<BufferId>(n.id));
  for (const Stmt& s : kernel.body)
    if (s.kind == StmtKind::store) touch(s.buffer);
  for (const auto* declared : {&kernel.reads, &kernel.writes})
    for (const BufferId id : *declared) touch(id);
  return order;
}

std::string signature(const Program& program, const Kernel& kernel) {
  return Signature(program, kernel).write();
}

std::vector<size_t> first_of_each(const Program& program, const std::vector<Kernel>& kernels) {
  std::vector<size_t> first;
  std::map<std::string, size_t> seen;
  for (size_t k = 0; k < kernels.size(); ++k)
    first.push_back(seen.emplace(signature(program, kernels[k]), k).first->second);
  return first;
}

std::vector<size_t> first_of_each(const Program& program) {
  return first_of_each(program, program.kernels);
}

}  // namespace tang::loop
