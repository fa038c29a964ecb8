#include "cpu/dnnl_peers.h"

#include <dnnl.hpp>
#include <omp.h>
#include <unordered_map>

#include <fmt/format.h>

namespace tang::bench_cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

// What a call runs, in order.
struct Sequence {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, memory>>> steps;

  memory wrap(const memory::dims& dims, Tag tag, const float* values) const {
    return memory({dims, Type::f32, tag}, engine, const_cast<float*>(values));
  }
  void copy(memory& from, memory& to) {
    steps.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
  void run() {
    for (auto& [primitive, arguments] : steps) primitive.execute(stream, arguments);
    stream.wait();
  }
};

memory::desc any(const memory::dims& dims) { return {dims, Type::f32, Tag::any}; }

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
}

std::shared_ptr<Sequence> convolution(const Convolution& c, bool packed, const Inputs& in,
                                      Buffer& out) {
  auto s = std::make_shared<Sequence>();
  const memory::dims xd = {c.batch, c.in, c.height, c.width};
  const memory::dims wd = {c.out, c.in, c.window, c.window};
  const memory::dims yd = {c.batch, c.out, c.side(c.height), c.side(c.width)};
  const memory::dims stride = {c.stride, c.stride}, pad = {c.pad, c.pad};
  const memory::dims dilation = {c.dilation - 1, c.dilation - 1};  // 0: dense
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                             dnnl::algorithm::convolution_auto, any(xd), any(wd),
                                             any(yd), stride, dilation, pad, pad);
  const dnnl::convolution_forward::primitive_desc best(desc, s->engine);
  memory x = s->wrap(xd, Tag::nchw, data(in[0])), w = s->wrap(wd, Tag::oihw, data(in[1]));
  memory y = s->wrap(yd, Tag::nchw, data(out));
  const auto stored = [&](memory& given, const memory::desc& wanted) {
    return given.get_desc() == wanted ? given : memory(wanted, s->engine);
  };
  memory xb = stored(x, best.src_desc()), wb = stored(w, best.weights_desc());
  memory yb = stored(y, best.dst_desc());
  if (xb != x) s->copy(x, xb);
  if (wb != w && packed) {
    dnnl::reorder(w, wb).execute(s->stream, w, wb);
    s->stream.wait();
  } else if (wb != w) {
    s->copy(w, wb);
  }
  s->steps.push_back({dnnl::convolution_forward(best),
                      {{DNNL_ARG_SRC, xb}, {DNNL_ARG_WEIGHTS, wb}, {DNNL_ARG_DST, yb}}});
  if (yb != y) s->copy(yb, y);
  return s;
}

// One dense layer onto `s`; gives its output.
memory layer(Sequence& s, memory& x, const float* weights, const float* bias, int64_t from,
             int64_t to, const std::optional<dnnl::algorithm>& activation, memory y) {
  memory b = s.wrap({1, to}, Tag::ab, bias);
  dnnl::primitive_attr attributes;
  if (activation) {
    dnnl::post_ops after;
    after.append_eltwise(1, *activation, 0, 0);
    attributes.set_post_ops(after);
  }
  const dnnl::matmul::primitive_desc best(
      dnnl::matmul::desc(x.get_desc(), any({from, to}), b.get_desc(), y.get_desc()), attributes,
      s.engine);
  memory given = s.wrap({from, to}, Tag::ba, weights), packed(best.weights_desc(), s.engine);
  dnnl::reorder(given, packed).execute(s.stream, given, packed);
  s.stream.wait();
  s.steps.push_back(
      {dnnl::matmul(best),
       {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, y}}});
  return y;
}

std::shared_ptr<Sequence> network(const Mlp& mlp, const Inputs& in, Buffer& out) {
  auto s = std::make_shared<Sequence>();
  memory x = s->wrap({1, mlp.widths[0]}, Tag::ab, data(in[0]));
  for (size_t k = 0; k < 3; ++k) {
    const int64_t from = mlp.widths[k], to = mlp.widths[k + 1];
    std::optional<dnnl::algorithm> activation;
    if (k < 2)
      activation = mlp.tanh ? dnnl::algorithm::eltwise_tanh : dnnl::algorithm::eltwise_relu;
    memory y = k < 2 ? memory({{1, to}, Type::f32, Tag::ab}, s->engine)
                     : s->wrap({1, to}, Tag::ab, data(out));
    x = layer(*s, x, data(in[2 * k + 1]), data(in[2 * k + 2]), from, to, activation, y);
  }
  return s;
}

std::shared_ptr<Sequence> product(const Product& p, const Inputs& in, Buffer& out) {
  auto s = std::make_shared<Sequence>();
  memory a = s->wrap({p.m, p.k}, p.transpose_a ? Tag::ba : Tag::ab, data(in[0]));
  memory given = s->wrap({p.k, p.n}, p.transpose_b ? Tag::ba : Tag::ab, data(in[1]));
  memory c = s->wrap({p.m, p.n}, Tag::ab, data(out));
  const dnnl::matmul::primitive_desc best(
      dnnl::matmul::desc(a.get_desc(), any({p.k, p.n}), c.get_desc()), s->engine);
  memory packed(best.weights_desc(), s->engine);
  dnnl::reorder(given, packed).execute(s->stream, given, packed);
  s->stream.wait();
  s->steps.push_back(
      {dnnl::matmul(best), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, c}}});
  return s;
}

template <class Make>
Outcome<std::unique_ptr<Contender>> contender(int threads, int64_t outputs, Make make) {
  omp_set_num_threads(threads);
  auto out = floats(outputs);
  try {
    std::shared_ptr<Sequence> s = make(*out);
    return local([s] { s->run(); }, out);
  } catch (const dnnl::error& e) {
    return tl::unexpected(fmt::format("oneDNN: {}", e.what()));
  }
}

}  // namespace

Peer dnnl_convolution(const Convolution& c, bool packed) {
  return {version(), [c, packed](const Inputs& in, int threads) {
            return contender(threads, c.batch * c.out * c.side(c.height) * c.side(c.width),
                             [&](Buffer& out) { return convolution(c, packed, in, out); });
          }};
}

Peer dnnl_product(const Product& p) {
  return {version(), [p](const Inputs& in, int threads) {
            return contender(threads, p.m * p.n, [&](Buffer& out) { return product(p, in, out); });
          }};
}

Peer dnnl_mlp(const Mlp& mlp) {
  return {version(), [mlp](const Inputs& in, int threads) {
            return contender(threads, mlp.widths[3],
                             [&](Buffer& out) { return network(mlp, in, out); });
          }};
}

}  // namespace tang::bench_cpu
