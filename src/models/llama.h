// Models as graphs: a Llama's decode step, written as its mathematics reads.
//
// One graph takes a token and its position, both run-time numbers, through all layers to the logits
// of the next token. Weights are inputs; so are the keys and values of earlier positions, and each
// cache is an output into itself. Nothing here is arranged for speed: the derivation finds the
// online softmax, the fused norms and the row of the cache that is written.
//
// Notation: c is a channel, a head is (kv, m), the m-th of those that share keys and values, t a
// position. A head's values are pairs r of the components u = 0, 1, which rotary embedding turns by
// the angle  position · 10000^(-r / pairs).
#pragma once

#include <string>
#include <vector>

#include "front/llama_checkpoint.h"
#include "ir/graph.h"

namespace tang {

struct LlamaStep {
  // What an input of the graph is fed with.
  struct Input {
    enum class What : uint8_t {
      token,        // i32, rank 0
      position,     // i32, rank 0
      weight,       // f32, `kind` of `layer`
      key_cache,    // f32 [context, kv_heads, head / 2, 2] of `layer`
      value_cache,  // f32 [context, kv_heads, head] of `layer`
    };
    What what = What::token;
    LlamaWeight kind = LlamaWeight::embedding;
    int64_t layer = 0;
  };

  Graph graph;                // outputs: the logits f32 [vocab], then the caches into themselves
  std::vector<Input> inputs;  // in program order
};

// The decode step of a model. Sizes are a checkpoint's, so positive and dividing evenly; an error
// is one of the builder and means a defect.
Result<LlamaStep> llama_step(const LlamaShape& shape);

}  // namespace tang
