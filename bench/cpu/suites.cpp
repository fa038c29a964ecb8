// The suites that have gates of their own.
#include <fmt/format.h>

#include "base/files.h"
#include "cpu/dnnl_peers.h"
#include "cpu/programs.h"

namespace tang::bench_cpu {

std::vector<Case> sgemm_suite() {
  std::vector<Case> cases;
  const auto add = [&](const Product& p, std::optional<double> gate) {
    cases.push_back(product_case("sgemm", p));
    cases.back().gate = gate;
  };
  for (const int64_t n : {4, 5, 6, 7, 8, 12, 13, 16, 17, 24, 31, 32}) add({n, n, n}, 1.6);
  for (const int64_t n : {33, 40, 47, 48, 63, 64, 65, 80, 96, 97, 112, 127}) add({n, n, n}, 1.0);
  for (const int64_t n : {128, 129, 192, 256, 257, 384, 512, 768, 1024, 1536, 2048})
    add({n, n, n}, 0.9);
  add({1000, 999, 997}, 0.9);
  for (const int64_t n : {16, 64, 256, 1000}) {
    add({n, n, n, 1, true, false}, std::nullopt);
    add({n, n, n, 1, false, true}, std::nullopt);
    add({n, n, n, 1, true, true}, std::nullopt);
  }
  for (const int64_t n : {8, 16, 32, 48, 64, 96, 128, 256, 512})
    for (const bool turned : {false, true})
      cases.push_back(prepacked_product_case("sgemm", {n, n, n, 1, false, turned}));
  for (const int64_t m : {1, 4, 8})
    cases.push_back(prepacked_product_case("sgemm", {m, 512, 512, 1, false, true}));
  return cases;
}

std::vector<Case> attention_suite() {
  std::vector<Case> cases = {attention_case("attention", {8, 1024, 1024, 64}),
                             attention_case("attention", {8, 1024, 1024, 64, true})};
  cases[0].gate = 1.5;
  cases[1].gate = 2.0;
  return cases;
}

std::vector<Case> rows_suite() {
  std::vector<Case> cases;
  for (const char* what : {"softmax", "layernorm", "rmsnorm", "logsumexp"})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{64, 1024},
                                        {256, 1024},
                                        {1024, 1024},
                                        {1024, 4096},
                                        {4096, 1024},
                                        {4096, 4096}}) {
      cases.push_back(row_case("rows", what, rows, columns));
      cases.back().gate = 1.2;
      cases.back().fraction_gate = 0.9;
    }
  return cases;
}

std::vector<Case> conv_suite() {
  Case c = convolution_case("conv2d", {1, 64, 64, 56, 56, 3, 1, 1, 1});
  c.gate = 0.6;
  return {c, prepacked_convolution_case("conv2d", {1, 64, 64, 56, 56, 3, 1, 1, 1})};
}

namespace {

std::string mlp_text(const Mlp& mlp) {
  const std::string f = mlp.tanh ? "tanh" : "relu";
  return fmt::format(
      "dim i = {}, a = {}, b = {}, m = {}\n"
      "input obs[i], w1[a, i], b1[a], w2[b, a], b2[b], w3[m, b], b3[m] : f32\n"
      "x1[a] = {}(sum[i](w1[a, i] * obs[i]) + b1[a])\n"
      "x2[b] = {}(sum[a](w2[b, a] * x1[a]) + b2[b])\n"
      "act[m] = sum[b](w3[m, b] * x2[b]) + b3[m]\n"
      "output act\n",
      mlp.widths[0], mlp.widths[1], mlp.widths[2], mlp.widths[3], f, f);
}

Case mlp_case(const std::string& name, const Mlp& mlp, std::string program) {
  Case c;
  c.suite = "policy";
  c.name = name;
  c.program = std::move(program);
  c.peers = eigen_mlp(mlp);
  c.peers.push_back(dnnl_mlp(mlp));
  c.torch = fmt::format("F.linear({0}(F.linear({0}(F.linear(obs, w1, b1)), w2, b2)), w3, b3)",
                        mlp.tanh ? "torch.tanh" : "torch.relu");
  c.fastest = true;
  c.latency = c.one_thread = true;
  c.gate = 1.5;
  const int64_t bytes = mlp.weights() * static_cast<int64_t>(sizeof(float));
  c.yardstick = {Yardstick::Kind::read, bytes, static_cast<double>(bytes)};
  c.fraction_gate = 0.8;
  c.scales = {{"w1", 0.1}, {"w2", 0.06}, {"w3", 0.08}};
  return c;
}

}  // namespace

std::vector<Case> policy_suite(const SuiteOptions& options) {
  const Mlp tanh{{12, 256, 128, 4}, true}, relu{{12, 256, 128, 4}, false};
  const Mlp policy{{48, 256, 128, 12}, true};
  const auto text = read_file(options.examples + "/policy.tang", 1 << 20);
  std::vector<Case> cases = {
      mlp_case("mlp 12-256-128-4 tanh", tanh, mlp_text(tanh)),
      mlp_case("mlp 12-256-128-4 relu", relu, mlp_text(relu)),
      mlp_case("policy 48-256-128-12", policy, text ? *text : mlp_text(policy))};
  // tang may pack the weights before too, as oneDNN does.
  for (size_t k = 0; k < 3; ++k) {
    cases.push_back(cases[k]);
    cases.back().name += ", prepacked";
    cases.back().constants = {"w1", "b1", "w2", "b2", "w3", "b3"};
  }
  return cases;
}

std::vector<Case> all_cases(const SuiteOptions& options) {
  std::vector<Case> all;
  for (auto suite : {sgemm_suite(), attention_suite(), rows_suite(), conv_suite(),
                     policy_suite(options), llama_suite(options), sweep_suite()})
    for (Case& c : suite) all.push_back(std::move(c));
  return all;
}

}  // namespace tang::bench_cpu
