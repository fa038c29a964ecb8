#include "loop/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "loop/nodes.h"
#include "loop/verify.h"

namespace tang::loop {

namespace {

void insert_sorted(std::vector<BufferId>& list, BufferId id) {
  const auto at = std::lower_bound(list.begin(), list.end(), id);
  if (at == list.end() || *at != id) list.insert(at, id);
}

std::string tidy(std::string_view wanted) {
  std::string text;
  for (char c : wanted) text += valid_name("x" + std::string(1, c)) ? c : '_';
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) text = "x" + text;
  return valid_name(text) ? text : text + "_";
}

std::string unused(std::string_view wanted, auto taken) {
  const std::string base = tidy(wanted);
  if (!taken(base)) return base;
  for (int k = 1;; ++k) {
    std::string next = fmt::format("{}_{}", base, k);
    if (!taken(next)) return next;
  }
}

}  // namespace

void Builder::fail(std::string message) {
  if (failure_) return;
  Diagnostic d;
  d.id = "E0998";
  d.message = in_kernel_ ? fmt::format("kernel `{}`: {}", kernel_.name, message) : message;
  d.hint = "this is a fault of the lowering, not of the program";
  d.exit = Exit::wrong_result;
  failure_ = std::move(d);
}

bool Builder::check(bool ok, std::string_view message) {
  if (!ok) fail(std::string(message));
  return ok;
}

bool Builder::known(Value v) {
  return check(v.id < kernel_.nodes.size(), "an operand is not a value of this kernel");
}

ParamId Builder::symbol(std::string_view name) {
  check(!in_kernel_, "symbols are declared before kernels");
  std::string unique = unused(name, [&](const std::string& s) { return names_.contains(s); });
  names_.insert(unique);
  program_.symbols.push_back(std::move(unique));
  return static_cast<ParamId>(program_.symbols.size() - 1);
}

