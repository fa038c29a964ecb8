// The decode step on the C device: against the oracle, and against a text that others computed.
#include "models/llama.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "loop/same.h"
#include "models/generate.h"
#include "models/tokenizer.h"
#include "rewrite/pipeline.h"
#include "run/c_device.h"
#include "support/llama_files.h"
#include "support/temp_dir.h"
#include "support/test_data.h"
#include "verify/variant.h"

namespace tang {
namespace {

struct Compiled {
  LlamaStep step;
  Variant variant;
  std::unique_ptr<Decoder> decoder;
};

Compiled compiled(const LlamaCheckpoint& checkpoint) {
  Compiled c;
  c.step = llama_step(checkpoint.shape()).value();
  DeriveOptions quiet;
  quiet.keep_texts = false;
  c.variant = make_variant(derive(c.step.graph, quiet).derived, {}).value();
  CDevice device;
  Diagnostics warnings;
  CompileOptions options;
  options.use_cache = false;
  auto program = device.compile(c.variant.program(), options, warnings);
  EXPECT_TRUE(program) << program.error().message;
  c.decoder = device_decoder(checkpoint, c.step, std::move(*program)).value();
  return c;
}

// Feeds the same tokens to both and compares all logits at every step.
void expect_close(const LlamaCheckpoint& checkpoint, const std::vector<int32_t>& tokens) {
  const Compiled c = compiled(checkpoint);
  const auto oracle = oracle_decoder(checkpoint, c.step).value();
  for (size_t k = 0; k < tokens.size(); ++k) {
    const auto got = c.decoder->step(tokens[k], static_cast<int32_t>(k)).value();
    const auto want = oracle->step(tokens[k], static_cast<int32_t>(k)).value();
    double largest = 0, error = 0;
    for (size_t n = 0; n < want.size(); ++n) {
      largest = std::max(largest, std::abs(static_cast<double>(want[n])));
      error = std::max(error, std::abs(static_cast<double>(want[n]) - got[n]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(error, 1e-4 * largest) << "step " << k;
  }
}

TEST(Llama, LogitsOfADrawnModelAreTheOraclesAtEveryStep) {
  const TempDir dir;
  const auto checkpoint = LlamaCheckpoint::open(dir.write("m.bin", llama_file(small_llama)));
  ASSERT_TRUE(checkpoint);
  std::vector<int32_t> tokens;
  for (int32_t k = 0; k < 12; ++k) tokens.push_back((1 + 97 * k) % 300);  // the whole context
  expect_close(*checkpoint, tokens);
}

TEST(Llama, EarlierPositionsCanBeTakenAgain) {
  const TempDir dir;
  const auto checkpoint = LlamaCheckpoint::open(dir.write("m.bin", llama_file(small_llama)));
  const Compiled c = compiled(*checkpoint);
  const auto run = [&](std::vector<int32_t> tokens) {
    std::vector<float> last;
    for (size_t k = 0; k < tokens.size(); ++k) {
      const auto logits = c.decoder->step(tokens[k], static_cast<int32_t>(k)).value();
      last.assign(logits.begin(), logits.end());
    }
    return last;
  };
  const std::vector<float> once = run({1, 7, 9});
  run({1, 250, 3, 4, 5});
  EXPECT_EQ(run({1, 7, 9}), once);
}

TEST(Llama, EqualLayersAreOneCopyOfEachKernel) {
  LlamaShape shape{16, 20, 3, 4, 2, 300, 12};
  const auto kernels = [&](int64_t layers) {
    shape.layers = layers;
    const Graph g = llama_step(shape).value().graph;
    const Variant v = make_variant(derive(g).derived, {}).value();
    const std::vector<size_t> first = loop::first_of_each(v.program());
    size_t own = 0;
    for (size_t k = 0; k < first.size(); ++k) own += first[k] == k;
    return std::pair(first.size(), own);
  };
  const auto [three, own_of_three] = kernels(3);
  const auto [six, own_of_six] = kernels(6);
  EXPECT_EQ((six - three) % 3, 0U);
  EXPECT_GT(six, three);
  EXPECT_EQ(own_of_six, own_of_three);
}

class RealModel : public testing::Test {
 protected:
  void SetUp() override {
    const std::string model = test_data("stories260K.bin"), words = test_data("tok512.bin");
    if (!std::filesystem::exists(model) || !std::filesystem::exists(words))
      GTEST_SKIP() << "no " << model;
    checkpoint_.emplace(LlamaCheckpoint::open(model).value());
    tokenizer_.emplace(read_tokenizer(words, 512).value());
  }
  std::optional<LlamaCheckpoint> checkpoint_;
  std::optional<Tokenizer> tokenizer_;
};

TEST_F(RealModel, GoldenStory) {
  const std::string golden = test_data("stories260K.golden.txt");
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "no " << golden;
  std::ifstream file(golden, std::ios::binary);
  const std::string want{std::istreambuf_iterator<char>(file), {}};
  const Compiled c = compiled(*checkpoint_);
  std::string text;
  Sampler greedy(0, 0);
  const auto done = generate(*c.decoder, greedy, {Tokenizer::bos}, 200, [&](int32_t a, int32_t b) {
    text += tokenizer_->piece(a, b);
    return true;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(text, want);
  EXPECT_EQ(done->tokens.size(), 200U);
}

TEST_F(RealModel, LogitsOfAPromptAreTheOraclesAtEveryStep) {
  expect_close(*checkpoint_, tokenizer_->encode("The dog and the cat ran to the park.").value());
}

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  Sampler s(0, 7);
  EXPECT_EQ(s.pick(std::vector<float>{1, 3, 3, -INFINITY}), 1);
  EXPECT_EQ(s.pick(std::vector<float>{NAN}), 0);
}

TEST(Sampler, DrawsAreSeededAndProportional) {
  const std::vector<float> logits = {0, std::log(3.0f), -INFINITY};
  Sampler a(1, 5), b(1, 5), other(1, 6), cold(1e-3, 5);
  int ones = 0, different = 0;
  for (int k = 0; k < 4000; ++k) {
    const int32_t t = a.pick(logits);
    EXPECT_EQ(t, b.pick(logits));
    different += t != other.pick(logits);
    ASSERT_LT(t, 2);
    ones += t;
    EXPECT_EQ(cold.pick(logits), 1);
  }
  EXPECT_NEAR(ones / 4000.0, 0.75, 0.03);
  EXPECT_GT(different, 1000);
}

}  // namespace
}  // namespace tang
