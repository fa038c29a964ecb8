// Programs as a guest meets them: what they say of themselves, runs in many threads, outputs in
// place, and errors as values.
#include <thread>

#include "support.h"

namespace tang {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two kernels: t is stored, since every y reads all of it.
constexpr const char* chain =
    "param n = 64\ndim i = n, j = n, k = n\ninput x[i, j]\n"
    "t[i, k] = sum[j](x[i, j] * x[j, k])\n"
    "y[i, k] = sum[j](t[i, j] * t[j, k])\noutput y\n";
constexpr const char* step =
    "dim i = 4\ninput x[i], d[i]\nnext[i] = x[i] + d[i]\ny[i] = x[i] * 10\n"
    "output next into x, y\n";

TEST(ProgramApi, SaysWhatItTakesAndNeeds) {
  const auto p = compiled(chain);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->device(), "c");
  ASSERT_EQ(p->inputs().size(), 1u);
  EXPECT_EQ(p->inputs()[0].name, "x");
  EXPECT_EQ(p->inputs()[0].format, Format::f32);
  EXPECT_THAT(p->inputs()[0].shape, ElementsAre(64, 64));
  EXPECT_EQ(p->outputs()[0].name, "y");
  EXPECT_EQ(p->outputs()[0].into, "");
  EXPECT_EQ(p->workspace_bytes(), 64 * 64 * 4);
  EXPECT_EQ(p->peak_bytes(), 3 * 64 * 64 * 4);
  const auto in_place = compiled(step);
  ASSERT_TRUE(in_place);
  EXPECT_EQ(in_place->outputs()[0].into, "x");
  EXPECT_GE(in_place->peak_bytes(), 3 * 16) << "next takes the memory of x";
}

