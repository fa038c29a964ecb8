#include "models/generate.h"

#include <chrono>

#include "models/tokenizer.h"

namespace tang {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

Result<Generation> generate(Decoder& decoder, Sampler& sampler, const std::vector<int32_t>& prompt,
                            int64_t steps, const TokenSink& sink) {
  Generation g;
  std::span<const float> logits;
  int32_t position = 0;
  auto begin = Clock::now();
  for (const int32_t token : prompt) {
    const auto next = decoder.step(token, position++);
    if (!next) return tl::unexpected(next.error());
    logits = *next;
  }
  g.prefill_ms = since(begin);
  begin = Clock::now();
  for (int32_t token = prompt.back(); static_cast<int64_t>(g.tokens.size()) < steps;) {
    const int32_t next = sampler.pick(logits);
    if (next == Tokenizer::bos || next == Tokenizer::eos) break;
    g.tokens.push_back(next);
    if (!sink(token, next) || static_cast<int64_t>(g.tokens.size()) == steps) break;
    token = next;
    const auto computed = decoder.step(token, position++);
    if (!computed) return tl::unexpected(computed.error());
    logits = *computed;
    ++g.decode_steps;
  }
  g.decode_ms = since(begin);
  return g;
}

}  // namespace tang
