// Loop programs: what one thread does, statement by statement.
//
// A program has symbols (run-time integers, the params of the source in order), buffers and kernels
// in launch order. A kernel is a flat list of statements; `for` and `if` open a body that `end`
// closes:
//
//     symbol n
//     buffer x : f16[8*n] input
//     buffer m : f32[8] output
//     kernel m reads x writes m {
//       for i in 0 .. 8 {
//         var a : f32 = -inf
//         for j in 0 .. n {
//           a = max(a, x[n * i + j])
//         }
//         store m[i] = a
//       }
//     }
//
// Values have one of five types: f64, f32, i64, i32, bool, or are vectors of 2, 4, 8 or 16 lanes of
// one (below). Nothing converts by itself. Reading a
// buffer decodes the element: to f64 for f64, to f32 for the narrower real formats (exact), to i64
// for i64, to i32 for the narrower integers (exact), to bool. `store` rounds a real to the buffer's
// real format, clamps an integer to its integer format, and writes a bool. A cast to a real type
// rounds to nearest even; real to integer rounds to nearest even, clamps, NaN gives 0; integers
// clamp; to bool is `x != 0`. `round_f16(x)` rounds to a format and keeps the type.
//
// Vectors. An operation of ops.def, a cast or a rounding takes vectors of the same number of lanes
// and works lane by lane:
//
//     var acc : f32x8 = spread8(0.0)
//     for k in 0 .. n {
//       acc = fma(spread8(a[k]), b[8 * k : 8], acc)
//     }
//     store y[i : 8 first n - i] = acc
//
//   spread8(s)  ramp8(b)       s in every lane; b, b + 1, … of an integer b (they wrap)
//   x[i : 8]                   elements i … i + 7 of a buffer or an array, and where to store them
//   x[i : 8 by s first n]      elements i + e·s, s an i64, of which only those with e < n are
//                              touched; the others are 0. n is an i64 and may be below 0 or above 8
//   x[v]                       the elements that a vector of integers names; a buffer's only
//   low(v) high(v) join(a, b)  halves, of two lanes a scalar, and what has these halves
//   lane(v, 3)                 one lane, numbered by a constant
//   even(a, b, 2) odd(a, b, 2) of lanes in runs of 2: the runs of even (odd) number of a, each
//                              followed by the same of b: a0 a1 b0 b1 a4 a5 b4 b5
//
// `stream y[i : 8] = acc` stores the same past the caches: a whole vector of neighbours, in a
// buffer that the kernel does not read.
//
// Loop variables, bounds, indices of `x[i : 8]` and conditions of `if` are scalars.
//
// Expressions are trees of nodes in the kernel's arena; operands precede users. They are evaluated
// where their statement stands, so sharing is written with `let`, and a `var` is read at its value
// then. A tree is at most 100 deep. `and`, `or`, `select` of scalars are lazy: a load in a branch
// not taken does not happen; of vectors all operands are evaluated. Indices and loop bounds are i64
// and never overflow, which the run-time sizes guarantee.
//
// Invariants (verify.h): a name is defined once in a kernel, before its use and inside its block,
// and differs from symbols and buffers; types agree; only a `var` is assigned; a kernel loads what
// it declares to read and stores what it declares to write; inputs are not written; nothing is read
// before some kernel writes it. Arrays have constant sizes, so a kernel allocates nothing.
//
// Kernels that are declared as `prepare` run once, before all runs of the others. They read inputs
// that are the same in every run, which no output takes the memory of, and alone write `prepared`
// buffers, and those alone.
//
// `prefetch x[i]` says that the line of an element will be needed; the element need not exist.
//
// Threads. An outermost loop may be `parallel`: its iterations are independent, so that parts of
// the kernel can run some of them each, in any order. Every part computes what stands outside of
// these loops for itself, arrays and all, so buffers are stored to inside of them only, and nothing
// that an iteration assigns outlives it. All parallel loops of a kernel run without a barrier
// between them. The machine finds iterations that are not independent.
//
//     for i in 0 .. n parallel {
//       store y[i] = x[i]
//     }
//
// Groups. A kernel of several `threads` is run by groups of so many threads, which run its
// statements each for itself; a part of the kernel is a group. `thread` is a thread's number in its
// group, from 0. A `shared` array is one for the group and stands outside of all loops; other
// arrays and all locals are a thread's own. At a `barrier` threads wait for each other, and what
// one wrote before, into a shared array or a buffer, the others of the group find after. `exchange
// y = x by 4` lets y be what x is in the thread whose number differs from one's own by the bits of
// 4; there is one for each, and it orders no memory. Between barriers no thread touches what
// another one writes; a group may run any later iteration of its parallel loops after an earlier
// one. All threads of a group reach the same barriers and exchanges: what stands around them
// (bounds, conditions) is the same for all (uniform.h). Parallel loops may stand directly in each
// other, with nothing beside them and bounds that do not depend on each other; groups share the
// product of their trips. A kernel of one thread has none of these.
//
//     kernel y threads 256 reads x writes y {
//       shared a[256] : f32
//       for i in 0 .. n step 256 parallel {
//         a[thread] = x[i + thread]
//         barrier
//         store y[i + thread] = a[255 - thread]
//         barrier
//       }
//     }
//
// Statements are produced by the lowering only, through builder.h; text.h prints and parses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "view/poly.h"

