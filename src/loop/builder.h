// Builds loop programs. Every call checks its arguments; the first mistake is kept and `finish`
// returns it (as an internal error: the caller is a lowering), so a chain of calls never fails half
// way. Names may repeat and may be any text: the builder makes them valid and unique.
//
//     Builder b;
//     ParamId n = b.symbol("n");
//     BufferId x = b.buffer("x", Format::f32, Poly::param(n), Role::input);
//     BufferId y = b.buffer("y", Format::f32, Poly::param(n), Role::output);
//     b.begin_kernel("y");
//     b.for_("i", b.integer(0), b.symbol(n), [&](Value i) {
//       b.store(y, i, b.exp(b.load(x, i)));
//     }, {.hint = Hint::vector});
//     b.end_kernel();
//     Result<Program> program = b.finish();
//
// Integer index arithmetic folds constants (x + 0, x * 1, 2 + 3), nothing else is simplified.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "loop/program.h"

namespace tang::loop {

struct Array {
  LocalId id{};
};

// How a vector lies in memory: `lanes` elements, `stride` apart (1), of which the first `first`
// (all) are touched.
struct LoadOptions {
  int lanes = 1;
  std::optional<Value> stride = {};
  std::optional<Value> first = {};
};
struct StoreOptions {  // as many elements as the value has lanes
  std::optional<Value> stride = {};
  std::optional<Value> first = {};
  bool streams = false;  // a whole vector of neighbours, past the caches
};

struct ForOptions {
  int64_t step = 1;
  Hint hint = Hint::none;
};

class Builder {
 public:
  // The program's header.
  ParamId symbol(std::string_view name);
  BufferId buffer(std::string_view name, Format format, Poly count, Role role);
  BufferId output_into(std::string_view name, BufferId input);  // shares the input's memory
  void require_nonnegative(Poly extent);

  // Kernels. What a kernel reads and writes is collected from its loads and stores.
  void begin_kernel(std::string_view name, bool prepares = false, int64_t threads = 1);
  void end_kernel();

  // Statements.
  Value begin_for(std::string_view name, Value lo, Value hi, ForOptions options = {});
  void begin_if(Value condition);
  void end();  // closes the innermost for or if
  template <class Body>
  void for_(std::string_view name, Value lo, Value hi, Body body, ForOptions options = {}) {
    const Value v = begin_for(name, lo, hi, options);
    body(v);
    end();
  }
  template <class Body>
  void if_(Value condition, Body body) {
    begin_if(condition);
    body();
    end();
  }
  Value let(std::string_view name, Value value);  // reads the new name
  Value var(std::string_view name, Value value);  // reads the new variable where it is used
  void assign(Value var, Value value);
  Array array(std::string_view name, Type type, int64_t count, bool shared = false);
  void barrier();
  Value exchange(std::string_view name, Value value, int64_t mask);  // reads the new name
  // A scalar takes no stride, and `first` makes it happen only if 0 < first.
  void set(Array array, Value index, Value value, StoreOptions options = {});
  void store(BufferId buffer, Value index, Value value, StoreOptions options = {});
  void prefetch(BufferId buffer, Value index);  // of a buffer that the kernel reads or writes
  void comment(std::string_view text);

  // Leaves.
  Value real(Type type, double value);  // rounded to the type
  Value f32(double value) { return real(Type::f32, value); }
  Value f64(double value) { return real(Type::f64, value); }
  Value integer(int64_t value, Type type = Type::i64);
  Value boolean(bool value);
  Value symbol(ParamId symbol);
  Value thread();
  Value poly(const Poly& size);  // as i64 arithmetic on symbols
  Value load(BufferId buffer, Value index, LoadOptions options = {});
  Value at(Array array, Value index, LoadOptions options = {});
  Value gather(BufferId buffer, Value indices);  // a vector of i64 or i32

