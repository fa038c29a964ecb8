// Conversions in C at every code of the narrow formats, halfway between neighbours and beside both,
// bit for bit what base/format.h does.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/format.h"
#include "harness.h"

namespace tang {
namespace {

using loop::Builder;
using loop::Role;
using loop::Type;
using loop::Value;

constexpr Format narrow[] = {Format::bf16, Format::f16, Format::f8e4m3, Format::f8e5m2};

void add_near(std::vector<double>& list, double x, Type type) {
  for (const double v : {x, -x}) {
    list.push_back(v);
    if (type == Type::f64) {
      for (const double side : {-INFINITY, INFINITY}) list.push_back(std::nextafter(v, side));
    } else {
      const auto f = static_cast<float>(v);
      for (const float side : {-INFINITY, INFINITY}) list.push_back(std::nextafter(f, side));
    }
  }
}

// All finite codes, the points halfway to the next one, and what lies beside them.
std::vector<double> boundaries(Format format, Type type) {
  std::vector<double> list = {NAN, INFINITY, -INFINITY, 465, 1000, -1000, 1e30};
  const uint32_t codes = 1U << (info(format).bits - 1);
  double x = 0;
  for (uint32_t code = 0; code < codes; ++code) {
    x = decode_float(format, code);
    if (!std::isfinite(x)) break;
    add_near(list, x, type);
    double next = code + 1 < codes ? decode_float(format, code + 1) : INFINITY;
    // Beyond the largest value, where the next would be if the format went on.
    if (!std::isfinite(next)) next = x + (x - decode_float(format, code - 1));
    const double half = x + (next - x) / 2;
    if (half <= std::numeric_limits<float>::max() || type == Type::f64) add_near(list, half, type);
  }
  return list;
}

// y takes x in the format by a store, z by rounding.
LoopProgram convert(Format format, Type type, int64_t count) {
  Builder p;
  const auto x = p.buffer("x", type == Type::f64 ? Format::f64 : Format::f32, count, Role::input);
  const auto y = p.buffer("y", format, count, Role::output);
  const auto z = p.buffer("z", Format::f64, count, Role::output);
  p.begin_kernel("k");
  p.for_("i", p.integer(0), p.integer(count),
         [&](Value i) {
           p.store(y, i, p.load(x, i));
           p.store(z, i, p.cast(Type::f64, p.round(format, p.load(x, i))));
         },
         {.hint = loop::Hint::vector});
  p.end_kernel();
  return *p.finish();
}

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void expect_rounded(Format format, Type type) {
  std::vector<double> x = boundaries(format, type);
  std::vector<float> as_floats(x.begin(), x.end());
  const auto count = static_cast<int64_t>(x.size());
  const auto size = static_cast<size_t>(info(format).bits) / 8;
  const LoopProgram program = convert(format, type, count);
  for (const CompileOptions& options : variants()) {
    std::vector<std::byte> y(x.size() * size), want(8);
    std::vector<double> z(x.size());
    const auto executable = compile(program, options);
    void* from = type == Type::f64 ? static_cast<void*>(x.data()) : as_floats.data();
    ASSERT_TRUE(run(*executable, {from, y.data(), z.data()}));
    for (size_t i = 0; i < x.size(); ++i) {
      store_element(format, want.data(), 0, x[i]);
      ASSERT_EQ(std::memcmp(want.data(), y.data() + i * size, size), 0)
          << name(format) << " of " << x[i] << " is "
          << load_element(format, y.data(), static_cast<int64_t>(i));
      ASSERT_TRUE(same_bits(z[i], round_to(format, x[i]))) << name(format) << " of " << x[i];
    }
  }
}

TEST(EmitConversions, EveryBoundaryFromF64) {
  for (const Format format : narrow) expect_rounded(format, Type::f64);
}

TEST(EmitConversions, EveryBoundaryFromF32) {
  for (const Format format : narrow) expect_rounded(format, Type::f32);
}

// Quarters around every integer that matters: halves go to even, NaN to 0, the rest is clamped.
std::vector<double> quarters() {
  std::vector<double> list = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 0x1p31, -0x1p31, 0x1p63};
  for (int k = -1100; k <= 1100; ++k) list.push_back(k / 4.0);
  for (const double edge : {2147483647.0, -2147483648.0, 2147483646.0})
    for (const double d : {-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0})
      list.push_back(edge + d);
  for (const double edge : {0x1p63, -0x1p63, 0x1p53, 0x1p52 + 0.5, 4503599627370497.5})
    for (const double side : {0.0, -HUGE_VAL, HUGE_VAL}) list.push_back(std::nextafter(edge, side));
  return list;
}

TEST(EmitConversions, CastsToIntegers) {
  const Format formats[] = {Format::i64, Format::i32, Format::i8,
                            Format::u8,  Format::i4,  Format::u4};
  for (const Type type : {Type::f64, Type::f32}) {
    std::vector<double> x = quarters();
    if (type == Type::f32)
      for (double& v : x) v = static_cast<float>(v);
    const auto count = static_cast<int64_t>(x.size());
    Builder p;
    const auto in = p.buffer("x", Format::f64, count, Role::input);
    for (const Format format : formats) {
      const auto out = p.buffer(name(format), format, count, Role::output);
      const Type through = format == Format::i64 ? Type::i64 : Type::i32;
      p.begin_kernel(name(format));
      p.for_("i", p.integer(0), p.integer(count), [&](Value i) {
        p.store(out, i, p.round(format, p.cast(through, p.cast(type, p.load(in, i)))));
      });
      p.end_kernel();
    }
    const LoopProgram program = *p.finish();
    for (const CompileOptions& options : variants()) {
      std::vector<std::vector<std::byte>> out(6, std::vector<std::byte>(x.size() * 8));
      std::vector<void*> buffers = {x.data()};
      for (auto& o : out) buffers.push_back(o.data());
      ASSERT_TRUE(run(*compile(program, options), buffers));
      for (size_t k = 0; k < out.size(); ++k)
        for (size_t i = 0; i < x.size(); ++i)
          ASSERT_EQ(load_integer(formats[k], out[k].data(), static_cast<int64_t>(i)),
                    round_to_integer(formats[k], x[i]))
              << name(formats[k]) << " of " << x[i];
    }
  }
}

// Every byte is two elements of four bits.
TEST(EmitConversions, EveryNibbleLoads) {
  for (const Format format : {Format::i4, Format::u4}) {
    Builder p;
    const auto x = p.buffer("x", format, 512, Role::input);
    const auto y = p.buffer("y", Format::i32, 512, Role::output);
    const auto again = p.buffer("z", format, 512, Role::output);
    p.begin_kernel("k");
    p.for_("i", p.integer(0), p.integer(512), [&](Value i) {
      p.store(y, i, p.load(x, i));
      p.store(again, i, p.load(x, i));
    });
    p.end_kernel();
    const LoopProgram program = *p.finish();
    std::vector<std::byte> bytes(256), copied(256);
    for (size_t k = 0; k < 256; ++k) bytes[k] = static_cast<std::byte>(k);
    for (const CompileOptions& options : variants()) {
      std::vector<int32_t> out(512);
      ASSERT_TRUE(run(*compile(program, options), {bytes.data(), out.data(), copied.data()}));
      for (int64_t i = 0; i < 512; ++i) {
        const int64_t nibble = i % 2 == 0 ? i / 2 % 16 : i / 2 / 16;
        const int64_t want = format == Format::i4 && nibble > 7 ? nibble - 16 : nibble;
        EXPECT_EQ(out[static_cast<size_t>(i)], want);
        EXPECT_EQ(load_integer(format, bytes.data(), i), want);
      }
      EXPECT_EQ(copied, bytes);
    }
  }
}

}  // namespace
}  // namespace tang
