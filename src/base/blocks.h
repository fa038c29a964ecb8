// Block formats (language.md section 1.4) in GGUF's byte layout, little-endian, `d` an f16:
//
//   q8_0    d, 32 × i8                      x = d·q
//   q4_0    d, 16 bytes                     x = d·(q − 8); byte k holds q of k and, above, k + 16
//   mxfp4   e8m0 byte s, 16 bytes           x = 2^(s−127)·e2m1, NaN if s = 255; nibbles as in q4_0
//   q4_k    d, m, 12 bytes, 128 bytes       x = d·s·q − m·t; s and t, six bits each, of 32 elements
//   q6_k    128 + 64 bytes, 16 × i8, d      x = d·s·(q − 32); s of 16 elements
//
// The 12 bytes of q4_k hold s and t of eight runs: bytes 0 … 3 and 4 … 7 those of the first four in
// their low six bits and, above, bits 4 and 5 of the last four's; bytes 8 … 11 the rest of these,
// s in the low half. A group of 64 elements has 32 bytes: the low halves are its first 32 elements.
// q6_k has two halves of 128 elements, each in four quarters of 32: the low four bits of quarter k
// are the low (k < 2) or high nibbles of 32 bytes, those of quarters 0 and 2 sharing the first 32;
// the upper two bits are bits 2k and 2k + 1 of another 32 bytes.
//
// Decoding is exact in f64. In f32 it is exact but for q4_k, which is rounded once, and for values
// of mxfp4 from 2^128 on, which overflow: what the exact value gives when it is rounded to f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/format.h"

namespace tang {

// Element `index` of whole blocks that start at `data`; the caller keeps it in range.
double load_block_element(Format format, const std::byte* data, int64_t index);

// Writes one block that holds about these values, info(format).block of them, all finite. The
// scales are the plain ones (largest magnitude, or range), not searched for.
void store_block(Format format, std::byte* block, std::span<const double> values);

}  // namespace tang
