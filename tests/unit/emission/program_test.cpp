// Whole programs: sizes, workspace, names, what the object refers to, and the manifest.
#include <cmath>
#include <fstream>
#include <numeric>

#include "emit/c_source.h"
#include "emit/namer.h"
#include "emit/workspace.h"
#include "harness.h"
#include "run/compiler.h"

namespace tang {
namespace {

using loop::BufferId;
using loop::Builder;
using loop::Role;
using loop::Type;
using loop::Value;

// y[i] = sum over j of x[i, j] and through a chain of workspace buffers of different sizes.
LoopProgram chain() {
  Builder p;
  const ParamId n = p.symbol("n"), m = p.symbol("m");
  const Poly size = Poly::param(n) * Poly::param(m);
  const BufferId x = p.buffer("x", Format::f32, size, Role::input);
  const BufferId y = p.buffer("y", Format::f32, Poly::param(n), Role::output);
  const BufferId a = p.buffer("a", Format::f32, size, Role::workspace);
  const BufferId b = p.buffer("b", Format::f64, Poly::param(n) + Poly(1), Role::workspace);
  const BufferId c = p.buffer("c", Format::f32, size, Role::workspace);
  p.begin_kernel("a");
  p.for_("i", p.integer(0), p.poly(size),
         [&](Value i) { p.store(a, i, p.add(p.load(x, i), p.f32(1))); },
         {.hint = loop::Hint::vector});
  p.end_kernel();
  p.begin_kernel("b");
  p.for_("i", p.integer(0), p.symbol(n), [&](Value i) {
    const Value s = p.var("s", p.f64(0));
    p.for_("j", p.integer(0), p.symbol(m), [&](Value j) {
      p.assign(s, p.add(s, p.cast(Type::f64, p.load(a, p.add(p.mul(i, p.symbol(m)), j)))));
    });
    p.store(b, i, s);
  });
  p.end_kernel();
  p.begin_kernel("c");
  p.for_("i", p.integer(0), p.symbol(n), [&](Value i) {
    p.for_("j", p.integer(0), p.symbol(m), [&](Value j) {
      p.store(c, p.add(p.mul(i, p.symbol(m)), j), p.cast(Type::f32, p.load(b, i)));
    });
  });
  p.end_kernel();
  p.begin_kernel("y");
  p.for_("i", p.integer(0), p.symbol(n), [&](Value i) {
    const Value s = p.var("s", p.f32(-INFINITY));
    p.for_("j", p.integer(0), p.symbol(m),
           [&](Value j) { p.assign(s, p.max(s, p.load(c, p.add(p.mul(i, p.symbol(m)), j)))); });
    p.store(y, i, s);
  });
  p.end_kernel();
  return *p.finish();
}

TEST(EmitProgram, SymbolicSizesAndZeroSizes) {
  const LoopProgram program = chain();
  for (const CompileOptions& options : variants()) {
    const auto executable = compile(program, options);
    for (auto [n, m] :
         {std::pair<int64_t, int64_t>{3, 5}, {1, 1}, {17, 64}, {0, 4}, {4, 0}, {0, 0}}) {
      std::vector<float> x(static_cast<size_t>(n * m));
      std::iota(x.begin(), x.end(), 0.0f);
      std::vector<float> y(static_cast<size_t>(n) + 1, 7.0f);
      ASSERT_TRUE(run(*executable, {x.data(), y.data()}, {n, m}));
      for (int64_t i = 0; i < n; ++i) {
        float want = m == 0 ? -INFINITY : static_cast<float>(m);
        for (int64_t j = 0; j < m; ++j) want += x[static_cast<size_t>(i * m + j)];
        EXPECT_EQ(y[static_cast<size_t>(i)], want);
      }
      EXPECT_EQ(y[static_cast<size_t>(n)], 7.0f);
    }
  }
}

TEST(EmitProgram, WrongSizesAreRefused) {
  Builder p;
  const ParamId n = p.symbol("n");
  p.require_nonnegative(Poly::param(n) - Poly(3));
  const BufferId y = p.buffer("y", Format::f32, Poly::param(n) * Poly::param(n), Role::output);
  const BufferId w = p.buffer("w", Format::f32, 4, Role::workspace);
  p.begin_kernel("k");
  p.store(w, p.integer(0), p.f32(1));
  p.store(y, p.integer(0), p.load(w, p.integer(0)));
  p.end_kernel();
  const auto executable = compile(*p.finish(), variants()[0]);
  float out[100] = {};
  for (int64_t bad : {int64_t{-1}, int64_t{2}, INT64_MAX, int64_t{1} << 31, INT64_MIN}) {
    EXPECT_FALSE(executable->workspace_bytes(std::vector<int64_t>{bad})) << bad;
    const auto result = run(*executable, {out}, {bad});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().id, "E0701");
  }
  EXPECT_TRUE(run(*executable, {out}, {3}));
  EXPECT_FALSE(executable->run(std::vector<void*>{out}, std::vector<int64_t>{3}, nullptr));
  EXPECT_FALSE(executable->run(std::vector<void*>{}, std::vector<int64_t>{3}, out));
  EXPECT_FALSE(executable->run(std::vector<void*>{out}, std::vector<int64_t>{}, out));
}

TEST(EmitProgram, WorkspaceIsSharedByLifetime) {
  const LoopProgram program = chain();
  const WorkspacePlan plan = plan_workspace(program);
  ASSERT_EQ(plan.places.size(), 3u);
  // a lives in kernels 0–1, b in 1–2, c in 2–3: c takes a's place.
  const WorkspaceSizes sizes = measure(program, plan, {64, 64});
  EXPECT_EQ(sizes.offsets, (std::vector<int64_t>{0, 16384, 0}));
  EXPECT_EQ(sizes.total, 16384 + 576);
  const auto executable = compile(program, variants()[0]);
  EXPECT_EQ(*executable->workspace_bytes(std::vector<int64_t>{64, 64}), sizes.total);
}

// Random lifetimes: places of buffers that live together never overlap, at several sizes.
TEST(EmitProgram, WorkspacePlansNeverOverlap) {
  uint64_t state = 3;
  const auto next = [&](uint64_t range) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % range;
  };
  for (int round = 0; round < 200; ++round) {
    LoopProgram program;
    program.symbols = {"n", "m"};
    program.kernels.resize(6);
    const Poly n = Poly::param(ParamId{0}), m = Poly::param(ParamId{1});
    const Poly sizes[] = {Poly(100), n, m, n * m, n + Poly(5), Poly(3)};
    for (uint32_t k = 0; k < 10; ++k) {
      program.buffers.push_back(
          {"b" + std::to_string(k), Format::f32, sizes[next(6)], Role::workspace, {}});
      const size_t first = next(6), last = first + next(6 - first);
      program.kernels[first].writes.push_back(BufferId{k});
      program.kernels[last].reads.push_back(BufferId{k});
    }
    const WorkspacePlan plan = plan_workspace(program);
    for (const std::vector<int64_t>& symbols :
         {std::vector<int64_t>{0, 0}, {1, 1000}, {1000, 1}, {37, 41}, {100, 0}}) {
      const WorkspaceSizes at = measure(program, plan, symbols);
      for (size_t a = 0; a < plan.places.size(); ++a) {
        for (size_t b = 0; b < a; ++b) {
          const auto &p = plan.places[a], &q = plan.places[b];
          if (p.last < q.first || q.last < p.first) continue;
          const auto end = [&](size_t k) {
            const auto& buffer = program[plan.places[k].buffer];
            return at.offsets[k] + 4 * *buffer.count.evaluate(symbols);
          };
          EXPECT_TRUE(end(a) <= at.offsets[b] || end(b) <= at.offsets[a]);
          EXPECT_LE(end(a), at.total);
          EXPECT_EQ(at.offsets[a] % 64, 0);
        }
      }
    }
  }
}

