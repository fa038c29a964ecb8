// Buffers of every format: what C loads and stores is what base/format.h does.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/format.h"
#include "harness.h"

namespace tang {
namespace {

using loop::Builder;
using loop::Role;
using loop::Type;
using loop::Value;

const Format reals[] = {Format::f64, Format::f32,    Format::tf32,  Format::bf16,
                        Format::f16, Format::f8e4m3, Format::f8e5m2};
const Format integers[] = {Format::i64, Format::i32, Format::i8,
                           Format::u8,  Format::i4,  Format::u4};

// Values around every rounding boundary that matters, ordinary ones, and random bits.
std::vector<double> real_values() {
  std::vector<double> list = {0.0,
                              -0.0,
                              INFINITY,
                              -INFINITY,
                              NAN,
                              3.141592653589793,
                              464,
                              464.01,
                              448,
                              65504,
                              65519.99,
                              65520,
                              61439.99,
                              61440,
                              57344,
                              2049,
                              2051,
                              1e-45,
                              3.4028234663852886e38,
                              3.3961775292304957e38,
                              3.396e38,
                              1e300,
                              5e-324,
                              6e-8,
                              2.98e-8,
                              0x1p-25,
                              0x1.0000001p-25,
                              0x1p-10,
                              0x1.8p-9,
                              0x1p-133,
                              0x1p-134,
                              0x1.1p-134,
                              0x1p-136,
                              0x1p-137,
                              0x1.8p-137,
                              0x1p-17,
                              0x1.8p-16};
  uint64_t state = 1;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int k = 0; k < 3000; ++k) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
    list.push_back(std::ldexp(unit + 1, static_cast<int>(next() >> 40) % 300 - 150));
    list.push_back(std::ldexp(unit + 1, static_cast<int>(next() >> 40) % 40 - 20));
    // Exact ties of formats with few bits, and their neighbours.
    const double tie = std::ldexp(static_cast<double>(next() >> 52) + 0.5,
                                  static_cast<int>(next() >> 40) % 30 - 24);
    for (double v : {tie, std::nextafter(tie, 0), std::nextafter(tie, 1e300)}) list.push_back(v);
  }
  const size_t count = list.size();
  for (size_t k = 0; k < count; ++k) list.push_back(-list[k]);
  return list;
}

struct Stores {
  std::vector<Format> formats;
  LoopProgram program;  // x: the values, then one output per format
};

// Stores every value of x, as type `from`, into a buffer of each format.
Stores store_all(Format source, Type from, std::vector<Format> formats, int64_t count) {
  Builder p;
  const auto x = p.buffer("x", source, count, Role::input);
  for (Format format : formats) {
    const auto out = p.buffer(name(format), format, count, Role::output);
    p.begin_kernel(name(format));
    p.for_("i", p.integer(0), p.integer(count),
           [&](Value i) { p.store(out, i, p.cast(from, p.load(x, i))); });
    p.end_kernel();
  }
  auto program = p.finish();
  EXPECT_TRUE(program) << program.error().message;
  return {std::move(formats), *program};
}

