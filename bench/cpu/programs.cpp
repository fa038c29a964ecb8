#include "cpu/programs.h"

#include <fmt/format.h>

#include "cpu/blas.h"
#include "cpu/dnnl_peers.h"

namespace tang::bench_cpu {
namespace {

std::string size_name(const Product& p) {
  const std::string layouts =
      fmt::format("{}{}", p.transpose_a ? " A^T" : "", p.transpose_b ? " B^T" : "");
  if (p.m == p.n && p.n == p.k && p.batch == 1) return fmt::format("n={}{}", p.n, layouts);
  return fmt::format("{}{}x{}x{}{}", p.batch > 1 ? fmt::format("batch {} ", p.batch) : "", p.m, p.n,
                     p.k, layouts);
}

std::string product_text(const Product& p) {
  const std::string b = p.batch > 1 ? "b, " : "";
  const std::string left = b + (p.transpose_a ? "k, m" : "m, k");
  const std::string right = b + (p.transpose_b ? "n, k" : "k, n");
  return fmt::format(
      "dim {}m = {}, n = {}, k = {}\n"
      "input A[{}], B[{}] : f32\n"
      "C[{}m, n] = sum[k](A[{}] * B[{}])\n"
      "output C\n",
      p.batch > 1 ? fmt::format("b = {}, ", p.batch) : "", p.m, p.n, p.k, left, right, b, left,
      right);
}

std::string row_text(const std::string& what) {
  if (what == "softmax")
    return "input x[i, j] : f32\n"
           "e[i, j] = exp(x[i, j] - max[j](x[i, j]))\n"
           "y[i, j] = e[i, j] / sum[j](e[i, j])\n";
  if (what == "layernorm")
    return "input x[i, j], gain[j], bias[j] : f32\n"
           "y[i, j] = (x[i, j] - mean[j](x[i, j])) * rsqrt(var[j](x[i, j]) + 1e-5) * gain[j] + "
           "bias[j]\n";
  if (what == "rmsnorm")
    return "input x[i, j], gain[j] : f32\n"
           "y[i, j] = x[i, j] * rsqrt(mean[j](x[i, j] * x[i, j]) + 1e-5) * gain[j]\n";
  return "input x[i, j] : f32\n"
         "y[i] = logsumexp[j](x[i, j])\n";
}

std::string row_torch(const std::string& what) {
  if (what == "softmax") return "torch.softmax(x, -1)";
  if (what == "layernorm") return "F.layer_norm(x, gain.shape, gain, bias, 1e-5)";
  if (what == "rmsnorm") return "x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * gain";
  return "torch.logsumexp(x, -1)";
}

}  // namespace

Case product_case(const std::string& suite, const Product& p) {
  Case c;
  c.suite = suite;
  c.name = (suite == "sgemm" ? "" : "product ") + size_name(p);
  c.program = product_text(p);
  c.peers = blas_peers(p);
  c.reference = [p](const Inputs& in) { return product_in_f64(p, in); };
  return c;
}

Case prepacked_product_case(const std::string& suite, const Product& p) {
  Case c = product_case(suite, p);
  c.name += ", B prepacked";
  c.constants = {"B"};
  c.peers.insert(c.peers.begin(), dnnl_product(p));
  return c;
}

Case attention_case(const std::string& suite, const Attention& a) {
  Case c;
  c.suite = suite;
  c.name = fmt::format(
      "{}{}x{}x{}{}", suite == "attention" ? "" : "attention ", a.heads,
      a.queries == a.keys ? fmt::format("{}", a.keys) : fmt::format("{}x{}", a.queries, a.keys),
      a.width, a.causal ? " causal" : "");
  const std::string score = fmt::format("sum[d](q[h, i, d] * k[h, j, d]) / sqrt({})", a.width);
  c.program = fmt::format(
      "dim h = {}, i = {}, j = {}, d = {}, e = {}\n"
      "input q[h, i, d], k[h, j, d], v[h, j, e] : f32\n"
      "s[h, i, j] = {}\n"
      "p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))\n"
      "o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])\n"
      "output o\n",
      a.heads, a.queries, a.keys, a.width, a.width,
      a.causal ? fmt::format("select(j <= i, {}, -inf)", score) : score);
  c.torch = fmt::format("torch.softmax(q @ k.transpose(-1, -2) * {} ** -0.5{}, -1) @ v", a.width,
                        a.causal ? " + mask" : "");
  if (a.causal)
    c.torch_setup = fmt::format("mask = torch.full(({}, {}), -math.inf, dtype=q.dtype).triu(1)",
                                a.queries, a.keys);
  return c;
}

Case row_case(const std::string& suite, const std::string& what, int64_t rows, int64_t columns) {
  Case c;
  c.suite = suite;
  c.name = fmt::format("{} {}x{}", what, rows, columns);
  c.program = fmt::format("dim i = {}, j = {}\n{}output y\n", rows, columns, row_text(what));
  c.torch = row_torch(what);
  const int64_t bytes = rows * columns * static_cast<int64_t>(sizeof(float));
  c.yardstick = {Yardstick::Kind::copy, bytes,
                 static_cast<double>(bytes) * (what == "logsumexp" ? 1 : 2)};
  return c;
}

Case convolution_case(const std::string& suite, const Convolution& c) {
  Case result;
  result.suite = suite;
  result.name =
      fmt::format("conv {}x{} {}->{} on {}x{}", c.window, c.window, c.in, c.out, c.height, c.width);
  if (c.batch > 1) result.name += fmt::format(" batch {}", c.batch);
  if (c.stride > 1) result.name += fmt::format(" stride {}", c.stride);
  if (c.dilation > 1) result.name += fmt::format(" dilation {}", c.dilation);
  const auto at = [&](const char* point, const char* offset) {
    std::string text = c.stride > 1 ? fmt::format("{}*{}", c.stride, point) : point;
    text +=
        c.dilation > 1 ? fmt::format(" + {}*{}", c.dilation, offset) : fmt::format(" + {}", offset);
    return c.pad > 0 ? text + fmt::format(" - {}", c.pad) : text;
  };
  result.program = fmt::format(
      "dim n = {}, o = {}, c = {}, p = {}, q = {}, r = {}, s = {}\n"
      "input x[n, c, {}, {}], w[o, c, r, s] : f32\n"
      "y[n, o, p, q] = sum[c, r, s](x{}[n, c, {}, {}] * w[o, c, r, s])\n"
      "output y\n",
      c.batch, c.out, c.in, c.side(c.height), c.side(c.width), c.window, c.window, c.height,
      c.width, c.pad > 0 ? "?" : "", at("p", "r"), at("q", "s"));
  result.peers = {dnnl_convolution(c, false)};
  result.torch = fmt::format("F.conv2d(x, w, stride={}, padding={}, dilation={})", c.stride, c.pad,
                             c.dilation);
  return result;
}

Case prepacked_convolution_case(const std::string& suite, const Convolution& c) {
  Case result = convolution_case(suite, c);
  result.name += ", w prepacked";
  result.constants = {"w"};
  result.peers = {dnnl_convolution(c, true)};
  return result;
}

}  // namespace tang::bench_cpu
