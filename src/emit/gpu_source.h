// Sources of kernels that groups of threads run, for a loop program and a dialect.
//
// A launch runs `groups` groups of `threads` threads, in one dimension. The iterations of a
// kernel's parallel loops are shared by the groups: nested ones count as one loop over the product
// of their trips, of which group g runs g, g + groups, …, so every number of groups is right.
//
// A kernel's arguments are its buffers, bindings 0 … in the order of bindings(), and the values of
// the program's symbols that it mentions: 64-bit integers on cuda, opencl and msl, otherwise of 32
// bits. They follow the buffers as scalars (cuda, opencl), as `constant long*` at the binding after
// the last buffer (msl), as push constants (glsl) or as a uniform buffer of vec4<i32> at the
// binding after the last buffer (wgsl, at least one element).
//
// Sums of products are contracted where the program says so alone, and NaN, infinities and signs of
// zero are kept. So cuda is compiled with --fmad=false and without --use_fast_math, opencl without
// -cl-fast-relaxed-math and -cl-mad-enable, msl with fast math off; glsl says it itself. Compilers
// of wgsl may contract. Subnormal f32 may be flushed on wgsl and glsl.
//
// Without 64-bit integers (wgsl, and glsl where the device has none) an i64 is a pair of words.
//
// E0921 (exit 4) names the kernel, the limit and both numbers where a kernel needs more than the
// capability offers: threads, shared bytes, buffers; E0922 (exit 4) a format that it cannot compute
// in.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "loop/program.h"
#include "target/capability.h"

namespace tang {

struct GpuFunction {
  std::string entry;   // its name in the source; in glsl that is `main`, and this for messages
  std::string source;  // stands alone
  int64_t threads = 1;
  int64_t shared_bytes = 0;
  std::vector<ParamId> symbols;  // passed, in this order
};

struct GpuSource {
  Dialect dialect = Dialect::opencl;
  std::vector<GpuFunction> functions;
  std::vector<size_t> kernels, prepares;  // the function of each; equal kernels have one
};

struct GpuSourceOptions {
  Capability capability;
  // Indices are computed in 64 bits. Otherwise in 32, for runs in which every buffer has fewer than
  // 2^30 elements and every symbol is below that.
  bool wide = false;
};

// The memory that a kernel binds, in order: the owners (Program::storage) of the buffers that it
// touches, each once.
std::vector<loop::BufferId> bindings(const LoopProgram& program, const loop::Kernel& kernel);

// The text is the same for the same program and options. The program must be verified.
Result<GpuSource> gpu_source(const LoopProgram& program, const GpuSourceOptions& options);

// W0921 where some kernel binds f16 and the device does not offer it: what is done instead.
Diagnostics warnings(const LoopProgram& program, const Capability& device);

// The trips of a kernel's parallel loops at these symbols, of the longest nest of them: as many
// groups as have something to do. `unknown` where a bound depends on loaded values.
int64_t trips(const loop::Kernel& kernel, std::span<const int64_t> symbols, int64_t unknown);

}  // namespace tang