namespace tang::loop {

enum class Type : uint8_t { f64, f32, i64, i32, boolean };

inline bool is_real(Type t) { return t == Type::f64 || t == Type::f32; }
inline bool is_integer(Type t) { return t == Type::i64 || t == Type::i32; }
std::string_view name(Type type);  // "f64" … "bool"
std::optional<Type> parse_type(std::string_view name);
Type compute_type(Format format);  // the type an element of the format is read as

// Lanes of a value: 1 is a scalar.
inline constexpr int max_lanes = 16;
inline bool is_lanes(int64_t n) { return n == 1 || n == 2 || n == 4 || n == 8 || n == 16; }

struct Shape {
  Type type = Type::f32;
  uint8_t lanes = 1;
  friend bool operator==(Shape, Shape) = default;
};
std::string text(Shape shape);  // "f32", "f32x8"
std::optional<Shape> parse_shape(std::string_view text);

enum class Op : uint8_t {
  constant,  // bits
  symbol,    // i64; id is a ParamId
  thread,    // i64; the thread's number in its group
  local,     // a loop variable, let or var; id is a LocalId
  load,      // buffer id, args[0] the index, args[1] the stride, args[2] the count, if any
  element,   // array id (LocalId), the same
  cast,      // args[0] to `type`
  round,     // args[0] to `format`, type unchanged
  spread,    // args[0] in every lane
  ramp,      // args[0], args[0] + 1, …
  low,       // the first half of args[0]
  high,      // the second half
  join,      // args[0], then args[1]
  lane,      // lane `id` of args[0]
  even,      // runs of `id` lanes: those of even number of args[0], each before that of args[1]
  odd,       // those of odd number
#define TANG_LOOP_OP(name, ...) name,
#include "loop/ops.def"
};

enum class OpForm : uint8_t { leaf, infix, prefix, call };
enum class OpRule : uint8_t { leaf, real, number, compare, logic, select };

struct OpInfo {
  std::string_view name;  // "add"
  int arity = 0;
  std::string_view spelling;  // "+"
  OpForm form = OpForm::leaf;
  OpRule rule = OpRule::leaf;
};
const OpInfo& info(Op op);
std::optional<Op> parse_call(std::string_view spelling);  // an operation with form `call`

enum class BufferId : uint32_t {};
enum class LocalId : uint32_t {};
constexpr uint32_t index(BufferId id) { return static_cast<uint32_t>(id); }
constexpr uint32_t index(LocalId id) { return static_cast<uint32_t>(id); }

// A node of a kernel's expression arena. Made by the builder or the parser only.
struct Value {
  uint32_t id = UINT32_MAX;
  friend bool operator==(Value, Value) = default;
};

struct Node {
  Op op = Op::constant;
  Type type = Type::f32;
  Format format = Format::f32;  // of round
  uint16_t depth = 1;
  uint32_t size = 1;  // nodes of the printed tree, saturating
  uint32_t id = 0;    // symbol, local, load, element
  uint64_t bits = 0;  // constant: the value's bits, in the low half for 32-bit types
  Value args[3];
  uint8_t lanes = 1;

