// Eight narrow reals in memory; see formats.h.
typedef uint32_t tang_bits_u32x8 __attribute__((vector_size(32)));
typedef uint16_t tang_u16x8 __attribute__((vector_size(16)));

TANG_INLINE tang_f32x8 tang_load_bf16_f32x8(const uint16_t* p, int64_t at) {
  tang_bits_u32x8 u;
#if defined(TANG_AVX2)
  u = (tang_bits_u32x8)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)(p + at)));
#else
  tang_u16x8 h;
  memcpy(&h, p + at, sizeof h);
  u = __builtin_convertvector(h, tang_bits_u32x8);
#endif
  return (tang_f32x8)(u << 16);
}
TANG_INLINE tang_bits_u32x8 tang_near_bf16_f32x8(tang_f32x8 x) {
  const tang_bits_u32x8 u = (tang_bits_u32x8)x, near = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const tang_bits_u32x8 nan = (tang_bits_u32x8)(x != x);
  return (nan & 0x7fc0u) | (~nan & near);
}
TANG_INLINE tang_f32x8 tang_round_bf16_f32x8(tang_f32x8 x) {
  return (tang_f32x8)(tang_near_bf16_f32x8(x) << 16);
}
TANG_INLINE void tang_store_bf16_f32x8(uint16_t* p, int64_t at, tang_f32x8 x) {
  const tang_u16x8 h = __builtin_convertvector(tang_near_bf16_f32x8(x), tang_u16x8);
  memcpy(p + at, &h, sizeof h);
}
TANG_INLINE tang_f32x8 tang_load_f16_f32x8(const uint16_t* p, int64_t at) {
#if defined(TANG_AVX2) && defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(p + at)));
#else
  tang_f32x8 d;
  for (int e = 0; e < 8; ++e) d[e] = tang_load_f16(p[at + e]);
  return d;
#endif
}
