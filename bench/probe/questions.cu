// Kernels of the questions that no table answers (questions.cpp).
#include "prelude.cuh"
#include "questions.h"

namespace {

__device__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void bulk_load(uint32_t to, uint64_t from, uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

__device__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

__device__ uint32_t mix(uint32_t x) {
  x = (x ^ 61) ^ (x >> 16);
  x *= 9;
  x ^= x >> 4;
  x *= 0x27d4eb2d;
  return x ^ (x >> 15);
}

}  // namespace

// ---- 2: who releases a slot ---------------------------------------------------------------------

// One product of 64 × 64 × 16: A and B with 128-byte swizzle.
__device__ void product(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
      "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
      "%27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

__device__ uint64_t descriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | uint64_t{1} << 16 |
         uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// A ring of tiles: a producer's warp and two consuming warpgroups whose warps are held up at
// random. mode 0: one arrival a warpgroup releases a slot, 1: one a warp, 2: none waits (the
// producer does not wait either: wrong on purpose). The accumulators go to `out`, [block][thread][32];
// a wait that timed out makes *other 1.
extern "C" __global__ void __launch_bounds__(288, 1) question_ring(
    const __grid_constant__ QuestionArgs q) {
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(image));
  const uint32_t full = base + ring_depth * ring_stage_bytes, empty = full + 8 * ring_depth;
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0)
    for (uint32_t s = 0; s < ring_depth; ++s) {
      barrier_init(full + 8 * s, 1);
      barrier_init(empty + 8 * s, q.mode == 0 ? ring_consumers : 4 * ring_consumers);
    }
  __syncthreads();
  if (warp == 4 * ring_consumers) {
    if (threadIdx.x % 32 != 0) return;
    for (uint32_t i = 0; i < q.count; ++i) {
      const uint32_t slot = i % ring_depth, lap = i / ring_depth;
      if (q.mode != 2 && !barrier_wait(empty + 8 * slot, (lap & 1) ^ 1)) {
        *reinterpret_cast<uint32_t*>(q.other) = 1;
        return;
      }
      barrier_expect(full + 8 * slot, ring_stage_bytes);
      bulk_load(base + slot * ring_stage_bytes, q.in + i % ring_tiles * ring_stage_bytes,
                ring_stage_bytes, full + 8 * slot);
      if (q.mode == 2) spin(3000);
    }
    return;
  }
  float d[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) d[k] = 0;
  for (uint32_t i = 0; i < q.count; ++i) {
    const uint32_t slot = i % ring_depth;
    if (q.mode != 2 && !barrier_wait(full + 8 * slot, i / ring_depth & 1)) {
      *reinterpret_cast<uint32_t*>(q.other) = 1;
      break;
    }
    const uint32_t wait = mix(i * 131 + warp * 7 + blockIdx.x * 8191);
    if (wait % 4 == 0) spin(wait / 4 % 2048);
    __syncwarp();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const uint64_t a = descriptor(base + slot * ring_stage_bytes);
    const uint64_t b = descriptor(base + slot * ring_stage_bytes + ring_tile_bytes);
#pragma unroll
    for (int k = 0; k < 4; ++k) product(d, a + 2 * k, b + 2 * k);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const bool releases = q.mode == 0 ? threadIdx.x % 128 == 0 : threadIdx.x % 32 == 0;
    if (releases) arrive(empty + 8 * slot);
  }
  float* out = reinterpret_cast<float*>(q.out) + (blockIdx.x * 256 + threadIdx.x) * 32;
#pragma unroll
  for (int k = 0; k < 32; ++k) out[k] = d[k];
}

// ---- 3: registers of roles ----------------------------------------------------------------------

