// Schedules that are pinned: what is written reads back as the same plan, and other legal ones give
// what the oracle does.
#include <filesystem>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "loop/text.h"
#include "unit/schedules/support.h"

namespace tang::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const char* attention = R"(dim h = 2, i = 37, j = 45, d = 8, e = 5
input q[h, i, d], k[h, j, d], v[h, j, e] : f32
s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])
p[h, i, j] = exp(s[h, i, j] - max[j | j <= i + 8](s[h, i, j]))
o[h, i, e] = sum[j | j <= i + 8](p[h, i, j] * v[h, j, e]) / sum[j | j <= i + 8](p[h, i, j])
output o
)";
const char* product = R"(dim i = 23, j = 40, k = 30
input a[i, k], b[k, j] : f32
c[i, j] = sum[k](a[i, k] * b[k, j])
output c
)";
const char* convolution = R"(dim n = 2, y = 9, x = 20, c = 4, u = 3, w = 3
input a[n, c, y, x], f[c, u, w] : f32
r[n, y, x] = sum[c, u, w | 0 <= y + u - 1 and y + u - 1 < 9 and 0 <= x + w - 1 and x + w - 1 < 20](a[n, c, y + u - 1, x + w - 1] * f[c, u, w])
output r
)";
const char* affine = R"(dim i = 8, t = 12, u = 3
input a[i, t, u], b[i, t, u] : f32
h[i] = affine[t, u](a[i, t, u], b[i, t, u]).b
output h
)";
const char* symbolic = R"(param n = 29
dim i = n, j = n, k = 12
input a[i, k], b[k, j] : f32
c[i, j] = max[k](a[i, k] + b[k, j])
output c
)";

// ---- writing and reading -----------------------------------------------------------------------

void expect_fixed_point(const std::string& text, int64_t threads,
                        const std::vector<std::string>& constants = {}) {
  const PlanOptions options{.threads = threads, .shared_ns = 1000, .constants = constants};
  const Pinning p(text, options);
  const auto planned = make_variant(p.derived(), options);
  ASSERT_TRUE(planned) << planned.error().message;
  const std::string written = kernels_text(*planned);
  const auto again = p.variant(written);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(kernels_text(*again), written);
  EXPECT_EQ(loop::print(again->program()), loop::print(planned->program()));
}

TEST(WrittenSchedules, PinAllOfAPlan) {
  for (const auto& file : std::filesystem::directory_iterator("examples")) {
    if (file.path().extension() != ".tang") continue;
    SCOPED_TRACE(file.path().string());
    expect_fixed_point(read_file(file.path().string(), 1 << 20).value(), 1);
  }
}

TEST(WrittenSchedules, PinWhatIsPrepared) {
  for (const auto& [text, constants] :
       {std::pair<const char*, std::vector<std::string>>{product, {"b"}},
        {product, {"a", "b"}},
        {attention, {"q", "k"}},
        {attention, {"k", "v"}},
        {convolution, {"f"}}}) {
    expect_fixed_point(text, 1, constants);
    expect_fixed_point(text, 3, constants);
  }
}

TEST(WrittenSchedules, PinThreads) {
  for (const char* text : {attention, product, convolution, rows, affine, symbolic})
    expect_fixed_point(text, 3);
}

TEST(PinnedSchedules, FieldsThatAreNotNamedArePlanned) {
  const Pinning p(attention);
  const auto free = make_variant(p.derived(), {});
  const auto pinned = p.variant(
      R"({"o": {"blocks": [{"dim": "h", "step": 1}, {"dim": "i", "step": 16}, {"dim": "j", "step": 24}]}})");
  ASSERT_TRUE(free && pinned);
  const KernelPlan &before = free->schedule.kernels[0], &k = pinned->schedule.kernels[0];
  EXPECT_EQ(k.blocks[1].step, 16);
  EXPECT_TRUE(k.pivot);
  EXPECT_EQ(k.stages.size(), before.stages.size());
  EXPECT_EQ(p.planned(), kernels_text(*p.variant(R"({"o": {}})")));
  const auto wide = p.variant(R"({"o": {"inlined": []}})");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->schedule.kernels.size(), 2U);
}

// ---- other schedules ---------------------------------------------------------------------------

