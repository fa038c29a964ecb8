#include "base/array.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tang {
namespace {

TEST(Array, IsZeroedAlignedAndCopied) {
  Array a = make_array(Format::bf16, {2, 3}).value();
  EXPECT_EQ(a.elements(), 6);
  EXPECT_EQ(a.data.size(), 12U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data.data()) % 64, 0U);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(a.at(i), 0);
  a.set(5, 1.5);
  Array b = a;
  a.set(5, 2);
  EXPECT_EQ(b.at(5), 1.5);
  const Array c = std::move(b);
  EXPECT_EQ(c.at(5), 1.5);
  EXPECT_EQ(b.data.size(), 0U);
}

TEST(Array, RankZeroAndEmpty) {
  EXPECT_EQ(make_array(Format::f32, {}).value().elements(), 1);
  const Array empty = make_array(Format::f32, {2, 0, 3}).value();
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.data.size(), 0U);
  EXPECT_EQ(element_count(std::vector<int64_t>{int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_EQ(shape_text(empty.shape), "[2, 0, 3]");
  EXPECT_EQ(shape_text({}), "[]");
}

TEST(Array, RefusesSizesBeyondMemory) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{int64_t{1} << 60},
                                            {int64_t{1} << 62, 4},
                                            {int64_t{1} << 40, 1 << 20}}) {
    const auto a = make_array(Format::f32, shape);
    ASSERT_FALSE(a);
    EXPECT_EQ(a.error().id, "E0903");
    EXPECT_EQ(a.error().exit, Exit::out_of_memory);
  }
  const auto b = make_array(Format::f32, {int64_t{1} << 50});
  ASSERT_FALSE(b);
  EXPECT_NE(b.error().message.find("4503599627370496 bytes"), std::string::npos);
}

TEST(Array, RefusesBadShapes) {
  EXPECT_EQ(make_array(Format::f32, {2, -1}).error().id, "E0706");
  EXPECT_EQ(make_array(Format::q8_0, {32, 33}).error().id, "E0706");
  EXPECT_EQ(make_array(Format::q8_0, {}).error().id, "E0706");
  EXPECT_EQ(make_array(Format::q8_0, {3, 64}).value().data.size(), 3 * 68U);
}

TEST(Random, PhiloxVectors) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, StreamsDependOnSeedAndNameOnly) {
  const RandomStream q(0, "q");
  EXPECT_EQ(q.bits(5), RandomStream(0, "q").bits(5));
  EXPECT_NE(q.bits(5), RandomStream(1, "q").bits(5));
  EXPECT_NE(q.bits(5), RandomStream(0, "k").bits(5));
  EXPECT_NE(q.bits(5), q.bits(4));
}

TEST(Random, NormalsAreStandard) {
  const RandomStream stream(0, "x");
  constexpr uint64_t n = 200000;
  double sum = 0;
  double squares = 0;
  double lagged = 0;
  double fourth = 0;
  for (uint64_t i = 0; i < n; ++i) {
    const double x = stream.normal(i);
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    lagged += x * stream.normal(i + 1);
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.015);
  EXPECT_NEAR(lagged / n, 0, 0.01);
  EXPECT_NEAR(fourth / n, 3, 0.12);
}

TEST(Random, IntegersAreUniform) {
  const RandomStream stream(3, "tok");
  int counts[8] = {};
  for (uint64_t i = 0; i < 80000; ++i) ++counts[stream.integer(i, -3, 4) + 3];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(stream.integer(0, 7, 7), 7);
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  EXPECT_NE(stream.integer(0, low, high), stream.integer(1, low, high));
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_GE(stream.uniform(i), 0);
    EXPECT_LT(stream.uniform(i), 1);
  }
}

TEST(Random, FillsRoundToTheFormat) {
  Array a = make_array(Format::f16, {100}).value();
  const RandomStream stream(0, "a");
  fill_normal(a, stream);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.at(i), round_to(Format::f16, stream.normal(static_cast<uint64_t>(i))));
  }
  Array b = make_array(Format::boolean, {1000}).value();
  fill_bools(b, stream);
  int64_t trues = 0;
  for (int64_t i = 0; i < 1000; ++i) trues += b.integer_at(i);
  EXPECT_NEAR(static_cast<double>(trues), 500, 80);
  Array c = make_array(Format::u4, {7}).value();
  fill_integers(c, stream, 3, 3);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(c.integer_at(i), 3);
}

}  // namespace
}  // namespace tang
