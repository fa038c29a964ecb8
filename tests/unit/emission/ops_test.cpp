// Every operation of loop programs, at special values, in C against C++.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/format.h"
#include "harness.h"

namespace tang {
namespace {

using loop::Builder;
using loop::Op;
using loop::Role;
using loop::Type;
using loop::Value;

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<double> specials() {
  std::vector<double> list = {0.0, -0.0, inf, -inf, NAN};
  for (double v : {1e-4, 0.5, 1.0, 2.0, 3.7, 20.0, 45.0, 50.0, 88.0, 89.0, 100.0, 1e4}) {
    list.push_back(v);
    list.push_back(-v);
  }
  return list;
}

long double sigmoid(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

// The meaning of algebra.md 1.3 with NaN propagation, in long double.
long double reference(Op op, long double a, long double b, long double c) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::quot:
      return a / b;
    case Op::neg:
      return -a;
    case Op::fma:
      return a * b + c;
    case Op::div:
      return std::floor(a / b);
    case Op::mod:
      return a - b * std::floor(a / b);
    case Op::floor:
      return std::floor(a);
    case Op::max:
      return a != a ? a : b != b ? b : a < b ? b : a;
    case Op::min:
      return a != a ? a : b != b ? b : b < a ? b : a;
    case Op::abs:
      return a < 0 ? -a : a;
    case Op::relu:
      return a < 0 ? 0 : a;
    case Op::recip:
      return 1 / a;
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return 1 / std::sqrt(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::log1p:
      return std::log1p(a);
    case Op::pow:
      return std::exp(b * std::log(a));
    case Op::sigmoid:
      return sigmoid(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::silu:
      return a < -1024 ? 0 : a * sigmoid(a);
    case Op::gelu:
      return a < -1024 ? 0 : a / 2 * std::erfc(-0.70710678118654752440L * a);
    case Op::gelu_tanh:
      return a < -1024 ? 0 : a * sigmoid(1.5957691216057308L * (a + 0.044715L * a * a * a));
    case Op::erf:
      return std::erf(a);
    case Op::erfc:
      return std::erfc(a);
    case Op::softplus:
      return a != a ? a : (a > 0 ? a : 0) + std::log1p(std::exp(a < 0 ? a : -a));
    default:
      return NAN;
  }
}

// Operations of reals that give a real.
std::vector<Op> real_ops() {
  std::vector<Op> list;
  for (auto o = static_cast<size_t>(Op::add); o <= static_cast<size_t>(Op::select); ++o) {
    const auto rule = loop::info(static_cast<Op>(o)).rule;
    if (rule == loop::OpRule::real || rule == loop::OpRule::number)
      list.push_back(static_cast<Op>(o));
  }
  return list;
}

template <class T>
double ulps(T got, long double want) {
  const T near = static_cast<T>(want);
  if (std::isnan(got) || std::isnan(near)) return std::isnan(got) == std::isnan(near) ? 0 : inf;
  if (std::isinf(got) || std::isinf(near)) return got == near ? 0 : inf;
  const T next = std::nextafter(std::abs(near), std::numeric_limits<T>::infinity());
  const long double unit = next - std::abs(near);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / unit);
}

template <class T>
class RealOps {
 public:
  static constexpr Type type = sizeof(T) == 4 ? Type::f32 : Type::f64;
  static constexpr Format format = sizeof(T) == 4 ? Format::f32 : Format::f64;

  void fill() {
    for (double x : specials()) {
      for (double y : specials()) {
        a.push_back(static_cast<T>(x));
        b.push_back(static_cast<T>(y));
      }
    }
  }

