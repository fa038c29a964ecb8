#include "loop/verify.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "loop/nodes.h"
#include "loop/ranges.h"
#include "loop/text.h"
#include "loop/verify_group.h"

namespace tang::loop {

namespace {

Diagnostic fault(std::string id, std::string message) {
  Diagnostic d;
  d.id = std::move(id);
  d.message = std::move(message);
  return d;
}

class KernelVerifier {
 public:
  KernelVerifier(const Program& program, const Kernel& kernel, Diagnostics& out)
      : program_(program),
        kernel_(kernel),
        ranges_(kernel),
        out_(out),
        parallel_(is_parallel(kernel)) {}

  void run() {
    names();
    nodes();
    ids();
    if (!out_.empty()) return;  // the walk below relies on well-formed nodes
    lists();
    seen_.assign(kernel_.nodes.size(), 0);
    defined_.assign(kernel_.locals.size(), false);
    for (const Stmt& s : kernel_.body) statement(s);
    if (!open_.empty()) complain("E0410", "a body is not closed");
    arrays();
    if (out_.empty()) verify_group(program_, kernel_, out_);
  }

 private:
  struct Body {
    bool guards = false;          // what stands in it may never run
    bool parallel = false;        // parts of the kernel share its iterations
    std::vector<LocalId> locals;  // defined inside
  };

  void complain(std::string id, const std::string& message) {
    std::string text = fmt::format("kernel `{}`: {}", kernel_.name, message);
    if (current_) text += fmt::format(" in `{}`", print_statement(program_, kernel_, *current_));
    out_.push_back(fault(std::move(id), std::move(text)));
    if (current_) out_.back().where.line = current_->line;
  }

  void names();
  void nodes();
  void ids();
  bool node_ok(const Node& node, uint32_t at) const;
  bool leaf_ok(const Node& node) const;
  bool address_ok(const Node& node) const;
  bool known(Value optional) const {
    return optional == Value{} || optional.id < kernel_.nodes.size();
  }
  void lists();
  void arrays();
  void statement(const Stmt& s);
  void define(const Stmt& s);
  void enter(bool guards, bool parallel = false);
  bool never_runs(const Stmt& loop) const;
  void leave();
  void use(Value root, Shape shape, std::string_view what);
  void use_leaf(const Node& node, bool guarded);
  void use_address(const Stmt& s, const Poly& count, const std::string& name);
  void check_address(Value index, Value stride, Value first, int lanes, const Poly& count,
                     const std::string& name, bool guarded);
  void check_index(Value index, int64_t offset, const Poly& count, const std::string& name);
  void check_store(const Stmt& s);
  void check_stream(const Stmt& s);
  void check_parts(const Stmt& s);
  bool in_parallel() const { return !open_.empty() && open_[0].parallel; }
  bool is_guarded() const {
    return std::any_of(open_.begin(), open_.end(), [](const Body& b) { return b.guards; });
  }