TEST(EmitProgram, NamesThatAreWordsOfC) {
  Builder p;
  const ParamId n = p.symbol("int");
  const BufferId x = p.buffer("double", Format::f32, Poly::param(n), Role::input);
  const BufferId y = p.buffer("expf", Format::f32, Poly::param(n), Role::output);
  p.begin_kernel("main");
  p.for_("for", p.integer(0), p.symbol(n), [&](Value i) {
    const Value a = p.let("exp", p.load(x, i));
    const Value b = p.let("tang_exp_f32", p.exp(a));
    const Value c = p.let("NAN", p.op(loop::Op::tanh, {b}));
    p.store(y, i, p.let("_Bool", p.let("k_main", c)));
  });
  p.end_kernel();
  p.begin_kernel("tang_run");
  p.store(y, p.integer(0), p.f32(NAN));
  p.end_kernel();
  auto program = p.finish();
  ASSERT_TRUE(program) << program.error().message;
  for (const CompileOptions& options : variants()) {
    std::vector<float> in = {0, 1}, out(2);
    const auto executable = compile(*program, options);
    ASSERT_TRUE(run(*executable, {in.data(), out.data()}, {2}));
    EXPECT_NEAR(out[1], std::tanh(std::exp(1.0)), 1e-6);
  }
}