  Shape shape() const { return {type, lanes}; }
};

// The operands of a node that are there.
struct Operands {
  Value values[3];
  size_t count = 0;

  explicit Operands(const Node& node) {
    for (const Value v : node.args)
      if (v != Value{}) values[count++] = v;
  }
  const Value* begin() const { return values; }
  const Value* end() const { return values + count; }
};

inline constexpr int max_depth = 100;
inline constexpr uint32_t max_tree = 20000;
inline constexpr int64_t max_array_bytes = 1024 * 1024;  // all arrays of a kernel together

// Constants by value. A NaN becomes the one positive quiet NaN of its type.
// An i32 constant keeps its value sign-extended to 64 bits.
uint64_t real_bits(Type type, double value);
double real_value(const Node& constant);
int64_t integer_value(const Node& constant);

enum class LocalKind : uint8_t { loop, let, var, array };

struct Local {
  std::string name;
  LocalKind kind = LocalKind::let;
  Type type = Type::i64;
  int64_t count = 0;    // of an array: elements
  uint8_t lanes = 1;    // of a let or var
  bool shared = false;  // of an array: one for the group

  Shape shape() const { return {type, lanes}; }
};

// vector: iterations are independent (no iteration touches memory that another writes).
// parallel: likewise, of loops that parts of the kernel share.
// stream: of a store, past the caches.
enum class Hint : uint8_t { none, vector, unroll, parallel, stream };

enum class StmtKind : uint8_t {
  for_,      // local in a .. b (exclusive) step `step` > 0; opens a body
  if_,       // a; opens a body
  end,       // closes the innermost open body
  let,       // local = a
  var,       // local = a
  array,     // local, elements undefined
  assign,    // var local = a
  set,       // array local[a] = b
  store,     // buffer[a] = b
  prefetch,  // the line of buffer[a], which need not exist
  barrier,   // of the group
  exchange,  // let local = a of the thread whose number differs by `step`
  comment,   // comments[text]
};

struct Stmt {
  StmtKind kind = StmtKind::end;
  Hint hint = Hint::none;
  LocalId local{};
  BufferId buffer{};
  uint32_t text = 0;
  int line = 0;  // of the text it was parsed from; 0 if built
  int64_t step = 1;
  Value a, b;
  Value stride, first;  // of set and store: how far apart and how many lanes of b go, if any
};

struct Kernel {
  std::string name;
  int64_t threads = 1;                  // of a group
  std::vector<BufferId> reads, writes;  // ascending
  std::vector<Node> nodes;
  std::vector<Local> locals;
  std::vector<std::string> comments;
  std::vector<Stmt> body;

  const Node& operator[](Value v) const { return nodes[v.id]; }
  const Local& operator[](LocalId id) const { return locals[index(id)]; }
};

// Whether the kernel has loops that parts can share; otherwise one part runs all of it.
bool is_parallel(const Kernel& kernel);

// prepared: filled by the program's prepares, from inputs that are the same in every run.
enum class Role : uint8_t { input, output, workspace, prepared };
std::string_view name(Role role);

struct Buffer {
  std::string name;
  Format format = Format::f32;  // a block format only if it is an input
  Poly count;                   // elements
  Role role = Role::workspace;
  std::optional<BufferId> into;  // of an output: the input whose memory it takes
};

struct Program {
  std::vector<std::string> symbols;  // by ParamId
  std::vector<Buffer> buffers;       // by BufferId
  std::vector<Poly> nonnegative;     // extents: a run with one below 0 is refused
  std::vector<Kernel> kernels;       // in launch order
  std::vector<Kernel> prepares;      // run once, before all runs of the kernels

  const Buffer& operator[](BufferId id) const { return buffers[index(id)]; }
  std::optional<BufferId> find_buffer(std::string_view name) const;
  std::optional<size_t> find_kernel(std::string_view name) const;
  // The order of tang_run's `buffers`: inputs in program order, then outputs, then what is
  // prepared.
  std::vector<BufferId> arguments() const;
  // The buffer that owns the memory of `id`: the input of an `into` output, otherwise itself.
  BufferId storage(BufferId id) const;
  // Whether an input is read by prepares and by no kernel: runs do without it.
  bool only_prepares(BufferId id) const;
};

}  // namespace tang::loop

namespace tang {
using LoopProgram = loop::Program;
}
