#include "unit/tile/programs.h"

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tile/text.h"

namespace tang::tile {

Program read_program(const std::string& name) {
  const std::string path = "tests/text/tile/" + name + ".tile";
  const auto text = read_file(path, 1 << 20);
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto p = parse_program(*text, path);
  if (!p) {
    ADD_FAILURE() << path << ":" << p.error().where.line << ": " << p.error().message;
    return {};
  }
  return std::move(*p);
}

namespace {

Array random_array(Format format, std::vector<int64_t> shape, uint64_t seed) {
  Array a = *make_array(format, std::move(shape));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int64_t k = 0; k < a.elements(); ++k) a.set(k, normal(random));
  return a;
}

Array poisoned(Format format, std::vector<int64_t> shape) {
  Array a = *make_array(format, std::move(shape));
  for (int64_t k = 0; k < a.elements(); ++k) a.set(k, NAN);
  return a;
}

double error_of(const Array& got, const Array& want) {
  double worst = 0, largest = 0;
  for (int64_t k = 0; k < want.elements(); ++k) {
    const double d = std::abs(got.at(k) - want.at(k));
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    largest = std::max(largest, std::abs(want.at(k)));
  }
  return worst / largest;
}

}  // namespace

Task matrix_product(const std::string& name, Format format, bool transposed, int64_t m, int64_t n,
                    int64_t k) {
  Task t;
  t.program = read_program(name);
  t.params = {m, n, k};
  const std::vector<int64_t> shape = transposed ? std::vector{n, k} : std::vector{k, n};
  const Array a = random_array(format, {m, k}, 1), b = random_array(format, shape, 2);
  Array c = *make_array(Format::f64, {m, n});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x)
        sum += a.at(i * k + x) * b.at(transposed ? j * k + x : x * n + j);
      c.set(i * n + j, sum);
    }
  t.arguments = {a, b, poisoned(format, {m, n})};
  t.expected = {c};
  t.tolerance = {format == Format::f32 ? 1e-6 : 4e-3};
  return t;
}

Task attention(const std::string& name, int64_t batch, int64_t heads, int64_t s) {
  constexpr int64_t d = 128;
  Task t;
  t.program = read_program(name);
  t.params = {batch, heads, s};
  std::vector<Array> in;
  for (uint64_t k = 0; k < 3; ++k)
    in.push_back(random_array(Format::bf16, {batch, heads, s, d}, k));
  Array o = *make_array(Format::f64, {batch, heads, s, d}),
        l = *make_array(Format::f64, {batch, heads, s});
  for (int64_t row = 0; row < batch * heads * s; ++row) {
    const int64_t i = row % s, first = row / s * s;
    std::vector<double> w, out(d, 0);
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j <= i; ++j) {
      double x = 0;
      for (int64_t c = 0; c < d; ++c) x += in[0].at(row * d + c) * in[1].at((first + j) * d + c);
      w.push_back(x / std::sqrt(128.0));
      m = std::max(m, w.back());
    }
    for (double& x : w) sum += x = std::exp(x - m);
    for (int64_t j = 0; j <= i; ++j)
      for (int64_t c = 0; c < d; ++c)
        out[static_cast<size_t>(c)] +=
            w[static_cast<size_t>(j)] / sum * in[2].at((first + j) * d + c);
    for (int64_t c = 0; c < d; ++c) o.set(row * d + c, out[static_cast<size_t>(c)]);
    l.set(row, m + std::log(sum));
  }
  t.arguments = std::move(in);
  t.arguments.push_back(poisoned(Format::bf16, {batch, heads, s, d}));
  t.arguments.push_back(poisoned(Format::f32, {batch, heads, s}));
  t.expected = {o, l};
  t.tolerance = {8e-3, 1e-6};
  return t;
}

Task attention_gradient(const std::string& name, int64_t heads, int64_t s) {
  constexpr int64_t d = 128;
  constexpr double scale = 0.08838834764831845;
  Task t;
  t.program = read_program(name);
  t.params = {heads, s};
  std::vector<Array> in;  // Q, dO, K, V
  for (uint64_t k = 0; k < 4; ++k) in.push_back(random_array(Format::bf16, {heads, s, d}, k));
  Array l = *make_array(Format::f32, {heads, s}), dsum = l;
  std::vector<Array> want;  // dQ, dK, dV
  for (int k = 0; k < 3; ++k) want.push_back(*make_array(Format::f64, {heads, s, d}));
  const auto dot = [&](const Array& x, int64_t a, const Array& y, int64_t b) {
    double sum = 0;
    for (int64_t c = 0; c < d; ++c) sum += x.at(a * d + c) * y.at(b * d + c);
    return sum;
  };
  const auto add = [&](Array& x, int64_t a, double by, const Array& y, int64_t b) {
    for (int64_t c = 0; c < d; ++c) x.set(a * d + c, x.at(a * d + c) + by * y.at(b * d + c));
  };
  for (int64_t row = 0; row < heads * s; ++row) {
    const int64_t i = row % s, first = row - i;
    std::vector<double> w, dp;
    double m = -INFINITY, sum = 0, delta = 0;
    for (int64_t j = 0; j <= i; ++j) {
      w.push_back(scale * dot(in[0], row, in[2], first + j));
      dp.push_back(dot(in[1], row, in[3], first + j));
      m = std::max(m, w.back());
    }
    for (double x : w) sum += std::exp(x - m);
    l.set(row, m + std::log(sum));
    for (double& x : w) x = std::exp(x - m) / sum;
    for (size_t j = 0; j < w.size(); ++j) delta += w[j] * dp[j];
    dsum.set(row, delta);
    for (int64_t j = 0; j <= i; ++j) {
      const double p = w[static_cast<size_t>(j)];
      const double ds = scale * p * (dp[static_cast<size_t>(j)] - delta);
      add(want[0], row, ds, in[2], first + j);
      add(want[1], first + j, ds, in[0], row);
      add(want[2], first + j, p, in[1], row);
    }
  }
  t.arguments = std::move(in);
  t.arguments.push_back(l);
  t.arguments.push_back(dsum);
  t.arguments.push_back(*make_array(Format::f32, {heads, s, d}));  // the identity of the sum
  for (int k = 0; k < 2; ++k) t.arguments.push_back(poisoned(Format::bf16, {heads, s, d}));
  t.expected = std::move(want);
  t.tolerance = {8e-3, 8e-3, 8e-3};
  return t;
}

