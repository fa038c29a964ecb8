// Constant inputs: what is packed of them is packed once, and runs with other inputs read that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "eval/compare.h"
#include "eval/oracle.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "ir/reading.h"
#include "loop/machine.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "rewrite/pipeline.h"
#include "run/c_device.h"
#include "run/memory.h"
#include "verify/variant.h"

namespace tang::test {
namespace {

using testing::HasSubstr;
using testing::Not;

using Names = std::vector<std::string>;

struct Made {
  Graph graph;
  Variant variant;
  const LoopProgram& program() const { return variant.program(); }
};

Made make(const std::string& text, const Names& constants, PlanOptions options = {}) {
  Made m;
  m.graph = parse(text).value();
  EXPECT_TRUE(bind(m.graph, {}).empty());
  options.constants = constants;
  auto v = make_variant(derive(m.graph, {.keep_texts = false}).derived, options);
  EXPECT_TRUE(v) << (v ? "" : v.error().message);
  if (v) m.variant = std::move(*v);
  return m;
}

std::vector<Array> draw(const Graph& g, uint64_t seed) {
  std::vector<Array> arrays;
  for (TensorId t : inputs_of(g))
    arrays.push_back(random_input(g, t, bound_params(g), seed).value());
  return arrays;
}

// The outputs are what the oracle says of the arrays.
void expect_right(const Made& m, const std::vector<Array>& arrays, ProgramMemory& memory) {
  const Graph read = reading(m.graph);
  Given given;
  const std::vector<TensorId> ids = inputs_of(read);
  for (size_t k = 0; k < ids.size(); ++k) given[ids[k]] = &arrays[k];
  const auto want = evaluate(read, bound_params(read), given, {});
  ASSERT_TRUE(want);
  for (size_t k = 0; k < read.outputs.size(); ++k) {
    const TensorId t = read.outputs[k].tensor;
    Array& got = memory.array(m.variant.outputs[k]);
    got.shape = bound_shape(read, t);
    const Comparison c = compare(want->at(t), got);
    EXPECT_TRUE(c.passes(1e-4)) << read[t].name << ": error " << c.error;
  }
}

// The programs, with one run of the compiler.
std::vector<std::unique_ptr<Executable>> compile(const std::vector<Made>& all, int threads = 1) {
  static CDevice device;
  Diagnostics warnings;
  CompileOptions options;
  options.use_cache = false;
  options.threads = threads;
  options.flags = {"-std=gnu11", "-O1", "-march=native", "-ffp-contract=off"};
  std::vector<const LoopProgram*> programs;
  for (const Made& m : all) programs.push_back(&m.program());
  auto made = device.compile_all(programs, options, warnings);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? std::move(*made) : std::vector<std::unique_ptr<Executable>>();
}

// Prepares once and runs twice, with other values of all that is not constant, and without what
// prepares alone read.
void expect_two_runs(const Made& m, const Executable& program, const Names& constants) {
  std::vector<Array> arrays = draw(m.graph, 1);
  std::vector<Array*> inputs;
  for (Array& a : arrays) inputs.push_back(&a);
  const std::vector<int64_t> params = bound_params(m.graph);
  auto memory = ProgramMemory::make(m.program(), params, inputs, ProgramMemory::Workspace::joined,
                                    program.workspace_bytes(params).value());
  ASSERT_TRUE(memory);
  memory->poison();
  ASSERT_TRUE(program.prepare(memory->arguments(), params, memory->workspace()));
  std::vector<void*> arguments(memory->arguments().begin(), memory->arguments().end());
  const std::vector<loop::BufferId> order = m.program().arguments();
  for (size_t k = 0; k < order.size(); ++k)
    if (m.program().only_prepares(order[k])) arguments[k] = nullptr;
  const std::vector<TensorId> ids = inputs_of(m.graph);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    std::vector<Array> drawn = draw(m.graph, seed);
    for (size_t k = 0; k < ids.size(); ++k)
      if (std::count(constants.begin(), constants.end(), m.graph[ids[k]].name) == 0)
        std::copy_n(drawn[k].data.data(), drawn[k].data.size(), arrays[k].data.data());
    ASSERT_TRUE(program.run(arguments, params, memory->workspace()));
    expect_right(m, arrays, *memory);
  }
}

struct Program {
  const char* name;
  std::string text;
  Names constants;
};

std::string product_text(int64_t m, int64_t n, int64_t k, const std::string& weight,
                         const std::string& format = "f32") {
  return fmt::format(
      "dim m = {}, n = {}, k = {}\n"
      "input x[m, k] : f32\ninput w[{}] : {}\n"
      "y[m, n] = sum[k](x[m, k] * w[{}])\n"
      "output y\n",
      m, n, k, weight, format, weight);
}

const std::vector<Program>& programs() {
  static const std::vector<Program> all = {
      {"few rows", product_text(3, 37, 50, "n, k"), {"w"}},
      {"small", product_text(30, 21, 19, "n, k"), {"w"}},
      {"blocks of terms", product_text(50, 70, 700, "n, k"), {"w"}},
      {"as it is, but long", product_text(5, 160, 90, "k, n"), {"w"}},
      {"narrow format", product_text(20, 24, 40, "n, k", "f16"), {"w"}},
      {"codes and scales",
       "dim m = 2, n = 40, b = 3, k = 32\n"
       "input x[m, b, k] : f32\ninput q[n, b, k] : i8\ninput s[n, b] : f32\n"
       "y[m, n] = sum[b, k](x[m, b, k] * q[n, b, k] * s[n, b])\n"
       "output y\n",
       {"q", "s"}},
      {"vector",
       "dim n = 75, k = 33\ninput w[n, k], x[k] : f32\n"
       "y[n] = sum[k](w[n, k] * x[k])\noutput y\n",
       {"w"}},
      {"rows are constant",
       "dim m = 260, n = 32, k = 520\ninput w[m, k], x[k, n] : f32\n"
       "y[m, n] = sum[k](w[m, k] * x[k, n])\noutput y\n",
       {"w"}},
      {"maxima",
       "dim m = 4, n = 30, k = 17\ninput x[m, k], w[n, k] : f32\n"
       "y[m, n] = max[k](x[m, k] + w[n, k])\noutput y\n",
       {"w"}},
      {"wide reals",
       "dim m = 6, n = 20, k = 30\ninput x[m, k], w[n, k] : f64\n"
       "y[m, n] = sum[k](x[m, k] * w[n, k])\noutput y\n",
       {"w"}},
  };
  return all;
}

void expect_prepared(int threads) {
  std::vector<Made> all;
  for (const Program& p : programs()) {
    SCOPED_TRACE(p.name);
    all.push_back(make(p.text, p.constants, {.threads = threads, .shared_ns = 0}));
    EXPECT_EQ(all.back().program().prepares.size(), p.constants.size());
    EXPECT_THAT(loop::print(all.back().program()), HasSubstr(" prepared\n"));
  }
  const auto compiled = compile(all, threads);
  ASSERT_EQ(compiled.size(), all.size());
  for (size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(programs()[k].name);
    expect_two_runs(all[k], *compiled[k], programs()[k].constants);
  }
}

TEST(PreparedWindows, ArePackedOnceForAllRuns) { expect_prepared(1); }

TEST(PreparedWindows, AreReadByThreads) { expect_prepared(2); }

// Scalars that are read one by one, and large matrices by vectors, have nothing to gain.
TEST(PreparedWindows, AreNoneWherePanelsGainNothing) {
  const std::string convolution =
      "dim o = 20, c = 5, p = 12, q = 24, r = 3, s = 3\n"
      "input x[c, 12, 24], w[o, c, r, s] : f32\n"
      "y[o, p, q] = sum[c, r, s](x?[c, p + r - 1, q + s - 1] * w[o, c, r, s])\noutput y\n";
  const std::string vector =
      "dim n = 512, k = 512\ninput w[n, k], x[k] : f32\n"
      "y[n] = sum[k](w[n, k] * x[k])\noutput y\n";
  for (const std::string& text : {convolution, vector, product_text(2, 64, 64, "n, k", "f16"),
                                  product_text(30, 40, 40, "k, n")})
    EXPECT_TRUE(make(text, {"w"}).program().prepares.empty()) << text;
}

TEST(PreparedWindows, AreNoneWithoutConstants) {
  for (const Program& p : programs()) {
    const Made m = make(p.text, {});
    EXPECT_TRUE(m.program().prepares.empty()) << p.name;
    EXPECT_THAT(c_source(m.program()), Not(HasSubstr("tang_prepare"))) << p.name;
    EXPECT_THAT(c_header(m.program(), "y"), Not(HasSubstr("tang_prepare"))) << p.name;
  }
}

TEST(PreparedWindows, OfOneTensorAndLayoutAreOne) {
  std::vector<Made> all;
  all.push_back(
      make("dim m = 6, l = 12, n = 40, k = 40\n"
           "input x[m, k], w[n, k], v[l, k] : f32\n"
           "y[m, n] = sum[k](x[m, k] * w[n, k])\n"
           "z[l, n] = sum[k](v[l, k] * w[n, k])\n"
           "output y, z\n",
           {"w"}));
  const Made& m = all[0];
  EXPECT_EQ(m.program().kernels.size(), 2U);
  EXPECT_EQ(m.program().prepares.size(), 1U);
  const auto compiled = compile(all);
  ASSERT_EQ(compiled.size(), 1U);
  expect_two_runs(m, *compiled[0], {"w"});
}

// A definition of constants alone that is computed in a window.
TEST(PreparedWindows, OfDefinitionsOfConstants) {
  const std::string text =
      "dim i = 30, j = 70, d = 6, e = 4\n"
      "input x[i, d], k[j, d], v[j, e] : f32\n"
      "s[i, j] = sum[d](x[i, d] * k[j, d])\n"
      "o[i, e] = sum[j](exp(s[i, j]) * v[j, e])\noutput o\n";
  const Names constants = {"x", "k"};
  std::vector<Made> all;
  all.push_back(make(text, constants));
  const Made& m = all[0];
  ASSERT_EQ(m.program().kernels.size(), 1U);
  EXPECT_EQ(m.program().prepares.size(), 1U);
  EXPECT_TRUE(m.program().only_prepares(*m.program().find_buffer("x")));
  const auto compiled = compile(all);
  ASSERT_EQ(compiled.size(), 1U);
  expect_two_runs(m, *compiled[0], constants);
}

TEST(PreparedWindows, AreInTheHeader) {
  const Made m = make(product_text(3, 37, 50, "n, k"), {"w"});
  const std::string header = c_header(m.program(), "y");
  EXPECT_THAT(header, HasSubstr("int tang_prepare(void *const *buffers, const int64_t *symbols, "
                                "void *workspace);"));
  EXPECT_THAT(header, HasSubstr("tang_run does not read w: null will do."));
  EXPECT_THAT(header, HasSubstr("prepared, 2400 of f32, filled by tang_prepare"));
  EXPECT_EQ(m.program().arguments().size(), 4U);
  const auto record = manifest(m.program(), "y.c");
  EXPECT_EQ(record["prepare_entry"], "tang_prepare");
  EXPECT_EQ(record["buffers"][3]["role"], "prepared");
}

TEST(PreparedWindows, OnlyOfInputsThatStay) {
  const std::string text = "dim i = 8\ninput x[i] : f32\ny[i] = x[i] + 1\noutput y into x\n";
  const Graph g = parse(text).value();
  EXPECT_EQ(constant_inputs(g, {"x"}).error().id, "E0809");
  const auto unknown = constant_inputs(g, {"xx"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().exit, Exit::bad_input);
  EXPECT_THAT(unknown.error().hint, HasSubstr("`x`"));
}

TEST(PreparePrograms, AreWrittenAndRead) {
  const Made m = make(product_text(3, 37, 50, "n, k"), {"w"});
  const std::string text = loop::print(m.program());
  EXPECT_THAT(text, HasSubstr("\nprepare w_prepare reads w writes "));
  const auto again = loop::parse_program(text, "text");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(loop::print(*again), text);
  EXPECT_TRUE(loop::verify(*again).empty());
}

TEST(PreparePrograms, WriteWhatIsPreparedAndNothingElse) {
  const std::string head = "buffer x : f32[4] input\nbuffer p : f32[4] prepared\n";
  const std::string out = "buffer y : f32[4] output\n";
  const std::string fill = "{\n  store p[0] = x[0]\n}\n", use = "{\n  store y[0] = p[0]\n}\n";
  const auto fault = [](const std::string& text) {
    const auto program = loop::parse_program(text, "text");
    EXPECT_TRUE(program) << (program ? "" : program.error().message);
    if (!program) return std::string();
    const Diagnostics all = loop::verify(*program);
    return all.empty() ? "" : all[0].message;
  };
  const std::string run = "\nkernel y reads p writes y " + use;
  EXPECT_EQ(fault(head + out + "\nprepare p_1 reads x writes p " + fill + run), "");
  EXPECT_THAT(fault(head + out + run), HasSubstr("before it is written"));
  EXPECT_THAT(fault(head + out + "\nkernel p_1 reads x writes p " + fill + run),
              HasSubstr("which is prepared"));
  EXPECT_THAT(fault(head + out + "\nprepare y_1 reads x writes y {\n  store y[0] = x[0]\n}\n"),
              HasSubstr("not prepared"));
  EXPECT_THAT(
      fault(head + "buffer y : f32[4] output into x\n\nprepare p_1 reads x writes p " + fill + run),
      HasSubstr("stays as it is"));
}

}  // namespace
}  // namespace tang::test