  // Vectors.
  Value spread(Value scalar, int lanes);  // a value that has so many lanes stays
  Value ramp(Value base, int lanes);
  Value low(Value v) { return vector(Op::low, {v}); }
  Value high(Value v) { return vector(Op::high, {v}); }
  Value join(Value a, Value b) { return vector(Op::join, {a, b}); }
  Value lane(Value v, int64_t k) { return vector(Op::lane, {v}, 1, k); }
  Value even(Value a, Value b, int64_t run) { return vector(Op::even, {a, b}, 1, run); }
  Value odd(Value a, Value b, int64_t run) { return vector(Op::odd, {a, b}, 1, run); }

  // Operations. Scalars beside vectors are spread.
  Value op(Op op, std::initializer_list<Value> args) {
    return this->op(op, std::span<const Value>(args.begin(), args.size()));
  }
  Value op(Op op, std::span<const Value> args);
  Value cast(Type type, Value x);  // x itself if it has the type
  Value round(Format format, Value x);
  Value select(Value condition, Value yes, Value no) {
    return op(Op::select, {condition, yes, no});
  }
  Value fma(Value a, Value b, Value c) { return op(Op::fma, {a, b, c}); }
#define TANG_LOOP_UNARY(name) \
  Value name(Value a) { return op(Op::name, {a}); }
#define TANG_LOOP_BINARY(name) \
  Value name(Value a, Value b) { return op(Op::name, {a, b}); }
  // clang-format off
  TANG_LOOP_BINARY(add) TANG_LOOP_BINARY(sub) TANG_LOOP_BINARY(mul) TANG_LOOP_BINARY(quot)
  TANG_LOOP_BINARY(div) TANG_LOOP_BINARY(mod) TANG_LOOP_BINARY(max) TANG_LOOP_BINARY(min)
  TANG_LOOP_BINARY(lt) TANG_LOOP_BINARY(le) TANG_LOOP_BINARY(eq) TANG_LOOP_BINARY(ne)
  TANG_LOOP_BINARY(logical_and) TANG_LOOP_BINARY(logical_or) TANG_LOOP_UNARY(logical_not)
  TANG_LOOP_UNARY(neg) TANG_LOOP_UNARY(recip) TANG_LOOP_UNARY(exp) TANG_LOOP_UNARY(log)
  TANG_LOOP_UNARY(sqrt) TANG_LOOP_UNARY(abs)
  // clang-format on
#undef TANG_LOOP_UNARY
#undef TANG_LOOP_BINARY

                              Type type(Value v) const {
    return kernel_.nodes[v.id].type;
  }
  int lanes(Value v) const { return kernel_.nodes[v.id].lanes; }
  std::optional<int64_t> constant(Value v) const;  // the value of an integer constant
  bool stays(Value v) const;  // a constant, or a name whose value does not change
  bool failed() const { return failure_.has_value(); }

  // The program, verified (verify.h); the builder is empty afterwards.
  Result<Program> finish();

 private:
  void fail(std::string message);
  bool check(bool ok, std::string_view message);
  bool known(Value v);
  std::string fresh(std::string_view wanted);
  Value add_node(Node node);
  LocalId add_local(std::string_view name, LocalKind kind, Shape shape, int64_t count = 0);
  Value read(LocalId local);
  Stmt& add_stmt(StmtKind kind);
  std::optional<Value> fold(Op op, std::span<const Value> args);
  Value vector(Op op, std::initializer_list<Value> args, int lanes = 1, int64_t k = 0);
  Value memory(Node node, Value index, const LoadOptions& options);
  bool is_size(Value v);
  void write(StmtKind kind, uint32_t id, Value index, Value value, const StoreOptions& options);

  Program program_;
  Kernel kernel_;
  bool in_kernel_ = false;
  bool prepares_ = false;  // the open kernel
  int open_ = 0;
  std::unordered_set<std::string> names_;        // symbols, buffers
  std::unordered_set<std::string> local_names_;  // locals of the open kernel
  std::unordered_set<std::string> kernel_names_;
  std::optional<Diagnostic> failure_;
};

}  // namespace tang::loop
