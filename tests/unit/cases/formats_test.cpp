// Formats of storage: mxfp4 at every scale (V28), overflow of narrow formats (V29), rows that are
// no whole blocks (V30), and what each format does to inputs, definitions and casts.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/array.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/bind.h"
#include "unit/cases/harness.h"

namespace tang::cases {
namespace {

constexpr double inf = INFINITY;
const double nan = std::numeric_limits<double>::quiet_NaN();

double e2m1(int code) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code < 8 ? magnitudes[code] : -magnitudes[code - 8];
}

double e8m0(int scale) { return scale == 255 ? nan : std::ldexp(1.0, scale - 127); }

// A block whose element k has code (k · step) mod 16.
void add_block(std::vector<uint8_t>& bytes, int scale, int step) {
  bytes.push_back(static_cast<uint8_t>(scale));
  for (int k = 0; k < 16; ++k)
    bytes.push_back(static_cast<uint8_t>(k * step % 16 | (k + 16) * step % 16 << 4));
}

TEST(V28, EveryScaleAndCode) {
  std::vector<uint8_t> bytes;
  std::vector<double> exact, rounded;
  for (int scale = 0; scale < 256; ++scale) {
    add_block(bytes, scale, 1);
    for (int k = 0; k < 32; ++k) {
      exact.push_back(e8m0(scale) * e2m1(k % 16));
      rounded.push_back(static_cast<float>(exact.back()));
    }
  }
  Case c(
      "dim s = 256, k = 32\ninput w[s, k] : mxfp4\n"
      "y[s, k] : f64 = w[s, k]\nz[s, k] : f32 = w[s, k]\noutput y, z\n");
  c.set_bytes("w", bytes);
  const auto runs = c.run();
  for (const Outcome& run : runs) {
    const std::vector<double> y = run.reals("y"), z = run.reals("z");
    for (size_t k = 0; k < exact.size(); ++k) {
      const bool wide = std::isnan(exact[k]) ? std::isnan(y[k]) : y[k] == exact[k];
      const bool single = std::isnan(exact[k]) ? std::isnan(z[k]) : z[k] == rounded[k];
      ASSERT_TRUE(wide && single) << run.way << ": scale byte " << k / 32 << " code " << k % 16
                                  << " is " << y[k] << " and " << z[k];
    }
  }
}

// Terms are small integers times a power of two, so sums are exact in every order.
TEST(V28, MatrixTimesVectorOfFewRows) {
  for (const int rows : {1, 7, 8, 9}) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    std::vector<Case> cases;
    std::vector<std::vector<double>> want;
    for (const int scale : {0, 1, 127, 134, 200, 255}) {
      Case c(
          fmt::format("dim n = {}, k = 64\ninput w[n, k] : mxfp4, x[k] : f32\n"
                      "y[n] = sum[k](w[n, k] * x[k])\noutput y\n",
                      rows));
      std::vector<uint8_t> bytes;
      std::vector<double> x, y;
      for (int k = 0; k < 64; ++k) x.push_back(k % 7 - 3);
      for (int n = 0; n < rows; ++n) {
        y.push_back(0);
        for (int block = 0; block < 2; ++block) {
          add_block(bytes, scale, n + 1 + block);
          for (int k = 0; k < 32; ++k)
            y.back() += e8m0(scale) * e2m1(k * (n + 1 + block) % 16) *
                        x[static_cast<size_t>(32 * block + k)];
        }
      }
      c.set_bytes("w", bytes).set("x", x);
      cases.push_back(std::move(c));
      want.push_back(y);
    }
    const auto runs = Case::run_all(cases);
    for (size_t k = 0; k < runs.size(); ++k) expect_values(runs[k], "y", want[k], 0);
  }
}

TEST(V29, EightBitFloatsSaturateAndKeepNaN) {
  const std::vector<double> x = {448, 464, 465, 1000, -1000, inf, -inf, nan, 61440, -57345};
  const std::vector<double> e4m3 = {448, 448, 448, 448, -448, 448, -448, nan, 448, -448};
  const std::vector<double> e5m2 = {448, 448, 448, 1024, -1024, inf, -inf, nan, inf, -57344};
  for (const char* format : {"f32", "f64"}) {
    SCOPED_TRACE(format);
    Case c(
        fmt::format("dim i = 10\ninput x[i] : {}\na[i] : f8e4m3 = x[i]\nb[i] = f8e4m3(x[i])\n"
                    "c[i] : f8e5m2 = x[i]\nd[i] = f8e5m2(x[i])\noutput a, b, c, d\n",
                    format));
    c.set("x", x);
    const auto runs = c.run();
    for (const char* name : {"a", "b"}) expect_values(runs, name, e4m3, 0);
    for (const char* name : {"c", "d"}) expect_values(runs, name, e5m2, 0);
  }
}

