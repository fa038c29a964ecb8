// Kernels that threads share: which loops, that their iterations are independent, and that the
// number of threads changes no bit.
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eval/oracle.h"
#include "eval/random_inputs.h"
#include "front/elaborate.h"
#include "ir/bind.h"
#include "loop/machine.h"
#include "loop/text.h"
#include "rewrite/pipeline.h"
#include "run/c_device.h"
#include "verify/variant.h"

namespace tang {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Made {
  Graph graph;
  Variant variant;
  std::string text;
};

Made make(const std::string& program, int64_t threads) {
  Made m;
  m.graph = parse(program).value();
  EXPECT_TRUE(bind(m.graph, {}).empty());
  m.variant = make_variant(derive(m.graph, {.keep_texts = false}).derived,
                           {.threads = threads, .shared_ns = 0})
                  .value();
  m.text = loop::print(m.variant.program());
  return m;
}

// Memory of every buffer at the values of the params, inputs drawn; outputs come last.
struct Memory {
  std::vector<std::vector<std::byte>> data;  // by BufferId
  std::vector<void*> pointers;
};

Memory memory_of(const Made& m) {
  const LoopProgram& p = m.variant.program();
  const std::vector<int64_t> params = bound_params(m.graph);
  Memory memory;
  const std::vector<TensorId> inputs = inputs_of(m.graph);
  for (size_t k = 0; k < p.buffers.size(); ++k) {
    const auto bytes = bytes_for(p.buffers[k].format, *p.buffers[k].count.evaluate(params));
    memory.data.emplace_back(static_cast<size_t>(*bytes), std::byte{0xff});
    if (k < inputs.size()) {
      const auto array = random_input(m.graph, inputs[k], params, 1).value();
      std::memcpy(memory.data[k].data(), array.data.data(), memory.data[k].size());
    }
  }
  for (size_t k = 0; k < p.buffers.size(); ++k)
    memory.pointers.push_back(memory.data[index(p.storage(static_cast<loop::BufferId>(k)))].data());
  return memory;
}

std::vector<std::byte> outputs_of(const Made& m, const Memory& memory) {
  std::vector<std::byte> all;
  for (loop::BufferId id : m.variant.outputs) {
    const auto& data = memory.data[index(m.variant.program().storage(id))];
    all.insert(all.end(), data.begin(), data.end());
  }
  return all;
}

std::vector<std::byte> run_on(const Made& m, int threads) {
  CDevice device;
  Diagnostics warnings;
  const auto program =
      device.compile(m.variant.program(),
                     {.use_cache = false,
                      .threads = threads,
                      .flags = {"-std=gnu11", "-O1", "-march=native", "-ffp-contract=off"}},
                     warnings);
  if (!program) {
    ADD_FAILURE() << program.error().message;
    return {};
  }
  Memory memory = memory_of(m);
  const std::vector<int64_t> params = bound_params(m.graph);
  for (size_t k = 0; k < m.variant.program().kernels.size(); ++k)
    EXPECT_TRUE((*program)->run_kernel(k, memory.pointers, params));
  const std::vector<std::byte> apart = outputs_of(m, memory);
  Memory again = memory_of(m);
  std::vector<void*> arguments;
  for (loop::BufferId id : m.variant.program().arguments())
    arguments.push_back(again.pointers[index(id)]);
  std::vector<std::byte> workspace(
      static_cast<size_t>((*program)->workspace_bytes(params).value()) + 64);
  void* base = workspace.data();
  size_t room = workspace.size();
  std::align(64, room - 64, base, room);
  EXPECT_TRUE((*program)->run(arguments, params, base));
  EXPECT_EQ(outputs_of(m, again), apart);
  return apart;
}

// What the machine says of the kernels; "" if nothing.
std::string race_in(const Made& m) {
  Memory memory = memory_of(m);
  for (const loop::Kernel& k : m.variant.program().kernels)
    if (const auto ok = loop::run(m.variant.program(), k, memory.pointers, bound_params(m.graph));
        !ok)
      return ok.error().message;
  return "";
}

void expect_shared(const std::string& program) {
  const Made alone = make(program, 1);
  EXPECT_THAT(alone.text, Not(HasSubstr(" parallel {")));
  const std::vector<std::byte> wanted = run_on(alone, 1);
  for (const int threads : {2, 7}) {
    const Made shared = make(program, threads);
    EXPECT_THAT(shared.text, HasSubstr(" parallel {")) << program;
    EXPECT_EQ(race_in(shared), "") << shared.text;
    EXPECT_EQ(run_on(shared, threads), wanted) << threads << " threads\n" << shared.text;
    if (threads == 7) EXPECT_EQ(run_on(shared, 3), wanted) << "7 threads planned, 3 there";
  }
}

std::string product(int m, int n, int k) {
  return fmt::format(
      "dim i = {}, j = {}, k = {}\ninput a[i, k], b[k, j] : f32\n"
      "c[i, j] = sum[k](a[i, k] * b[k, j])\noutput c\n",
      m, n, k);
}

TEST(SharedKernels, Products) {
  expect_shared(product(13, 37, 5));
  expect_shared(product(1, 150, 20));
  expect_shared(product(50, 1, 20));
  expect_shared(product(100, 300, 40));
}

TEST(SharedKernels, ProductsInBlocks) {
  expect_shared(product(30, 500, 300));
  expect_shared(product(200, 40, 400));
}

TEST(SharedKernels, Rows) {
  expect_shared(
      "dim i = 5, j = 70\ninput x[i, j] : f32\n"
      "y[i, j] = exp(x[i, j] - max[j](x[i, j])) / sum[j](exp(x[i, j] - max[j](x[i, j])))"
      "\noutput y\n");
  expect_shared("dim i = 2, j = 1000\ninput x[i, j] : f32\ny[i, j] = tanh(x[i, j])\noutput y\n");
  expect_shared(
      "dim b = 1, i = 9, j = 133\ninput x[b, i, j] : f32\n"
      "y[b, j] = sum[i](x[b, i, j])\noutput y\n");
}

TEST(SharedKernels, Scans) {
  expect_shared(
      "dim b = 11, t = 30, c = 5\ninput a[b, t, c], g[b, t, c] : f32\n"
      "h[b, t, c] = scan[t; affine](g[b, t, c], a[b, t, c])\noutput h\n");
  const Made m = make("dim t = 1000\ninput a[t] : f32\nh[t] = scan[t; sum](a[t])\noutput h\n", 4);
  EXPECT_THAT(m.text, Not(HasSubstr(" parallel {")));
}

TEST(SharedKernels, Attention) {
  for (const char* seq : {"33", "130"})
    expect_shared("param seq = " + std::string(seq) +
                  "\ndim h = 1, i = seq, j = seq, d = 16, e = 16\n"
                  "input q[h, i, d], k[h, j, d], v[h, j, e] : f32\n"
                  "s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])\n"
                  "p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))\n"
                  "o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])\noutput o\n");
}

TEST(SharedKernels, OneNumberIsNotShared) {
  const Made m = make("dim i = 1000\ninput x[i] : f32\ny = sum[i](x[i])\noutput y\n", 4);
  EXPECT_THAT(m.text, Not(HasSubstr(" parallel {")));
}

TEST(SharedKernels, SmallOnesAreNotWorthIt) {
  for (const auto& [size, threads] : {std::pair{16, 1}, {300, 4}}) {
    const Schedule s = plan(parse(product(size, size, size)).value(), {.threads = 4}).value();
    EXPECT_EQ(s.kernels[0].threads, threads) << size;
  }
}

}  // namespace
}  // namespace tang
