// The sweep: shapes that nobody tunes for. No one of them may fall below half its peer.
#include <array>

#include <fmt/format.h>

#include "cpu/programs.h"

namespace tang::bench_cpu {
namespace {

constexpr double lowest = 0.5;
const char* const suite = "sweep";

void products(std::vector<Case>& cases) {
  const auto add = [&](const Product& p) { cases.push_back(product_case(suite, p)); };
  // Primes, and one beside powers of two and multiples of 6, 8 and 16.
  for (const int64_t n : {3, 11, 19, 37, 61, 101, 211, 509, 911}) add({n, n, n});
  for (const int64_t n : {15, 23, 25, 49, 95, 161, 193, 255, 511, 513, 1023, 1025}) add({n, n, n});
  for (const auto& [m, n, k] : std::initializer_list<std::array<int64_t, 3>>{{127, 129, 131},
                                                                             {6, 16, 1000},
                                                                             {7, 17, 1001},
                                                                             {5, 1000, 7},
                                                                             {1000, 5, 7},
                                                                             {1000, 7, 1000},
                                                                             {7, 1000, 1000},
                                                                             {97, 89, 2003},
                                                                             {2003, 89, 97},
                                                                             {31, 2003, 31}})
    add({m, n, k});
  // K = 40, rank 1, products of vectors and matrices.
  for (const int64_t n : {64, 256, 257, 1000}) add({n, n, 40});
  for (const int64_t n : {16, 129, 1000}) add({n, n, 1});
  for (const int64_t n : {17, 64, 257, 1000, 1024, 4096}) {
    add({n, 1, n});
    add({1, n, n});
  }
  add({1, 1000, 999, 1, false, true});
  add({1000, 1, 999, 1, true, false});
  add({1, 1, 10007});
  for (const int64_t n : {5, 33, 128, 257}) add({n, n, n, 3});
  add({40, 100, 60, 3, true, false});
  add({101, 103, 107, 1, true, false});
  add({101, 103, 107, 1, false, true});
  add({101, 103, 107, 1, true, true});
  add({509, 511, 40, 1, true, true});
}

void attention(std::vector<Case>& cases) {
  for (const auto& [seq, d] : std::initializer_list<std::array<int64_t, 2>>{
           {127, 64}, {257, 40}, {333, 80}, {509, 64}, {1023, 64}, {77, 32}, {512, 128}, {31, 13}})
    for (const bool causal : {false, true})
      cases.push_back(attention_case(suite, {3, seq, seq, d, causal}));
  cases.push_back(attention_case(suite, {8, 1, 1023, 64}));
  cases.push_back(attention_case(suite, {8, 5, 700, 80}));
  cases.push_back(attention_case(suite, {1, 333, 77, 40}));
}

void rows(std::vector<Case>& cases) {
  for (const char* what : {"softmax", "layernorm", "rmsnorm", "logsumexp"})
    for (const auto& [n, width] : std::initializer_list<std::array<int64_t, 2>>{
             {1, 7}, {1000, 7}, {37, 129}, {128, 1001}, {513, 768}, {1, 50257}, {1023, 2049}})
      cases.push_back(row_case(suite, what, n, width));
}

void convolutions(std::vector<Case>& cases) {
  for (const Convolution& c : std::initializer_list<Convolution>{{1, 3, 16, 31, 29, 3, 1, 1, 1},
                                                                 {1, 3, 64, 112, 112, 7, 2, 1, 3},
                                                                 {1, 32, 40, 27, 27, 5, 1, 1, 2},
                                                                 {2, 16, 24, 33, 35, 3, 2, 1, 1},
                                                                 {1, 32, 32, 41, 43, 3, 1, 2, 2},
                                                                 {1, 64, 128, 28, 28, 1, 1, 1, 0},
                                                                 {3, 13, 17, 15, 15, 3, 1, 1, 0},
                                                                 {1, 128, 128, 14, 14, 3, 1, 1, 1},
                                                                 {1, 1, 1, 257, 255, 5, 1, 1, 2}})
    cases.push_back(convolution_case(suite, c));
}

// Programs of a few lines; the peer is what a user of torch would write.
struct Small {
  const char* name;
  std::string dims, inputs, body, torch;
};

void small(std::vector<Case>& cases, const std::vector<Small>& all) {
  for (const Small& s : all) {
    Case c;
    c.suite = suite;
    c.name = s.name;
    c.program = fmt::format("dim {}\ninput {} : f32\n{}\noutput y\n", s.dims, s.inputs, s.body);
    c.torch = s.torch;
    cases.push_back(std::move(c));
  }
}

void maps(std::vector<Case>& cases) {
  const std::string square = "i = 1000, j = 999", x = "x[i, j]", xb = "x[i, j], b[j]";
  small(cases,
        {{"add 1000x999", square, "x[i, j], z[i, j]", "y[i, j] = x[i, j] + z[i, j]", "x + z"},
         {"add 1001", "i = 1001", "x[i], z[i]", "y[i] = x[i] + z[i]", "x + z"},
         {"bias relu 1000x999", square, xb, "y[i, j] = relu(x[i, j] + b[j])", "torch.relu(x + b)"},
         {"bias gelu 1000x999", square, xb, "y[i, j] = gelu(x[i, j] + b[j])", "F.gelu(x + b)"},
         {"gelu_tanh 1000x999", square, x, "y[i, j] = gelu_tanh(x[i, j])",
          "F.gelu(x, approximate='tanh')"},
         {"silu 1000x999", square, x, "y[i, j] = silu(x[i, j])", "F.silu(x)"},
         {"exp 1000x999", square, x, "y[i, j] = exp(x[i, j])", "torch.exp(x)"},
         {"tanh 1000x999", square, x, "y[i, j] = tanh(x[i, j])", "torch.tanh(x)"},
         {"sigmoid 131x17", "i = 131, j = 17", x, "y[i, j] = sigmoid(x[i, j])", "torch.sigmoid(x)"},
         {"column scale 1000x999", square, "x[i, j], b[i]", "y[i, j] = x[i, j] * b[i]",
          "x * b[:, None]"},
         {"outer sum 1000x999", square, "a[i], b[j]", "y[i, j] = a[i] + b[j]", "a[:, None] + b"}});
}

void moves_and_folds(std::vector<Case>& cases) {
  const std::string square = "i = 1000, j = 999", x = "x[i, j]";
  small(
      cases,
      {{"transpose 1000x999", square, x, "y[j, i] = x[i, j]", "x.t().contiguous()"},
       {"transpose 1024x1024", "i = 1024, j = 1024", x, "y[j, i] = x[i, j]", "x.t().contiguous()"},
       {"transpose 37x53", "i = 37, j = 53", x, "y[j, i] = x[i, j]", "x.t().contiguous()"},
       {"transpose heads 7x129x5x33", "a = 7, b = 129, c = 5, d = 33", "x[a, b, c, d]",
        "y[a, c, b, d] = x[a, b, c, d]", "x.transpose(1, 2).contiguous()"},
       {"transpose 3x100x101", "b = 3, i = 100, j = 101", "x[b, i, j]", "y[b, j, i] = x[b, i, j]",
        "x.transpose(1, 2).contiguous()"},
       {"sum of columns 1000x999", square, x, "y[j] = sum[i](x[i, j])", "x.sum(0)"},
       {"max of columns 1000x999", square, x, "y[j] = max[i](x[i, j])", "torch.amax(x, 0)"},
       {"mean of columns 4099x33", "i = 4099, j = 33", x, "y[j] = mean[i](x[i, j])", "x.mean(0)"},
       {"sum of rows 1000x999", square, x, "y[i] = sum[j](x[i, j])", "x.sum(1)"},
       {"sum of all 1000x999", square, x, "y = sum[i, j](x[i, j])", "x.sum()"},
       {"max of all 1000x999", square, x, "y = max[i, j](x[i, j])", "x.max()"},
       {"sum of the middle 31x129x65", "a = 31, i = 129, j = 65", "x[a, i, j]",
        "y[a, j] = sum[i](x[a, i, j])", "x.sum(1)"},
       {"variance of rows 513x1001", "i = 513, j = 1001", x, "y[i] = var[j](x[i, j])",
        "x.var(1, unbiased=False)"},
       {"softmax of columns 513x257", "i = 513, j = 257", x,
        "e[i, j] = exp(x[i, j] - max[i](x[i, j]))\ny[i, j] = e[i, j] / sum[i](e[i, j])",
        "torch.softmax(x, 0)"},
       {"product relu bias 257x259x255", "m = 257, n = 259, k = 255", "a[m, k], b[k, n], c[n]",
        "y[m, n] = relu(sum[k](a[m, k] * b[k, n]) + c[n])", "torch.relu(torch.addmm(c, a, b))"},
       {"product gelu 100x768x192", "m = 100, n = 768, k = 192", "a[m, k], w[n, k], c[n]",
        "y[m, n] = gelu(sum[k](a[m, k] * w[n, k]) + c[n])", "F.gelu(F.linear(a, w, c))"}});
}

}  // namespace

std::vector<Case> sweep_suite() {
  std::vector<Case> cases;
  products(cases);
  attention(cases);
  rows(cases);
  convolutions(cases);
  maps(cases);
  moves_and_folds(cases);
  for (Case& c : cases) c.gate = lowest;
  return cases;
}

}  // namespace tang::bench_cpu
