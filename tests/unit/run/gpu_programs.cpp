#include "unit/run/gpu_programs.h"

#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/array.h"
#include "loop/machine.h"
#include "loop/text.h"

namespace tang::gpu_programs {

namespace {

using loop::BufferId;
using loop::Role;
using Bytes = std::vector<std::byte>;

constexpr std::byte poison{0x5a};
constexpr size_t beyond = 64;  // bytes after each buffer that nobody touches

struct Memories {
  std::vector<Bytes> buffers;  // by BufferId; of storage only
  std::vector<int64_t> symbols;
};

// Numbers that are special to somebody, in turn; devices may take those next to 0 for 0.
void fill(Bytes& memory, const loop::Buffer& b, int64_t count, size_t seed) {
  constexpr double reals[] = {0.0,   -0.0,  INFINITY, -INFINITY, NAN,   1e-4,  0.5,  -0.5, 1,
                              -1,    2.5,   -3.75,    7,         20,    -20,   45,   1e4,  -1e4,
                              1e-30, 65504, 70000,    447,       6e-8,  1e-37, -3e9, 1e19, 0.3,
                              -0.7,  464,   3,        -2,        127.5, 3.4e38};
  constexpr int64_t integers[] = {
      0,          1,     -1,        2,          7,           -7,         3,         100,
      -128,       127,   128,       255,        300,         -300,       INT32_MAX, INT32_MIN,
      4294967297, 15,    INT64_MAX, INT64_MIN,  12345678901, -8,         8,         -9,
      16,         65536, 16777217,  3000000000, 33554435,    -4294967297};
  const bool small = b.name == "o" || (b.name == "r" && b.format == Format::i32);
  for (int64_t k = 0; k < count; ++k) {
    const size_t at = static_cast<size_t>(k) * (seed * 2 + 1) + seed * 5;
    if (small)
      store_integer(b.format, memory.data(), k, b.name == "o" ? k : k % 20);
    else if (kind(b.format) == Kind::real)
      store_element(b.format, memory.data(), k, reals[at % std::size(reals)]);
    else if (kind(b.format) == Kind::boolean)
      store_integer(b.format, memory.data(), k, static_cast<int64_t>(at / 2 % 2));
    else
      store_integer(b.format, memory.data(), k, integers[at % std::size(integers)]);
  }
}

Memories prepare(const LoopProgram& program) {
  Memories run;
  for (size_t k = 0; k < program.symbols.size(); ++k) run.symbols.push_back(k == 0 ? 41 : 37);
  for (size_t k = 0; k < program.buffers.size(); ++k) {
    const loop::Buffer& b = program.buffers[k];
    const int64_t count = *b.count.evaluate(run.symbols);
    Bytes memory(static_cast<size_t>(*bytes_for(b.format, count)) + beyond, poison);
    if (b.role == Role::input && is_block(b.format))
      for (size_t i = 0; i + beyond < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 37 + i / 11 * 5);
    else if (b.role == Role::input)
      fill(memory, b, count, k);
    run.buffers.push_back(std::move(memory));
  }
  return run;
}

// Error texts; empty: none.
std::string by_machine(const LoopProgram& program, Memories& run) {
  std::vector<void*> buffers;
  for (size_t k = 0; k < program.buffers.size(); ++k)
    buffers.push_back(run.buffers[loop::index(program.storage(static_cast<BufferId>(k)))].data());
  for (const loop::Kernel& kernel : program.kernels) {
    const auto done = loop::run(program, kernel, buffers, run.symbols, 100000000);
    if (!done) return done.error().message;
  }
  return {};
}

std::string by_driver(GpuDriver& driver, const LoopProgram& program, const GpuSource& source,
                      Memories& run) {
  auto module = driver.build(source);
  if (!module) return module.error().message;
  std::vector<std::unique_ptr<GpuMemory>> memory;
  for (const Bytes& bytes : run.buffers) {
    auto made = driver.allocate(static_cast<int64_t>(bytes.size()));
    if (!made) return made.error().message;
    memory.push_back(std::move(*made));
    if (auto ok = driver.write(*memory.back(), 0, bytes); !ok) return ok.error().message;
  }
  std::vector<GpuLaunch> launches;
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    GpuLaunch& l = launches.emplace_back();
    l.function = source.kernels[k];
    l.kernel = program.kernels[k].name;
    for (const BufferId id : bindings(program, program.kernels[k])) {
      const size_t owner = loop::index(id);
      l.bindings.push_back(
          {memory[owner].get(), 0, static_cast<int64_t>(run.buffers[owner].size() - beyond)});
    }
    for (const ParamId s : source.functions[l.function].symbols)
      l.symbols.push_back(run.symbols[index(s)]);
    l.groups = std::clamp<int64_t>(trips(program.kernels[k], run.symbols, 8), 1, 5);
  }
  auto sequence = driver.record(**module, launches);
  if (!sequence) return sequence.error().message;
  if (auto ok = (*sequence)->run(); !ok) return ok.error().message;
  for (size_t k = 0; k < memory.size(); ++k)
    if (auto ok = driver.read(*memory[k], 0, run.buffers[k]); !ok) return ok.error().message;
  return {};
}

// What the machine computes from f64 by formulas that are poor near 0, from the library.
std::optional<double> by_library(const std::string& row, double a) {
  if (row == "cos") return std::cos(a);
  if (row == "erfc") return std::erfc(a);
  if (row == "softplus") return a > 100 ? a : std::log1p(std::exp(a));
  if (row == "gelu") return a < -1024 ? 0 : a * 0.5 * std::erfc(-a * 0.7071067811865476);
  if (row == "log1p") return std::log1p(a);
  if (row == "expm1") return std::expm1(a);
  if (row == "tanh") return std::tanh(a);
  if (row == "erf") return std::erf(a);
  return std::nullopt;
}

// NaN with NaN, infinities alike, otherwise within roundings of f32.
bool agree(const std::string& row, double want, double got) {
  if (row == "mod") return true;  // what is left of a rounded quotient
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  if (row == "div" && std::abs(want - got) <= 1) return true;
  return std::abs(want - got) <= 2e-6 * std::max(std::abs(want), std::abs(got)) + 1.2e-38;
}

// The first value of each row of a buffer that differs.
std::string differences(const CorpusEntry& e, const Memories& expected, const Memories& found) {
  std::string text;
  for (size_t k = 0; k < e.program.buffers.size(); ++k) {
    const loop::Buffer& b = e.program.buffers[k];
    const auto owner = loop::index(e.program.storage(static_cast<BufferId>(k)));
    const int64_t count = *b.count.evaluate(expected.symbols);
    const Bytes &x = expected.buffers[owner], &y = found.buffers[owner];
    const bool compared = b.role == Role::output && !is_block(b.format);
    std::string last = "none";
    for (int64_t i = 0; compared && i < count; ++i) {
      const int64_t n = expected.symbols[0];
      const std::string row = e.rows.empty() ? "" : e.rows[static_cast<size_t>(i / n)];
      const auto value = [&](const Bytes& from) {
        return kind(b.format) == Kind::real
                   ? load_element(b.format, from.data(), i)
                   : static_cast<double>(load_integer(b.format, from.data(), i));
      };
      double want = value(x);
      if (e.name.starts_with("values") && kind(b.format) == Kind::real)
        if (auto better =
                by_library(row, load_element(b.format, expected.buffers[1].data(), i % n)))
          want = round_to(b.format, *better);
      const bool same = kind(b.format) == Kind::real ? agree(row, want, value(y))
                                                     : load_integer(b.format, x.data(), i) ==
                                                           load_integer(b.format, y.data(), i);
      if (same || row == last) continue;
      last = row;
      text += fmt::format("{} {}[{}] is {} and not {}\n", row, b.name, i, value(y), want);
    }
    for (size_t i = y.size() - beyond; i < y.size(); ++i)
      if (y[i] != poison) return text + "something wrote beyond " + b.name;
  }
  return text;
}

}  // namespace

int run_corpus(GpuDriver& driver, const std::vector<CorpusEntry>& corpus) {
  int ran = 0;
  for (const CorpusEntry& e : corpus) {
    const auto source = gpu_source(e.program, {driver.capability(), false});
    if (!source) {
      EXPECT_TRUE(source.error().id == "E0921" || source.error().id == "E0922")
          << e.name << ": " << source.error().message;
      continue;
    }
    Memories expected = prepare(e.program), found = expected;
    if (const std::string fault = by_machine(e.program, expected); !fault.empty()) {
      ADD_FAILURE() << e.name << " on the machine: " << fault;
      continue;
    }
    std::string fault = by_driver(driver, e.program, *source, found);
    if (fault.empty()) fault = differences(e, expected, found);
    if (fault.empty())
      ++ran;
    else
      ADD_FAILURE() << e.name << ": " << fault << "\n"
                    << loop::print(e.program) << source->functions[0].source;
  }
  return ran;
}

}  // namespace tang::gpu_programs
