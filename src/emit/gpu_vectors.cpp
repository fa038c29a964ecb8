#include "emit/gpu_vectors.h"

#include <algorithm>

namespace tang {

using loop::Kernel;
using loop::Node;
using loop::Op;
using loop::Program;
using loop::Stmt;
using loop::StmtKind;
using loop::Value;

int wide_bits(const Program& program, const Kernel& kernel, bool buffer, uint32_t id) {
  if (!buffer) {
    const loop::Local& array = kernel.locals[id];
    const bool word = array.type == loop::Type::f32 || array.type == loop::Type::i32;
    return array.shared && word ? 32 : 0;
  }
  const Format format = program[static_cast<loop::BufferId>(id)].format;
  const int bits = info(format).bits;
  return is_block(format) || bits > 32 || bits < 8 ? 0 : bits;
}

int words_at_once(const GpuPlan& plan, int bits, Value at, int lanes, int64_t vector_bytes) {
  if (bits == 0) return 0;
  const int per = 32 / bits;
  const int64_t multiple = plan.multiple(at);
  for (const int words : {4, 2, 1}) {
    const int elements = words * per;
    const bool useful = elements > 1 && words * 4 <= vector_bytes;
    if (useful && lanes % elements == 0 && multiple % elements == 0) return words;
  }
  return 0;
}

namespace {

class Uses {
 public:
  Uses(const Program& program, const Kernel& kernel, const GpuPlan& plan, int64_t vector_bytes)
      : program_(program),
        kernel_(kernel),
        plan_(plan),
        vector_bytes_(vector_bytes),
        buffers_(program.buffers.size()),
        arrays_(kernel.locals.size()) {}

  GpuVectors find() {
    for (const Node& n : kernel_.nodes)
      if (n.op == Op::load || n.op == Op::element)
        look_at(n.op == Op::load, n.id, n.args[0], n.lanes,
                n.args[1] == Value{} && n.args[2] == Value{}, false);
    for (const Stmt& s : kernel_.body)
      if (s.kind == StmtKind::store || s.kind == StmtKind::set)
        look_at(s.kind == StmtKind::store,
                s.kind == StmtKind::store ? loop::index(s.buffer) : loop::index(s.local), s.a,
                kernel_[s.b].lanes, s.stride == Value{} && s.first == Value{}, true);
    GpuVectors result;
    for (size_t k = 0; k < buffers_.size(); ++k)
      result.buffers.push_back(declared(buffers_[k], true, static_cast<uint32_t>(k)));
    for (size_t k = 0; k < arrays_.size(); ++k)
      result.arrays.push_back(declared(arrays_[k], false, static_cast<uint32_t>(k)));
    return result;
  }

 private:
  struct Use {
    int widest = 0;  // words of an access
    int stored = 4;  // of the narrowest store
  };

  void look_at(bool buffer, uint32_t id, Value at, int lanes, bool plain, bool stores) {
    if (buffer) id = loop::index(program_.storage(static_cast<loop::BufferId>(id)));
    const int bits = wide_bits(program_, kernel_, buffer, id);
    const bool wide = plain && lanes > 1 && kernel_[at].lanes == 1;
    const int words = wide ? words_at_once(plan_, bits, at, lanes, vector_bytes_) : 0;
    Use& use = (buffer ? buffers_ : arrays_)[id];
    use.widest = std::max(use.widest, words);
    if (stores) use.stored = std::min(use.stored, words);
  }

  DeclaredWords declared(const Use& use, bool buffer, uint32_t id) const {
    const bool narrow = buffer && info(program_[static_cast<loop::BufferId>(id)].format).bits < 32;
    return {std::max(1, std::min(use.widest, use.stored)), narrow && use.stored == 0};
  }

  const Program& program_;
  const Kernel& kernel_;
  const GpuPlan& plan_;
  int64_t vector_bytes_;
  std::vector<Use> buffers_, arrays_;
};

}  // namespace

GpuVectors gpu_vectors(const Program& program, const Kernel& kernel, const GpuPlan& plan,
                       int64_t vector_bytes) {
  return Uses(program, kernel, plan, vector_bytes).find();
}

}  // namespace tang
