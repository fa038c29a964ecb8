// Vectors in C against the loop machine, which runs what the program says.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "emit/c_source.h"
#include "harness.h"
#include "loop/machine.h"
#include "loop/text.h"

namespace tang {
namespace {

using loop::BufferId;
using loop::Builder;
using loop::Op;
using loop::OpRule;
using loop::Role;
using loop::Type;
using loop::Value;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr int64_t count = 352;  // elements of an input

Format format_of(Type type) {
  constexpr Format formats[] = {Format::f64, Format::f32, Format::i64, Format::i32,
                                Format::boolean};
  return formats[static_cast<size_t>(type)];
}

double sample(Type type, std::mt19937_64& random) {
  constexpr double specials[] = {0.0, -0.0, 1, -1, inf, -inf, NAN, 1e-40, -1e-40, 88.7, -104, 3e38};
  if (!is_real(type)) {
    if (type == Type::boolean) return static_cast<double>(random() % 2);
    if (random() % 8 == 0) return random() % 2 ? INT32_MIN : INT32_MAX;
    return static_cast<double>(random() % 21) - 10;
  }
  if (random() % 4 == 0) return specials[random() % std::size(specials)];
  return std::ldexp(static_cast<double>(random() % 2000) - 1000,
                    static_cast<int>(random() % 16) - 12);
}

// Buffers of a program: inputs filled with samples, the others with a byte that says who forgot.
struct Memory {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<void*> pointers;

  Memory(const LoopProgram& program, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const loop::Buffer& b : program.buffers) {
      const int64_t n = *b.count.constant();
      std::vector<std::byte> data(static_cast<size_t>(n) * 8, std::byte{0x2a});
      if (b.role == Role::input) {
        for (int64_t k = 0; k < n; ++k)
          store_element(b.format, data.data(), k, sample(loop::compute_type(b.format), random));
      }
      bytes.push_back(std::move(data));
    }
    for (auto& b : bytes) pointers.push_back(b.data());
  }
};

double ulps(Format format, double got, double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : inf;
  if (got == want) return 0;
  if (std::isinf(got) || std::isinf(want)) return inf;
  const double unit = format == Format::f64
                          ? std::nextafter(std::abs(want), inf) - std::abs(want)
                          : std::nextafter(std::abs(static_cast<float>(want)), INFINITY) -
                                std::abs(static_cast<float>(want));
  return std::abs(got - want) / unit;
}

void expect_equal(const loop::Buffer& b, const std::byte* got, const std::byte* wanted,
                  double limit, const std::string& cc) {
  int wrong = 0;
  for (int64_t e = 0; e < *b.count.constant() && wrong < 4; ++e) {
    const double x = load_element(b.format, got, e), y = load_element(b.format, wanted, e);
    const bool sign = std::isnan(x) || std::signbit(x) == std::signbit(y);
    const bool same = ulps(b.format, x, y) <= limit && (sign || limit > 0);
    EXPECT_TRUE(same) << cc << " " << b.name << "[" << e << "] is " << x << ", not " << y;
    wrong += !same;
  }
}

// Runs compiled code on the samples.
void run_c(const LoopProgram& program, const CompileOptions& options, Memory& memory) {
  const auto executable = compile(program, options);
  ASSERT_TRUE(executable);
  std::vector<void*> arguments;
  for (const BufferId id : program.arguments())
    arguments.push_back(memory.pointers[loop::index(id)]);
  ASSERT_TRUE(run(*executable, arguments));
}

// Runs in C and in the machine, and compares every output.
void expect_same(const LoopProgram& program) {
  Memory wanted(program, 7);
  for (const loop::Kernel& k : program.kernels) {
    const auto ran = loop::run(program, k, wanted.pointers, {});
    ASSERT_TRUE(ran) << ran.error().message;
  }
  for (const CompileOptions& options : variants()) {
    Memory got(program, 7);
    run_c(program, options, got);
    for (size_t k = 0; k < program.buffers.size(); ++k)
      if (program.buffers[k].role == Role::output)
        expect_equal(program.buffers[k], got.bytes[k].data(), wanted.bytes[k].data(), 0,
                     options.cc);
  }
}

// What a vector may differ by from the scalar code, in ulp.
double limit_of(Op op) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::sigmoid:
    case Op::tanh:
    case Op::silu:
    case Op::softplus:
    case Op::log1p:
    case Op::pow:
      return 4;
    case Op::sin:
    case Op::cos:
      return 4;
    case Op::erf:
    case Op::erfc:
    case Op::gelu:
      return 12;
    case Op::gelu_tanh:
      return 1e5;  // the argument of its exponential is rounded
    default:
      return 0;
  }
}

