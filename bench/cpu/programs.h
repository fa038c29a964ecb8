// Cases that several suites share, by their sizes.
#pragma once

#include "cpu/case.h"

namespace tang::bench_cpu {

struct Product {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transpose_a = false, transpose_b = false;  // A is given as [k, m], B as [n, k]
};
// C = A B, with peers OpenBLAS and BLIS; gemv where a side is 1.
Case product_case(const std::string& suite, const Product& p);
// B is constant: oneDNN packs it once, before; OpenBLAS and BLIS have no such call and pack it in
// each.
Case prepacked_product_case(const std::string& suite, const Product& p);

struct Attention {
  int64_t heads = 1, queries = 1, keys = 1, width = 64;
  bool causal = false;
};
Case attention_case(const std::string& suite, const Attention& a);

// "softmax", "layernorm", "rmsnorm" or "logsumexp" over the last axis, held against memcpy.
Case row_case(const std::string& suite, const std::string& what, int64_t rows, int64_t columns);

struct Convolution {
  int64_t batch = 1, in = 1, out = 1, height = 1, width = 1;
  int64_t window = 3, stride = 1, dilation = 1, pad = 1;
  int64_t side(int64_t length) const {
    return (length + 2 * pad - dilation * (window - 1) - 1) / stride + 1;
  }
};
Case convolution_case(const std::string& suite, const Convolution& c);
// w is constant: oneDNN reorders it once, before.
Case prepacked_convolution_case(const std::string& suite, const Convolution& c);

}  // namespace tang::bench_cpu
