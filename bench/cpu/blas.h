// BLAS libraries as peers, opened when asked for: their names would collide if they were linked.
#pragma once

#include "cpu/programs.h"

namespace tang::bench_cpu {

// OpenBLAS, and BLIS where it is installed.
std::vector<Peer> blas_peers(const Product& p);

// The product of the inputs by OpenBLAS's dgemm.
Outcome<std::vector<double>> product_in_f64(const Product& p, const Inputs& inputs);

}  // namespace tang::bench_cpu
