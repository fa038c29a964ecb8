// Block formats: decoding against a block-wise reading of the layouts, and quantising.
#include "base/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tang {
namespace {

constexpr Format blocks[] = {Format::q8_0, Format::q4_0, Format::mxfp4, Format::q4_k, Format::q6_k};

std::vector<double> decoded(Format format, const std::vector<std::byte>& bytes) {
  const FormatInfo& f = info(format);
  const auto count = static_cast<int64_t>(bytes.size()) / f.block_bytes * f.block;
  std::vector<double> out;
  for (int64_t k = 0; k < count; ++k) out.push_back(load_element(format, bytes.data(), k));
  return out;
}

uint32_t at(const std::vector<std::byte>& b, size_t k) { return std::to_integer<uint32_t>(b[k]); }

double half(const std::vector<std::byte>& b, size_t k) {
  return decode_float(Format::f16, at(b, k) | at(b, k + 1) << 8);
}

// One block in the order of its bytes.
std::vector<double> reference(Format format, const std::vector<std::byte>& b) {
  std::vector<double> x(static_cast<size_t>(info(format).block));
  switch (format) {
    case Format::q8_0:
      for (size_t k = 0; k < 32; ++k) x[k] = half(b, 0) * static_cast<int8_t>(at(b, 2 + k));
      break;
    case Format::q4_0:
      for (size_t k = 0; k < 16; ++k) {
        x[k] = half(b, 0) * (static_cast<int>(at(b, 2 + k) & 15) - 8);
        x[k + 16] = half(b, 0) * (static_cast<int>(at(b, 2 + k) >> 4) - 8);
      }
      break;
    case Format::mxfp4: {
      const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
      const double scale = at(b, 0) == 255 ? NAN : std::exp2(static_cast<int>(at(b, 0)) - 127);
      for (size_t k = 0; k < 16; ++k) {
        x[k] = scale * values[at(b, 1 + k) & 15];
        x[k + 16] = scale * values[at(b, 1 + k) >> 4];
      }
      break;
    }
    case Format::q4_k: {
      uint32_t s[8], t[8];
      for (size_t j = 0; j < 4; ++j) {
        const uint32_t first = at(b, 4 + j), second = at(b, 8 + j), third = at(b, 12 + j);
        s[j] = first % 64;
        t[j] = second % 64;
        s[j + 4] = third % 16 + first / 64 * 16;
        t[j + 4] = third / 16 + second / 64 * 16;
      }
      for (size_t k = 0; k < 128; ++k) {
        const size_t group = k / 32, low = group * 64 + k % 32;
        x[low] = half(b, 0) * s[2 * group] * (at(b, 16 + k) % 16) - half(b, 2) * t[2 * group];
        x[low + 32] =
            half(b, 0) * s[2 * group + 1] * (at(b, 16 + k) / 16) - half(b, 2) * t[2 * group + 1];
      }
      break;
    }
    default: {
      for (size_t h = 0; h < 2; ++h)
        for (size_t l = 0; l < 32; ++l) {
          const uint32_t a = at(b, 64 * h + l), c = at(b, 64 * h + 32 + l);
          const uint32_t high = at(b, 128 + 32 * h + l);
          const uint32_t q[] = {a % 16 + high % 4 * 16, c % 16 + high / 4 % 4 * 16,
                                a / 16 + high / 16 % 4 * 16, c / 16 + high / 64 * 16};
          for (size_t quarter = 0; quarter < 4; ++quarter) {
            const size_t k = 128 * h + 32 * quarter + l;
            const auto s = static_cast<int8_t>(at(b, 192 + k / 16));
            x[k] = half(b, 208) * s * (static_cast<int>(q[quarter]) - 32);
          }
        }
    }
  }
  return x;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(Blocks, RandomBytesDecodeAsTheLayoutSays) {
  std::mt19937_64 engine(11);
  for (const Format f : blocks) {
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<std::byte> b(static_cast<size_t>(info(f).block_bytes));
      for (std::byte& x : b) x = static_cast<std::byte>(engine());
      const std::vector<double> want = reference(f, b), got = decoded(f, b);
      ASSERT_EQ(got.size(), want.size());
      for (size_t k = 0; k < want.size(); ++k)
        ASSERT_TRUE(same(got[k], want[k]))
            << name(f) << " " << k << ": " << got[k] << " for " << want[k];
    }
  }
}

// In f32 every value is the f64 one rounded once, which for the products is no rounding.
TEST(Blocks, ProductsAreExactInF32) {
  std::mt19937_64 engine(12);
  for (const Format f : {Format::q8_0, Format::q4_0, Format::q6_k}) {
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<std::byte> b(static_cast<size_t>(info(f).block_bytes));
      for (std::byte& x : b) x = static_cast<std::byte>(engine());
      for (const double x : decoded(f, b)) ASSERT_TRUE(same(x, static_cast<float>(x)));
    }
  }
}