TEST(EmitProgram, NamerIsDeterministicAndUnique) {
  Namer a("if else");
  EXPECT_EQ(a.name("if"), "if_1");
  EXPECT_EQ(a.name("x"), "x");
  EXPECT_EQ(a.name("x"), "x_1");
  EXPECT_EQ(a.name("x_1"), "x_1_1");
  EXPECT_EQ(a.name("_t"), "x_t");
  EXPECT_EQ(a.name("tang_run"), "xtang_run");
  EXPECT_EQ(a.name("9a-b"), "x9a_b");
}

// V02 and language.md: the object allocates nothing, starts nothing, and exports two functions.
TEST(EmitProgram, ObjectRefersToMathsOnly) {
  const std::string dir = ::testing::TempDir();
  const std::string source = dir + "tang_alone.c", object = dir + "tang_alone.o";
  std::ofstream(source) << c_source(chain());
  const CompileOptions options;
  const auto cc = find_compiler("", options.path, dir);
  ASSERT_TRUE(cc);
  const auto built = run_process({cc->path, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                  "-Wno-unknown-pragmas", "-c", source, "-o", object},
                                 options.path, dir);
  ASSERT_EQ(built.status, 0) << built.output;
  const auto nm = run_process({"/usr/bin/nm", object}, options.path, dir);
  if (nm.status != 0) GTEST_SKIP() << "no nm";
  for (const char* word : {"alloc", "free", "pthread", "printf", "exit", "tang_kernel"}) {
    EXPECT_EQ(nm.output.find(word), std::string::npos) << word;
  }
  EXPECT_NE(nm.output.find("T tang_run"), std::string::npos);
  EXPECT_NE(nm.output.find("T tang_workspace"), std::string::npos);
}

TEST(EmitProgram, InnerLoopsVectorise) {
  Builder p;
  const ParamId n = p.symbol("n");
  const BufferId x = p.buffer("x", Format::f16, Poly::param(n), Role::input);
  const BufferId y = p.buffer("y", Format::bf16, Poly::param(n), Role::output);
  const BufferId z = p.buffer("z", Format::f32, Poly::param(n), Role::output);
  p.begin_kernel("k");
  const Value base = p.let("base", p.mul(p.symbol(n), p.integer(0)));
  p.for_("i", p.integer(0), p.symbol(n), [&](Value i) {
    const Value at = p.let("at", p.add(p.add(base, i), p.mul(p.integer(0), i)));
    p.store(y, at, p.op(loop::Op::silu, {p.load(x, at)}));
  });
  p.for_("i", p.integer(0), p.symbol(n), [&](Value i) {
    const Value at = p.let("at", p.add(base, i));
    p.store(z, at, p.max(p.exp(p.load(x, at)), p.f32(0.25)));
  });
  p.end_kernel();
  const std::string dir = ::testing::TempDir(), source = dir + "tang_vector.c";
  std::ofstream(source) << c_source(*p.finish());
  const CompileOptions options;
  const auto built =
      run_process({"/usr/bin/gcc", "-std=gnu11", "-O3", "-mavx2", "-mfma", "-fno-math-errno",
                   "-fopt-info-vec", "-c", source, "-o", "/dev/null"},
                  options.path, dir);
  if (built.status != 0) GTEST_SKIP() << built.output;
  size_t loops = 0;
  for (size_t at = 0; (at = built.output.find("loop vectorized", at)) != std::string::npos; ++at)
    ++loops;
  EXPECT_GE(loops, 2u) << built.output;
}

TEST(EmitProgram, Manifest) {
  const auto json = manifest(chain(), "program.c");
  EXPECT_EQ(json["symbols"], (std::vector<std::string>{"n", "m"}));
  ASSERT_EQ(json["buffers"].size(), 2u);
  EXPECT_EQ(json["buffers"][0]["elements"], "n*m");
  EXPECT_EQ(json["kernels"][1]["name"], "b");
  EXPECT_EQ(json["kernels"][1]["grid"], (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(json["kernels"][1]["bindings"][0]["access"], "read");
  EXPECT_EQ(json["kernels"][1]["file"], "program.c");
}

TEST(EmitProgram, OutputIntoInputSharesMemory) {
  Builder p;
  const BufferId x = p.buffer("x", Format::f32, 8, Role::input);
  const BufferId y = p.output_into("y", x);
  p.begin_kernel("y");
  p.for_("i", p.integer(0), p.integer(8),
         [&](Value i) { p.store(y, i, p.add(p.load(x, i), p.f32(1))); });
  p.end_kernel();
  const LoopProgram program = *p.finish();
  for (const CompileOptions& options : variants()) {
    std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7};
    const auto executable = compile(program, options);
    ASSERT_TRUE(run(*executable, {data.data(), data.data()}));
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(data[i], static_cast<float>(i + 1));
  }
}

}  // namespace
}  // namespace tang
