#define tang_select_i32(c, a, b) ((c) ? (a) : (b))

#define tang_select_u32(c, a, b) ((c) ? (a) : (b))

#define tang_select_i64(c, a, b) ((c) ? (a) : (b))

#define tang_select_f32(c, a, b) ((c) ? (a) : (b))

#define tang_select_f64(c, a, b) ((c) ? (a) : (b))

#define tang_nan_f32(x) ((x) != (x))

#define tang_nan_f64(x) ((x) != (x))

#define tang_quot_f32(a, b) ((a) / (b))

#define tang_quot_f64(a, b) ((a) / (b))

static __device__ inline void tang_put_4bits(unsigned char* p, long long i, unsigned bits) {
  unsigned* word = (unsigned*)p + (i >> 3);
  const unsigned shift = (unsigned)(i & 7) * 4;
  atomicAnd(word, ~(15u << shift));
  atomicOr(word, bits << shift);
}

static __device__ inline float tang_load_f16(unsigned h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)h));
  return x;
}

static __device__ inline unsigned tang_store_f16_f32(float x) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return x != x ? 0x7e00u : (unsigned)h;
}

#if __CUDA_ARCH__ >= 800
static __device__ inline unsigned tang_store_bf16_f32(float x) {
  unsigned short h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return x != x ? 0x7fc0u : (unsigned)h;
}
#else
static __device__ inline unsigned tang_store_bf16_f32(float x) {
  const unsigned u = __float_as_uint(x);
  return x != x ? 0x7fc0u : (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}
#endif
