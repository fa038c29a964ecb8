// Large programs reach C source in seconds, on a small stack: nothing recurses over a graph.
#include <chrono>
#include <pthread.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "front/elaborate.h"
#include "front/render.h"
#include "ir/print.h"
#include "rewrite/pipeline.h"
#include "verify/variant.h"

namespace tang {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t stack_bytes = size_t{4} << 20;  // checks enlarge frames
#else
constexpr size_t stack_bytes = size_t{512} << 10;
#endif

// Runs `body` on a stack of stack_bytes.
void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
  pthread_t thread;
  const auto start = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  auto f = body;
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &f), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

class Clock {
 public:
  // Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void reaches_source(const std::string& what, const std::string& text, bool as_written) {
  Clock total, clock;
  auto g = parse(text);
  ASSERT_TRUE(g) << render(g.error(), nullptr);
  const double parsed = clock.lap();
  const size_t nodes = g->order().size();
  const Graph derived = as_written ? *g : derive(*g).derived;
  const double derived_ms = clock.lap();
  const auto v = make_variant(derived, as_written ? naive_plan({}) : PlanOptions{});
  ASSERT_TRUE(v) << v.error().message;
  const double lowered = clock.lap();
  const std::string source = c_source(v->program());
  const double emitted = clock.lap();
  EXPECT_NE(source.find("tang_run"), std::string::npos);
  fmt::print(
      "{}: {} definitions, {} kernels: parse {:.0f} ms, derive {:.0f} ms, plan and lower {:.0f} "
      "ms, "
      "source {:.0f} ms ({:.1f} MB), in all {:.2f} s\n",
      what, nodes, v->program().kernels.size(), parsed, derived_ms, lowered, emitted,
      static_cast<double>(source.size()) / 1e6, total.lap() / 1e3);
}

// `step` is the value of y[k] in terms of {0}, the one before.
std::string chain(int maps, const std::string& step) {
  std::string text = "param n\ndim i = n\ninput x[i] : f32\ny0[i] = x[i]\n";
  for (int k = 1; k <= maps; ++k)
    text += fmt::format("y{}[i] = {}\n", k,
                        fmt::format(fmt::runtime(step), fmt::format("y{}[i]", k - 1)));
  return text + fmt::format("output y{}\n", maps);
}

// Transformer blocks, each of 15 definitions as written.
std::string layers(int count) {
  std::string text =
      "param seq\ndim h = 4, i = seq, j = seq, d = 16, e = 16, c = 64, x = 64, f = 128\n"
      "input t0[i, c] : f32\n";
  for (int l = 0; l < count; ++l)
    text += fmt::format(
        "input wq{0}[h, d, c], wk{0}[h, d, c], wv{0}[h, e, c], wo{0}[c, h, e], g{0}[c], wg{0}[f, "
        "c], wu{0}[f, c], "
        "wd{0}[c, f] : f32\n",
        l);
  for (int l = 0; l < count; ++l)
    text += fmt::format(
        "n{0}[i, c] = (t{0}[i, c] - mean[c](t{0}[i, c])) * rsqrt(var[c](t{0}[i, c]) + 1e-5) * "
        "g{0}[c]\n"
        "q{0}[h, i, d] = sum[c](n{0}[i, c] * wq{0}[h, d, c])\n"
        "k{0}[h, j, d] = sum[c](n{0}[j, c] * wk{0}[h, d, c])\n"
        "v{0}[h, j, e] = sum[c](n{0}[j, c] * wv{0}[h, e, c])\n"
        "s{0}[h, i, j] = sum[d](q{0}[h, i, d] * k{0}[h, j, d]) / sqrt(16)\n"
        "p{0}[h, i, j] = exp(s{0}[h, i, j] - max[j | j <= i](s{0}[h, i, j]))\n"
        "o{0}[h, i, e] = sum[j | j <= i](p{0}[h, i, j] * v{0}[h, j, e]) / sum[j | j <= i](p{0}[h, "
        "i, j])\n"
        "a{0}[i, c] = t{0}[i, c] + sum[h, e](o{0}[h, i, e] * wo{0}[c, h, e])\n"
        "m{0}[i, f] = silu(sum[c](a{0}[i, c] * wg{0}[f, c])) * sum[c](a{0}[i, c] * wu{0}[f, c])\n"
        "t{1}[i, c] = a{0}[i, c] + sum[f](m{0}[i, f] * wd{0}[c, f])\n",
        l, l + 1);
  return text + fmt::format("output t{}\n", count);
}

TEST(Scale, AChainOf2000Maps) {
  on_small_stack([] { reaches_source("chain", chain(2000, "0.5 * {0} + 0.25"), false); });
}

// Each map reads the one before three times: written out, the last is 3^2000 terms.
TEST(Scale, AChainOf2000MapsThatShare) {
  on_small_stack([] {
    reaches_source("sharing chain", chain(2000, "{0} * sigmoid({0}) + tanh({0})"), false);
  });
}

TEST(Scale, AChainOf2000MapsAsWritten) {
  on_small_stack(
      [] { reaches_source("chain as written", chain(2000, "{0} * sigmoid({0})"), true); });
}

TEST(Scale, LayersOf300Definitions) {
  on_small_stack([] { reaches_source("layers", layers(15), false); });
}

TEST(Scale, LayersOf300DefinitionsAsWritten) {
  on_small_stack([] { reaches_source("layers as written", layers(15), true); });
}

}  // namespace
}  // namespace tang
