#include "models/llama.h"

#include <cmath>

#include <fmt/format.h>

#include "ir/builder.h"

namespace tang {

namespace {

using What = LlamaStep::Input::What;

constexpr double rotary_base = 10000;
constexpr double norm_epsilon = 1e-5;

class StepBuilder {
 public:
  explicit StepBuilder(const LlamaShape& shape) : s(shape) {}

  Result<LlamaStep> build() {
    const TensorRef embedding = weight(LlamaWeight::embedding, "embedding", {v, c});
    TensorRef x = g.map(
        "x", {c}, [](auto e) { return e; }, embedding(token(), c));
    for (layer_ = 0; layer_ < s.layers; ++layer_) x = feed_forward(attention(x));
    layer_ = 0;
    const TensorRef h = normed(x, weight(LlamaWeight::final_norm, "final_norm", {c}), "final");
    g.output(g.reduce("logits", tang::sum, {v}, {c}, product, embedding(v, c), h(c)));
    for (const auto& [next, cache] : caches_) g.output(next, cache);
    auto graph = g.build();
    if (!graph) return tl::unexpected(graph.error());
    step_.graph = std::move(*graph);
    return std::move(step_);
  }

 private:
  static Expr product(const Expr& a, const Expr& b) { return a * b; }

  std::string name(std::string_view base) const { return fmt::format("{}_{}", base, layer_); }

  TensorRef input(const std::string& called, const std::vector<Extent>& shape, Format format,
                  LlamaStep::Input source) {
    step_.inputs.push_back(source);
    return g.input(called, shape, format);
  }
  TensorRef weight(LlamaWeight kind, const std::string& called, const std::vector<Extent>& shape) {
    return input(called, shape, Format::f32, {What::weight, kind, layer_});
  }

  // RMSNorm: x / sqrt(mean(x²) + ε), times a gain for each channel.
  TensorRef normed(const TensorRef& x, const TensorRef& gain, const std::string& called) {
    const TensorRef square = g.reduce(
        called + "_square", tang::sum, {}, {c}, [](auto a) { return a * a; }, x(c));
    return g.map(
        called + "_h", {c},
        [&](auto a, auto w, auto q) {
          return w * a * rsqrt(q / static_cast<double>(s.dim) + norm_epsilon);
        },
        x(c), gain(c), square());
  }

  // Projects h by both components of each pair of W and turns the pairs by the position's angle.
  std::vector<TensorRef> rotated(const std::string& called, std::vector<Index> points,
                                 const std::function<Expr(int)>& w, const TensorRef& h) {
    const Expr pairs = static_cast<double>(s.head() / 2);
    const Expr angle = position() * exp(-r / pairs * std::log(rotary_base));
    points.push_back(r);
    return g.define(
        {{name(called + "a"), points}, {name(called + "b"), points}},
        {g.fold(tang::sum, {c}, product, w(0), h(c)), g.fold(tang::sum, {c}, product, w(1), h(c))},
        [&](const States& a) {
          return Parts{a[0] * cos(angle) - a[1] * sin(angle),
                       a[0] * sin(angle) + a[1] * cos(angle)};
        });
  }

  // Every position's row as before, this position's replaced.
  TensorRef appended(const std::string& called, const TensorRef& cache,
                     const std::vector<Index>& row, const Expr& fresh, const Expr& old) {
    std::vector<Index> points = {t};
    points.insert(points.end(), row.begin(), row.end());
    const TensorRef next = g.map(
        name(called), points, [&](auto a, auto b) { return select(t == position(), a, b); }, fresh,
        old);
    caches_.emplace_back(next, cache);
    return next;
  }