// Writes to `out`, for each warpgroup, the cycles until it had its registers. Three warpgroups, 168 at
// entry; the first stays until the others went on, or for a while.
#define QUESTION_REGISTERS(NAME, LESS, MORE)                                         \
  extern "C" __global__ void __launch_bounds__(384, 1) NAME(                         \
      const __grid_constant__ QuestionArgs q) {                                      \
    volatile uint32_t* out = reinterpret_cast<volatile uint32_t*>(q.out);            \
    const uint32_t group = threadIdx.x / 128;                                        \
    const long long start = clock64();                                               \
    if (group == 0) {                                                                \
      asm volatile("setmaxnreg.dec.sync.aligned.u32 " #LESS ";");                    \
    } else {                                                                         \
      asm volatile("setmaxnreg.inc.sync.aligned.u32 " #MORE ";");                    \
    }                                                                                \
    if (threadIdx.x % 128 == 0) {                                                    \
      out[group] = static_cast<uint32_t>(clock64() - start) | 1;                     \
      __threadfence_system();                                                        \
    }                                                                                \
    while (group == 0 && clock64() - start < wait_cycles && (!out[1] || !out[2])) {  \
    }                                                                                \
  }
QUESTION_REGISTERS(question_registers_40_232, 40, 232)
QUESTION_REGISTERS(question_registers_24_240, 24, 240)
QUESTION_REGISTERS(question_registers_40_240, 40, 240)
QUESTION_REGISTERS(question_registers_168_176, 168, 176)

// ---- 8: barriers that copies arrive at, and maps that are changed -------------------------------

// A warp copies 32 × 16 bytes, and each copy arrives by itself.
extern "C" __global__ void question_noinc(const __grid_constant__ QuestionArgs q) {
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(image));
  const uint32_t barrier = base + 512;
  if (threadIdx.x == 0) barrier_init(barrier, 32);
  __syncwarp();
  bool well = true;
  for (uint32_t lap = 0; lap < q.count; ++lap) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(base + threadIdx.x * 16),
                 "l"(q.in + lap * 512 + (threadIdx.x ^ 5) * 16)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
    well &= barrier_wait(barrier, lap & 1);
    // Another lane's copy.
    const uint4 x = reinterpret_cast<const uint4*>(image)[threadIdx.x ^ 3];
    reinterpret_cast<uint4*>(q.out)[lap * 32 + threadIdx.x] = x;
    __syncwarp();
  }
  if (!well) *reinterpret_cast<uint32_t*>(q.other) = 1;
}

// Puts another base and extent into a copy of the map, publishes it at `other` and loads a box of 8 ×
// 16 words through it.
extern "C" __global__ void question_replace(const __grid_constant__ QuestionArgs q) {
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(image));
  const uint32_t barrier = base + 2048, map = base + 1024;
  if (threadIdx.x == 0) barrier_init(barrier, 1);
  reinterpret_cast<uint32_t*>(image + 1024)[threadIdx.x] =
      reinterpret_cast<const uint32_t*>(&q.map)[threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(map),
                 "l"(q.in)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(map),
                 "r"(q.count)
                 : "memory");
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%0], [%1], 128;" ::"l"(q.other),
      "r"(map)
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(q.other) : "memory");
  if (threadIdx.x == 0) {
    barrier_expect(barrier, 512);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
        "{%2, %2}], [%3];" ::"r"(base),
        "l"(q.other), "r"(0), "r"(barrier)
        : "memory");
  }
  if (!barrier_wait(barrier, 0)) reinterpret_cast<uint32_t*>(q.out)[128] = 1;
  for (uint32_t k = threadIdx.x; k < 128; k += 32)
    reinterpret_cast<uint32_t*>(q.out)[k] = reinterpret_cast<const uint32_t*>(image)[k];
}

// ---- 9: programmatic launch ---------------------------------------------------------------------

// Work that needs nothing, a wait for the kernel before, work that needs it: `count` cycles each.
// mode 0: the next kernel may start at once, 1: when the second part starts.
extern "C" __global__ void question_chain(const __grid_constant__ QuestionArgs q) {
  if (q.mode == 0) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  spin(q.count);
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (q.mode == 1) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  spin(q.count);
  if (threadIdx.x == 0) {
    uint32_t* out = reinterpret_cast<uint32_t*>(q.out) + blockIdx.x;
    *out = *out + 1;
  }
}
