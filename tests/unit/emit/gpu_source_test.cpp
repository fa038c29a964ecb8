// Kernels for groups of threads: every dialect's compiler takes them, and OpenCL runs them as the
// machine of loop programs does.
#include "emit/gpu_source.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "corpus.h"
#include "loop/machine.h"
#include "nvrtc.h"
#include "open_cl.h"

namespace tang {
namespace {

using loop::BufferId;
using loop::Role;

Capability generous(Dialect dialect) {
  Capability c = least(dialect);
  c.buffers = 16;
  c.subgroup = 32;
  return c;
}

std::vector<CorpusEntry> corpus() {
  std::vector<CorpusEntry> all;
  for (const auto* list : {&scalar_corpus(), &group_corpus(), &exchange_corpus()})
    for (const CorpusEntry& e : *list) all.push_back(e);
  return all;
}

TEST(GpuSource, NvrtcTakesCuda) {
  if (!Nvrtc::instance().there()) GTEST_SKIP() << "there is no NVRTC";
  int compiled = 0;
  for (const bool wide : {false, true}) {
    for (const CorpusEntry& e : corpus()) {
      if (wide && e.name.find('_') != std::string::npos) continue;
      const auto source = gpu_source(e.program, {generous(Dialect::cuda), wide});
      ASSERT_TRUE(source) << e.name << ": " << source.error().message;
      for (const GpuFunction& f : source->functions) {
        const std::string log =
            Nvrtc::instance().compile(f.source, {"--gpu-architecture=compute_80", "--fmad=false"});
        EXPECT_EQ(log, "") << e.name << "\n" << f.source;
        ++compiled;
        if (!log.empty()) return;
      }
    }
  }
  EXPECT_GT(compiled, 50);
}

// ---- compilers of the command line
// ---------------------------------------------------------------

bool has(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(GpuSource, GlslangTakesGlsl) {
  if (!has("glslangValidator") || !has("spirv-val"))
    GTEST_SKIP() << "there is no glslangValidator or spirv-val";
  const std::string folder = testing::TempDir() + "tang_glsl";
  std::filesystem::create_directories(folder);
  for (const bool native : {false, true}) {
    Capability device = generous(Dialect::glsl);
    device.threads = 256;
    device.i64 = device.f64 = native;
    std::vector<std::string> files;
    for (const CorpusEntry& e : corpus()) {
      if (native && e.name.find("64") == std::string::npos && e.name != "exchanged") continue;
      const auto source = gpu_source(e.program, {device, false});
      if (!source && source.error().id == "E0922") continue;
      ASSERT_TRUE(source) << e.name << ": " << source.error().message;
      for (const GpuFunction& f : source->functions) {
        files.push_back(fmt::format("{}/{}_{}.comp", folder, native, files.size()));
        write_file(files.back(), "// " + e.name + "\n" + f.source);
      }
    }
    EXPECT_GT(files.size(), native ? 5U : 50U);
    std::string command = "cd " + folder + " && for f in";
    for (const std::string& file : files) command += " " + file;
    command +=
        "; do glslangValidator -V --target-env vulkan1.1 $f -o $f.spv >$f.log 2>&1 && spirv-val "
        "--target-env vulkan1.1 $f.spv >>$f.log 2>&1 || { head -1 $f; cat $f.log; exit 1; }; done";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}

TEST(GpuSource, ClangTakesMsl) {
  if (!has("clang-14")) GTEST_SKIP() << "there is no clang-14";
  const std::string folder = testing::TempDir() + "tang_msl";
  std::filesystem::create_directories(folder);
  std::string command;
  int count = 0;
  for (const CorpusEntry& e : corpus()) {
    const auto source = gpu_source(e.program, {generous(Dialect::msl), count % 2 == 1});
    if (!source && source.error().id == "E0922") continue;
    ASSERT_TRUE(source) << e.name << ": " << source.error().message;
    for (const GpuFunction& f : source->functions) {
      write_file(fmt::format("{}/{}.metal", folder, e.name), f.source);
      command += fmt::format(
          "&& clang-14 -x cl -cl-std=clc++2021 -target x86_64-linux-gnu "
          "-fsyntax-only -Werror -Wno-unknown-attributes -Wno-unknown-pragmas "
          "-Wno-unused -I tests/unit/emit/msl {}/{}.metal ",
          folder, e.name);
      ++count;
    }
  }
  EXPECT_GT(count, 50);
  EXPECT_EQ(std::system(("true " + command).c_str()), 0);
}

// Writes the sources where TANG_TEST_SOURCES says, for other compilers to read.
TEST(GpuSource, WgslIsEmitted) {
  const char* folder = std::getenv("TANG_TEST_SOURCES");
  int count = 0;
  for (const CorpusEntry& e : corpus()) {
    const auto source = gpu_source(e.program, {generous(Dialect::wgsl), false});
    if (!source && source.error().id == "E0922") continue;
    ASSERT_TRUE(source) << e.name << ": " << source.error().message;
    for (const GpuFunction& f : source->functions) {
      ++count;
      EXPECT_EQ(f.source.find("f64"), std::string::npos) << f.source;
      if (folder) write_file(fmt::format("{}/{}.wgsl", folder, e.name), f.source);
    }
  }
  EXPECT_GT(count, 50);
}

// ---- running ------------------------------------------------------------------------------------

struct Memories {
  std::vector<std::vector<std::byte>> memory;  // by buffer
  std::vector<int64_t> symbols;
};

// Numbers that are special to somebody, in turn.
void fill(std::vector<std::byte>& memory, Format format, int64_t count, size_t seed,
          const std::string& name) {
  const double reals[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN,   1e-4,  0.5, -0.5, 1,     -1,
                          2.5,  -3.75, 7,        20,        -20,   45,    50,  -88,  89,    100,
                          -100, 1e4,   -1e4,     1e-30,     65504, 70000, 447, 6e-8, 1e-45, -3e9,
                          1e19, 0.3,   -0.7,     3.4e38,    464,   3,     -2,  127.5};
  const int64_t integers[] = {
      0,          1,           -1,        2,         7,           -7,         3,         100,
      -128,       127,         128,       255,       300,         -300,       INT32_MAX, INT32_MIN,
      4294967297, -4294967297, INT64_MAX, INT64_MIN, 12345678901, 3000000000, 15,        -8,
      8,          -9,          16,        65536,     16777217,    33554435};
  const bool sizes = name == "o", places = name == "r" && format == Format::i32;
  for (int64_t k = 0; k < count; ++k) {
    const size_t at = static_cast<size_t>(k) * (seed * 2 + 1) + seed * 5;
    if (sizes)
      store_integer(format, memory.data(), k, k);
    else if (places)
      store_integer(format, memory.data(), k, k % 20);
    else if (kind(format) == Kind::real)
      store_element(format, memory.data(), k, reals[at % std::size(reals)]);
    else if (kind(format) == Kind::boolean)
      store_integer(format, memory.data(), k, static_cast<int64_t>(at / 2 % 2));
    else
      store_integer(format, memory.data(), k, integers[at % std::size(integers)]);
  }
}

Memories prepare(const LoopProgram& program) {
  Memories run;
  for (size_t k = 0; k < program.symbols.size(); ++k) run.symbols.push_back(k == 0 ? 41 : 37);
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const loop::Buffer& b = program.buffers[k];
    const int64_t count = *b.count.evaluate(run.symbols);
    std::vector<std::byte> memory(static_cast<size_t>(*bytes_for(b.format, count)) + 64,
                                  std::byte{0xee});
    if (b.role == Role::input && is_block(b.format))
      for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 37 + i / 11 * 5);
    else if (b.role == Role::input)
      fill(memory, b.format, count, k, b.name);
    run.memory.push_back(std::move(memory));
  }
  return run;
}

void by_machine(const LoopProgram& program, Memories& run) {
  std::vector<void*> buffers;
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const auto owner = loop::index(program.storage(static_cast<BufferId>(k)));
    buffers.push_back(run.memory[owner].data());
  }
  for (const loop::Kernel& kernel : program.kernels) {
    const auto done = loop::run(program, kernel, buffers, run.symbols, 100000000);
    ASSERT_TRUE(done) << done.error().message;
  }
}

void by_open_cl(const LoopProgram& program, const GpuSource& source, Memories& run) {
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const GpuFunction& f = source.functions[source.kernels[k]];
    std::vector<std::vector<std::byte>*> memory;
    for (const BufferId id : bindings(program, program.kernels[k]))
      memory.push_back(&run.memory[loop::index(id)]);
    std::vector<int64_t> symbols;
    for (const ParamId s : f.symbols) symbols.push_back(run.symbols[index(s)]);
    const int64_t trips = tang::trips(program.kernels[k], run.symbols, 8);
    const int64_t groups = std::clamp<int64_t>(trips, 1, 5);
    const std::string problem =
        OpenClRunner::instance().run(f.source, f.entry, groups, f.threads, memory, symbols);
    ASSERT_EQ(problem, "") << f.source;
  }
}