bool takes(Op op, Type type) {
  const bool boolean = type == Type::boolean;
  switch (loop::info(op).rule) {
    case OpRule::real:
      return is_real(type);
    case OpRule::number:
      return !boolean;
    case OpRule::compare:
      return !boolean || op == Op::eq || op == Op::ne;
    case OpRule::logic:
      return boolean;
    case OpRule::select:
      return true;
    case OpRule::leaf:
      break;
  }
  return false;
}

// Each operation on values of one type: by scalars into the first half of an output, by vectors
// into the second.
void check_operations(Type type, int lanes) {
  Builder b;
  const Format format = format_of(type);
  const BufferId x = b.buffer("x", format, count, Role::input);
  const BufferId y = b.buffer("y", format, count, Role::input);
  const BufferId f = b.buffer("f", Format::boolean, count, Role::input);
  for (auto o = static_cast<size_t>(Op::add); o <= static_cast<size_t>(Op::select); ++o) {
    const Op op = static_cast<Op>(o);
    const loop::OpInfo& row = loop::info(op);
    if (!takes(op, type)) continue;
    const bool compares = row.rule == OpRule::compare;
    const BufferId z =
        b.buffer(row.name, compares ? Format::boolean : format, 2 * count, Role::output);
    b.begin_kernel(row.name);
    const auto apply = [&](Value i, int n, int64_t to) {
      const Value p = b.load(x, i, {.lanes = n}), q = b.load(y, i, {.lanes = n});
      std::vector<Value> args = {p, q, p};
      if (op == Op::select) args = {b.load(f, i, {.lanes = n}), p, q};
      args.resize(static_cast<size_t>(row.arity));
      b.store(z, b.add(i, b.integer(to)), b.op(op, args));
    };
    b.for_("i", b.integer(0), b.integer(count), [&](Value i) { apply(i, 1, 0); });
    b.for_("i", b.integer(0), b.integer(count), [&](Value i) { apply(i, lanes, count); },
           {.step = lanes});
    b.end_kernel();
  }
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  for (const CompileOptions& options : variants()) {
    Memory got(*program, 7);
    run_c(*program, options, got);
    for (size_t k = 3; k < program->buffers.size(); ++k) {
      loop::Buffer half = program->buffers[k];
      half.count = count;
      const std::byte* data = got.bytes[k].data();
      const Op op = program->kernels[k - 3].nodes[program->kernels[k - 3].body[1].b.id].op;
      expect_equal(half, data + count * (tang::info(half.format).bits / 8), data,
                   is_real(type) ? limit_of(op) : 0, options.cc);
    }
  }
}

class EmitVectors : public testing::TestWithParam<Type> {};

TEST_P(EmitVectors, Operations) {
  // Sixteen lanes go by way of eight and, in eight bytes each, of four.
  check_operations(GetParam(), 16);
  if (is_real(GetParam())) check_operations(GetParam(), 2);
  if (GetParam() == Type::f32) check_operations(Type::f32, 4);
}

// Casts to every type, and roundings to every format of the kind.
TEST_P(EmitVectors, Conversions) {
  const Type type = GetParam();
  Builder b;
  const BufferId x = b.buffer("x", format_of(type), count, Role::input);
  for (const int lanes : {2, 16}) {
    if (lanes == 2 && type != Type::f32) continue;
    const auto kernel = [&](const std::string& name, Format format, auto convert) {
      const BufferId z = b.buffer(name, format, count, Role::output);
      b.begin_kernel(name);
      b.for_("i", b.integer(0), b.integer(count),
             [&](Value i) { b.store(z, i, convert(b.load(x, i, {.lanes = lanes}))); },
             {.step = lanes});
      b.end_kernel();
    };
    for (const Type to : {Type::f64, Type::f32, Type::i64, Type::i32, Type::boolean})
      kernel("cast", format_of(to), [&](Value v) { return b.cast(to, v); });
    for (const Format to : {Format::f64, Format::f32, Format::f16, Format::bf16, Format::f8e4m3,
                            Format::i8, Format::u4, Format::i32})
      if (type != Type::boolean && (kind(to) == Kind::real) == is_real(type))
        kernel("round", format_of(type), [&](Value v) { return b.round(to, v); });
  }
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  expect_same(*program);
}

INSTANTIATE_TEST_SUITE_P(Types, EmitVectors,
                         testing::Values(Type::f32, Type::f64, Type::i32, Type::i64, Type::boolean),
                         [](const auto& test) { return std::string(name(test.param)); });