Task gated_delta(const std::string& name, int64_t heads, int64_t length) {
  constexpr int64_t d = 128;
  Task t;
  t.program = read_program(name);
  t.params = {heads, length};
  std::vector<Array> in;  // Q, K, V
  for (uint64_t k = 0; k < 3; ++k) in.push_back(random_array(Format::bf16, {heads, length, d}, k));
  // Unit keys, as the rule wants them; their last component counts for much.
  for (int64_t row = 0; row < heads * length; ++row) {
    in[1].set(row * d + d - 1, 6 * in[1].at(row * d + d - 1));
    double sum = 0;
    for (int64_t c = 0; c < d; ++c) sum += in[1].at(row * d + c) * in[1].at(row * d + c);
    for (int64_t c = 0; c < d; ++c) in[1].set(row * d + c, in[1].at(row * d + c) / std::sqrt(sum));
  }
  // Decays that forget all inside of a chunk and at the end of one, and much at the last token.
  Array al = random_array(Format::f32, {heads, length}, 7), be = al;
  for (int64_t k = 0; k < heads * length; ++k) {
    const bool forgets = k == 3 || k == length + 63, last = k % length == length - 1;
    be.set(k, 1 / (1 + std::exp(al.at(k))));
    al.set(k, forgets ? 0 : last ? 0.25 : 1 / (1 + std::exp(-al.at(k) - 1)));
  }
  const Array s0 = random_array(Format::f32, {heads, d, d}, 9);
  Array o = *make_array(Format::f64, {heads, length, d}),
        s1 = *make_array(Format::f64, {heads, d, d});
  for (int64_t h = 0; h < heads; ++h) {
    std::vector<double> s(d * d);  // [x, z]
    for (size_t k = 0; k < s.size(); ++k) s[k] = s0.at(h * d * d + static_cast<int64_t>(k));
    for (int64_t i = 0; i < length; ++i) {
      const int64_t row = h * length + i;
      const auto at = [&](const Array& a, int64_t c) { return a.at(row * d + c); };
      for (int64_t z = 0; z < d; ++z) {
        const auto state = [&](int64_t x) -> double& { return s[static_cast<size_t>(x * d + z)]; };
        double kept = 0, out = 0;
        for (int64_t x = 0; x < d; ++x) kept += at(in[1], x) * state(x);
        for (int64_t x = 0; x < d; ++x)
          state(x) = al.at(row) * (state(x) - be.at(row) * at(in[1], x) * kept) +
                     be.at(row) * at(in[1], x) * at(in[2], z);
        for (int64_t x = 0; x < d; ++x) out += at(in[0], x) * state(x);
        o.set(row * d + z, out);
      }
    }
    for (size_t k = 0; k < s.size(); ++k) s1.set(h * d * d + static_cast<int64_t>(k), s[k]);
  }
  t.arguments = std::move(in);
  for (const Array& a : {al, be, s0}) t.arguments.push_back(a);
  t.arguments.push_back(poisoned(Format::bf16, {heads, length, d}));
  t.arguments.push_back(poisoned(Format::f32, {heads, d, d}));
  t.expected = {o, s1};
  t.tolerance = {6e-3, 6e-3};
  return t;
}

std::string run(const Task& task, const Kernel& kernel, const MachineOptions& options) {
  std::vector<Array> arrays = task.arguments;
  std::vector<Array*> pointers;
  for (Array& a : arrays) pointers.push_back(&a);
  const auto done = run(task.program, kernel, task.params, pointers, options);
  if (!done) return done.error().message;
  const size_t first = arrays.size() - task.expected.size();
  for (size_t k = 0; k < task.expected.size(); ++k)
    if (const double e = error_of(arrays[first + k], task.expected[k]); !(e <= task.tolerance[k]))
      return fmt::format("wrong: output {} has an error of {:.3g}", k, e);
  return {};
}

}  // namespace tang::tile
