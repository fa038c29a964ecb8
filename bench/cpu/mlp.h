// Networks of a control loop: three dense layers, one observation at a time.
#pragma once

#include <array>

#include "cpu/case.h"

namespace tang::bench_cpu {

struct Mlp {
  std::array<int64_t, 4> widths = {};  // of the observation, two hidden layers, the actions
  bool tanh = true;                    // otherwise relu
  int64_t weights() const {
    return widths[0] * widths[1] + widths[1] * widths[2] + widths[2] * widths[3];
  }
};
// Inputs, in order: obs, w1, b1, w2, b2, w3, b3; a weight is [to, from].

// Fixed sizes, weights as given; the second keeps weights transposed, so that products are sums of
// columns. Empty for sizes that were not compiled.
std::vector<Peer> eigen_mlp(const Mlp& mlp);

}  // namespace tang::bench_cpu