  const Program& program_;
  const Kernel& kernel_;
  Ranges ranges_;
  Diagnostics& out_;
  const bool parallel_;
  const Stmt* current_ = nullptr;
  std::vector<bool> defined_;
  std::vector<Body> open_;
  std::vector<uint32_t> seen_;
  uint32_t stamp_ = 0;
};

void KernelVerifier::names() {
  std::set<std::string_view> taken;
  for (const std::string& s : program_.symbols) taken.insert(s);
  for (const Buffer& b : program_.buffers) taken.insert(b.name);
  for (const Local& local : kernel_.locals) {
    if (!valid_name(local.name)) complain("E0210", fmt::format("`{}` is no name", local.name));
    if (!taken.insert(local.name).second) {
      complain("E0210", fmt::format("`{}` is defined twice", local.name));
    }
  }
}

bool KernelVerifier::leaf_ok(const Node& node) const {
  switch (node.op) {
    case Op::constant:
      return true;
    case Op::symbol:
      return node.id < program_.symbols.size() && node.type == Type::i64;
    case Op::thread:
      return node.type == Type::i64;
    case Op::local:
      return node.id < kernel_.locals.size() && node.shape() == kernel_.locals[node.id].shape() &&
             kernel_.locals[node.id].kind != LocalKind::array;
    case Op::load:
      return node.id < program_.buffers.size() &&
             node.type == compute_type(program_.buffers[node.id].format) && address_ok(node);
    case Op::element:
      return node.id < kernel_.locals.size() && node.type == kernel_.locals[node.id].type &&
             kernel_.locals[node.id].kind == LocalKind::array && address_ok(node);
    case Op::cast:
      return castable(kernel_[node.args[0]].type, node.type) &&
             kernel_[node.args[0]].lanes == node.lanes;
    case Op::round:
      return roundable(node.format, node.type) && kernel_[node.args[0]].shape() == node.shape();
    default:
      break;
  }
  const std::span<const Value> args(node.args, static_cast<size_t>(info(node.op).arity));
  const auto same = vector_node(kernel_, node.op, args, node.lanes, node.id);
  return same && same->shape() == node.shape();
}

bool KernelVerifier::address_ok(const Node& node) const {
  return address_fault(kernel_, node.args[0], node.args[1], node.args[2], node.lanes,
                       node.op == Op::load)
      .empty();
}

bool KernelVerifier::node_ok(const Node& node, uint32_t at) const {
  const OpInfo& row = info(node.op);
  const bool in_memory = node.op == Op::load || node.op == Op::element;
  std::vector<Shape> shapes;
  for (int k = 0; k < 3; ++k) {
    const bool there = node.args[k] != Value{};
    if (k < row.arity ? !there : there && !in_memory) return false;
    if (there && node.args[k].id >= at) return false;
    if (there) shapes.push_back(kernel_[node.args[k]].shape());
  }
  if (node.depth > max_depth || node.size > max_tree || !is_lanes(node.lanes)) return false;
  const bool is_scalar = node.op == Op::constant || node.op == Op::symbol || node.op == Op::thread;
  if (is_scalar && node.lanes != 1) return false;
  if (row.rule == OpRule::leaf) return leaf_ok(node);
  return result_shape(node.op, shapes) == node.shape();
}

void KernelVerifier::nodes() {
  for (uint32_t k = 0; k < kernel_.nodes.size(); ++k) {
    const Node& node = kernel_.nodes[k];
    if (node_ok(node, k)) continue;
    complain("E0310", fmt::format("expression {} (`{}`) has wrong operands, type or size", k,
                                  info(node.op).name));
  }
}

// Every id of a statement is in range, so that it can be walked and printed.
void KernelVerifier::ids() {
  struct Uses {
    bool local, buffer, a, b;
  };
  constexpr Uses table[] = {{true, false, true, true},                                 // for_
                            {false, false, true, false},                               // if_
                            {false, false, false, false}, {true, false, true, false},  // let
                            {true, false, true, false},                                // var
                            {true, false, false, false},                               // array
                            {true, false, true, false},                                // assign
                            {true, false, true, true},                                 // set
                            {false, true, true, true},                                 // store
                            {false, true, true, false},                                // prefetch
                            {false, false, false, false},                              // barrier
                            {true, false, true, false},                                // exchange
                            {false, false, false, false}};
  for (const Stmt& s : kernel_.body) {
    const Uses& u = table[static_cast<size_t>(s.kind)];
    const bool ok = (!u.local || index(s.local) < kernel_.locals.size()) &&
                    (!u.buffer || index(s.buffer) < program_.buffers.size()) &&
                    (!u.a || s.a.id < kernel_.nodes.size()) &&
                    (!u.b || s.b.id < kernel_.nodes.size()) && known(s.stride) && known(s.first) &&
                    (s.kind != StmtKind::comment || s.text < kernel_.comments.size());
    if (!ok) complain("E0310", "a statement refers to what does not exist");
  }
}

void KernelVerifier::lists() {
  for (const auto* list : {&kernel_.reads, &kernel_.writes}) {
    for (size_t k = 0; k < list->size(); ++k) {
      const bool known = index((*list)[k]) < program_.buffers.size();
      if (!known) complain("E0410", "a buffer that is not declared");
      if (known && std::count(list->begin(), list->end(), (*list)[k]) > 1) {
        complain("E0410", fmt::format("`{}` is listed twice", program_[(*list)[k]].name));
      }
    }
  }
  for (BufferId id : kernel_.writes) {
    if (index(id) < program_.buffers.size() && program_[id].role == Role::input) {
      complain("E0410", fmt::format("writes the input `{}`", program_[id].name));
    }
  }
}

void KernelVerifier::arrays() {
  constexpr int64_t bytes[] = {8, 4, 8, 4, 1};
  int64_t total = 0;
  current_ = nullptr;
  for (const Local& local : kernel_.locals) {
    if (local.kind != LocalKind::array) continue;
    const int64_t count = std::clamp<int64_t>(local.count, 0, max_array_bytes);
    if (local.count < 1) complain("E0410", fmt::format("array `{}` is empty", local.name));
    total = std::min(max_array_bytes + 1, total + count * bytes[static_cast<size_t>(local.type)]);
  }
  if (total > max_array_bytes) {
    complain("E0410", fmt::format("its arrays take more than {} bytes", max_array_bytes));
  }
}

void KernelVerifier::enter(bool guards, bool parallel) { open_.push_back({guards, parallel, {}}); }

// What keeps the parts of a parallel kernel apart.
void KernelVerifier::check_parts(const Stmt& s) {
  if (s.hint == Hint::parallel && !open_.empty()) {
    if (kernel_.threads == 1)
      complain("E0410", "only an outermost loop is parallel");
    else if (!open_.back().parallel)
      complain("E0410", "a parallel loop stands outermost or directly in another one");
  }
  if (s.kind == StmtKind::store && parallel_ && !in_parallel())
    complain("E0410", "stores outside of the parallel loops, where every part would");
  if (s.kind != StmtKind::assign || !in_parallel()) return;
  const bool inside = std::any_of(open_.begin(), open_.end(), [&](const Body& b) {
    return std::find(b.locals.begin(), b.locals.end(), s.local) != b.locals.end();
  });
  if (!inside)
    complain("E0410",
             fmt::format("`{}` outlives an iteration of the parallel loop", kernel_[s.local].name));
}

// True for a loop that certainly has no step.
bool KernelVerifier::never_runs(const Stmt& loop) const {
  const auto first = ranges_.of(loop.a), end = ranges_.of(loop.b);
  return first && end && end->hi <= first->lo;
}

void KernelVerifier::leave() {
  if (open_.empty()) return complain("E0410", "`}` closes nothing");
  for (LocalId id : open_.back().locals) defined_[index(id)] = false;
  open_.pop_back();
}

void KernelVerifier::define(const Stmt& s) {
  constexpr LocalKind wanted[] = {LocalKind::loop, LocalKind::loop, LocalKind::loop,
                                  LocalKind::let,  LocalKind::var,  LocalKind::array};
  const LocalKind made =
      s.kind == StmtKind::exchange ? LocalKind::let : wanted[static_cast<size_t>(s.kind)];
  if (kernel_[s.local].kind != made) {
    return complain("E0210", fmt::format("`{}` is another kind of name", kernel_[s.local].name));
  }
  if (defined_[index(s.local)]) {
    return complain("E0210", fmt::format("`{}` is defined twice", kernel_[s.local].name));
  }
  defined_[index(s.local)] = true;
  if (!open_.empty()) open_.back().locals.push_back(s.local);
}

void KernelVerifier::check_store(const Stmt& s) {
  if (std::find(kernel_.writes.begin(), kernel_.writes.end(), s.buffer) == kernel_.writes.end()) {
    return complain("E0410", "stores into a buffer it does not declare to write");
  }
  const Buffer& buffer = program_[s.buffer];
  const Type value = kernel_[s.b].type;
  use(s.b, kernel_[s.b].shape(), "the value");
  const Kind wanted = kind(buffer.format);
  const bool fits = wanted == Kind::real      ? is_real(value)
                    : wanted == Kind::integer ? is_integer(value)
                                              : value == Type::boolean;
  if (!fits) {
    complain("E0310", fmt::format("`{}` is {}, the value is {}", buffer.name,
                                  tang::name(buffer.format), name(value)));
  }
  if (s.hint == Hint::stream) check_stream(s);
  use_address(s, buffer.count, buffer.name);
}

// What goes past the caches is whole vectors that nothing here reads.
void KernelVerifier::check_stream(const Stmt& s) {
  if (kernel_[s.b].lanes == 1 || s.stride != Value{} || s.first != Value{})
    complain("E0410", "streams what is no whole vector of neighbours");
  for (const BufferId id : kernel_.reads)
    if (index(id) < program_.buffers.size() && program_.storage(id) == program_.storage(s.buffer))
      complain("E0410", fmt::format("streams to `{}`, which it reads", program_[id].name));
}

// Where a store or set puts its value.
void KernelVerifier::use_address(const Stmt& s, const Poly& count, const std::string& name) {
  const int lanes = kernel_[s.b].lanes;
  const std::string wrong = address_fault(kernel_, s.a, s.stride, s.first, lanes, false);
  if (!wrong.empty()) complain("E0310", wrong);
  for (const Value v : {s.a, s.stride, s.first})
    if (v != Value{}) use(v, kernel_[v].shape(), "the index");
  check_address(s.a, s.stride, s.first, lanes, count, name, is_guarded());
}

void KernelVerifier::statement(const Stmt& s) {
  current_ = &s;
  check_parts(s);
  switch (s.kind) {
    case StmtKind::for_:
      use(s.a, {Type::i64}, "the lower bound");
      use(s.b, {Type::i64}, "the upper bound");
      if (s.step <= 0) complain("E0410", "the step is not positive");
      enter(never_runs(s), s.hint == Hint::parallel);
      define(s);
      ranges_.loop(s);
      break;
    case StmtKind::if_:
      use(s.a, {Type::boolean}, "the condition");
      enter(true);
      break;
    case StmtKind::end:
      leave();
      break;
    case StmtKind::let:
    case StmtKind::var:
      use(s.a, kernel_[s.local].shape(), "the value");
      define(s);
      if (s.kind == StmtKind::let) ranges_.let(s);
      break;
    case StmtKind::array:
      define(s);
      break;
    case StmtKind::assign:
    case StmtKind::set: {
      const LocalKind wanted = s.kind == StmtKind::set ? LocalKind::array : LocalKind::var;
      if (kernel_[s.local].kind != wanted) {
        return complain("E0210", "assigns what is not a `var` or an array element");
      }
      const Local& local = kernel_[s.local];
      if (!defined_[index(s.local)]) {
        complain("E0210", fmt::format("`{}` is not defined here", local.name));
      }
      if (s.kind == StmtKind::set) {
        use_address(s, Poly(local.count), local.name);
        use(s.b, {local.type, kernel_[s.b].lanes}, "the value");
      } else {
        use(s.a, local.shape(), "the value");
      }
      break;
    }
    case StmtKind::store:
      check_store(s);
      break;
    case StmtKind::prefetch: {
      const auto has = [&](const std::vector<BufferId>& list) {
        return std::find(list.begin(), list.end(), s.buffer) != list.end();
      };
      if (!has(kernel_.reads) && !has(kernel_.writes))
        complain("E0410", "fetches from a buffer it declares neither to read nor to write");
      use(s.a, {Type::i64}, "the index");
      break;
    }
    case StmtKind::barrier:
      break;
    case StmtKind::exchange:
      use(s.a, kernel_[s.local].shape(), "the value");
      if (s.step < 1 || s.step >= kernel_.threads)
        complain("E0410", "an exchange is between threads of the group");
      define(s);
      break;
    case StmtKind::comment:
      break;
  }
}

// Walks the tree of `root` once, without recursion. What stands under a lazy operation is guarded.
void KernelVerifier::use(Value root, Shape shape, std::string_view what) {
  const Shape found = kernel_[root].shape();
  if (found != shape)
    complain("E0310", fmt::format("{} is {}, not {}", what, text(found), text(shape)));
  ++stamp_;
  std::vector<std::pair<Value, bool>> work = {{root, is_guarded()}};
  while (!work.empty()) {
    const auto [v, guarded] = work.back();
    work.pop_back();
    if (seen_[v.id] == stamp_) continue;
    seen_[v.id] = stamp_;
    const Node& node = kernel_[v];
    use_leaf(node, guarded);
    const bool chooses =
        node.op == Op::select || node.op == Op::logical_and || node.op == Op::logical_or;
    const bool lazy = chooses && node.lanes == 1;
    for (const Value arg : Operands(node))
      work.emplace_back(arg, guarded || (lazy && arg != node.args[0]));
  }
}

void KernelVerifier::use_leaf(const Node& node, bool guarded) {
  if (node.op == Op::local || node.op == Op::element) {
    const Local& local = kernel_.locals[node.id];
    if (!defined_[node.id]) {
      complain("E0210", fmt::format("`{}` is used where it is not defined", local.name));
    }
    if (node.op == Op::element) {
      check_address(node.args[0], node.args[1], node.args[2], node.lanes, Poly(local.count),
                    local.name, guarded);
    }
  }
  if (node.op == Op::load) {
    const BufferId id = static_cast<BufferId>(node.id);
    const Buffer& buffer = program_[id];
    if (std::find(kernel_.reads.begin(), kernel_.reads.end(), id) == kernel_.reads.end()) {
      complain("E0410", fmt::format("reads `{}`, which it does not declare to read", buffer.name));
    }
    check_address(node.args[0], node.args[1], node.args[2], node.lanes, buffer.count, buffer.name,
                  guarded);
  }
}

// Only what certainly fails is reported: a guard may keep the access from happening.
void KernelVerifier::check_address(Value index, Value stride, Value first, int lanes,
                                   const Poly& count, const std::string& name, bool guarded) {
  if (guarded || first != Value{}) return;
  check_index(index, 0, count, name);
  if (lanes == 1 || stride != Value{}) return;
  check_index(index, lanes - 1, count, name);
}

void KernelVerifier::check_index(Value index, int64_t offset, const Poly& count,
                                 const std::string& name) {
  const auto size = count.constant();
  auto range = ranges_.of(index);
  if (!size || !range || range->lo > range->hi) return;
  if (range->hi > INT64_MAX - offset) return;
  range->lo += offset;
  range->hi += offset;
  if (range->hi >= 0 && range->lo < *size) return;
  complain("E0410", fmt::format("index {}…{} is outside `{}`, which has {} elements", range->lo,
                                range->hi, name, *size));
}

// --- the program ---

void verify_header(const Program& program, Diagnostics& out) {
  std::set<std::string_view> taken;
  const auto name_ok = [&](const std::string& name) {
    if (!valid_name(name)) out.push_back(fault("E0210", fmt::format("`{}` is no name", name)));
    if (!taken.insert(name).second) {
      out.push_back(fault("E0210", fmt::format("`{}` is declared twice", name)));
    }
  };
  for (const std::string& s : program.symbols) name_ok(s);
  for (const Buffer& b : program.buffers) {
    name_ok(b.name);
    if (is_block(b.format) && b.role != Role::input) {
      out.push_back(
          fault("E0310", fmt::format("buffer `{}` has a block format, but is no input", b.name)));
    }
    if (!b.into) continue;
    const bool known = index(*b.into) < program.buffers.size();
    const bool ok = known && b.role == Role::output && program[*b.into].role == Role::input &&
                    program[*b.into].format == b.format && program[*b.into].count == b.count;
    if (!ok) {
      out.push_back(
          fault("E0410", fmt::format("output `{}` does not fit the input it goes into", b.name)));
    }
  }
}

// What runs once reads inputs that stay as they are and writes what is prepared, and nothing else.
void verify_prepares(const Program& program, std::set<std::string_view>& names,
                     std::vector<bool>& written, Diagnostics& out) {
  const auto changes = [&](BufferId id) {
    return std::any_of(program.buffers.begin(), program.buffers.end(),
                       [id](const Buffer& b) { return b.into == id; });
  };
  for (const Kernel& kernel : program.prepares) {
    if (!names.insert(kernel.name).second)
      out.push_back(fault("E0210", fmt::format("kernel `{}` is defined twice", kernel.name)));
    for (BufferId id : kernel.reads) {
      const Buffer& b = program[id];
      const bool own = std::count(kernel.writes.begin(), kernel.writes.end(), id) > 0;
      const bool stays = b.role == Role::input && !changes(id);
      if (!stays && !(b.role == Role::prepared && (own || written[index(id)])))
        out.push_back(fault("E0410", fmt::format("`{}` prepares from `{}`, which is no input that "
                                                 "stays as it is",
                                                 kernel.name, b.name)));
    }
    for (BufferId id : kernel.writes) {
      written[index(id)] = true;
      if (program[id].role != Role::prepared)
        out.push_back(fault("E0410", fmt::format("`{}` writes `{}`, which is not prepared",
                                                 kernel.name, program[id].name)));
    }
  }
}

// What each kernel reads was written before it, and no input is read after its memory was reused.
void verify_order(const Program& program, Diagnostics& out) {
  std::vector<bool> written(program.buffers.size(), false), reused = written;
  std::set<std::string_view> names;
  verify_prepares(program, names, written, out);
  for (const Kernel& kernel : program.kernels) {
    if (!names.insert(kernel.name).second) {
      out.push_back(fault("E0210", fmt::format("kernel `{}` is defined twice", kernel.name)));
    }
    for (BufferId id : kernel.reads) {
      const Buffer& b = program[id];
      const bool writes = std::count(kernel.writes.begin(), kernel.writes.end(), id) > 0;
      if (b.role != Role::input && !b.into && !written[index(id)] && !writes) {
        out.push_back(fault("E0410", fmt::format("kernel `{}` reads `{}` before it is written",
                                                 kernel.name, b.name)));
      }
      if (b.role == Role::input && reused[index(id)]) {
        out.push_back(fault("E0410", fmt::format("kernel `{}` reads `{}` after an output took its "
                                                 "memory",
                                                 kernel.name, b.name)));
      }
    }
    for (BufferId id : kernel.writes) {
      if (program[id].role == Role::prepared)
        out.push_back(fault("E0410", fmt::format("kernel `{}` writes `{}`, which is prepared",
                                                 kernel.name, program[id].name)));
      written[index(id)] = true;
      if (program[id].into) reused[index(*program[id].into)] = true;
    }
  }
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const Buffer& b = program.buffers[k];
    if (b.role == Role::output && !written[k] && !b.into) {
      out.push_back(fault("E0410", fmt::format("no kernel writes output `{}`", b.name)));
    }
  }
}

}  // namespace

Diagnostics verify(const Program& program, const Kernel& kernel) {
  Diagnostics out;
  KernelVerifier(program, kernel, out).run();
  return out;
}

Diagnostics verify(const Program& program) {
  Diagnostics out;
  verify_header(program, out);
  if (!out.empty()) return out;
  for (const auto* kernels : {&program.prepares, &program.kernels})
    for (const Kernel& kernel : *kernels) {
      Diagnostics faults = verify(program, kernel);
      out.insert(out.end(), faults.begin(), faults.end());
    }
  if (out.empty()) verify_order(program, out);
  return out;
}

}  // namespace tang::loop