// Whether two reals agree: NaN with NaN, infinities alike, otherwise within the tolerance.
bool agree(const std::string& name, Format format, double a, double b) {
  if (name == "mod") return true;  // what is left of a rounded quotient
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  if (name == "div" && std::abs(a - b) <= 1) return true;
  const double tolerance = format == Format::f64 ? 1e-12 : 2e-6;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b)) + 1e-37;
}

// What the machine's formulas give far from zero is theirs alone.
std::optional<double> by_library(const std::string& row, double a) {
  if (row == "cos") return std::cos(a);
  if (row == "log1p") return std::log1p(a);
  if (row == "erf") return std::erf(a);
  if (row == "erfc") return std::erfc(a);
  if (row == "tanh") return std::tanh(a);
  if (row == "softplus") return a > 100 ? a : std::log1p(std::exp(a));
  if (row == "gelu") return a < -1024 ? 0 : a * 0.5 * std::erfc(-a * 0.7071067811865476);
  return std::nullopt;
}

void compare(const CorpusEntry& e, const Memories& expected, const Memories& found, bool exact) {
  for (size_t k = 0; k < e.program.buffers.size(); ++k) {
    const loop::Buffer& b = e.program.buffers[k];
    if (b.role != Role::output) continue;
    const auto owner = loop::index(e.program.storage(static_cast<BufferId>(k)));
    const int64_t count = *b.count.evaluate(expected.symbols);
    const std::byte *x = expected.memory[owner].data(), *y = found.memory[owner].data();
    for (int64_t i = 0; i < count; ++i) {
      const std::string row =
          e.rows.empty() ? "" : e.rows[static_cast<size_t>(i / expected.symbols[0])];
      if (kind(b.format) != Kind::real) {
        ASSERT_EQ(load_integer(b.format, x, i), load_integer(b.format, y, i))
            << e.name << " " << row << " " << b.name << "[" << i << "]";
        continue;
      }
      double want = load_element(b.format, x, i);
      if (e.name.starts_with("values")) {
        const double a = load_element(b.format, expected.memory[1].data(), i % expected.symbols[0]);
        if (const auto better = by_library(row, a)) want = round_to(b.format, *better);
      }
      const double got = load_element(b.format, y, i);
      const bool same = exact ? (std::isnan(want) && std::isnan(got)) ||
                                    std::bit_cast<uint64_t>(want) == std::bit_cast<uint64_t>(got)
                              : agree(row, b.format, want, got);
      ASSERT_TRUE(same) << e.name << " " << row << " " << b.name << "[" << i << "]: " << want
                        << ", " << got;
    }
    const size_t bytes = static_cast<size_t>(*bytes_for(b.format, count));
    for (size_t i = bytes; i < bytes + 64; ++i)
      ASSERT_EQ(y[i], std::byte{0xee}) << e.name << ": wrote past " << b.name;
  }
}

