// Checkpoints of llama2.c: a trained Llama in one file.
//
// Seven int32 (dim, hidden, layers, heads, kv heads, vocabulary, context), then f32 blocks, all
// little-endian and row-major: the embedding, then for each kind of weight the blocks of all
// layers, the final norm, and two rotary tables that nobody reads. The classifier is the embedding.
//
// The file is mapped, never copied: weights are read where they lie. Every size that the header
// implies is checked against the file's before anything else happens.
//
//   E0701  cannot open or read the file
//   E0702  the file ends before the blocks that its header declares
//   E0703  bytes are left over
//   E0714  the header is no such model: a size that is not positive, too large, or does not divide
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/files.h"

namespace tang {

// The sizes of a Llama. Heads are kv_heads groups of group() heads; a head has head() values.
struct LlamaShape {
  int64_t dim = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t vocab = 0;
  int64_t context = 0;  // positions

  int64_t head() const { return dim / heads; }
  int64_t group() const { return heads / kv_heads; }
};

// The blocks in the order of the file; shapes are [rows, columns] of out = W · in.
enum class LlamaWeight : uint8_t {
  embedding,       // [vocab, dim], of the model
  attention_norm,  // [dim], as all below of a layer
  query,           // [dim, dim]
  key,             // [kv_heads * head, dim]
  value,           // [kv_heads * head, dim]
  attention_out,   // [dim, dim]
  ffn_norm,        // [dim]
  gate,            // [hidden, dim], w1
  down,            // [dim, hidden], w2
  up,              // [hidden, dim], w3
  final_norm,      // [dim], of the model
};
inline constexpr size_t llama_weight_kinds = 11;

class LlamaCheckpoint {
 public:
  static Result<LlamaCheckpoint> open(const std::string& path);

  const LlamaShape& shape() const { return shape_; }

  // The values of a weight, aligned to 4 bytes, valid while this object lives. `layer` is 0 for the
  // embedding and the final norm.
  std::span<const float> weight(LlamaWeight kind, int64_t layer) const;

 private:
  struct Block {
    int64_t first = 0;  // in values, of layer 0
    int64_t count = 0;  // of one layer
  };

  LlamaCheckpoint(MappedFile file, const LlamaShape& shape)
      : file_(std::move(file)), shape_(shape) {}

  MappedFile file_;
  LlamaShape shape_;
  std::array<Block, llama_weight_kinds> blocks_;
};

}  // namespace tang