TEST(ProgramApi, SizesAreGivenWhenCompiling) {
  const auto graph = parse(chain);
  ASSERT_TRUE(graph);
  const auto p = compile(*graph, {.params = {{"n", 3}}});
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_THAT(p->inputs()[0].shape, ElementsAre(3, 3));
  const float x[9] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
  const auto y = p->run({{"x", {x, {3, 3}}}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ((*y)[0].at(4), 16);
  EXPECT_EQ((*y)[0].at(8), 81);
  EXPECT_EQ(compile(*graph, {.params = {{"m", 3}}}).error().id, "E0710");
  EXPECT_EQ(compile(*graph, {.params = {{"n", -3}}}).error().id, "E0409");
  const auto open = parse("param n\ninput x[n]\ns = sum[i](x[i])\noutput s\n");
  if (open) EXPECT_EQ(compile(*open).error().id, "E0712");
}

TEST(ProgramApi, TextAndCallsGiveTheSameProgram) {
  Builder g;
  const auto i = g.dim("i", 3), j = g.dim("j", 4);
  const auto x = g.input("x", {i, j});
  g.output(g.reduce(
      "y", sum, {i}, {j}, [](auto e) { return e * e; }, x(i, j)));
  const auto graph = g.build();
  ASSERT_TRUE(graph);
  const std::string text = print(*graph);
  const auto again = parse(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), text);
  const auto p = compile(*graph);
  ASSERT_TRUE(p) << p.error().message;
  const float values[12] = {1, 1, 1, 1, 2, 0, 0, 0, 0, 0, 3, 4};
  const auto y = p->run({{"x", {values, {3, 4}}}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ((*y)[0].at(0), 4);
  EXPECT_EQ((*y)[0].at(1), 4);
  EXPECT_EQ((*y)[0].at(2), 25);
}

TEST(ProgramApi, ErrorsOfTextHaveTheirPlaces) {
  const auto graph = parse("dim i = 4\ninput x[i]\ny[i] = x[i + 1]\noutput z\n");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().size(), 2u);
  EXPECT_EQ(graph.error()[0].id, "E0401");
  EXPECT_EQ(graph.error()[0].where.line, 3);
}

TEST(ProgramApi, DevicesThatAreNotThere) {
  const auto graph = parse(chain);
  ASSERT_TRUE(graph);
  const auto unknown = compile(*graph, {.device = "cudda"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().id, "E0802");
  EXPECT_THAT(unknown.error().hint, HasSubstr("cuda"));
  const auto no_compiler = compile(*graph, {.path = "/nowhere"});
  ASSERT_FALSE(no_compiler);
  EXPECT_EQ(no_compiler.error().id, "E0901");
  EXPECT_EQ(no_compiler.error().exit, Exit::no_device);
}

// Case V11: a run that did not happen is never a success.
TEST(ProgramApi, ARunWithWrongTensorsIsAnErrorAndWritesNothing) {
  const auto p = compiled(step);
  ASSERT_TRUE(p);
  float x[4] = {}, d[4] = {}, next[4] = {7, 7, 7, 7}, y[4] = {7, 7, 7, 7};
  const NamedTensor in_x{"x", {x, {4}}}, in_d{"d", {d, {4}}};
  const NamedTensor out_next{"next", {next, {4}}}, out_y{"y", {y, {4}}};
  EXPECT_EQ(said(p->run({in_x}, {out_next, out_y})), "E0718 the input `d` is not given");
  EXPECT_EQ(said(p->run({in_x, in_d}, {out_y})), "E0718 the output `next` is not given");
  EXPECT_EQ(said(p->run({in_x, in_d, in_d}, {out_next, out_y})),
            "E0718 the input `d` is given twice");
  EXPECT_EQ(said(p->run({in_x, in_d, {"e", {d, {4}}}}, {out_next, out_y})),
            "E0718 the program has no input `e`");
  EXPECT_EQ(said(p->run_in_order({}, {})),
            "E0718 the program has 2 inputs and 2 outputs, not 0 and 0");
  EXPECT_THAT(next, Each(7));
  EXPECT_THAT(y, Each(7));
  EXPECT_EQ(said(p->run({in_d, in_x}, {out_y, out_next})), "") << "in any order, by name";
  EXPECT_THAT(y, Each(0));
}

// ---- outputs that go into inputs
// ------------------------------------------------------------------

struct InPlace : ::testing::Test {
  std::optional<Program> p = compiled(step);
  float x[4] = {1, 2, 3, 4}, d[4] = {1, 1, 1, 1}, next[4] = {}, y[4] = {};
};

TEST_F(InPlace, BesideTheInputWithMemoryOfItsOwn) {
  ASSERT_EQ(
      said(p->run({{"x", {x, {4}}}, {"d", {d, {4}}}}, {{"next", {next, {4}}}, {"y", {y, {4}}}})),
      "");
  EXPECT_THAT(next, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(y, ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(x, ElementsAre(1, 2, 3, 4)) << "the input is not written";
}

TEST_F(InPlace, OnTheInputWithTheSameMemory) {
  ASSERT_EQ(said(p->run({{"x", {x, {4}}}, {"d", {d, {4}}}}, {{"next", {x, {4}}}, {"y", {y, {4}}}})),
            "");
  EXPECT_THAT(x, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(y, ElementsAre(10, 20, 30, 40)) << "y is of x before";
}

TEST_F(InPlace, NotOnAReadOnlyInput) {
  const TensorView fixed(static_cast<const float*>(x), {4});
  EXPECT_EQ(said(p->run({{"x", fixed}, {"d", {d, {4}}}}, {{"next", {x, {4}}}, {"y", {y, {4}}}})),
            "E0721 the output `next` lies in memory of the input `x`, which is read-only");
  EXPECT_THAT(x, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(said(p->run({{"x", fixed}, {"d", {d, {4}}}}, {{"next", {next, {4}}}, {"y", {y, {4}}}})),
            "");
  EXPECT_THAT(next, ElementsAre(2, 3, 4, 5));
}

TEST_F(InPlace, OnAStridedInput) {
  float wide[8] = {1, -1, 2, -1, 3, -1, 4, -1};
  const TensorView columns = strided({wide, {4}}, {2});
  ASSERT_EQ(said(p->run({{"x", columns}, {"d", {d, {4}}}}, {{"next", columns}, {"y", {y, {4}}}})),
            "");
  EXPECT_THAT(wide, ElementsAre(2, -1, 3, -1, 4, -1, 5, -1));
  EXPECT_THAT(y, ElementsAre(10, 20, 30, 40));
}

// ---- workspace and threads
// ------------------------------------------------------------------------

TEST(ProgramApi, WorkspaceOfTheCaller) {
  const auto p = compiled(chain);
  ASSERT_TRUE(p);
  std::vector<float> x(64 * 64, 0.25f);
  auto own = Buffer::allocate(64 * 64 * 4 + 64);
  const auto run = [&](std::byte* at, int64_t bytes) {
    std::vector<float> y(64 * 64);
    return said(p->run({{"x", {x.data(), {64, 64}}}}, {{"y", {y.data(), {64, 64}}}},
                       {.workspace = at, .workspace_bytes = bytes}));
  };
  EXPECT_EQ(run(own->data(), 64 * 64 * 4), "");
  EXPECT_EQ(load_element(Format::f32, own->data(), 0), 4) << "t lies there";
  EXPECT_EQ(run(own->data(), 64), "E0719 the workspace has 64 bytes of 16384");
  EXPECT_EQ(run(own->data() + 4, 64 * 64 * 4), "E0719 the workspace is not aligned to 64 bytes");
}

TEST(ProgramApi, ThreadsRunOneProgramAtOnce) {
  const auto graph = parse(chain);
  ASSERT_TRUE(graph);
  const auto p = compile(*graph, {.threads = 2});
  ASSERT_TRUE(p) << p.error().message;
  std::vector<std::string> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      const auto value = static_cast<float>(t + 1);
      std::vector<float> x(64 * 64, value), y(64 * 64);
      const float expected = 64.0f * 64 * 64 * value * value * value * value;
      for (int k = 0; k < 100 && wrong[t].empty(); ++k) {
        wrong[t] = said(p->run({{"x", {x.data(), {64, 64}}}}, {{"y", {y.data(), {64, 64}}}}));
        for (const float e : y)
          if (e != expected) wrong[t] = "another value";
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, Each(""));
}

TEST(ProgramApi, ThreadsCompileAtOnce) {
  const auto graph = parse(step);
  ASSERT_TRUE(graph);
  std::vector<std::string> wrong(3);
  std::vector<std::thread> threads;
  for (std::string& w : wrong)
    threads.emplace_back([&] {
      const auto p = compile(*graph);
      if (!p) w = p.error().message;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, Each(""));
}

}  // namespace
}  // namespace tang