TEST(GpuSource, OpenClRunsAsTheMachineDoes) {
  if (!OpenClRunner::instance().there()) GTEST_SKIP() << "there is no OpenCL device";
  Capability device = generous(Dialect::opencl);
  device.f64 = true;
  for (const bool wide : {false, true}) {
    for (const CorpusEntry& e : scalar_corpus()) {
      if (wide && e.name.find('_') != std::string::npos) continue;
      const auto source = gpu_source(e.program, {device, wide});
      ASSERT_TRUE(source) << e.name << ": " << source.error().message;
      Memories expected = prepare(e.program), found = expected;
      by_machine(e.program, expected);
      by_open_cl(e.program, *source, found);
      if (HasFatalFailure()) return;
      const bool moves = e.name.starts_with("load") || e.name.starts_with("store") ||
                         e.name.starts_with("round") || e.name.starts_with("cast") ||
                         e.name == "constants";
      compare(e, expected, found, moves);
    }
  }
}

// ---- groups, by hand ----------------------------------------------------------------------------

const CorpusEntry& group(const std::string& name) {
  for (const CorpusEntry& e : group_corpus())
    if (e.name == name) return e;
  return group_corpus().front();
}

void run_group(const CorpusEntry& e, Memories& memories) {
  const auto source = gpu_source(e.program, {generous(Dialect::opencl), false});
  ASSERT_TRUE(source) << source.error().message;
  by_open_cl(e.program, *source, memories);
}