  LoopProgram program() const {
    Builder p;
    const Poly count = static_cast<int64_t>(a.size());
    const auto x = p.buffer("x", format, count, Role::input);
    const auto y = p.buffer("y", format, count, Role::input);
    for (Op op : real_ops()) {
      const auto out = p.buffer(loop::info(op).name, format, count, Role::output);
      p.begin_kernel(loop::info(op).name);
      p.for_("i", p.integer(0), p.poly(count),
             [&](Value i) {
               std::vector<Value> args = {p.load(x, i), p.load(y, i), p.load(x, i)};
               args.resize(static_cast<size_t>(loop::info(op).arity));
               p.store(out, i, p.op(op, args));
             },
             {.hint = loop::Hint::vector});
      p.end_kernel();
    }
    return *p.finish();
  }

  void check(const CompileOptions& options) {
    const auto executable = compile(program(), options);
    ASSERT_TRUE(executable);
    std::vector<std::vector<T>> out(real_ops().size(), std::vector<T>(a.size(), T(7)));
    std::vector<void*> buffers = {a.data(), b.data()};
    for (auto& o : out) buffers.push_back(o.data());
    ASSERT_TRUE(run(*executable, buffers));
    for (size_t k = 0; k < out.size(); ++k) check(real_ops()[k], out[k]);
  }

 private:
  void check(Op op, const std::vector<T>& out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      if (skip(op, a[i], b[i])) continue;
      const long double want = reference(op, a[i], b[i], a[i]);
      EXPECT_LE(ulps(out[i], want), limit(op, a[i]))
          << loop::info(op).name << "(" << a[i] << ", " << b[i] << ") gave " << out[i] << ", want "
          << static_cast<double>(want);
      if (op == Op::max || op == Op::min || op == Op::abs) {
        EXPECT_TRUE(std::isnan(want) || std::signbit(out[i]) == std::signbit(want))
            << loop::info(op).name << "(" << a[i] << ", " << b[i] << ")";
      }
    }
  }

  // Where rounding a quotient or product first may change the answer by a step or an infinity.
  bool skip(Op op, T x, T y) const {
    const bool finite = std::isfinite(x) && std::isfinite(y);
    if (op == Op::div) return finite && std::floor(x / y) != std::floor((long double)x / y);
    if (op == Op::mod) return finite && y != 0;  // tested apart
    if (op == Op::fma) return finite && std::abs((double)x * y) > 1e30;
    return false;
  }

  double limit(Op op, T x) const {
    switch (op) {
      case Op::fma:
        return 1e9;  // one or two roundings, and cancellation; V04 tests the rest
      case Op::gelu_tanh:
        return std::isfinite(x) ? 4 + 8 * std::abs(x * x * x) : 4;
      case Op::gelu:
        return type == Type::f64 && std::isfinite(x) ? 8 + 2 * std::abs(x * x) : 4;
      case Op::pow:
        return type == Type::f64 ? 1024 : 4;  // the reference loses bits itself
      default:
        return 4;
    }
  }

  std::vector<T> a, b;
};

TEST(EmitOps, RealsInF32) {
  for (const CompileOptions& options : variants()) {
    RealOps<float> test;
    test.fill();
    test.check(options);
  }
}

TEST(EmitOps, RealsInF64) {
  for (const CompileOptions& options : variants()) {
    RealOps<double> test;
    test.fill();
    test.check(options);
  }
}

// Runs a kernel that stores one f32 expression per element of x.
std::vector<float> map_f32(std::vector<float> x, const CompileOptions& options,
                           const std::function<Value(Builder&, Value)>& body) {
  Builder p;
  const Poly count = static_cast<int64_t>(x.size());
  const auto in = p.buffer("x", Format::f32, count, Role::input);
  const auto out = p.buffer("y", Format::f32, count, Role::output);
  p.begin_kernel("y");
  p.for_("i", p.integer(0), p.poly(count),
         [&](Value i) { p.store(out, i, body(p, p.load(in, i))); }, {.hint = loop::Hint::vector});
  p.end_kernel();
  const auto executable = compile(*p.finish(), options);
  std::vector<float> y(x.size());
  EXPECT_TRUE(run(*executable, {x.data(), y.data()}));
  return y;
}

// Within 2 ulp of exp over the whole range, by way of every 61st float.
TEST(EmitOps, ExpOverItsRange) {
  std::vector<float> x;
  for (uint32_t u = 0; u < 0x42d20000u; u += 61 * 16) {
    x.push_back(std::bit_cast<float>(u));
    x.push_back(-std::bit_cast<float>(u));
  }
  for (const CompileOptions& options : variants()) {
    const auto y = map_f32(x, options, [](Builder& p, Value v) { return p.exp(v); });
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = std::exp(static_cast<double>(x[i]));
      if (want > 3.4028235e38) {
        EXPECT_TRUE(y[i] == INFINITY || want < 3.402824e38) << x[i];
        continue;
      }
      worst = std::max(worst, ulps(y[i], want));
    }
    EXPECT_LE(worst, 2.0);
    RecordProperty("worst_ulps", std::to_string(worst));
  }
}

