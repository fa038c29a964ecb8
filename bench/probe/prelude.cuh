// What all probe kernels do around their row: registers and shared memory are filled from images,
// waits are bounded, everything is dumped.
#pragma once

#include "args.h"

namespace tang::probe {

constexpr long long wait_cycles = 200'000'000;  // a tenth of a second

__device__ inline uint32_t cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

__device__ inline uint32_t in_block(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ inline void barrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ inline bool barrier_test(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// False if it took too long.
__device__ inline bool barrier_wait(uint32_t barrier, uint32_t parity) {
  const long long start = clock64();
  while (!barrier_test(barrier, parity))
    if (clock64() - start > wait_cycles) return false;
  return true;
}

__device__ inline void fence_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}

extern __shared__ __align__(1024) unsigned char image[];

class Probe {
 public:
  __device__ explicit Probe(const Args& args) : a(args) {
    base = static_cast<uint32_t>(__cvta_generic_to_shared(image));
    if (base % smem_align != 0) fail(2);
    const uint32_t* in = reinterpret_cast<const uint32_t*>(a.shared_in);
    for (uint32_t k = threadIdx.x; k < a.shared_bytes / 4; k += blockDim.x)
      reinterpret_cast<uint32_t*>(image)[k] = in[k];
    if (threadIdx.x == 0) barrier_init(barrier(), 1);
    fence_async();
    __syncthreads();
  }

  template <class T, int N>
  __device__ void load(T (&r)[N], int operand) const {
    const T* in = reinterpret_cast<const T*>(a.registers[operand]) + threadIdx.x * N;
#pragma unroll
    for (int k = 0; k < N; ++k) r[k] = in[k];
  }

  template <class T, int N>
  __device__ void store(const T (&r)[N]) const {
    T* out = reinterpret_cast<T*>(a.registers_out) + threadIdx.x * N;
#pragma unroll
    for (int k = 0; k < N; ++k) out[k] = r[k];
  }

  __device__ uint32_t offset(int operand) const {
    return reinterpret_cast<const uint32_t*>(a.offsets[operand])[threadIdx.x];
  }
  __device__ uint32_t shared(int operand) const { return base + offset(operand); }
  __device__ uint64_t global(int operand) const { return a.global[operand] + offset(operand); }
  __device__ uint64_t descriptor(int operand) const {
    return a.descriptors[operand] + ((base & 0x3ffff) >> 4);
  }
  __device__ uint64_t map() const { return reinterpret_cast<uint64_t>(&a.map); }
  __device__ uint32_t barrier() const { return base + a.barrier; }
  __device__ void expect() const { barrier_expect(barrier(), a.expect); }
  __device__ void wait() const {
    if (!barrier_wait(barrier(), 0)) fail(1);
  }
  __device__ void fail(uint32_t code) const { *reinterpret_cast<uint32_t*>(a.status) = code; }

  __device__ void end(uint32_t rank = 0) const {
    fence_async();
    __syncthreads();
    uint32_t* out = reinterpret_cast<uint32_t*>(a.shared_out + rank * a.shared_bytes);
    for (uint32_t k = threadIdx.x; k < a.shared_bytes / 4; k += blockDim.x)
      out[k] = reinterpret_cast<const uint32_t*>(image)[k];
  }

 private:
  const Args& a;
  uint32_t base;
};

}  // namespace tang::probe

using namespace tang::probe;
