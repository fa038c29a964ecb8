#include "emit/c_kernel.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "emit/c_expr.h"
#include "loop/same.h"

namespace tang {

namespace {

using loop::BufferId;
using loop::Hint;
using loop::Kernel;
using loop::LocalKind;
using loop::Node;
using loop::Op;
using loop::Program;
using loop::Stmt;
using loop::StmtKind;
using loop::Value;

bool contains(const std::vector<BufferId>& list, BufferId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Whether another buffer of the kernel may share this one's memory.
bool shared(const Program& program, const std::vector<BufferId>& all, BufferId id) {
  return std::any_of(all.begin(), all.end(), [&](BufferId other) {
    return other != id && program.storage(other) == program.storage(id);
  });
}

std::string pointer_type(const Program& program, const Kernel& kernel, BufferId id) {
  const bool written = contains(kernel.writes, id);
  return fmt::format("{}{} *", written ? "" : "const ", c_storage(program[id].format));
}

class KernelWriter {
 public:
  KernelWriter(Writer& out, const Program& program, const Kernel& kernel, const Namer& scope,
               CVector& vectors)
      : out_(out),
        program_(program),
        kernel_(kernel),
        expr_(program, kernel, scope, vectors),
        uses_(kernel.locals.size()) {
    for (const Node& n : kernel.nodes)
      for (const Value v : loop::Operands(n))
        if (kernel[v].op == Op::local) ++uses_[kernel[v].id];
    if (!is_parallel(kernel)) return;
    part_ = expr_.fresh("part");
    parts_ = expr_.fresh("parts");
  }

  void write(const std::string& name) {
    out_.open(fmt::format("static void {}({})", name, parameters()));
    for (const Stmt& s : kernel_.body) statement(s);
    const bool streams = std::any_of(kernel_.body.begin(), kernel_.body.end(), [](const Stmt& s) {
      return s.kind == StmtKind::store && s.hint == Hint::stream;
    });
    if (streams) out_.line("TANG_STREAMED;");
    out_.close();
  }

 private:
  std::string parameters() const;
  void statement(const Stmt& s);
  void loop(const Stmt& s);
  bool reads_memory(Value root) const;
  bool loads_in_arm(Value root) const;
  bool must_stay_rolled(const Stmt& s) const;
  bool stays_in_register(const Stmt& s) const;
  bool may_be_held(const Stmt& s) const;
  bool has_room(const Stmt& s) const;

  Writer& out_;
  const Program& program_;
  const Kernel& kernel_;
  CExpr expr_;
  std::string part_, parts_;  // of a parallel kernel
  std::vector<int> uses_;     // of each local
};

std::string KernelWriter::parameters() const {
  std::string text;
  const std::vector<BufferId> all = loop::buffers_in_order(kernel_);
  for (BufferId id : all) {
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", pointer_type(program_, kernel_, id),
                        shared(program_, all, id) ? "" : "restrict ", expr_.buffer(id));
  }
  for (uint32_t k = 0; k < program_.symbols.size(); ++k) {
    const ParamId id = static_cast<ParamId>(k);
    if (!expr_.uses_symbol(id)) continue;
    text += fmt::format("{}int64_t {}", text.empty() ? "" : ", ", expr_.symbol(id));
  }
  if (!part_.empty())
    text += fmt::format("{}int64_t {}, int64_t {}", text.empty() ? "" : ", ", part_, parts_);
  return text.empty() ? "void" : text;
}

// Whether the body of a loop could change the value of this bound.
bool KernelWriter::reads_memory(Value root) const {
  std::vector<Value> work = {root};
  while (!work.empty()) {
    const Node& node = kernel_[work.back()];
    work.pop_back();
    if (node.op == Op::load || node.op == Op::element) return true;
    if (node.op == Op::local && kernel_.locals[node.id].kind == LocalKind::var) return true;
    for (const Value v : loop::Operands(node)) work.push_back(v);
  }
  return false;
}

// Whether a select below `root` loads in an arm, so that the load may be conditional.
bool KernelWriter::loads_in_arm(Value root) const {
  std::vector<std::pair<Value, bool>> work = {{root, false}};
  std::set<std::pair<uint32_t, bool>> seen;
  while (!work.empty()) {
    const auto [value, in_arm] = work.back();
    work.pop_back();
    if (!seen.insert({value.id, in_arm}).second) continue;
    const Node& node = kernel_[value];
    if (in_arm && node.op == Op::load) return true;
    const bool chooses = node.op == Op::select && node.lanes == 1;
    for (const Value v : loop::Operands(node))
      work.emplace_back(v, in_arm || (chooses && v != node.args[0]));
  }
  return false;
}

// An innermost loop of few iterations with conditional loads. When gcc 12 unrolls it completely and
// then vectorises the loop around, it tests all of the loads with the first one's conditions.
bool KernelWriter::must_stay_rolled(const Stmt& s) const {
  constexpr int64_t few = 64;
  const Node &first = kernel_[s.a], &end = kernel_[s.b];
  if (first.op != Op::constant || end.op != Op::constant) return false;
  if (integer_value(end) - integer_value(first) > few * s.step) return false;
  bool found = false;
  int depth = 1;
  for (const Stmt* x = &s + 1; depth > 0; ++x) {
    if (x->kind == StmtKind::for_) return false;
    if (x->kind == StmtKind::if_) ++depth;
    if (x->kind == StmtKind::end) --depth;
    for (const Value v : {x->a, x->b}) found = found || (v.id != UINT32_MAX && loads_in_arm(v));
  }
  return found;
}

// A vector from memory that several operations take. Where registers are few, gcc would have each
// of them load it anew. It is held if those before it in the loop, what the loop carries and one
// more leave a register for it; a vector of many uses in any case.
bool KernelWriter::stays_in_register(const Stmt& s) const {
  constexpr int many = 4;
  if (!may_be_held(s)) return false;
  return uses_[index(s.local)] >= many || has_room(s);
}

bool KernelWriter::may_be_held(const Stmt& s) const {
  if (s.kind != StmtKind::let) return false;
  const loop::Shape shape = kernel_[s.local].shape();
  const Node& from = kernel_[s.a];
  const bool loads = from.op == Op::load || from.op == Op::element;
  return shape.lanes > 2 && !is_pair(shape) && loads && uses_[index(s.local)] >= 2;
}

// Whether the innermost loop around, if it carries vectors, has registers for all that may be held.
bool KernelWriter::has_room(const Stmt& s) const {
  constexpr int registers = 16;  // of AVX2
  const Stmt* first = &s;
  while (first != kernel_.body.data() && first->kind != StmtKind::for_) --first;
  int carried = 0, held = 0, depth = 1;
  for (const Stmt* x = first + 1; depth > 0 && x != kernel_.body.data() + kernel_.body.size();
       ++x) {
    if (x->kind == StmtKind::for_) return false;
    if (x->kind == StmtKind::if_) ++depth;
    if (x->kind == StmtKind::end) --depth;
    carried += x->kind == StmtKind::assign && kernel_[x->local].shape().lanes > 2 ? 1 : 0;
    held += may_be_held(*x) ? 1 : 0;
  }
  return carried > 0 && carried + held + 1 <= registers;
}

void KernelWriter::loop(const Stmt& s) {
  const std::string& v = expr_.local(s.local);
  std::string begin = expr_.index(s.a), end = expr_.operand(s.b);
  if (s.hint == Hint::parallel) {
    const auto share = [&](const std::string& part) {
      return fmt::format("tang_share({}, {}, {}, {}, {})", begin, expr_.index(s.b), s.step, part,
                         parts_);
    };
    const std::string bound = expr_.fresh(v + "_end");
    out_.line(fmt::format("const int64_t {} = {};", bound, share(part_ + " + 1")));
    begin = share(part_);
    end = bound;
  } else if (reads_memory(s.b)) {
    const std::string bound = expr_.fresh(v + "_end");
    out_.line(fmt::format("const int64_t {} = {};", bound, end));
    end = bound;
  }
  if (s.hint == Hint::vector) out_.line("TANG_VECTOR");
  if (s.hint == Hint::unroll)
    out_.line("TANG_UNROLL");
  else if (must_stay_rolled(s))
    out_.line("TANG_ROLLED");
  const std::string step =
      s.step == 1 ? fmt::format("++{}", v) : fmt::format("{} += {}", v, s.step);
  out_.open(fmt::format("for (int64_t {} = {}; {} < {}; {})", v, begin, v, end, step));
}

void KernelWriter::statement(const Stmt& s) {
  switch (s.kind) {
    case StmtKind::for_:
      loop(s);
      break;
    case StmtKind::if_:
      out_.open(fmt::format("if ({})", expr_.value(s.a)));
      break;
    case StmtKind::end:
      out_.close();
      break;
    case StmtKind::let:
    case StmtKind::var:
      if (stays_in_register(s)) {
        out_.line(fmt::format("{} {} = {};", expr_.type(s.local), expr_.local(s.local),
                              expr_.value(s.a)));
        out_.line(fmt::format("TANG_HOLD({});", expr_.local(s.local)));
        break;
      }
      out_.line(fmt::format("{}{} {} = {};", s.kind == StmtKind::let ? "const " : "",
                            expr_.type(s.local), expr_.local(s.local), expr_.value(s.a)));
      break;
    case StmtKind::array:
      out_.line(fmt::format("_Alignas(64) {} {}[{}];", c_type(kernel_[s.local].type),
                            expr_.local(s.local), kernel_[s.local].count));
      break;
    case StmtKind::assign:
      out_.line(fmt::format("{} = {};", expr_.local(s.local), expr_.value(s.a)));
      break;
    case StmtKind::set:
    case StmtKind::store:
      out_.line(expr_.store(s));
      break;
    case StmtKind::prefetch:
      out_.line(expr_.prefetch(s));
      break;
    case StmtKind::barrier:   // of one thread
    case StmtKind::exchange:  // needs several
      break;
    case StmtKind::comment: {
      std::string text = kernel_.comments[s.text];
      std::erase(text, '\\');  // would continue the comment on the next line
      out_.line("// " + text);
      break;
    }
  }
}

}  // namespace

void write_kernel(Writer& out, const Program& program, const Kernel& kernel,
                  const std::string& name, const Namer& scope, CVector& vectors) {
  KernelWriter(out, program, kernel, scope, vectors).write(name);
}

std::string kernel_call(const Program& program, const Kernel& kernel, const std::string& name,
                        const std::function<std::string(BufferId)>& pointer,
                        const std::function<std::string(ParamId)>& symbol,
                        const std::string& part) {
  std::string text;
  for (BufferId id : loop::buffers_in_order(kernel)) {
    text += fmt::format("{}({}){}", text.empty() ? "" : ", ", pointer_type(program, kernel, id),
                        pointer(id));
  }
  CVector unused(false);
  const CExpr names(program, kernel, Namer(""), unused);
  for (uint32_t k = 0; k < program.symbols.size(); ++k) {
    const ParamId id = static_cast<ParamId>(k);
    if (names.uses_symbol(id)) text += (text.empty() ? "" : ", ") + symbol(id);
  }
  if (is_parallel(kernel)) text += (text.empty() ? "" : ", ") + part;
  return fmt::format("{}({});", name, text);
}

}  // namespace tang