TEST(EmitOps, ExpAtItsEnds) {
  const std::vector<float> x = {INFINITY, -INFINITY, NAN,   88.8f,  -104.0f,
                                -87.5f,   0.0f,      -0.0f, -1e30f, 1e30f};
  for (const CompileOptions& options : variants()) {
    const auto y = map_f32(x, options, [](Builder& p, Value v) { return p.exp(v); });
    EXPECT_EQ(y[0], INFINITY);
    EXPECT_EQ(std::bit_cast<uint32_t>(y[1]), 0u);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(y[3], INFINITY);
    EXPECT_EQ(y[4], 0.0f);
    EXPECT_EQ(y[5], std::exp(-87.5f));
    EXPECT_EQ(y[6], 1.0f);
    EXPECT_EQ(y[7], 1.0f);
    EXPECT_EQ(y[8], 0.0f);
    EXPECT_EQ(y[9], INFINITY);
  }
}

// V04: the maximum is taken of the rounded product; a contracted subtraction would not give 0.
TEST(EmitOps, V04ProductsAreNotContracted) {
  const std::vector<float> x(16, 118587908096.0f);
  for (const CompileOptions& options : variants()) {
    const auto y = map_f32(x, options, [](Builder& p, Value v) {
      const Value m = p.let("m", p.mul(v, p.f32(0.1f)));
      const Value kept = p.max(m, p.f32(0));
      return p.sub(p.mul(v, p.f32(0.1f)), kept);
    });
    for (float v : y) EXPECT_EQ(v, 0.0f);
  }
}

// V07: constants are stored with their exact bits, as f32 and as f16.
TEST(EmitOps, V07ConstantsKeepTheirBits) {
  const std::vector<double> constants = {-inf, inf,        NAN,      3.4028235e38, 1e-45, -0.0,
                                         0.1,  16777217.0, 65504.0,  6e-8,         0.0,   1.0,
                                         -2.5, 1e-40,      123456.0, 1e7};
  Builder p;
  const auto f32 = p.buffer("a", Format::f32, 100, Role::output);
  const auto f16 = p.buffer("b", Format::f16, 100, Role::output);
  const auto f64 = p.buffer("c", Format::f64, 100, Role::output);
  const auto h64 = p.buffer("d", Format::f16, 100, Role::output);
  p.begin_kernel("constants");
  for (size_t k = 0; k < constants.size(); ++k) {
    const Value at = p.integer(static_cast<int64_t>(k));
    p.store(f32, at, p.f32(constants[k]));
    p.store(f16, at, p.f32(constants[k]));
    p.store(f64, at, p.f64(constants[k]));
    p.store(h64, at, p.f64(constants[k]));
  }
  p.end_kernel();
  const LoopProgram program = *p.finish();
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program, options);
    std::vector<uint32_t> a(100);
    std::vector<uint16_t> b(100), d(100);
    std::vector<uint64_t> c(100);
    ASSERT_TRUE(run(*executable, {a.data(), b.data(), c.data(), d.data()}));
    for (size_t k = 0; k < constants.size(); ++k) {
      const float narrow = static_cast<float>(constants[k]);
      EXPECT_EQ(a[k], std::bit_cast<uint32_t>(std::isnan(narrow) ? float(NAN) : narrow));
      EXPECT_EQ(c[k], loop::real_bits(Type::f64, constants[k]));
      EXPECT_EQ(b[k], encode_float(Format::f16, narrow)) << narrow;
      EXPECT_EQ(d[k], encode_float(Format::f16, constants[k])) << constants[k];
    }
  }
}

