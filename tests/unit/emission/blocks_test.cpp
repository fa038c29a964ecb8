// Block formats in C: every element is what base/blocks.h decodes, rounded once.
#include <cmath>
#include <random>

#include "base/format.h"
#include "harness.h"

namespace tang {
namespace {

using loop::Builder;
using loop::Role;
using loop::Type;
using loop::Value;

// Stores every element of x, of a block format, as f32 and as f64.
LoopProgram copy(Format format, int64_t count) {
  Builder p;
  const auto x = p.buffer("x", format, count, Role::input);
  const auto y = p.buffer("y", Format::f32, count, Role::output);
  const auto z = p.buffer("z", Format::f64, count, Role::output);
  p.begin_kernel("k");
  p.for_("i", p.integer(0), p.integer(count),
         [&](Value i) {
           p.store(y, i, p.cast(Type::f32, p.load(x, i)));
           p.store(z, i, p.cast(Type::f64, p.load(x, i)));
         },
         {.hint = loop::Hint::vector});
  p.end_kernel();
  auto program = p.finish();
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  return *program;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

void expect_decoded(Format format, std::vector<std::byte> bytes) {
  const FormatInfo& f = info(format);
  const auto count = static_cast<int64_t>(bytes.size()) / f.block_bytes * f.block;
  const LoopProgram program = copy(format, count);
  for (const CompileOptions& options : variants()) {
    std::vector<float> y(static_cast<size_t>(count));
    std::vector<double> z(static_cast<size_t>(count));
    const auto executable = compile(program, options);
    ASSERT_TRUE(run(*executable, {bytes.data(), y.data(), z.data()}));
    for (int64_t i = 0; i < count; ++i) {
      const double want = load_element(format, bytes.data(), i);
      const auto k = static_cast<size_t>(i);
      ASSERT_TRUE(same(y[k], static_cast<float>(want))) << name(format) << " " << i << ": " << y[k];
      ASSERT_TRUE(same(z[k], want)) << name(format) << " " << i << ": " << z[k];
    }
  }
}

TEST(EmitBlocks, RandomBytesDecodeAsInBase) {
  std::mt19937_64 engine(21);
  for (const Format format :
       {Format::q8_0, Format::q4_0, Format::mxfp4, Format::q4_k, Format::q6_k}) {
    std::vector<std::byte> bytes(static_cast<size_t>(info(format).block_bytes) * 300);
    for (std::byte& b : bytes) b = static_cast<std::byte>(engine());
    expect_decoded(format, bytes);
  }
}

// Every scale byte with every code.
TEST(EmitBlocks, Mxfp4Exhaustively) {
  std::vector<std::byte> bytes;
  for (int scale = 0; scale < 256; ++scale) {
    bytes.push_back(static_cast<std::byte>(scale));
    for (int k = 0; k < 16; ++k) bytes.push_back(static_cast<std::byte>(k | (15 - k) << 4));
  }
  expect_decoded(Format::mxfp4, bytes);
}

// Every f16 as the scale of q8_0 and q4_0, with the codes at the ends and around zero.
TEST(EmitBlocks, EveryScale) {
  std::vector<std::byte> q8, q4;
  for (uint32_t scale = 0; scale < 65536; scale += 7) {
    for (auto* list : {&q8, &q4}) {
      list->push_back(static_cast<std::byte>(scale & 255));
      list->push_back(static_cast<std::byte>(scale >> 8));
    }
    for (int k = 0; k < 32; ++k) q8.push_back(static_cast<std::byte>(112 + k));
    for (int k = 0; k < 16; ++k) q4.push_back(static_cast<std::byte>(k | (15 - k) << 4));
  }
  expect_decoded(Format::q8_0, q8);
  expect_decoded(Format::q4_0, q4);
}

TEST(EmitBlocks, SizesCountBlocks) {
  Builder p;
  const ParamId n = p.symbol("n");
  const auto x = p.buffer("x", Format::q4_k, Poly::param(n), Role::input);
  const auto y = p.buffer("y", Format::f32, Poly(1), Role::output);
  p.begin_kernel("k");
  p.store(y, p.integer(0), p.cast(Type::f32, p.load(x, p.integer(0))));
  p.end_kernel();
  const LoopProgram program = *p.finish();
  const auto executable = compile(program, variants()[0]);
  std::vector<std::byte> bytes(288);
  float out = 1;
  EXPECT_TRUE(run(*executable, {bytes.data(), &out}, {512}));
  EXPECT_EQ(out, 0);
  EXPECT_FALSE(run(*executable, {bytes.data(), &out}, {300}));
  EXPECT_FALSE(run(*executable, {bytes.data(), &out}, {-256}));
}

TEST(EmitBlocks, OnlyInputsHaveThem) {
  Builder p;
  p.buffer("x", Format::q8_0, 32, Role::output);
  EXPECT_FALSE(p.finish());
}

}  // namespace
}  // namespace tang
