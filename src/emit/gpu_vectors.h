// Accesses of several elements at once: how wide they are, and which vectors the dialects whose
// memory has one type (GpuDialect::packed) declare buffers and shared arrays of.
#pragma once

#include <vector>

#include "emit/gpu_plan.h"
#include "loop/program.h"

namespace tang {

// Bits of the elements of a buffer (of its storage) or array that may be accessed several at once:
// 8, 16 or 32. 0: one by one.
int wide_bits(const loop::Program& program, const loop::Kernel& kernel, bool buffer, uint32_t id);

// How many words of 32 bits an access of `lanes` elements of `bits` bits from `at` on takes at
// once, so that it is aligned: 4, 2, or 1 of narrower elements. 0: none.
int words_at_once(const GpuPlan& plan, int bits, loop::Value at, int lanes, int64_t vector_bytes);

// How memory of words is declared. A vector of it is read in one access where the kernel's address
// allows, otherwise by component; it is never stored by component, since the memory model of WGSL
// lets such a store touch its neighbours.
struct DeclaredWords {
  int words = 1;       // of a vector: 1, 2 or 4
  bool parts = false;  // some stores are of parts of words
};

struct GpuVectors {
  std::vector<DeclaredWords> buffers;  // by BufferId of the storage
  std::vector<DeclaredWords> arrays;   // by LocalId
};
GpuVectors gpu_vectors(const loop::Program& program, const loop::Kernel& kernel,
                       const GpuPlan& plan, int64_t vector_bytes);

}  // namespace tang
