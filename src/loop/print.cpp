#include <cmath>

#include <fmt/format.h>

#include "loop/text.h"

namespace tang::loop {

namespace {

// Binding strength in the text, loosest first.
enum Level {
  level_or = 1,
  level_and,
  level_not,
  level_compare,
  level_sum,
  level_product,
  level_neg,
  level_atom
};

Level level_of(const Node& node) {
  switch (node.op) {
    case Op::logical_or:
      return level_or;
    case Op::logical_and:
      return level_and;
    case Op::logical_not:
      return level_not;
    case Op::lt:
    case Op::le:
    case Op::eq:
    case Op::ne:
      return level_compare;
    case Op::add:
    case Op::sub:
      return level_sum;
    case Op::mul:
    case Op::quot:
      return level_product;
    case Op::neg:
      return level_neg;
    default:
      return level_atom;
  }
}

std::string real_text(const Node& node) {
  const double value = real_value(node);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = node.type == Type::f32 ? fmt::format("{}", static_cast<float>(value))
                                            : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string constant_text(const Node& node) {
  switch (node.type) {
    case Type::boolean:
      return node.bits ? "true" : "false";
    case Type::i64:
      return fmt::format("{}", integer_value(node));
    case Type::i32:
      return fmt::format("{}'i32", integer_value(node));
    case Type::f32:
      return real_text(node);
    case Type::f64:
      break;
  }
  return real_text(node) + "'f64";
}

class Printer {
 public:
  Printer(const Program& program, const Kernel& kernel) : program_(program), kernel_(kernel) {}

  // Recursion is bounded by the depth of the tree, at most max_depth in a verified kernel.
  std::string expr(Value value, int least = level_or) const {
    const Node& node = kernel_[value];
    const int level = level_of(node);
    std::string text = bare(node, level);
    return level < least ? "(" + text + ")" : text;
  }

  std::string statement(const Stmt& s) const;
  std::string kernel(std::string_view word) const;

 private:
  std::string bare(const Node& node, int level) const;
  std::string call(std::string_view callee, const Node& node) const;
  std::string vector(const Node& node) const;
  std::string address(int lanes, Value at, Value stride, Value first) const;
  std::string local(LocalId id) const { return kernel_[id].name; }
  std::string loop(const Stmt& s) const;
  std::string names(std::string_view word, const std::vector<BufferId>& list) const;

  const Program& program_;
  const Kernel& kernel_;
};

std::string Printer::call(std::string_view callee, const Node& node) const {
  std::string text = std::string(callee) + "(";
  for (int k = 0; k < info(node.op).arity; ++k) text += (k ? ", " : "") + expr(node.args[k]);
  return text + ")";
}

std::string Printer::vector(const Node& node) const {
  const std::string_view word = info(node.op).name;
  if (node.op == Op::lane) return fmt::format("lane({}, {})", expr(node.args[0]), node.id);
  if (node.op == Op::even || node.op == Op::odd)
    return fmt::format("{}({}, {}, {})", word, expr(node.args[0]), expr(node.args[1]), node.id);
  const bool counted = node.op == Op::spread || node.op == Op::ramp;
  return call(counted ? fmt::format("{}{}", word, node.lanes) : std::string(word), node);
}

// Of a gather the index says how many.
std::string Printer::address(int lanes, Value at, Value stride, Value first) const {
  std::string text = "[" + expr(at);
  if (lanes > 1 && kernel_[at].lanes == 1) text += fmt::format(" : {}", lanes);
  if (stride != Value{}) text += " by " + expr(stride);
  if (first != Value{}) text += " first " + expr(first);
  return text + "]";
}

std::string Printer::bare(const Node& node, int level) const {
  switch (node.op) {
    case Op::constant:
      return constant_text(node);
    case Op::thread:
      return "thread";
    case Op::symbol:
      return program_.symbols[node.id];
    case Op::local:
      return kernel_.locals[node.id].name;
    case Op::load:
      return program_.buffers[node.id].name +
             address(node.lanes, node.args[0], node.args[1], node.args[2]);
    case Op::element:
      return kernel_.locals[node.id].name +
             address(node.lanes, node.args[0], node.args[1], node.args[2]);
    case Op::spread:
    case Op::ramp:
    case Op::low:
    case Op::high:
    case Op::join:
    case Op::lane:
    case Op::even:
    case Op::odd:
      return vector(node);
    case Op::cast:
      return call(name(node.type), node);
    case Op::round:
      return call(fmt::format("round_{}", tang::name(node.format)), node);
    case Op::logical_not:
      return "not " + expr(node.args[0], level_not);
    case Op::neg: {
      const std::string inner = expr(node.args[0], level_atom);
      const bool constant = kernel_[node.args[0]].op == Op::constant;
      return constant ? "-(" + inner + ")" : "-" + inner;
    }
    default:
      break;
  }
  const OpInfo& row = info(node.op);
  if (row.form == OpForm::call) return call(row.spelling, node);
  const int left = level == level_compare ? level + 1 : level;
  return fmt::format("{} {} {}", expr(node.args[0], left), row.spelling,
                     expr(node.args[1], level + 1));
}

std::string Printer::loop(const Stmt& s) const {
  std::string text = fmt::format("for {} in {} .. {}", local(s.local), expr(s.a), expr(s.b));
  if (s.step != 1) text += fmt::format(" step {}", s.step);
  if (s.hint == Hint::vector) text += " vector";
  if (s.hint == Hint::unroll) text += " unroll";
  if (s.hint == Hint::parallel) text += " parallel";
  return text + " {";
}

std::string Printer::statement(const Stmt& s) const {
  switch (s.kind) {
    case StmtKind::for_:
      return loop(s);
    case StmtKind::if_:
      return fmt::format("if {} {{", expr(s.a));
    case StmtKind::end:
      return "}";
    case StmtKind::let:
    case StmtKind::var:
      return fmt::format("{} {} : {} = {}", s.kind == StmtKind::let ? "let" : "var", local(s.local),
                         text(kernel_[s.local].shape()), expr(s.a));
    case StmtKind::array:
      return fmt::format("{} {}[{}] : {}", kernel_[s.local].shared ? "shared" : "array",
                         local(s.local), kernel_[s.local].count, name(kernel_[s.local].type));
    case StmtKind::barrier:
      return "barrier";
    case StmtKind::exchange:
      return fmt::format("exchange {} = {} by {}", local(s.local), expr(s.a), s.step);
    case StmtKind::assign:
      return fmt::format("{} = {}", local(s.local), expr(s.a));
    case StmtKind::set:
      return fmt::format("{}{} = {}", local(s.local),
                         address(kernel_[s.b].lanes, s.a, s.stride, s.first), expr(s.b));
    case StmtKind::store:
      return fmt::format("{} {}{} = {}", s.hint == Hint::stream ? "stream" : "store",
                         program_[s.buffer].name,
                         address(kernel_[s.b].lanes, s.a, s.stride, s.first), expr(s.b));
    case StmtKind::prefetch:
      return fmt::format("prefetch {}[{}]", program_[s.buffer].name, expr(s.a));
    case StmtKind::comment:
      break;
  }
  const std::string& text = kernel_.comments[s.text];
  return text.empty() ? "#" : "# " + text;
}

std::string Printer::names(std::string_view word, const std::vector<BufferId>& list) const {
  std::string text;
  for (BufferId id : list) text += (text.empty() ? "" : ", ") + program_[id].name;
  return text.empty() ? text : fmt::format(" {} {}", word, text);
}

std::string Printer::kernel(std::string_view word) const {
  std::string text =
      fmt::format("{} {}{}{}{} {{\n", word, kernel_.name,
                  kernel_.threads > 1 ? fmt::format(" threads {}", kernel_.threads) : "",
                  names("reads", kernel_.reads), names("writes", kernel_.writes));
  size_t indent = 2;
  for (const Stmt& s : kernel_.body) {
    if (s.kind == StmtKind::end && indent > 2) indent -= 2;
    text += std::string(indent, ' ') + statement(s) + "\n";
    if (s.kind == StmtKind::for_ || s.kind == StmtKind::if_) indent += 2;
  }
  return text + "}\n";
}

std::string buffer_text(const Program& program, const Buffer& buffer, auto symbol_name) {
  std::string text = fmt::format("buffer {} : {}[{}] {}", buffer.name, tang::name(buffer.format),
                                 buffer.count.text(symbol_name), name(buffer.role));
  if (buffer.into) text += " into " + program[*buffer.into].name;
  return text + "\n";
}

}  // namespace

std::string print(const Program& program, const Kernel& kernel) {
  return Printer(program, kernel).kernel("kernel");
}

std::string print(const Program& program, const Kernel& kernel, Value value) {
  return Printer(program, kernel).expr(value);
}

std::string print_statement(const Program& program, const Kernel& kernel, const Stmt& stmt) {
  return Printer(program, kernel).statement(stmt);
}

std::string print(const Program& program) {
  const auto symbol_name = [&](ParamId p) { return program.symbols[tang::index(p)]; };
  std::string text;
  for (const std::string& s : program.symbols) text += "symbol " + s + "\n";
  for (const Buffer& b : program.buffers) text += buffer_text(program, b, symbol_name);
  for (const Poly& p : program.nonnegative) text += "require " + p.text(symbol_name) + "\n";
  for (const Kernel& k : program.prepares) text += "\n" + Printer(program, k).kernel("prepare");
  for (const Kernel& k : program.kernels) text += "\n" + print(program, k);
  return text;
}

}  // namespace tang::loop