float number(const std::vector<std::byte>& memory, int64_t k) {
  return static_cast<float>(load_element(Format::f32, memory.data(), k));
}

TEST(GpuSource, OpenClRunsGroups) {
  if (!OpenClRunner::instance().there()) GTEST_SKIP() << "there is no OpenCL device";
  Memories m = prepare(group("reversed").program);
  for (int64_t k = 0; k < 64 * 41; ++k)
    store_element(Format::f32, m.memory[0].data(), k, static_cast<double>(k));
  run_group(group("reversed"), m);
  for (int64_t k = 0; k < 64 * 41; ++k)
    ASSERT_EQ(number(m.memory[1], k), static_cast<float>(k / 64 * 64 + 63 - k % 64)) << k;

  m = prepare(group("reduced").program);
  for (int64_t k = 0; k < 41 * 37; ++k)
    store_element(Format::f32, m.memory[0].data(), k, static_cast<double>(k));
  run_group(group("reduced"), m);
  for (int64_t i = 0; i < 41; ++i)
    ASSERT_EQ(number(m.memory[1], i), static_cast<float>(37 * 37 * i + 37 * 36 / 2)) << i;

  m = prepare(group("uneven").program);
  run_group(group("uneven"), m);
  for (int64_t k = 0; k < 8 * 41; ++k)
    ASSERT_EQ(number(m.memory[1], k), static_cast<float>((k % 8 + k / 8) % 8)) << k;
}

// ---- limits, numbers of groups, equal kernels ---------------------------------------------------

std::string refusal(const std::string& name, Capability device, bool wide = false) {
  for (const CorpusEntry& e : corpus()) {
    if (e.name != name) continue;
    const auto source = gpu_source(e.program, {device, wide});
    if (source) return "";
    EXPECT_EQ(source.error().exit, Exit::target_limit);
    return source.error().id + ": " + source.error().message;
  }
  return "no such program";
}

TEST(GpuSource, RefusesWhatExceedsTheDevice) {
  Capability device = least(Dialect::opencl);
  device.threads = 16;
  EXPECT_EQ(refusal("reduced", device),
            "E0921: kernel `reduced` needs 32 threads in a group, the device offers 16");
  device = least(Dialect::opencl);
  device.shared_bytes = 100;
  EXPECT_EQ(refusal("reversed", device),
            "E0921: kernel `reversed` needs 256 bytes of shared memory, the device offers 100");
  device = least(Dialect::opencl);
  device.buffers = 2;
  EXPECT_EQ(refusal("gathered", device),
            "E0921: kernel `gathered` needs 3 buffers, the device offers 2");
  device = least(Dialect::cuda);
  device.subgroup = 4;
  EXPECT_EQ(refusal("exchanged", device),
            "E0921: kernel `exchanged` needs 5 threads that exchange values, the device offers 4");
  EXPECT_EQ(refusal("load_f64", least(Dialect::wgsl)),
            "E0922: kernel `k` computes `x` in f64, which the device does not");
  EXPECT_EQ(refusal("load_q4_k", least(Dialect::opencl)).substr(0, 5), "E0922");
  EXPECT_EQ(refusal("load_q4_k_f32", least(Dialect::opencl)), "");
  device = generous(Dialect::glsl);
  device.f64 = device.i64 = true;
  EXPECT_EQ(refusal("values_f64", device),
            "E0922: kernel `k` computes `sin` in f64, which GLSL does not");
  EXPECT_EQ(refusal("sums", least(Dialect::wgsl), true),
            "E0921: kernel `sums` needs indices of 64 bits, wgsl has 32");
}