  TensorRef attention(const TensorRef& x) {
    const TensorRef gain = weight(LlamaWeight::attention_norm, name("attention_norm"), {c});
    const TensorRef wq = weight(LlamaWeight::query, name("wq"), {kv, m, r, u, c});
    const TensorRef wk = weight(LlamaWeight::key, name("wk"), {kv, r, u, c});
    const TensorRef wv = weight(LlamaWeight::value, name("wv"), {kv, e, c});
    const TensorRef wo = weight(LlamaWeight::attention_out, name("wo"), {c, kv, m, e});
    const TensorRef keys =
        input(name("keys"), {t, kv, r, u}, Format::f32, {What::key_cache, {}, layer_});
    const TensorRef values =
        input(name("values"), {t, kv, e}, Format::f32, {What::value_cache, {}, layer_});

    const TensorRef h = normed(x, gain, name("attention"));
    const auto q = rotated(
        "q", {kv, m}, [&](int k) { return wq(kv, m, r, k, c); }, h);
    const auto key = rotated(
        "k", {kv}, [&](int k) { return wk(kv, r, k, c); }, h);
    const TensorRef value =
        g.reduce(name("v"), tang::sum, {kv, e}, {c}, product, wv(kv, e, c), h(c));
    const TensorRef ks = appended("new_keys", keys, {kv, r, u},
                                  select(u == 0, key[0](kv, r), key[1](kv, r)), keys(t, kv, r, u));
    const TensorRef vs = appended("new_values", values, {kv, e}, value(kv, e), values(t, kv, e));

    // softmax(q · k / sqrt(head)) over the positions so far, weighting the values.
    const Over so_far = Over{t}.when(t <= position());
    const double scale = std::sqrt(static_cast<double>(s.head()));
    const TensorRef score = g.reduce(
        name("score"), tang::sum, {kv, m, t}, {r},
        [](auto qa, auto ka, auto qb, auto kb) { return qa * ka + qb * kb; }, q[0](kv, m, r),
        ks(t, kv, r, 0), q[1](kv, m, r), ks(t, kv, r, 1));
    const TensorRef scaled = g.map(
        name("scaled"), {kv, m, t}, [&](auto a) { return a / scale; }, score(kv, m, t));
    const TensorRef highest = g.reduce(
        name("highest"), tang::max, {kv, m}, so_far, [](auto a) { return a; }, scaled(kv, m, t));
    const TensorRef p = g.map(
        name("p"), {kv, m, t}, [](auto a, auto b) { return exp(a - b); }, scaled(kv, m, t),
        highest(kv, m));
    const TensorRef total = g.reduce(
        name("total"), tang::sum, {kv, m}, so_far, [](auto a) { return a; }, p(kv, m, t));
    const TensorRef mixed =
        g.reduce(name("mixed"), tang::sum, {kv, m, e}, so_far, product, p(kv, m, t), vs(t, kv, e));
    const TensorRef o = g.map(
        name("o"), {kv, m, e}, [](auto a, auto b) { return a / b; }, mixed(kv, m, e), total(kv, m));
    return added(name("x_attention"), x, {kv, m, e}, wo(c, kv, m, e), o(kv, m, e));
  }

  // SwiGLU: w2 (silu(w1 h) · (w3 h)).
  TensorRef feed_forward(const TensorRef& x) {
    const TensorRef gain = weight(LlamaWeight::ffn_norm, name("ffn_norm"), {c});
    const TensorRef w1 = weight(LlamaWeight::gate, name("w1"), {f, c});
    const TensorRef w2 = weight(LlamaWeight::down, name("w2"), {c, f});
    const TensorRef w3 = weight(LlamaWeight::up, name("w3"), {f, c});
    const TensorRef h = normed(x, gain, name("ffn"));
    const TensorRef a = g.define({{name("a"), {f}}},
                                 {g.fold(tang::sum, {c}, product, w1(f, c), h(c)),
                                  g.fold(tang::sum, {c}, product, w3(f, c), h(c))},
                                 [](const States& y) { return Parts{silu(y[0]) * y[1]}; })[0];
    return added(name("x_ffn"), x, {f}, w2(c, f), a(f));
  }

  // x + W y, the residual stream.
  TensorRef added(const std::string& called, const TensorRef& x, const Over& over, const Expr& w,
                  const Expr& y) {
    return g.define({{called, {c}}}, {g.fold(tang::sum, over, product, w, y)},
                    [&](const States& a) { return Parts{x(c) + a[0]}; })[0];
  }

  const LlamaShape s;
  LlamaStep step_;
  Builder g;
  int64_t layer_ = 0;
  const Index v = g.dim("v", s.vocab), c = g.dim("c", s.dim), f = g.dim("f", s.hidden),
              kv = g.dim("kv", s.kv_heads), m = g.dim("m", s.group()), r = g.dim("r", s.head() / 2),
              u = g.dim("u", 2), e = g.dim("e", s.head()), t = g.dim("t", s.context);
  const TensorRef token = input("token", {}, Format::i32, {What::token});
  const TensorRef position = input("position", {}, Format::i32, {What::position});
  std::vector<std::pair<TensorRef, TensorRef>> caches_;
};

}  // namespace

Result<LlamaStep> llama_step(const LlamaShape& shape) { return StepBuilder(shape).build(); }

}  // namespace tang
