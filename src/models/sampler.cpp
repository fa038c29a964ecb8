#include "models/sampler.h"

#include <algorithm>
#include <cmath>

namespace tang {

int32_t Sampler::pick(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature_ <= 0) return static_cast<int32_t>(best - logits.begin());
  const double highest = *best;
  const auto weight = [&](float x) { return std::exp((x - highest) / temperature_); };
  double total = 0;
  for (const float x : logits) total += weight(x);
  double rest = stream_.uniform(drawn_++) * total;
  for (size_t k = 0; k < logits.size(); ++k) {
    rest -= weight(logits[k]);
    if (rest < 0) return static_cast<int32_t>(k);
  }
  return static_cast<int32_t>(best - logits.begin());  // the sum was rounded
}

}  // namespace tang
