#include "base/format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tang {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Format floats[] = {Format::f64, Format::f32,    Format::tf32,  Format::bf16,
                             Format::f16, Format::f8e4m3, Format::f8e5m2};
constexpr Format small_floats[] = {Format::bf16, Format::f16, Format::f8e4m3, Format::f8e5m2};

std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for (int i = 0; i < format_count; ++i) formats.push_back(static_cast<Format>(i));
  return formats;
}

// The formula of algebra.md 7.1, word for word.
double by_formula(Format format, double x) {
  if (std::isnan(x) || x == 0) return x;
  const FormatInfo& f = info(format);
  double r = std::fabs(x);
  if (r < inf) {
    const int e = std::max(std::ilogb(r), f.min_exponent);
    const int q = e - f.precision + 1;
    r = std::ldexp(std::nearbyint(std::ldexp(r, -q)), q);
  }
  if (r > f.max_finite) r = format == Format::f8e4m3 ? f.max_finite : inf;
  return std::copysign(r, x);
}

// Doubles of every magnitude the formats care about, and near ties of each.
std::vector<double> samples() {
  std::mt19937_64 engine(7);
  std::vector<double> xs = {0.0, -0.0, inf, -inf, 1.0, 5e-324, -5e-324, 1.7e308};
  for (int i = 0; i < 20000; ++i) {
    const double m = 1 + static_cast<double>(engine() >> 11) * 0x1p-53;
    const int e = static_cast<int>(engine() % 330) - 165;
    xs.push_back(std::ldexp(engine() % 2 ? m : -m, e));
  }
  for (const Format f : small_floats) {
    const double step = std::ldexp(1.0, 1 - info(f).precision);
    for (int e = -160; e <= 130; ++e) {
      for (int k = 0; k < 8; ++k) {
        const double tie = std::ldexp(1 + k * step / 2, e);
        xs.insert(xs.end(), {tie, std::nextafter(tie, 0), std::nextafter(tie, inf)});
      }
    }
  }
  return xs;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

TEST(Format, NamesParseBack) {
  for (const Format f : all_formats()) EXPECT_EQ(parse_format(name(f)), f);
  EXPECT_EQ(parse_format("bool"), Format::boolean);
  EXPECT_FALSE(parse_format("boolean"));
  EXPECT_FALSE(parse_format("F32"));
  EXPECT_FALSE(parse_format(""));
}

TEST(Format, Kinds) {
  EXPECT_EQ(kind(Format::bf16), Kind::real);
  EXPECT_EQ(kind(Format::q4_k), Kind::real);
  EXPECT_EQ(kind(Format::u4), Kind::integer);
  EXPECT_EQ(kind(Format::boolean), Kind::boolean);
  EXPECT_EQ(name(Kind::boolean), "bool");
  for (const Format f : all_formats()) EXPECT_EQ(is_block(f), f >= Format::q8_0) << name(f);
}

TEST(Format, Bytes) {
  EXPECT_EQ(bytes_for(Format::f64, 3), 24);
  EXPECT_EQ(bytes_for(Format::tf32, 3), 12);
  EXPECT_EQ(bytes_for(Format::i4, 3), 2);
  EXPECT_EQ(bytes_for(Format::u4, 4), 2);
  EXPECT_EQ(bytes_for(Format::boolean, 0), 0);
  EXPECT_EQ(bytes_for(Format::q8_0, 64), 68);
  EXPECT_EQ(bytes_for(Format::q6_k, 256), 210);
  EXPECT_FALSE(bytes_for(Format::q4_0, 33));
  EXPECT_FALSE(bytes_for(Format::f32, -1));
  EXPECT_FALSE(bytes_for(Format::f32, std::numeric_limits<int64_t>::max() / 2));
  EXPECT_EQ(bytes_for(Format::i4, std::numeric_limits<int64_t>::max()), int64_t{1} << 62);
}

TEST(Format, VectorsOfAlgebra71) {
  const double pi = std::numbers::pi;
  for (const Format f : {Format::tf32, Format::bf16, Format::f16}) {
    EXPECT_EQ(round_to(f, pi), 3.140625);
  }
  EXPECT_EQ(round_to(Format::f8e5m2, pi), 3);
  EXPECT_EQ(round_to(Format::f8e4m3, pi), 3.25);
  EXPECT_EQ(round_to(Format::f16, 2049), 2048);
  EXPECT_EQ(round_to(Format::f16, 2051), 2052);
  EXPECT_EQ(round_to(Format::f8e4m3, 0x1p-10), 0);
  EXPECT_EQ(round_to(Format::f8e4m3, 1.5 * 0x1p-9), 0x1p-8);
  EXPECT_EQ(round_to(Format::f8e4m3, 464), 448);
}

TEST(Format, OverflowColumn) {
  EXPECT_EQ(round_to(Format::f16, std::nextafter(65520.0, 0)), 65504);
  EXPECT_EQ(round_to(Format::f16, 65520), inf);
  EXPECT_EQ(round_to(Format::f8e5m2, std::nextafter(61440.0, 0)), 57344);
  EXPECT_EQ(round_to(Format::f8e5m2, -61440), -inf);
  EXPECT_EQ(round_to(Format::f32, 3.4028235677973366e38), inf);
  EXPECT_EQ(round_to(Format::tf32, 0x1.ffcp127), 3.4011621342146535e38);
  EXPECT_EQ(round_to(Format::bf16, 3.3895313892515355e38), 3.3895313892515355e38);
  EXPECT_EQ(round_to(Format::bf16, 3.4e38), inf);
}

TEST(Format, EightBitOverflowAndNan) {
  const std::pair<double, double> cases[] = {{448, 448},    {464, 448}, {465, 448},  {1000, 448},
                                             {-1000, -448}, {inf, 448}, {-inf, -448}};
  for (const auto& [x, y] : cases) EXPECT_EQ(round_to(Format::f8e4m3, x), y) << x;
  EXPECT_TRUE(std::isnan(round_to(Format::f8e4m3, nan)));
  EXPECT_TRUE(std::isnan(decode_float(Format::f8e4m3, encode_float(Format::f8e4m3, nan))));
  const std::pair<double, double> integers[] = {
      {126.5, 126}, {127.5, 127}, {127.6, 127}, {-128.5, -128}, {-129, -128},
      {nan, 0},     {inf, 127},   {-inf, -128}, {2.5, 2},       {3.5, 4}};
  for (const auto& [x, y] : integers) EXPECT_EQ(round_to(Format::i8, x), y) << x;
}

TEST(Format, IntegersClamp) {
  EXPECT_EQ(round_to_integer(Format::i64, inf), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(round_to_integer(Format::i64, -inf), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(round_to(Format::i32, 3e9), 2147483647);
  EXPECT_EQ(round_to(Format::i32, -3e9), -2147483648.0);
  EXPECT_EQ(round_to(Format::u8, -1), 0);
  EXPECT_EQ(round_to(Format::u8, 255.5), 255);
  EXPECT_EQ(round_to(Format::i4, 9), 7);
  EXPECT_EQ(round_to(Format::i4, -9), -8);
  EXPECT_EQ(round_to(Format::u4, 16), 15);
  EXPECT_EQ(round_to(Format::boolean, 0.25), 1);
  EXPECT_EQ(round_to(Format::boolean, -0.0), 0);
  EXPECT_EQ(round_to(Format::boolean, nan), 1);
}

TEST(Format, RoundingIsTheFormula) {
  for (const Format f : floats) {
    for (const double x : samples()) {
      ASSERT_TRUE(same(round_to(f, x), by_formula(f, x))) << name(f) << " " << x;
    }
  }
}

TEST(Format, RoundingIsTheHardwares) {
  for (const double x : samples()) {
    ASSERT_TRUE(same(round_to(Format::f32, x), static_cast<float>(x))) << x;
#ifdef __FLT16_MANT_DIG__
    ASSERT_TRUE(same(round_to(Format::f16, x), static_cast<double>(static_cast<_Float16>(x)))) << x;
#endif
  }
}

TEST(Format, RoundingIsIdempotentAndMonotone) {
  std::vector<double> xs = samples();
  std::sort(xs.begin(), xs.end());
  for (const Format f : floats) {
    double before = -inf;
    for (const double x : xs) {
      const double r = round_to(f, x);
      ASSERT_TRUE(same(round_to(f, r), r)) << name(f) << " " << x;
      ASSERT_LE(round_to(f, before), r);
      before = x;
    }
  }
}

TEST(Format, EveryCodeRoundTrips) {
  for (const Format f : small_floats) {
    double previous = -1;
    for (uint32_t code = 0; code < 1U << info(f).bits; ++code) {
      const double x = decode_float(f, code);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(decode_float(f, encode_float(f, x))));
        continue;
      }
      ASSERT_EQ(encode_float(f, x), code) << name(f);
      ASSERT_TRUE(same(round_to(f, x), x)) << name(f) << " " << code;
      const bool positive = code < 1U << (info(f).bits - 1);
      ASSERT_TRUE(!positive || x > previous);
      previous = x;
    }
  }
}

TEST(Format, CodesAreTheHardwares) {
  for (uint32_t code = 0; code < 1U << 16; ++code) {
    const double b = std::bit_cast<float>(code << 16);
    ASSERT_TRUE(same(decode_float(Format::bf16, code), b)) << code;
#ifdef __FLT16_MANT_DIG__
    const auto h = static_cast<double>(std::bit_cast<_Float16>(static_cast<uint16_t>(code)));
    ASSERT_TRUE(same(decode_float(Format::f16, code), h)) << code;
#endif
  }
  for (uint32_t code = 0; code < 256; ++code) {
    ASSERT_TRUE(same(decode_float(Format::f8e5m2, code), decode_float(Format::f16, code << 8)));
  }
}

TEST(Format, SpecialCodes) {
  int e4m3_nans = 0;
  int e5m2_nans = 0;
  for (uint32_t code = 0; code < 256; ++code) {
    e4m3_nans += std::isnan(decode_float(Format::f8e4m3, code));
    e5m2_nans += std::isnan(decode_float(Format::f8e5m2, code));
    EXPECT_FALSE(std::isinf(decode_float(Format::f8e4m3, code)));
  }
  EXPECT_EQ(e4m3_nans, 2);
  EXPECT_EQ(e5m2_nans, 6);
  EXPECT_EQ(decode_float(Format::f8e4m3, 0x7e), 448);
  EXPECT_EQ(decode_float(Format::f8e4m3, 0x01), 0x1p-9);
  EXPECT_EQ(encode_float(Format::bf16, nan), 0x7fc0U);
  EXPECT_EQ(encode_float(Format::f16, -nan), 0x7e00U);
  EXPECT_EQ(encode_float(Format::f8e4m3, nan), 0x7fU);
  EXPECT_EQ(encode_float(Format::f8e5m2, nan), 0x7eU);
}

TEST(Format, LoadOfStoreIsRoundTo) {
  for (const Format f : all_formats()) {
    if (is_block(f) || f == Format::i64) continue;
    std::byte data[24] = {};
    for (const double x : samples()) {
      store_element(f, data, 2, x);
      const double r = round_to(f, x);
      const double y = load_element(f, data, 2);
      ASSERT_TRUE(kind(f) == Kind::real ? same(y, r) : y == r) << name(f) << " " << x;
    }
    store_element(f, data, 2, nan);
    EXPECT_EQ(std::isnan(load_element(f, data, 2)), kind(f) == Kind::real);
  }
}

TEST(Format, NibblesPackLowHalfFirst) {
  std::byte data[2] = {};
  const int values[] = {-8, 7, -1, 3};
  for (int i = 0; i < 4; ++i) store_integer(Format::i4, data, i, values[i]);
  EXPECT_EQ(data[0], std::byte{0x78});
  EXPECT_EQ(data[1], std::byte{0x3f});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(load_integer(Format::i4, data, i), values[i]);
  EXPECT_EQ(load_integer(Format::u4, data, 0), 8);
  EXPECT_EQ(load_element(Format::i4, data, 2), -1);
  store_integer(Format::u4, data, 1, 100);
  EXPECT_EQ(data[0], std::byte{0xf8});
}

TEST(Format, IntegersAreExactAndRoundOnce) {
  std::byte data[8] = {};
  const int64_t big = std::numeric_limits<int64_t>::max() - 1;
  store_integer(Format::i64, data, 0, big);
  EXPECT_EQ(load_integer(Format::i64, data, 0), big);
  store_integer(Format::i8, data, 0, 1000);
  EXPECT_EQ(load_integer(Format::i8, data, 0), 127);
  store_integer(Format::boolean, data, 0, -5);
  EXPECT_EQ(load_integer(Format::boolean, data, 0), 1);
  // Just above a tie of f32: rounding through f64 would lose the last bit and fall to even.
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  for (const int64_t v : {above_tie, -above_tie, int64_t{1} << 62, big, -big - 2}) {
    store_integer(Format::f32, data, 0, v);
    EXPECT_EQ(load_element(Format::f32, data, 0), static_cast<float>(v)) << v;
  }
  store_element(Format::f32, data, 0, 2.5);
  EXPECT_EQ(load_integer(Format::f32, data, 0), 2);
}

TEST(Format, Tolerances) {
  EXPECT_EQ(default_tolerance(Format::f64), 1e-10);
  EXPECT_EQ(default_tolerance(Format::f32), 1e-4);
  EXPECT_EQ(default_tolerance(Format::tf32), 5e-3);
  EXPECT_EQ(default_tolerance(Format::bf16), 2e-2);
  EXPECT_EQ(default_tolerance(Format::f8e4m3), 1e-1);
  EXPECT_EQ(default_tolerance(Format::i32), 0);
}

}  // namespace
}  // namespace tang