__extension__ typedef __int128 Wide;

template <class T>
T wrapped(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const Wide x = a, y = b;
  switch (op) {
    case Op::add:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case Op::sub:
      return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
    case Op::mul:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case Op::neg:
      return static_cast<T>(U(0) - static_cast<U>(a));
    case Op::abs:
      return a < 0 ? static_cast<T>(U(0) - static_cast<U>(a)) : a;
    case Op::relu:
      return a < 0 ? 0 : a;
    case Op::max:
      return std::max(a, b);
    case Op::min:
      return std::min(a, b);
    case Op::floor:
      return a;
    case Op::div:
    case Op::mod: {
      if (y == 0) return 0;
      const Wide q = x / y - ((x % y != 0) && ((x < 0) != (y < 0)) ? 1 : 0);
      return static_cast<T>(op == Op::div ? q : x - q * y);
    }
    default:
      return 0;
  }
}

template <class T>
void check_integers(const CompileOptions& options) {
  const Format format = sizeof(T) == 8 ? Format::i64 : Format::i32;
  std::vector<T> a, b;
  const std::vector<T> values = {0,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 7,
                                 -7,
                                 3,
                                 -3,
                                 100,
                                 std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()};
  for (T x : values) {
    for (T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  Builder p;
  const Poly count = static_cast<int64_t>(a.size());
  const auto x = p.buffer("x", format, count, Role::input);
  const auto y = p.buffer("y", format, count, Role::input);
  std::vector<Op> ops;
  for (Op op : real_ops()) {
    if (loop::info(op).rule == loop::OpRule::number) ops.push_back(op);
  }
  for (Op op : ops) {
    const auto out = p.buffer(loop::info(op).name, format, count, Role::output);
    p.begin_kernel(loop::info(op).name);
    p.for_("i", p.integer(0), p.poly(count), [&](Value i) {
      std::vector<Value> args = {p.load(x, i), p.load(y, i)};
      args.resize(static_cast<size_t>(loop::info(op).arity));
      p.store(out, i, p.op(op, args));
    });
    p.end_kernel();
  }
  const auto executable = compile(*p.finish(), options);
  std::vector<std::vector<T>> out(ops.size(), std::vector<T>(a.size()));
  std::vector<void*> buffers = {a.data(), b.data()};
  for (auto& o : out) buffers.push_back(o.data());
  ASSERT_TRUE(run(*executable, buffers));
  for (size_t k = 0; k < ops.size(); ++k) {
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(out[k][i], wrapped(ops[k], a[i], b[i]))
          << loop::info(ops[k]).name << "(" << a[i] << ", " << b[i] << ")";
    }
  }
}

TEST(EmitOps, IntegersWrapAndDivideDownwards) {
  for (const CompileOptions& options : variants()) {
    check_integers<int64_t>(options);
    check_integers<int32_t>(options);
  }
}

TEST(EmitOps, ComparisonsLogicAndLazySelect) {
  Builder p;
  const auto x = p.buffer("x", Format::f32, 4, Role::input);
  const auto f = p.buffer("f", Format::boolean, 64, Role::output);
  const auto y = p.buffer("y", Format::f32, 4, Role::output);
  p.begin_kernel("k");
  int64_t at = 0;
  for (int64_t i = 0; i < 4; ++i) {
    const Value a = p.load(x, p.integer(i)), b = p.load(x, p.integer((i + 1) % 4));
    for (Op op : {Op::lt, Op::le, Op::eq, Op::ne}) p.store(f, p.integer(at++), p.op(op, {a, b}));
  }
  // Index 1 << 40 would fault if any of these were not lazy.
  p.for_("i", p.integer(0), p.integer(4), [&](Value i) {
    const Value far = p.load(x, p.mul(i, p.integer(int64_t{1} << 40)));
    const Value guarded = p.logical_and(p.lt(i, p.integer(1)), p.lt(p.f32(0), far));
    const Value either = p.logical_or(p.le(p.integer(1), i), p.lt(p.f32(0), far));
    p.store(y, i, p.select(guarded, far, p.select(either, p.f32(2), far)));
  });
  p.end_kernel();
  const LoopProgram program = *p.finish();
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program, options);
    std::vector<float> in = {1, 2, NAN, 1}, out(4);
    std::vector<uint8_t> flags(64);
    ASSERT_TRUE(run(*executable, {in.data(), flags.data(), out.data()}));
    at = 0;
    for (size_t i = 0; i < 4; ++i) {
      const float a = in[i], b = in[(i + 1) % 4];
      for (bool want : {a < b, a <= b, a == b, a != b}) EXPECT_EQ(flags[at++], want);
    }
    EXPECT_EQ(out, (std::vector<float>{1, 2, 2, 2}));
  }
}

