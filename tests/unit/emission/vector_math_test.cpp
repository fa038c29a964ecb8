// Functions of eight floats against double, over all exponents and signs.
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "harness.h"

namespace tang {
namespace {

using loop::Builder;
using loop::Op;
using loop::Role;
using loop::Value;

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

struct Function {
  Op op;
  double (*exact)(double);
  double limit;  // ulp, as the comments of src/emit/snippets say
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {Op::exp, [](double x) { return std::exp(x); }, 1.8},
      {Op::log, [](double x) { return std::log(x); }, 1},
      {Op::log1p, [](double x) { return std::log1p(x); }, 2},
      {Op::sigmoid, sigmoid, 3.6},
      {Op::silu, [](double x) { return x < -1024 ? 0 : x * sigmoid(x); }, 4.5},
      {Op::tanh, [](double x) { return std::tanh(x); }, 2},
      {Op::erf, [](double x) { return std::erf(x); }, 7},
      {Op::erfc, [](double x) { return std::erfc(x); }, 11},
      {Op::gelu,
       [](double x) { return x < -1024 ? 0 : x / 2 * std::erfc(-x * std::numbers::sqrt2 / 2); }, 8},
      {Op::sin, [](double x) { return std::sin(x); }, 2.4},
      {Op::cos, [](double x) { return std::cos(x); }, 2.4},
      {Op::softplus,
       [](double x) { return x != x ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
       3.5}};
  return all;
}

// Every float at a distance, and the ends of everything.
std::vector<float> samples() {
  std::vector<float> list = {INFINITY, -INFINITY, NAN,       0.0f,      -0.0f,   1.0f,
                             -1.0f,    88.72284f, 88.7229f,  -103.97f,  -104.0f, -87.34f,
                             1e-45f,   -1e-45f,   0x1p-126f, -0x1p-126f};
  for (uint64_t u = 0; u < uint64_t{1} << 32; u += 16127)
    list.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  for (float x = -12; x < 12; x += 0.0007f) list.push_back(x);
  list.resize(list.size() / 16 * 16);
  return list;
}

LoopProgram program(size_t count, int lanes) {
  Builder b;
  const Poly n = static_cast<int64_t>(count);
  const auto x = b.buffer("x", Format::f32, n, Role::input);
  for (const Function& f : functions()) {
    const auto y = b.buffer(loop::info(f.op).name, Format::f32, n, Role::output);
    b.begin_kernel(loop::info(f.op).name);
    b.for_("i", b.integer(0), b.poly(n),
           [&](Value i) { b.store(y, i, b.op(f.op, {b.load(x, i, {.lanes = lanes})})); },
           {.step = lanes});
    b.end_kernel();
  }
  return *b.finish();
}

// In ulp of the result nearest to `want`; 0 where neither is a number.
double error(float got, double want) {
  const float near = static_cast<float>(want);
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(near))
    return got == near || std::abs(want) > std::numeric_limits<float>::max() ? 0 : wrong;
  if (got == 0 && near == 0) return std::signbit(got) == std::signbit(near) ? 0 : wrong;
  const double unit = std::nextafter(std::abs(near), INFINITY) - std::abs(near);
  return std::abs(got - want) / unit;
}

TEST(EmitVectorMath, KeepsItsBounds) {
  std::vector<float> x = samples();
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program(x.size(), 8), options);
    ASSERT_TRUE(executable);
    std::vector<std::vector<float>> y(functions().size(), std::vector<float>(x.size(), 7));
    std::vector<void*> buffers = {x.data()};
    for (auto& v : y) buffers.push_back(v.data());
    ASSERT_TRUE(run(*executable, buffers));
    for (size_t k = 0; k < y.size(); ++k) {
      const Function& f = functions()[k];
      double worst = 0;
      size_t at = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double e = error(y[k][i], f.exact(x[i]));
        if (e > worst) worst = e, at = i;
      }
      EXPECT_LE(worst, f.limit) << options.cc << " " << loop::info(f.op).name << "(" << x[at]
                                << ") gave " << y[k][at] << ", not " << f.exact(x[at]);
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(y[0][1]), 0u);  // exp(-inf)
    EXPECT_EQ(y[0][3], 1.0f);
    EXPECT_EQ(y[0][4], 1.0f);
  }
}

// What the scalar code says: the power of positive numbers, and exp(y log(x)) otherwise.
double power(double x, double y) {
  const bool plain = x > 0 && std::isfinite(x) && std::isfinite(y);
  return plain ? std::pow(x, y) : std::exp(y * std::log(x));
}

TEST(EmitVectorMath, PowersKeepTheirBound) {
  std::vector<float> x, y;
  const std::vector<float> ends = {0.0f,  -0.0f,  1.0f,  -1.0f,      INFINITY,   -INFINITY,
                                   NAN,   1e-45f, 3e38f, 0.9999999f, 1.0000001f, -1e-45f,
                                   1e12f, -1e13f, 0.5f,  -3e38f};
  for (const float a : ends)
    for (const float b : ends) x.push_back(a), y.push_back(b);
  for (uint64_t u = 0; u < uint64_t{1} << 31; u += 16127) {
    const float a = std::bit_cast<float>(static_cast<uint32_t>(u));
    for (const float b : {0.37f, -2.9f, 11.3f}) x.push_back(a), y.push_back(b);
  }
  for (float a = 0.5f; a < 2; a += 0.0011f)
    for (float b = -100; b < 100; b += 1.7f) x.push_back(a), y.push_back(b);
  x.resize(x.size() / 16 * 16);
  Builder b;
  const Poly n = static_cast<int64_t>(x.size());
  const auto base = b.buffer("x", Format::f32, n, Role::input);
  const auto exponent = b.buffer("y", Format::f32, n, Role::input);
  const auto result = b.buffer("z", Format::f32, n, Role::output);
  b.begin_kernel("z");
  b.for_("i", b.integer(0), b.poly(n),
         [&](Value i) {
           const Value args[] = {b.load(base, i, {.lanes = 8}), b.load(exponent, i, {.lanes = 8})};
           b.store(result, i, b.op(Op::pow, args));
         },
         {.step = 8});
  b.end_kernel();
  const auto program = b.finish();
  ASSERT_TRUE(program);
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(*program, options);
    ASSERT_TRUE(executable);
    std::vector<float> z(x.size(), 7);
    ASSERT_TRUE(run(*executable, {x.data(), y.data(), z.data()}));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(error(z[i], power(x[i], y[i])), 1.5)
          << options.cc << " " << x[i] << " to the power of " << y[i] << " gave " << z[i];
  }
}

// Two, four and sixteen lanes give what eight give.
TEST(EmitVectorMath, IsTheSameForAllLanes) {
  std::vector<float> x = samples();
  x.resize(4096);
  CompileOptions options = variants()[1];
  std::vector<std::vector<float>> wanted;
  for (const int lanes : {8, 2, 4, 16}) {
    const auto executable = compile(program(x.size(), lanes), options);
    ASSERT_TRUE(executable);
    std::vector<std::vector<float>> y(functions().size(), std::vector<float>(x.size(), 7));
    std::vector<void*> buffers = {x.data()};
    for (auto& v : y) buffers.push_back(v.data());
    ASSERT_TRUE(run(*executable, buffers));
    if (lanes == 8) wanted = y;
    for (size_t k = 0; k < y.size(); ++k)
      EXPECT_EQ(std::memcmp(y[k].data(), wanted[k].data(), 4 * x.size()), 0)
          << loop::info(functions()[k].op).name << " of " << lanes;
  }
}

}  // namespace
}  // namespace tang
