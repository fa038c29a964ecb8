// Generating text: a prompt step by step, then each new token fed back.
#pragma once

#include <functional>
#include <vector>

#include "models/decoder.h"
#include "models/sampler.h"

namespace tang {

struct Generation {
  std::vector<int32_t> tokens;  // new ones, without the token that ended the text
  double prefill_ms = 0;        // the steps of the prompt, up to the first new token
  double decode_ms = 0;         // all steps after them
  int64_t decode_steps = 0;
};

// Is told each new token and the one before it; false ends the generation.
using TokenSink = std::function<bool(int32_t previous, int32_t token)>;

// New tokens that follow a prompt in a context: the last one takes no position.
inline int64_t room_after(int64_t prompt, int64_t context) { return context - prompt + 1; }

// At most `steps` new tokens, ended by BOS or EOS. The prompt has at least one token, and steps is
// at most room_after(prompt, context). Errors are those of the decoder.
Result<Generation> generate(Decoder& decoder, Sampler& sampler, const std::vector<int32_t>& prompt,
                            int64_t steps, const TokenSink& sink);

}  // namespace tang