// Casts between all types; the wanted values are base/format.h's.
TEST(EmitOps, CastsRoundAndClamp) {
  const std::vector<double> values = {
      0.5,  1.5,   -0.5,         -2.5,          2.4,
      1e10, -1e10, 1e30,         -1e30,         inf,
      -inf, NAN,   2147483647.0, -2147483648.0, 9.2233720368547758e18,
      0.0};
  Builder p;
  const Poly count = static_cast<int64_t>(values.size());
  const auto x = p.buffer("x", Format::f64, count, Role::input);
  const Type types[] = {Type::f32, Type::i64, Type::i32, Type::boolean};
  const Format formats[] = {Format::f32, Format::i64, Format::i32, Format::boolean};
  for (size_t s = 0; s < 2; ++s) {  // from f64, from f32
    for (size_t t = 0; t < 4; ++t) {
      const auto out = p.buffer("y", formats[t], count, Role::output);
      p.begin_kernel("k");
      p.for_("i", p.integer(0), p.poly(count), [&](Value i) {
        Value v = p.load(x, i);
        if (s == 1) v = p.cast(Type::f32, v);
        p.store(out, i, p.cast(types[t], v));
      });
      p.end_kernel();
    }
  }
  const LoopProgram program = *p.finish();
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program, options);
    std::vector<double> in = values;
    std::vector<std::vector<std::byte>> out(8, std::vector<std::byte>(values.size() * 8));
    std::vector<void*> buffers = {in.data()};
    for (auto& o : out) buffers.push_back(o.data());
    ASSERT_TRUE(run(*executable, buffers));
    for (size_t k = 0; k < 8; ++k) {
      const Format format = formats[k % 4];
      std::vector<std::byte> want(8);
      for (size_t i = 0; i < values.size(); ++i) {
        const double v = k < 4 ? values[i] : static_cast<float>(values[i]);
        if (kind(format) == Kind::real) {
          store_element(format, want.data(), 0, v);
        } else {
          store_integer(format, want.data(), 0, round_to_integer(format, v));
        }
        const size_t size = static_cast<size_t>(info(format).bits) / 8;
        EXPECT_EQ(std::memcmp(want.data(), out[k].data() + i * size, size), 0)
            << name(format) << " of " << v;
      }
    }
  }
}

}  // namespace
}  // namespace tang