TEST(PinnedSchedules, Products) {
  const Pinning p(product);
  for (
      const char* fields : {
          R"("points": ["j", "i"])",
          R"("tile": [])",
          R"("tile": [{"dim": "i", "registers": 5}])",
          R"("tile": [{"dim": "j", "elements": 16}, {"dim": "i", "registers": 3}])",
          R"("tile": [{"dim": "k", "elements": 8, "registers": 2}])",
          R"("tile": [{"dim": "k", "registers": 4}, {"dim": "j", "elements": 4}])",
          R"("blocks": [{"dim": "k", "step": 7}])",
          R"("blocks": [{"dim": "j", "step": 16}, {"dim": "k", "step": 8}, {"dim": "i", "step": 6}])",
          R"("blocks": [{"dim": "i", "step": 12}, {"dim": "j", "step": 8}, {"dim": "i", "step": 4}])",
          R"("stages": [{"tensor": "b", "level": 0}])",
          R"("stages": [{"tensor": "b", "level": 0, "axes": ["j", "k"]}, {"tensor": "a", "level": 0, "axes": [1, 0]}])",
          R"("blocks": [{"dim": "k", "step": 10}, {"dim": "i", "step": 8}], "stages": [{"tensor": "b", "level": 1, "panel": {"axis": "j", "width": 8}}, {"tensor": "a", "level": 2}], "tile": [{"dim": "i", "registers": 4}, {"dim": "j", "elements": 8, "registers": 2}])",
          R"("contract": false)",
          R"("machine": "cpu.portable")",
      })
    p.expect_right(fmt::format(R"({{"c": {{{}}}}})", fields));
}

TEST(PinnedSchedules, Attention) {
  const Pinning p(attention);
  for (
      const char* fields : {
          R"("pivot": false)",
          R"("inlined": [])",
          R"("inlined": [], "pivot": false)",
          R"("inlined": [], "pivot": true)",
          R"("blocks": [{"dim": "i", "step": 5}])",
          R"("blocks": [{"dim": "j", "step": 16}])",
          R"("blocks": [{"dim": "j", "step": 16}, {"dim": "i", "step": 8}])",
          R"("blocks": [{"dim": "h", "step": 1}, {"dim": "i", "step": 8}, {"dim": "j", "step": 8}], "pivot": false)",
          R"("blocks": [{"dim": "i", "step": 8}, {"dim": "e", "step": 2}, {"dim": "j", "step": 16}])",
          R"("blocks": [{"dim": "h", "step": 1}, {"dim": "i", "step": 8}, {"dim": "j", "step": 20}], "stages": [{"tensor": "v", "level": 1}, {"tensor": "q", "level": 2}, {"tensor": "s", "level": 3, "axes": ["h", "j", "i"]}])",
          R"("stages": [{"tensor": "k", "level": 0}, {"tensor": "s", "level": 1}])",
      })
    p.expect_right(fmt::format(R"({{"o": {{{}}}}})", fields));
}

TEST(PinnedSchedules, Convolutions) {
  const Pinning p(convolution);
  for (
      const char* fields : {
          R"("blocks": [], "stages": [])",
          R"("blocks": [{"dim": "n", "step": 1}], "stages": [{"tensor": "a", "level": 1, "padded": true}])",
          R"("blocks": [{"dim": "n", "step": 1}, {"dim": "y", "step": 4}], "stages": [{"tensor": "a", "level": 2, "padded": true}])",
          R"("blocks": [{"dim": "c", "step": 2}], "stages": [{"tensor": "a", "level": 1}])",
          R"("blocks": [{"dim": "y", "step": 2}, {"dim": "u", "step": 1}])",
          R"("reduce": ["w", "c", "u"], "points": ["x", "n", "y"])",
          R"("tile": [{"dim": "c", "elements": 4}], "stages": [])",
          R"("tile": [{"dim": "w", "registers": 2}, {"dim": "x", "elements": 8}], "stages": [], "blocks": [])",
      })
    p.expect_right(fmt::format(R"({{"r": {{{}}}}})", fields));
}