TEST(GpuSource, CountsTrips) {
  const auto trips_of = [](const std::string& name, std::vector<int64_t> symbols) {
    for (const CorpusEntry& e : corpus())
      if (e.name == name) return trips(e.program.kernels[0], symbols, 99);
    return int64_t{-1};
  };
  EXPECT_EQ(trips_of("sums", {5, 3}), 5);
  EXPECT_EQ(trips_of("transposed", {5, 3}), 15);
  EXPECT_EQ(trips_of("transposed", {5, 0}), 0);
  EXPECT_EQ(trips_of("reversed", {5}), 5);
  EXPECT_EQ(trips_of("alone", {5}), 1);
  EXPECT_EQ(trips_of("counted", {5}), 99);
}

TEST(GpuSource, EqualKernelsAreOneFunction) {
  for (const CorpusEntry& e : scalar_corpus()) {
    if (e.name != "twice") continue;
    const auto source = gpu_source(e.program, {least(Dialect::opencl), false});
    ASSERT_TRUE(source);
    EXPECT_EQ(source->functions.size(), 1U);
    EXPECT_EQ(source->kernels, (std::vector<size_t>{0, 0}));
    return;
  }
  FAIL();
}

std::string source_of(const std::string& name, Capability device, bool wide) {
  for (const CorpusEntry& e : corpus()) {
    if (e.name != name) continue;
    const auto source = gpu_source(e.program, {device, wide});
    return source ? source->functions[0].source : source.error().message;
  }
  return "";
}

// WGSL has one scope for buffers and functions.
TEST(GpuSource, FunctionsAndBuffersDifferInName) {
  for (const CorpusEntry& e : scalar_corpus()) {
    if (e.name != "twice") continue;
    LoopProgram program = e.program;
    program.kernels.erase(program.kernels.begin());
    const auto source = gpu_source(program, {least(Dialect::wgsl), false});
    ASSERT_TRUE(source);
    EXPECT_EQ(source->functions[0].entry, "y");
    EXPECT_NE(source->functions[0].source.find(" y_1: array<f32>"), std::string::npos);
    return;
  }
  FAIL();
}

// An element past 2^31 is found by indices that are wide all the way.
TEST(GpuSource, WideIndicesHave64Bits) {
  const std::string wide = source_of("sums", least(Dialect::cuda), true);
  EXPECT_NE(wide.find("for (long long turn"), std::string::npos) << wide;
  EXPECT_EQ(wide.find("(int)n"), std::string::npos) << wide;
  const std::string narrow = source_of("sums", least(Dialect::cuda), false);
  EXPECT_NE(narrow.find("for (int turn"), std::string::npos) << narrow;
}

// WGSL wants to see that all threads come to the barriers inside.
TEST(GpuSource, BoundsFromMemoryAreMadeUniform) {
  EXPECT_NE(source_of("uneven", least(Dialect::wgsl), false).find("workgroupUniformLoad"),
            std::string::npos);
  EXPECT_EQ(source_of("reduced", least(Dialect::wgsl), false).find("workgroupUniformLoad"),
            std::string::npos);
}

TEST(GpuSource, NeighboursAreOneAccess) {
  for (const Dialect dialect : {Dialect::cuda, Dialect::opencl, Dialect::msl}) {
    const std::string text = source_of("wide", generous(dialect), false);
    EXPECT_NE(text.find("float4*)"), std::string::npos) << text;
    EXPECT_NE(text.find("uint4*)"), std::string::npos) << text;
  }
  Capability device = least(Dialect::cuda);
  device.vector_bytes = 4;
  EXPECT_EQ(source_of("wide", device, false).find("float2*)"), std::string::npos);
}

TEST(GpuSource, IsTheSameForTheSameProgram) {
  for (const Dialect d :
       {Dialect::cuda, Dialect::opencl, Dialect::glsl, Dialect::wgsl, Dialect::msl})
    EXPECT_EQ(source_of("vectors", generous(d), false), source_of("vectors", generous(d), false));
}

}  // namespace
}  // namespace tang