TEST(V29, EveryByteOfEightBitFloats) {
  std::vector<uint8_t> bytes;
  std::vector<double> e4m3, e5m2;
  for (uint32_t code = 0; code < 256; ++code) {
    bytes.push_back(static_cast<uint8_t>(code));
    e4m3.push_back(decode_float(Format::f8e4m3, code));
    e5m2.push_back(decode_float(Format::f8e5m2, code));
  }
  EXPECT_EQ(e4m3[0x7e], 448);
  EXPECT_TRUE(std::isnan(e4m3[0x7f]) && std::isnan(e4m3[0xff]));
  EXPECT_EQ(e5m2[0x7c], inf);
  EXPECT_TRUE(std::isnan(e5m2[0x7d]) && std::isnan(e5m2[0xff]));
  Case c(
      "dim i = 256\ninput x[i] : f8e4m3, y[i] : f8e5m2\na[i] = x[i]\nb[i] = y[i]\n"
      "c[i] : f8e4m3 = x[i]\nd[i] : f8e5m2 = y[i]\noutput a, b, c, d\n");
  c.set_bytes("x", bytes).set_bytes("y", bytes);
  const auto runs = c.run();
  for (const char* name : {"a", "c"}) expect_values(runs, name, e4m3, 0);
  for (const char* name : {"b", "d"}) expect_values(runs, name, e5m2, 0);
}

TEST(V29, IntegersRoundThenClamp) {
  const std::vector<double> x = {126.5, 127.5, 127.6, -128.5, -129, nan, inf, -inf, 2.5, -0.5};
  const std::vector<double> i8 = {126, 127, 127, -128, -128, 0, 127, -128, 2, 0};
  const std::vector<double> u8 = {126, 128, 128, 0, 0, 0, 255, 0, 2, 0};
  const std::vector<double> i4 = {7, 7, 7, -8, -8, 0, 7, -8, 2, 0};
  const std::vector<double> u4 = {15, 15, 15, 0, 0, 0, 15, 0, 2, 0};
  const std::vector<double> i32 = {126, 128, 128, -128, -129, 0, 2147483647, -2147483648.0, 2, 0};
  for (const char* format : {"f32", "f64"}) {
    SCOPED_TRACE(format);
    Case c(
        fmt::format("dim i = 10\ninput x[i] : {}\na[i] = i8(x[i])\nb[i] : i8 = i32(x[i])\n"
                    "c[i] = u8(x[i])\nd[i] : u8 = i64(x[i])\ne[i] = i4(x[i])\n"
                    "f[i] : i4 = i32(x[i])\ng[i] = u4(x[i])\nh[i] : u4 = i32(x[i])\n"
                    "k[i] = i32(x[i])\noutput a, b, c, d, e, f, g, h, k\n",
                    format));
    c.set("x", x);
    const auto runs = c.run();
    for (const char* name : {"a", "b"}) expect_values(runs, name, i8, 0);
    for (const char* name : {"c", "d"}) expect_values(runs, name, u8, 0);
    for (const char* name : {"e", "f"}) expect_values(runs, name, i4, 0);
    for (const char* name : {"g", "h"}) expect_values(runs, name, u4, 0);
    expect_values(runs, "k", i32, 0);
  }
}

Diagnostics problems(const std::string& text, const Sizes& sizes = {}) {
  auto g = parse(text);
  if (!g) return g.error();
  Bindings bindings;
  bindings.flags = sizes;
  return bind(*g, bindings);
}

TEST(V30, RowsThatAreNoWholeBlocksAreRefused) {
  struct Row {
    const char* format;
    int extent, block;
  };
  for (const Row& row : {Row{"q4_k", 896, 256}, Row{"q4_k", 4544, 256}, Row{"q6_k", 896, 256},
                         Row{"q6_k", 4544, 256}, Row{"q8_0", 33, 32}, Row{"mxfp4", 16, 32}}) {
    const std::string fixed =
        fmt::format("dim i = 2, k = {0}\ninput w[i, k] : {1}\ny[i] = sum[k](w[i, k])\noutput y\n",
                    row.extent, row.format);
    const std::string symbolic = fmt::format(
        "param c\ndim i = 2, k = c\ninput w[i, c] : {}\ny[i] = sum[k](w[i, k])\n"
        "output y\n",
        row.format);
    for (const Diagnostics& found : {problems(fixed), problems(symbolic, {{"c", row.extent}})}) {
      ASSERT_EQ(found.size(), 1u) << row.format;
      EXPECT_EQ(found[0].id, "E0304");
      EXPECT_EQ(found[0].exit, Exit::bad_input);
      for (const std::string& word :
           {std::string("`w["), std::string(row.format), fmt::format("{}", row.block)})
        EXPECT_NE(found[0].message.find(word), std::string::npos) << found[0].message;
      EXPECT_FALSE(found[0].hint.empty());
    }
    EXPECT_TRUE(problems(symbolic, {{"c", 2 * row.block}}).empty());
    const auto array = make_array(*parse_format(row.format), {2, row.extent});
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().id, "E0706");
  }
}