TEST(PinnedSchedules, Rows) {
  const Pinning p(rows);
  p.expect_right(R"({"y": {"rows": {}}})");
  p.expect_right(R"({"y": {"tile": []}})");
  p.expect_right(R"({"y": {"blocks": [{"dim": "i", "step": 2}]}})");
  p.expect_right(R"({"y": {"blocks": [{"dim": "i", "step": 2}, {"dim": "j", "step": 16}]}})");
  p.expect_right(R"({"y": {"blocks": []}})");
  const std::string plan = p.planned();
  const size_t at = plan.find("\"rows\":{\"") + 9;
  const std::string row = plan.substr(at, plan.find('"', at) - at);
  for (const char* fields : {R"("pivot": false)", R"("pivot": true)",
                             R"("pivot": false, "tile": [{"dim": "j", "elements": 4}])",
                             R"("blocks": [{"dim": "j", "step": 16}])"})
    p.expect_right(fmt::format(R"({{"y": {{"rows": {{"{}": {{{}}}}}}}}})", row, fields));
}

// The weights of a row stay in a window where the plan says so, and the numbers are the same.
TEST(PinnedSchedules, WeightsOfRows) {
  const Pinning p(rows);
  const auto computed = [&](const std::string& kept) {
    const std::string fields = fmt::format(R"({{"y": {{"rows": {{"y_1": {{{}}}}}}}}})", kept);
    p.expect_right(fields);
    const std::string text = loop::print(p.variant(fields)->program());
    size_t found = 0;
    for (size_t at = 0; (at = text.find("exp(", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_LT(computed(R"("kept": true)"), computed(R"("kept": false)"));
  EXPECT_EQ(computed(R"("kept": true)"), computed(""));
  p.expect_right(
      R"({"y": {"blocks": [{"dim": "i", "step": 2}], "rows": {"y_1": {"kept": true}}}})");
}

TEST(PinnedSchedules, StoresPastTheCaches) {
  const Pinning p(rows), c(product);
  p.expect_right(R"({"y": {"streamed": ["y"]}})");
  c.expect_right(R"({"c": {"streamed": ["c"], "points": ["i", "j"]}})");
  const std::string wide = R"(dim i = 4096, j = 1024
input x[i, j] : f32
y[i, j] = x[i, j] + 1
output y
)";
  const auto streams = [](const std::string& text) {
    return Pinning(text).planned().find(R"("streamed":["y"])") != std::string::npos;
  };
  EXPECT_TRUE(streams(wide));
  EXPECT_FALSE(streams("dim i = 4096, j = 1000\n" + wide.substr(wide.find("input"))));
  EXPECT_FALSE(streams(wide.substr(0, wide.find("output")) + "output y into x\n"));
}

TEST(PinnedSchedules, TermsInOrder) {
  const Pinning p(affine);
  p.expect_right(R"({"h": {"blocks": [{"dim": "t", "step": 5}]}})");
  p.expect_right(R"({"h": {"blocks": [{"dim": "t", "step": 1}, {"dim": "u", "step": 2}]}})");
  p.expect_right(R"({"h": {"blocks": [{"dim": "i", "step": 3}, {"dim": "t", "step": 4}]}})");
  p.expect_right(R"({"h": {"tile": [{"dim": "i", "elements": 8}]}})");
}

// Definitions that are read at other places than their own: windows of what they read are those
// places' too.
TEST(PinnedSchedules, ReadsOfTransposedDefinitions) {
  const Pinning p(R"(dim i = 20, j = 20, d = 8, e = 3
input q[i, d], k[j, d], v[j, e] : f32
s[i, j] = sum[d](q[i, d] * k[j, d])
p[i, j] = exp(s[j, i] - max[j](s[j, i]))
o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])
output o
)");
  p.expect_right("{}");
  p.expect_right(R"({"o": {"blocks": [{"dim": "i", "step": 4}, {"dim": "j", "step": 8}]}})");
}

// ---- random schedules --------------------------------------------------------------------------

class Draw {
 public:
  explicit Draw(uint64_t seed, bool prepares = false) : rng_(seed), prepares_(prepares) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }
  template <class T>
  const T& one(const std::vector<T>& of) {
    return of[static_cast<size_t>(below(static_cast<int64_t>(of.size())))];
  }
  template <class T>
  std::vector<T> some(std::vector<T> of, size_t most) {
    std::shuffle(of.begin(), of.end(), rng_);
    of.resize(static_cast<size_t>(below(static_cast<int64_t>(std::min(most, of.size())) + 1)));
    return of;
  }

  json kernel(const std::vector<std::string>& points, const std::vector<std::string>& reduce,
              const std::vector<std::string>& tensors) {
    std::vector<std::string> dims = points;
    dims.insert(dims.end(), reduce.begin(), reduce.end());
    json k = json::object();
    if (below(4) > 0) {
      k["blocks"] = json::array();
      for (const std::string& d : some(dims, 4))
        k["blocks"].push_back({{"dim", d}, {"step", one(std::vector<int>{1, 2, 3, 5, 8, 16, 40})}});
    }
    if (below(3) == 0) k["pivot"] = below(2) == 0;
    if (below(2) == 0) {
      k["tile"] = json::array();
      bool vector = false;
      for (const std::string& d : some(dims, 2)) {
        const bool elements = !vector && below(2) == 0;
        vector |= elements;
        k["tile"].push_back({{"dim", d},
                             {"registers", 1 + below(4)},
                             {"elements", elements ? one(std::vector<int>{2, 4, 8, 16}) : 1}});
      }
    }
    if (below(6) == 0) k["inlined"] = json::array();
    if (below(6) == 0) k["threads"] = 1 + 2 * below(2);
    if (below(3) == 0) k["points"] = shuffled(points);
    if (below(3) == 0) k["reduce"] = shuffled(reduce);
    if (below(2) == 0) {
      k["stages"] = json::array();
      const int64_t levels = k.contains("blocks") ? static_cast<int64_t>(k["blocks"].size()) : 0;
      for (const std::string& t : some(tensors, 3)) {
        json s = {{"tensor", t}, {"level", below(levels + 1)}};
        if (below(5) == 0) s["padded"] = true;
        if (s.contains("padded") && below(2) == 0) s["phases"] = 2 + below(2);
        if (below(3) == 0) s["panel"] = {{"axis", 0}, {"width", one(std::vector<int>{2, 6, 8})}};
        if (prepares_ && below(2) == 0) s["prepared"] = true;
        if (prepares_ && below(2) == 0) s["level"] = 0;
        k["stages"].push_back(s);
      }
    }
    return k;
  }

 private:
  std::vector<std::string> shuffled(std::vector<std::string> of) {
    std::shuffle(of.begin(), of.end(), rng_);
    return of;
  }
  std::mt19937_64 rng_;
  const bool prepares_;  // windows too
};

