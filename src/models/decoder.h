// A model that takes one token after another: the decode step with its weights and caches.
//
// Everything is allocated when a decoder is made. Weights stay where the checkpoint has them, the
// caches are zero at first and are written in place, one row a step; a step of the compiled decoder
// allocates nothing. Positions are visited in order from 0; going back to an earlier one and on
// from there is allowed, since a step reads no row after its own.
#pragma once

#include <memory>
#include <span>

#include "models/llama.h"
#include "run/device.h"

namespace tang {

class Decoder {
 public:
  virtual ~Decoder() = default;

  // The logits of the token that follows `token` at `position`, valid until the next step. Both are
  // in range: below the model's vocabulary and context.
  virtual Result<std::span<const float>> step(int32_t token, int32_t position) = 0;
};

// On a device: `program` is compiled from step.graph, derived or not. The checkpoint must outlive
// the decoder. Errors: E0903 (exit 5).
Result<std::unique_ptr<Decoder>> device_decoder(const LlamaCheckpoint& checkpoint,
                                                const LlamaStep& step,
                                                std::unique_ptr<Executable> program);

// By the f64 oracle; caches and logits are rounded to f32 between steps. The step must outlive the
// decoder, and weights are copied. Errors: E0903.
Result<std::unique_ptr<Decoder>> oracle_decoder(const LlamaCheckpoint& checkpoint,
                                                const LlamaStep& step);

}  // namespace tang
