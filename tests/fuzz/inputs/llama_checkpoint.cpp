// Checkpoints of llama2.c: every weight of a file that opens lies inside it.
#include "front/llama_checkpoint.h"

#include "fuzz/inputs/target.h"
#include "support/llama_files.h"

namespace tang::fuzz {

std::vector<std::string> seeds() {
  return {llama_file({2, 2, 1, 1, 1, 3, 1}), llama_file({4, 3, 2, 2, 1, 3, 2}),
          llama_file({4, 3, 1, 2, 2, 2, 2})};
}

void run(std::string_view input) {
  const MemoryFile file(input);
  const auto model = LlamaCheckpoint::open(file.path());
  if (!model) return;
  float sum = 0;
  for (size_t k = 0; k < llama_weight_kinds; ++k) {
    const auto kind = static_cast<LlamaWeight>(k);
    const bool once = kind == LlamaWeight::embedding || kind == LlamaWeight::final_norm;
    for (int64_t layer = 0; layer < (once ? 1 : model->shape().layers); ++layer) {
      const auto weight = model->weight(kind, layer);
      require(!weight.empty(), "a weight has values");
      sum += weight.front() + weight.back();
    }
  }
  volatile float kept = sum;
  static_cast<void>(kept);
}

}  // namespace tang::fuzz