void check_real_stores(Type from, const CompileOptions& options) {
  std::vector<double> x = real_values();
  const int64_t count = static_cast<int64_t>(x.size());
  const Stores stores = store_all(Format::f64, from, {std::begin(reals), std::end(reals)}, count);
  const auto executable = compile(stores.program, options);
  std::vector<std::vector<std::byte>> out(stores.formats.size(),
                                          std::vector<std::byte>(x.size() * 8));
  std::vector<void*> buffers = {x.data()};
  for (auto& o : out) buffers.push_back(o.data());
  ASSERT_TRUE(run(*executable, buffers));
  for (size_t k = 0; k < out.size(); ++k) {
    const Format format = stores.formats[k];
    const size_t size = static_cast<size_t>(info(format).bits) / 8;
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = from == Type::f32 ? static_cast<float>(x[i]) : x[i];
      std::byte want[8] = {};
      store_element(format, want, 0, v);
      if (std::memcmp(want, out[k].data() + i * size, size) == 0) continue;
      const double got = load_element(format, out[k].data(), static_cast<int64_t>(i));
      if (std::isnan(v) && std::isnan(got)) continue;
      if (++wrong < 5) ADD_FAILURE() << name(format) << " of " << v << " is " << got;
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(EmitFormats, RealsRoundAsInBase) {
  for (const CompileOptions& options : variants()) {
    check_real_stores(Type::f64, options);
    check_real_stores(Type::f32, options);
  }
}

TEST(EmitFormats, IntegersClamp) {
  std::vector<int64_t> x;
  for (int64_t v : {0, 1, 7, 8, 9, 15, 16, 100, 127, 128, 255, 256, 1 << 20, INT32_MAX}) {
    x.push_back(v);
    x.push_back(-v);
  }
  for (int64_t v : {INT64_MAX, INT64_MIN, int64_t{1} << 40, int64_t{INT32_MIN}}) x.push_back(v);
  x.push_back(3);  // an odd count leaves half a byte
  const int64_t count = static_cast<int64_t>(x.size());
  for (const CompileOptions& options : variants()) {
    for (Type from : {Type::i64, Type::i32}) {
      const Stores stores =
          store_all(Format::i64, from, {std::begin(integers), std::end(integers)}, count);
      const auto executable = compile(stores.program, options);
      std::vector<std::vector<std::byte>> out(6, std::vector<std::byte>(x.size() * 8));
      std::vector<void*> buffers = {x.data()};
      for (auto& o : out) buffers.push_back(o.data());
      ASSERT_TRUE(run(*executable, buffers));
      for (size_t k = 0; k < out.size(); ++k) {
        for (size_t i = 0; i < x.size(); ++i) {
          int64_t v = x[i];
          if (from == Type::i32) v = std::clamp<int64_t>(v, INT32_MIN, INT32_MAX);
          std::byte want[8] = {};
          store_integer(integers[k], want, 0, v);
          EXPECT_EQ(load_integer(integers[k], out[k].data(), static_cast<int64_t>(i)),
                    load_integer(integers[k], want, 0))
              << name(integers[k]) << " of " << v;
        }
      }
    }
  }
}

// Every bit pattern of the narrow formats, loaded and widened, and loaded and rounded again.
TEST(EmitFormats, EveryPatternLoads) {
  for (Format format : {Format::bf16, Format::f16, Format::f8e4m3, Format::f8e5m2, Format::tf32}) {
    const int bits = info(format).bits;
    const size_t count = bits == 8 ? 256 : 65536;
    std::vector<std::byte> x(count * 4);
    for (size_t i = 0; i < count; ++i) {
      const auto pattern = static_cast<uint32_t>(bits == 32 ? i << 16 : i);
      std::memcpy(x.data() + i * static_cast<size_t>(bits) / 8, &pattern,
                  static_cast<size_t>(bits) / 8);
    }
    Builder p;
    const auto in = p.buffer("x", format, static_cast<int64_t>(count), Role::input);
    const auto out = p.buffer("y", Format::f32, static_cast<int64_t>(count), Role::output);
    const auto again = p.buffer("z", Format::f64, static_cast<int64_t>(count), Role::output);
    p.begin_kernel("k");
    p.for_("i", p.integer(0), p.integer(static_cast<int64_t>(count)),
           [&](Value i) {
             p.store(out, i, p.round(format, p.load(in, i)));
             p.store(again, i, p.round(format, p.cast(Type::f64, p.load(in, i))));
           },
           {.hint = loop::Hint::vector});
    p.end_kernel();
    const LoopProgram program = *p.finish();
    for (const CompileOptions& options : variants()) {
      std::vector<float> y(count);
      std::vector<double> z(count);
      const auto executable = compile(program, options);
      ASSERT_TRUE(run(*executable, {x.data(), y.data(), z.data()}));
      for (size_t i = 0; i < count; ++i) {
        double want = load_element(format, x.data(), static_cast<int64_t>(i));
        if (format == Format::f8e4m3 || !std::isinf(want)) want = round_to(format, want);
        const bool same = std::isnan(want) ? std::isnan(y[i]) && std::isnan(z[i])
                                           : y[i] == want && z[i] == want &&
                                                 std::signbit(y[i]) == std::signbit(want);
        ASSERT_TRUE(same) << name(format) << " pattern " << i << ": " << y[i] << " " << want;
      }
    }
  }
}

TEST(EmitFormats, HalfByteStoresKeepTheNeighbour) {
  Builder p;
  const auto x = p.buffer("x", Format::i4, 9, Role::input);
  const auto y = p.buffer("y", Format::i4, 9, Role::output);
  p.begin_kernel("reverse");
  p.for_("i", p.integer(0), p.integer(9),
         [&](Value i) { p.store(y, p.sub(p.integer(8), i), p.load(x, i)); });
  p.end_kernel();
  const LoopProgram program = *p.finish();
  for (const CompileOptions& options : variants()) {
    std::byte in[5] = {}, out[5] = {};
    for (int64_t i = 0; i < 9; ++i) store_integer(Format::i4, in, i, i * 5 % 16 - 8);
    const auto executable = compile(program, options);
    ASSERT_TRUE(run(*executable, {in, out}));
    for (int64_t i = 0; i < 9; ++i) {
      EXPECT_EQ(load_integer(Format::i4, out, 8 - i), load_integer(Format::i4, in, i));
    }
  }
}

}  // namespace
}  // namespace tang
