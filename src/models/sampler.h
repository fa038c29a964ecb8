// The choice of the next token.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace tang {

// At temperature 0 the most likely token, the lowest of equals. Otherwise token k is drawn with
// probability proportional to exp(logit[k] / temperature), the n-th choice from the n-th number of
// the seed's stream, so a text depends on nothing but model, prompt, temperature and seed.
class Sampler {
 public:
  Sampler(double temperature, uint64_t seed) : temperature_(temperature), stream_(seed, "sample") {}

  // `logits` has at least one value.
  int32_t pick(std::span<const float> logits);

 private:
  double temperature_;
  RandomStream stream_;
  uint64_t drawn_ = 0;
};

}  // namespace tang