TEST(Blocks, Mxfp4ByHand) {
  std::vector<std::byte> b(17, std::byte{0x7f});  // codes: 15 and 7, -6 and 6
  const auto first = [&](int scale) {
    b[0] = static_cast<std::byte>(scale);
    return load_element(Format::mxfp4, b.data(), 0);
  };
  EXPECT_EQ(first(127), -6);
  EXPECT_EQ(load_element(Format::mxfp4, b.data(), 16), 6);
  EXPECT_EQ(first(0), -6 * 0x1p-127);
  EXPECT_EQ(first(134), -768);
  EXPECT_EQ(first(254), -6 * 0x1p127);
  EXPECT_TRUE(std::isnan(first(255)));
  b[1] = std::byte{0};
  EXPECT_TRUE(std::isnan(load_element(Format::mxfp4, b.data(), 0)));
}

// The second block begins after the bytes of the first.
TEST(Blocks, ElementsOfLaterBlocks) {
  for (const Format f : blocks) {
    const FormatInfo& row = info(f);
    std::vector<std::byte> b(static_cast<size_t>(3 * row.block_bytes));
    std::vector<double> x(static_cast<size_t>(row.block));
    for (int block = 0; block < 3; ++block) {
      for (size_t k = 0; k < x.size(); ++k) x[k] = (k % 2 ? 1 : -1) * (block + 1);
      store_block(f, b.data() + block * row.block_bytes, x);
    }
    for (int block = 0; block < 3; ++block)
      for (int k : {0, 1, row.block - 1}) {
        const double got = load_element(f, b.data(), block * row.block + k);
        EXPECT_NEAR(got, (k % 2 ? 1 : -1) * (block + 1), 0.13 * (block + 1)) << name(f);
      }
  }
}

TEST(Blocks, QuantisedNormalsAreNear) {
  // Of the largest magnitude in the block; a step of e2m1 at its top is a third of it.
  const std::pair<Format, double> bounds[] = {{Format::q8_0, 0.5 / 127 + 1e-3},
                                              {Format::q4_0, 0.13},
                                              {Format::mxfp4, 0.26},
                                              {Format::q4_k, 0.09},
                                              {Format::q6_k, 0.04}};
  std::mt19937_64 engine(13);
  std::normal_distribution<double> normal;
  for (const auto& [f, bound] : bounds) {
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> x(static_cast<size_t>(info(f).block));
      double most = 0;
      for (double& v : x) most = std::max(most, std::fabs(v = normal(engine)));
      std::vector<std::byte> b(static_cast<size_t>(info(f).block_bytes));
      store_block(f, b.data(), x);
      const std::vector<double> y = decoded(f, b);
      for (size_t k = 0; k < x.size(); ++k)
        ASSERT_NEAR(y[k], x[k], bound * most) << name(f) << " " << k;
    }
  }
}

TEST(Blocks, EdgesOfQuantising) {
  for (const Format f : blocks) {
    std::vector<std::byte> b(static_cast<size_t>(info(f).block_bytes), std::byte{0xff});
    std::vector<double> x(static_cast<size_t>(info(f).block), 0.0);
    store_block(f, b.data(), x);
    for (const double y : decoded(f, b)) EXPECT_EQ(y, 0) << name(f);
    x[3] = 1e30;
    store_block(f, b.data(), x);
    for (const double y : decoded(f, b)) EXPECT_TRUE(std::isfinite(y)) << name(f);
    x[3] = 1e-30;
    store_block(f, b.data(), x);
    for (const double y : decoded(f, b)) EXPECT_LE(std::fabs(y), 1e-29) << name(f);
  }
}

// What is decoded quantises to itself where the scale is the plain one.
TEST(Blocks, Mxfp4RoundTrips) {
  const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (const int e : {-100, -1, 0, 7, 120}) {
    std::vector<double> x(32);
    for (size_t k = 0; k < 32; ++k) x[k] = std::ldexp(values[k % 8], e) * (k < 16 ? 1 : -1);
    std::vector<std::byte> b(17);
    store_block(Format::mxfp4, b.data(), x);
    EXPECT_EQ(decoded(Format::mxfp4, b), x);
  }
}

}  // namespace
}  // namespace tang