BufferId Builder::buffer(std::string_view name, Format format, Poly count, Role role) {
  check(!is_block(format) || role == Role::input, "only inputs have block formats");
  std::string unique = unused(name, [&](const std::string& s) { return names_.contains(s); });
  names_.insert(unique);
  Buffer row;
  row.name = std::move(unique);
  row.format = format;
  row.count = std::move(count);
  row.role = role;
  program_.buffers.push_back(std::move(row));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::output_into(std::string_view name, BufferId input) {
  if (!check(index(input) < program_.buffers.size(), "`into` names no buffer")) return input;
  const Buffer source = program_[input];
  const BufferId id = buffer(name, source.format, source.count, Role::output);
  program_.buffers.back().into = input;
  return id;
}

void Builder::require_nonnegative(Poly extent) {
  if (extent.proved_nonnegative() && !extent.is_constant() && extent.as_param()) return;
  if (extent.is_constant() && extent.proved_nonnegative()) return;
  auto& list = program_.nonnegative;
  if (std::find(list.begin(), list.end(), extent) == list.end()) list.push_back(std::move(extent));
}

void Builder::begin_kernel(std::string_view name, bool prepares, int64_t threads) {
  check(!in_kernel_, "a kernel inside a kernel");
  kernel_ = Kernel{};
  kernel_.threads = threads;
  kernel_.name = unused(name, [&](const std::string& s) { return kernel_names_.contains(s); });
  kernel_names_.insert(kernel_.name);
  local_names_.clear();
  in_kernel_ = true;
  prepares_ = prepares;
  open_ = 0;
}

void Builder::end_kernel() {
  check(in_kernel_ && open_ == 0, "end_kernel leaves a body open");
  if (in_kernel_) (prepares_ ? program_.prepares : program_.kernels).push_back(std::move(kernel_));
  kernel_ = Kernel{};
  in_kernel_ = false;
}

std::string Builder::fresh(std::string_view wanted) {
  std::string unique = unused(
      wanted, [&](const std::string& s) { return names_.contains(s) || local_names_.contains(s); });
  local_names_.insert(unique);
  return unique;
}

LocalId Builder::add_local(std::string_view name, LocalKind kind, Shape shape, int64_t count) {
  check(in_kernel_, "a statement outside a kernel");
  kernel_.locals.push_back({fresh(name), kind, shape.type, count, shape.lanes});
  return static_cast<LocalId>(kernel_.locals.size() - 1);
}

Value Builder::add_node(Node node) {
  const Value v = append(kernel_, node);
  const Node& made = kernel_[v];
  if (made.depth > max_depth || made.size > max_tree) {
    fail(fmt::format("an expression is {} deep with {} nodes; name its parts with `let`",
                     made.depth, made.size));
  }
  return v;
}

Value Builder::read(LocalId local) {
  Node node;
  node.op = Op::local;
  node.type = kernel_[local].type;
  node.lanes = kernel_[local].lanes;
  node.id = index(local);
  return add_node(node);
}

Stmt& Builder::add_stmt(StmtKind kind) {
  check(in_kernel_, "a statement outside a kernel");
  kernel_.body.emplace_back();
  kernel_.body.back().kind = kind;
  return kernel_.body.back();
}

Value Builder::begin_for(std::string_view name, Value lo, Value hi, ForOptions options) {
  if (!known(lo) || !known(hi)) lo = hi = integer(0);
  check(is_size(lo) && is_size(hi), "loop bounds are i64");
  check(options.step > 0, "a loop step is positive");
  const LocalId local = add_local(name, LocalKind::loop, {Type::i64});
  Stmt& stmt = add_stmt(StmtKind::for_);
  stmt.local = local;
  stmt.a = lo;
  stmt.b = hi;
  stmt.step = options.step;
  stmt.hint = options.hint;
  ++open_;
  return read(local);
}

void Builder::begin_if(Value condition) {
  if (!known(condition)) condition = boolean(false);
  const bool scalar = lanes(condition) == 1 && type(condition) == Type::boolean;
  check(scalar, "the condition of `if` is a bool");
  add_stmt(StmtKind::if_).a = condition;
  ++open_;
}

void Builder::end() {
  if (!check(open_ > 0, "`end` closes nothing")) return;
  add_stmt(StmtKind::end);
  --open_;
}

Value Builder::let(std::string_view name, Value value) {
  if (!known(value)) value = integer(0);
  const LocalId local = add_local(name, LocalKind::let, kernel_[value].shape());
  Stmt& stmt = add_stmt(StmtKind::let);
  stmt.local = local;
  stmt.a = value;
  return read(local);
}

Value Builder::var(std::string_view name, Value value) {
  if (!known(value)) value = integer(0);
  const LocalId local = add_local(name, LocalKind::var, kernel_[value].shape());
  Stmt& stmt = add_stmt(StmtKind::var);
  stmt.local = local;
  stmt.a = value;
  return read(local);
}

void Builder::assign(Value var, Value value) {
  if (!known(var) || !known(value)) return;
  const Node target = kernel_[var];
  const bool is_var =
      target.op == Op::local && kernel_[static_cast<LocalId>(target.id)].kind == LocalKind::var;
  if (!check(is_var, "only a `var` is assigned")) return;
  if (lanes(var) > 1) value = spread(value, lanes(var));
  check(kernel_[var].shape() == kernel_[value].shape(),
        "an assigned value has the type of its `var`");
  Stmt& stmt = add_stmt(StmtKind::assign);
  stmt.local = static_cast<LocalId>(target.id);
  stmt.a = value;
}

Array Builder::array(std::string_view name, Type type, int64_t count, bool shared) {
  check(count > 0, "an array has at least one element");
  const LocalId local = add_local(name, LocalKind::array, {type}, count);
  if (in_kernel_) kernel_.locals.back().shared = shared;
  add_stmt(StmtKind::array).local = local;
  return Array{local};
}

void Builder::barrier() { add_stmt(StmtKind::barrier); }

Value Builder::exchange(std::string_view name, Value value, int64_t mask) {
  if (!known(value)) return value;
  check(mask > 0 && mask < kernel_.threads, "an exchange is between threads of the group");
  const LocalId local = add_local(name, LocalKind::let, kernel_[value].shape());
  Stmt& stmt = add_stmt(StmtKind::exchange);
  stmt.local = local;
  stmt.a = value;
  stmt.step = mask;
  return read(local);
}

bool Builder::is_size(Value v) { return kernel_[v].shape() == Shape{Type::i64}; }

void Builder::write(StmtKind kind, uint32_t id, Value index, Value value,
                    const StoreOptions& options) {
  if (options.first && lanes(value) == 1) {
    begin_if(lt(integer(0), *options.first));
    write(kind, id, index, value, {});
    return end();
  }
  const bool plain = options.stride && constant(*options.stride) == 1;
  const Value stride = plain || !options.stride ? Value{} : *options.stride;
  const Value first = options.first.value_or(Value{});
  for (const Value v : {stride, first})
    if (v != Value{} && !known(v)) return;
  const std::string fault = address_fault(kernel_, index, stride, first, lanes(value), false);
  if (!fault.empty()) return fail(fault);
  Stmt& stmt = add_stmt(kind);
  if (kind == StmtKind::set)
    stmt.local = static_cast<LocalId>(id);
  else
    stmt.buffer = static_cast<BufferId>(id);
  stmt.a = index;
  stmt.b = value;
  stmt.stride = stride;
  stmt.first = first;
  if (options.streams) stmt.hint = Hint::stream;
}

void Builder::prefetch(BufferId buffer, Value index) {
  if (!known(index) || !check(type(index) == Type::i64 && lanes(index) == 1, "an index")) return;
  Stmt& stmt = add_stmt(StmtKind::prefetch);
  stmt.buffer = buffer;
  stmt.a = index;
}

void Builder::set(Array array, Value index, Value value, StoreOptions options) {
  if (!known(index) || !known(value)) return;
  check(kernel_[array.id].type == type(value), "an array element has the array's type");
  write(StmtKind::set, tang::loop::index(array.id), index, value, options);
}

void Builder::store(BufferId buffer, Value index, Value value, StoreOptions options) {
  if (!known(index) || !known(value)) return;
  if (!check(tang::loop::index(buffer) < program_.buffers.size(), "a store into no buffer")) return;
  insert_sorted(kernel_.writes, buffer);
  write(StmtKind::store, tang::loop::index(buffer), index, value, options);
}

void Builder::comment(std::string_view text) {
  Stmt& stmt = add_stmt(StmtKind::comment);
  stmt.text = static_cast<uint32_t>(kernel_.comments.size());
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  kernel_.comments.push_back(std::move(line));
}

Value Builder::real(Type type, double value) {
  check(is_real(type), "a real constant of an integer type");
  Node node;
  node.type = type;
  node.bits = real_bits(type, value);
  return add_node(node);
}

Value Builder::integer(int64_t value, Type type) {
  const bool fits = type == Type::i64 || (value >= INT32_MIN && value <= INT32_MAX);
  check(is_integer(type) && fits, "an integer constant does not fit its type");
  Node node;
  node.type = type;
  node.bits = static_cast<uint64_t>(value);
  return add_node(node);
}

Value Builder::boolean(bool value) {
  Node node;
  node.type = Type::boolean;
  node.bits = value;
  return add_node(node);
}

Value Builder::symbol(ParamId symbol) {
  check(tang::index(symbol) < program_.symbols.size(), "a symbol that is not declared");
  Node node;
  node.op = Op::symbol;
  node.type = Type::i64;
  node.id = tang::index(symbol);
  return add_node(node);
}

Value Builder::thread() {
  Node node;
  node.op = Op::thread;
  node.type = Type::i64;
  return add_node(node);
}

Value Builder::poly(const Poly& size) {
  Value sum = integer(0);
  for (const Poly::Term& term : size.terms()) {
    const bool negative = term.coeff < 0 && term.coeff != INT64_MIN;
    Value product = integer(negative ? -term.coeff : term.coeff);
    for (ParamId p : term.params) product = mul(product, symbol(p));
    const bool first = constant(sum) == 0;
    if (negative && first) product = term.params.empty() ? integer(term.coeff) : neg(product);
    sum = negative && !first ? sub(sum, product) : add(sum, product);
  }
  return sum;
}

// A load or element; `node` says of what.
Value Builder::memory(Node node, Value index, const LoadOptions& options) {
  if (options.first && options.lanes == 1) {
    const Value zero = is_real(node.type)           ? real(node.type, 0)
                       : node.type == Type::boolean ? boolean(false)
                                                    : integer(0, node.type);
    return select(lt(integer(0), *options.first), memory(node, index, {}), zero);
  }
  const bool plain = options.stride && constant(*options.stride) == 1;
  node.args[0] = index;
  if (options.stride && !plain) node.args[1] = *options.stride;
  if (options.first) node.args[2] = *options.first;
  for (const Value v : Operands(node))
    if (!known(v)) return real(Type::f32, 0);
  const bool gathers = node.op == Op::load;
  const std::string fault =
      address_fault(kernel_, index, node.args[1], node.args[2], options.lanes, gathers);
  check(fault.empty(), fault);
  node.lanes = static_cast<uint8_t>(options.lanes);
  return add_node(node);
}

Value Builder::load(BufferId buffer, Value index, LoadOptions options) {
  if (!known(index)) index = integer(0);
  if (!check(tang::loop::index(buffer) < program_.buffers.size(), "a load from no buffer")) {
    return f32(0);
  }
  insert_sorted(kernel_.reads, buffer);
  Node node;
  node.op = Op::load;
  node.type = compute_type(program_[buffer].format);
  node.id = tang::loop::index(buffer);
  return memory(node, index, options);
}

Value Builder::at(Array array, Value index, LoadOptions options) {
  if (!known(index)) index = integer(0);
  Node node;
  node.op = Op::element;
  node.type = kernel_[array.id].type;
  node.id = tang::loop::index(array.id);
  return memory(node, index, options);
}

Value Builder::gather(BufferId buffer, Value indices) {
  if (!known(indices)) indices = integer(0);
  return load(buffer, indices, {.lanes = lanes(indices)});
}

Value Builder::vector(Op op, std::initializer_list<Value> args, int lanes, int64_t k) {
  for (Value v : args)
    if (!known(v)) return integer(0);
  const auto node = vector_node(kernel_, op, std::span(args.begin(), args.size()), lanes, k);
  if (check(node.has_value(), fmt::format("operands that `{}` does not take", info(op).name)))
    return add_node(*node);
  return *args.begin();
}

Value Builder::spread(Value scalar, int lanes) {
  if (!known(scalar) || this->lanes(scalar) == lanes) return scalar;
  return vector(Op::spread, {scalar}, lanes);
}

Value Builder::ramp(Value base, int lanes) { return vector(Op::ramp, {base}, lanes); }

std::optional<int64_t> Builder::constant(Value v) const {
  if (v.id >= kernel_.nodes.size()) return std::nullopt;
  const Node& node = kernel_[v];
  if (node.op != Op::constant || !is_integer(node.type)) return std::nullopt;
  return integer_value(node);
}

bool Builder::stays(Value v) const {
  if (v.id >= kernel_.nodes.size()) return false;
  const Node& node = kernel_[v];
  const bool named = node.op == Op::local && kernel_.locals[node.id].kind == LocalKind::let;
  return named || node.op == Op::constant || node.op == Op::symbol;
}

std::optional<Value> Builder::fold(Op op, std::span<const Value> args) {
  if (args.size() != 2 || !is_size(args[0]) || !is_size(args[1])) return std::nullopt;
  const auto a = constant(args[0]), b = constant(args[1]);
  int64_t both = 0;
  switch (op) {
    case Op::add:
      if (a == 0) return args[1];
      if (b == 0) return args[0];
      if (a && b && !__builtin_add_overflow(*a, *b, &both)) return integer(both);
      break;
    case Op::sub:
      if (b == 0) return args[0];
      if (a && b && !__builtin_sub_overflow(*a, *b, &both)) return integer(both);
      break;
    case Op::mul:
      if (a == 1) return args[1];
      if (b == 1) return args[0];
      if (a == 0 || b == 0) return integer(0);
      if (a && b && !__builtin_mul_overflow(*a, *b, &both)) return integer(both);
      break;
    default:
      break;
  }
  return std::nullopt;
}

Value Builder::op(Op op, std::span<const Value> args) {
  std::vector<Value> operands;
  int most = 1;
  for (Value v : args) {
    if (!known(v)) return integer(0);
    most = std::max(most, lanes(v));
  }
  std::vector<Shape> shapes;
  for (Value v : args) {
    operands.push_back(lanes(v) == 1 ? spread(v, most) : v);
    shapes.push_back(kernel_[operands.back()].shape());
  }
  const auto result = result_shape(op, shapes);
  if (!result) {
    fail(type_complaint(op, shapes));
    return integer(0);
  }
  if (auto folded = fold(op, args)) return *folded;
  Node node;
  node.op = op;
  node.type = result->type;
  node.lanes = result->lanes;
  std::copy(operands.begin(), operands.end(), node.args);
  return add_node(node);
}

Value Builder::cast(Type to, Value x) {
  if (!known(x) || type(x) == to) return x;
  Node node;
  node.op = Op::cast;
  node.type = to;
  node.lanes = kernel_[x].lanes;
  node.args[0] = x;
  return add_node(node);
}

Value Builder::round(Format format, Value x) {
  if (!known(x)) return x;
  check(roundable(format, type(x)), "a rounding to a format of another kind");
  Node node;
  node.op = Op::round;
  node.type = type(x);
  node.lanes = kernel_[x].lanes;
  node.format = format;
  node.args[0] = x;
  return add_node(node);
}

Result<Program> Builder::finish() {
  check(!in_kernel_, "finish inside a kernel");
  std::optional<Diagnostic> failure = failure_;
  Program program = std::move(program_);
  *this = Builder{};
  if (failure) return tl::unexpected(*failure);
  const Diagnostics faults = verify(program);
  if (!faults.empty()) return tl::unexpected(faults.front());
  return program;
}

}  // namespace tang::loop
