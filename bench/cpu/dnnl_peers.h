// oneDNN as a peer.
#pragma once

#include "cpu/mlp.h"
#include "cpu/programs.h"

namespace tang::bench_cpu {

// The layouts oneDNN likes best; reorders of input, weights and output are part of each call.
Peer dnnl_convolution(const Convolution& c);

// Three matmul primitives with bias and activation inside; weights are packed once, before.
Peer dnnl_mlp(const Mlp& mlp);

}  // namespace tang::bench_cpu