// TANG_SCHEDULES draws so many times as many.
int count(int usual) {
  const char* more = std::getenv("TANG_SCHEDULES");
  return usual * (more ? std::max(1, std::atoi(more)) : 1);
}

// A schedule, of which `kernels` draws many, is refused or gives what the oracle does.
void expect_laws(const Pinning& p, int count, const std::function<json(Draw&)>& kernels,
                 bool prepares = false) {
  int taken = 0;
  for (int seed = 0; seed < count; ++seed) {
    Draw draw(static_cast<uint64_t>(seed), prepares);
    const std::string fields = kernels(draw).dump();
    const auto v = p.variant(fields);
    if (!v) {
      EXPECT_EQ(v.error().id, "E0805") << fields << "\n" << v.error().message;
      continue;
    }
    ++taken;
    p.expect_right(*v, fields);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(taken, count / 8);
}

void expect_laws(const std::string& text, const std::string& kernel,
                 const std::vector<std::string>& points, const std::vector<std::string>& reduce,
                 const std::vector<std::string>& tensors, int count) {
  expect_laws(Pinning(text, {.threads = 3}), count, [&](Draw& draw) {
    return json{{kernel, draw.kernel(points, reduce, tensors)}};
  });
}

TEST(RandomSchedules, OfConstants) {
  const auto laws = [](const std::string& text, const std::vector<std::string>& constants,
                       const std::string& kernel, const std::vector<std::string>& points,
                       const std::vector<std::string>& reduce,
                       const std::vector<std::string>& tensors) {
    expect_laws(
        Pinning(text, {.threads = 3, .constants = constants}), count(60),
        [&](Draw& draw) {
          return json{{kernel, draw.kernel(points, reduce, tensors)}};
        },
        true);
  };
  laws(product, {"b"}, "c", {"i", "j"}, {"k"}, {"a", "b"});
  laws(product, {"a", "b"}, "c", {"i", "j"}, {"k"}, {"a", "b"});
  laws(attention, {"q", "k"}, "o", {"h", "i", "e"}, {"j"}, {"q", "k", "v", "s"});
  laws(convolution, {"f"}, "r", {"n", "y", "x"}, {"c", "u", "w"}, {"a", "f"});
}

TEST(RandomSchedules, Products) {
  expect_laws(product, "c", {"i", "j"}, {"k"}, {"a", "b"}, count(60));
}

TEST(RandomSchedules, Attention) {
  expect_laws(attention, "o", {"h", "i", "e"}, {"j"}, {"q", "k", "v", "s"}, count(60));
}

TEST(RandomSchedules, StatesOfSeveralKinds) {
  expect_laws(
      "dim i = 9, j = 30\ninput x[i, j], b[j] : f32, w[i, j] : i32\n"
      "(v[i], n[i]) = argmax[j](x[i, j] + b[j])\noutput v, n\n",
      "v", {"i"}, {"j"}, {"x", "b"}, count(40));
  expect_laws("dim i = 9, j = 30\ninput w[i, j] : i32\ny[i] = sum[j](w[i, j])\noutput y\n", "y",
              {"i"}, {"j"}, {"w"}, count(40));
}

TEST(RandomSchedules, Convolutions) {
  expect_laws(convolution, "r", {"n", "y", "x"}, {"c", "u", "w"}, {"a", "f"}, count(40));
}

TEST(RandomSchedules, Rows) { expect_laws(rows, "y", {"i", "j"}, {}, {"x"}, count(40)); }

TEST(RandomSchedules, InsideOfRows) {
  expect_laws(Pinning(rows), count(40), [](Draw& draw) {
    json y = draw.kernel({"i", "j"}, {}, {}), row = draw.kernel({"i"}, {"j"}, {});
    for (const char* field : {"inlined", "stages", "threads", "pivot"}) y.erase(field);
    for (const char* field : {"inlined", "stages", "threads"}) row.erase(field);
    y["blocks"] = {{{"dim", "i"}, {"step", 1 + draw.below(3)}}};
    y["rows"] = {{"y_1", row}};
    return json{{"y", y}};
  });
}

TEST(RandomSchedules, TermsInOrder) {
  expect_laws(affine, "h", {"i"}, {"t", "u"}, {"a", "b"}, count(60));
}

// The points beside the one that a scan runs along are like any others.
TEST(RandomSchedules, Scans) {
  const Pinning p(
      "dim b = 9, t = 20, c = 13\ninput a[b, t, c], x[t, c] : f32\n"
      "h[b, t, c] = scan[t; sum, reverse](a[b, t, c] * x[t, c])\noutput h\n",
      {.threads = 3});
  expect_laws(p, count(60), [](Draw& draw) {
    json h = draw.kernel({"b", "c"}, {}, {});
    for (const char* field : {"pivot", "reduce", "stages"}) h.erase(field);
    return json{{"h", h}};
  });
}

TEST(RandomSchedules, SizesThatAreNotKnown) {
  expect_laws(symbolic, "c", {"i", "j"}, {"k"}, {"a", "b"}, count(60));
}

TEST(RandomSchedules, SeveralFolds) {
  expect_laws(
      "dim i = 9, j = 30, e = 7\ninput x[i, j], v[j, e] : f32\n"
      "(m[i], s[i, e]) = (max[j](x[i, j]), sum[j](x[i, j] * v[j, e]))\noutput m, s\n",
      "m", {"i", "e"}, {"j"}, {"x", "v"}, count(60));
}

TEST(RandomSchedules, StridesBackwards) {
  expect_laws(
      "dim i = 14, j = 11, u = 4\ninput x[40] : f64, w[u] : f32\n"
      "y[i, j] = sum[u | i + j <= 20](x[2*i + 3 - u] * w[u])\noutput y\n",
      "y", {"i", "j"}, {"u"}, {"x", "w"}, count(60));
}

TEST(RandomSchedules, Equalities) {
  expect_laws(
      "dim p = 21, i = 11, u = 3, c = 5\ninput x[i, c], w[u, c] : f32\n"
      "y[p] = sum[i, u, c | i + u == p](x[i, c] * w[u, c])\noutput y\n",
      "y", {"p"}, {"i", "u", "c"}, {"x", "w"}, count(60));
}

TEST(RandomSchedules, DefinitionsInSums) {
  expect_laws(
      "dim i = 12, j = 14, d = 3, e = 9\ninput x[i, d], z[j, d], v[j, e] : f32\n"
      "s[i, j] = sum[d](x[i, d] * z[j, d])\n"
      "y[i, e] = max[j](abs(s[i, j]) + v[j, e])\noutput y\n",
      "y", {"i", "e"}, {"j"}, {"x", "z", "v", "s"}, count(60));
}

}  // namespace
}  // namespace tang::test