TEST(V30, RowsOfWholeBlocksRun) {
  const std::pair<const char*, int> rows[] = {
      {"q8_0", 896}, {"q4_0", 4544}, {"mxfp4", 896}, {"q4_k", 1024}, {"q6_k", 768}};
  std::vector<Case> cases;
  for (const auto& [format, extent] : rows)
    cases.emplace_back(
        fmt::format("dim i = 3, k = {}\ninput w[i, k] : {}, x[k] : f32\n"
                    "y[i] = sum[k](w[i, k] * x[k])\nz[k] = max[i](w[i, k])\noutput y, z\n",
                    extent, format));
  for (const auto& runs : Case::run_all(cases)) {
    expect_agreement(runs, 1e-5);
    EXPECT_GT(std::abs(runs[0].real("y")), 0);
  }
}

// Blocks are found by the flat index: of other rows, through gathers, shifted and beyond the ends.
TEST(Blocks, ReadsOfEveryKind) {
  std::vector<Case> cases;
  for (const char* format : {"q8_0", "q4_0", "mxfp4", "q4_k", "q6_k"}) {
    const int extent = 2 * info(*parse_format(format)).block;
    cases.emplace_back(
        fmt::format("dim i = 5, h = 2, k = {1}, v = 7\n"
                    "input w[v, h, k] : {0}, t[i] : i32, x[k] : f64\n"
                    "a[i, h, k] = w[t[i], h, k]\n"
                    "b[h, v] = sum[k | k <= 3*v](w[v, h, k] * x[k])\n"
                    "c[k] = w?[2, 1, k - 3] + w?[6, 0, 2*k - 5]\n"
                    "d[v, k] : f16 = w[v, 0, {2} - k]\noutput a, b, c, d\n",
                    format, extent, extent - 1));
  }
  for (const auto& runs : Case::run_all(cases)) expect_agreement(runs, 1e-5);
}

// Each format as an input, as the storage of a definition and as a cast, together.
TEST(Formats, RealInputsDefinitionsAndCasts) {
  const Format formats[] = {Format::f64, Format::f32,    Format::tf32,  Format::bf16,
                            Format::f16, Format::f8e4m3, Format::f8e5m2};
  std::vector<Case> cases;
  for (const Format format : formats)
    cases.emplace_back(
        fmt::format("dim i = 5, k = 37\ninput x[i, k] : {0}, y[k] : f32\n"
                    "a[i, k] : {0} = x[i, k] * 0.75\nb[i] : {0} = sum[k](x[i, k])\n"
                    "c[i, k] = {0}(y[k]) + x[i, k]\nd[i] = sum[k](a[i, k])\n"
                    "output a, c, b, d\n",
                    name(format)));
  const auto runs = Case::run_all(cases);
  for (size_t k = 0; k < runs.size(); ++k) {
    SCOPED_TRACE(name(formats[k]));
    // A sum that is rounded may fall to either side.
    expect_agreement(runs[k], std::max(default_tolerance(formats[k]), 1e-6));
  }
}

TEST(Formats, IntegerInputsDefinitionsAndCasts) {
  std::vector<Case> cases;
  for (const char* format : {"i64", "i32", "i8", "u8", "i4", "u4"})
    cases.emplace_back(
        fmt::format("dim i = 5, k = 37\ninput x[i, k] : {0}, y[k] : f32\n"
                    "a[i, k] : {0} = 3 * x[i, k] - 9\nb[i] = sum[k](x[i, k])\n"
                    "c[i, k] = {0}(y[k] * 100) + x[i, k]\nd[i] = sum[k](a[i, k])\n"
                    "e[i, k] : {0} = x[i, k]\noutput a, b, c, d, e\n",
                    format));
  cases.emplace_back(
      "dim i = 5, k = 37\ninput x[i, k] : bool, y[k] : f32\na[i, k] : bool = not x[i, k]\n"
      "b[i] = sum[k](x[i, k])\nc[i, k] = bool(y[k]) or a[i, k]\noutput a, b, c\n");
  for (const auto& runs : Case::run_all(cases)) expect_agreement(runs, 0);
}

}  // namespace
}  // namespace tang::cases
