// oneDNN as a peer.
#pragma once

#include "cpu/mlp.h"
#include "cpu/programs.h"

namespace tang::bench_cpu {

// The layouts oneDNN likes best; reorders of input, output and, unless they are packed once,
// before, weights are part of each call.
Peer dnnl_convolution(const Convolution& c, bool packed);

// A matmul primitive whose B is packed once, before.
Peer dnnl_product(const Product& p);

// Three matmul primitives with bias and activation inside; weights are packed once, before.
Peer dnnl_mlp(const Mlp& mlp);

}  // namespace tang::bench_cpu