// Loads and stores of every format, with strides and counts.
TEST(EmitVectorMemory, EveryFormat) {
  Builder b;
  constexpr Format formats[] = {Format::f64,  Format::f32,    Format::tf32,   Format::f16,
                                Format::bf16, Format::f8e4m3, Format::f8e5m2, Format::i64,
                                Format::i32,  Format::i8,     Format::u8,     Format::i4,
                                Format::u4,   Format::boolean};
  for (const Format format : formats) {
    const BufferId x = b.buffer(name(format), format, count, Role::input);
    const BufferId y = b.buffer(std::string(name(format)) + "_out", format, count, Role::output);
    b.begin_kernel(name(format));
    b.for_("z", b.integer(0), b.integer(count),
           [&](Value i) { b.store(y, i, b.load(x, b.integer(0))); });
    int64_t at = 0;
    for (const int lanes : {4, 16}) {
      if (lanes == 4 && info(format).bits != 32 && format != Format::bf16) continue;
      const Value v = b.let("v", b.load(x, b.integer(at + 3), {.lanes = lanes}));
      b.store(y, b.integer(at), v);
      for (int64_t n : {-1, lanes / 2, lanes + 1}) {
        const Value first = b.let("n", b.integer(n));
        b.store(y, b.integer(at + 16), b.load(x, b.integer(at), {.lanes = lanes, .first = first}));
        b.store(y, b.integer(at + 33), v, {.first = first});
        at += 3;
      }
      const Value w = b.load(x, b.integer(at + 60), {.lanes = lanes, .stride = b.integer(-3)});
      b.store(y, b.integer(at + 52), w, {.stride = b.integer(2)});
      b.store(
          y, b.integer(at + 120),
          b.load(
              x, b.integer(at),
              {.lanes = lanes, .stride = b.integer(5), .first = b.let("n", b.integer(lanes - 1))}),
          {.stride = b.integer(3), .first = b.let("n", b.integer(lanes / 2))});
      b.store(y, b.integer(at + 200),
              b.gather(x, b.mul(b.ramp(b.integer(3), lanes), b.integer(7))));
      b.store(y, b.integer(at + 220), b.gather(x, b.cast(Type::i32, b.ramp(b.integer(at), lanes))));
      at += 10;
    }
    b.end_kernel();
  }
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  expect_same(*program);
}

TEST(EmitVectorMemory, ArraysAndParts) {
  Builder b;
  for (const Type type : {Type::f64, Type::f32, Type::i64, Type::i32, Type::boolean}) {
    const BufferId x = b.buffer("x", format_of(type), count, Role::input);
    const BufferId y = b.buffer("y", format_of(type), 1024, Role::output);
    b.begin_kernel("parts");
    const loop::Array a = b.array("a", type, 64);
    for (int k = 0; k < 4; ++k)
      b.set(a, b.integer(16 * k), b.load(x, b.integer(32 * k), {.lanes = 16}));
    int64_t at = 0;
    const auto put = [&](Value v) {
      b.store(y, b.integer(at), v);
      at += 16;
    };
    for (const int lanes : {2, 4, 8, 16}) {
      const Value v = b.let("v", b.at(a, b.integer(1), {.lanes = lanes}));
      b.set(a, b.integer(20), v, {.stride = b.integer(2), .first = b.integer(lanes - 1)});
      put(b.at(a, b.integer(19), {.lanes = lanes, .stride = b.integer(2)}));
      put(b.at(a, b.integer(21), {.lanes = lanes, .first = b.let("n", b.integer(1))}));
      put(b.join(b.high(v), b.low(v)));
      for (int run = 1; run < lanes; run *= 2) {
        put(b.even(v, b.join(b.high(v), b.low(v)), run));
        put(b.odd(v, b.join(b.high(v), b.low(v)), run));
      }
      put(b.lane(v, lanes - 1));
      put(b.lane(v, 0));
      put(b.spread(b.lane(v, 1), lanes));
      if (is_integer(type)) put(b.ramp(b.lane(v, 1), lanes));
    }
    b.prefetch(x, b.integer(100000));
    b.for_("i", b.integer(at), b.integer(1024),
           [&](Value i) { b.store(y, i, b.load(x, b.integer(0))); });
    b.end_kernel();
  }
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().message;
  expect_same(*program);
}

TEST(EmitVectorMemory, ProgramsShareAFile) {
  Builder b;
  const BufferId x = b.buffer("x", Format::f32, 16, Role::input);
  const BufferId y = b.buffer("y", Format::f32, 16, Role::output);
  b.begin_kernel("y");
  b.store(y, b.integer(0), b.exp(b.load(x, b.integer(0), {.lanes = 16})));
  b.end_kernel();
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const std::string one = c_source(*program, {.prefix = "one"});
  const std::string two = c_source(*program, {.prefix = "two", .helpers = false});
  EXPECT_NE(two.find("#if !defined(TANG_HAS_"), std::string::npos);
  const std::string alone = c_source(*program);
  EXPECT_EQ(alone.find("TANG_HAS_"), std::string::npos);
  EXPECT_EQ(alone, c_source(*program));
}

}  // namespace
}  // namespace tang
