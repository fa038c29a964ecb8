// Attention, written as its formula with the C++ API, run on arrays of the program's own, and
// compared with loops that do the same.
//   attention [DEVICE]        c, cuda, opencl, vulkan, webgpu; otherwise the best there is
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <tang/tang.hpp>
#include <vector>

namespace {

constexpr int64_t heads = 4, length = 96, width = 32;

tang::Result<tang::Graph> attention() {
  tang::Builder g;
  auto h = g.dim("h", heads), i = g.dim("i", length), j = g.dim("j", length), d = g.dim("d", width),
       e = g.dim("e", width);
  auto q = g.input("q", {h, i, d}), k = g.input("k", {h, j, d}), v = g.input("v", {h, j, e});
  const auto product = [](auto a, auto b) { return a * b; };

  auto s = g.reduce("s", tang::sum, {h, i, j}, {d}, product, q(h, i, d), k(h, j, d));
  auto m = g.reduce(
      "m", tang::max, {h, i}, {j}, [](auto s) { return s; }, s(h, i, j));
  auto p = g.map(
      "p", {h, i, j}, [](auto s, auto m) { return exp(s - m); }, s(h, i, j), m(h, i));
  auto l = g.reduce(
      "l", tang::sum, {h, i}, {j}, [](auto p) { return p; }, p(h, i, j));
  auto n = g.reduce("n", tang::sum, {h, i, e}, {j}, product, p(h, i, j), v(h, j, e));
  auto o = g.map(
      "o", {h, i, e}, [](auto n, auto l) { return n / l; }, n(h, i, e), l(h, i));
  g.output(o);
  return g.build();
}

std::vector<float> by_loops(const std::vector<float>& q, const std::vector<float>& k,
                            const std::vector<float>& v) {
  std::vector<float> o(q.size());
  std::vector<double> p(length);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < length; ++i) {
      const float *qi = &q[(h * length + i) * width], *kh = &k[h * length * width],
                  *vh = &v[h * length * width];
      double sum = 0;
      for (int64_t j = 0; j < length; ++j) {
        double s = 0;
        for (int64_t d = 0; d < width; ++d) s += double{qi[d]} * double{kh[j * width + d]};
        sum += p[j] = std::exp(s);
      }
      for (int64_t e = 0; e < width; ++e) {
        double x = 0;
        for (int64_t j = 0; j < length; ++j) x += p[j] * double{vh[j * width + e]};
        o[(h * length + i) * width + e] = static_cast<float>(x / sum);
      }
    }
  return o;
}

int fail(const tang::Diagnostic& d) {
  std::fputs(tang::render(d, nullptr).c_str(), stderr);
  return static_cast<int>(d.exit);
}

}  // namespace

int main(int count, char** words) {
  const auto graph = attention();
  if (!graph) return fail(graph.error());
  const auto program =
      tang::compile(*graph, {.device = count > 1 ? words[1] : tang::best_device()});
  if (!program) return fail(program.error());

  std::vector<float> q(heads * length * width), k(q.size()), v(q.size()), o(q.size());
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.4f);
  for (auto* x : {&q, &k, &v}) std::generate(x->begin(), x->end(), [&] { return normal(random); });

  const std::vector<int64_t> shape = {heads, length, width};
  const auto ran =
      program->run({{"q", {q.data(), shape}}, {"k", {k.data(), shape}}, {"v", {v.data(), shape}}},
                   {{"o", {o.data(), shape}}});
  if (!ran) return fail(ran.error());

  double worst = 0, largest = 0;
  const std::vector<float> expected = by_loops(q, k, v);
  for (size_t x = 0; x < o.size(); ++x) {
    largest = std::max(largest, std::abs(double{expected[x]}));
    const double error = std::abs(double{o[x]} - double{expected[x]});
    worst = error <= worst ? worst : error;  // NaN stays
  }
  const bool right = worst <= 1e-5 * largest;
  std::printf("attention on %s: %s, error %.1e, workspace %lld bytes, peak %lld bytes\n",
              program->device().c_str(), right ? "right" : "WRONG", worst / largest,
              static_cast<long long>(program->workspace_bytes()),
              static_cast<long long>(program->peak_bytes()));
  return right ? 0 : 1;
}
