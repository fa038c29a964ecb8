// exp of eight floats, within 1.6 ulp, 1.8 where there is no fused multiply-add. x = 2n ln 2 + r
// with |r| <= ln 2 by the reduction of Cody and Waite (Software Manual for the Elementary
// Functions, 1980), so that exp(x) = p * a * a with p = exp(r) and a = 2^n: results below the
// normal range round once and large ones reach infinity. The polynomial is minimax in the relative
// error, 1.5e-8.
typedef uint32_t tang_u32x8 __attribute__((vector_size(32)));
typedef struct {
  tang_f32x8 p, a;
} tang_exp_parts_f32x8;

// c ? a : b, by lanes.
TANG_INLINE tang_f32x8 tang_choose_f32x8(tang_i32x8 c, tang_f32x8 a, tang_f32x8 b) {
#if defined(TANG_AVX2)
  return _mm256_blendv_ps(b, a, (tang_f32x8)c);
#else
  return (tang_f32x8)((c & (tang_i32x8)a) | (~c & (tang_i32x8)b));
#endif
}
// A NaN passes both: the instructions give their second operand then.
TANG_INLINE tang_f32x8 tang_clamp_f32x8(tang_f32x8 x, tang_f32x8 low, tang_f32x8 high) {
#if defined(TANG_AVX2)
  return _mm256_min_ps(high, _mm256_max_ps(low, x));
#else
  x = tang_choose_f32x8((tang_i32x8)(x < low), low, x);
  return tang_choose_f32x8((tang_i32x8)(x > high), high, x);
#endif
}
TANG_INLINE tang_f32x8 tang_at_most_f32x8(tang_f32x8 x, tang_f32x8 high) {
#if defined(TANG_AVX2)
  return _mm256_min_ps(high, x);
#else
  return tang_choose_f32x8((tang_i32x8)(x > high), high, x);
#endif
}
// From r and the sum of 2^23 1.5, 127 and n, whose last bits are n's.
TANG_INLINE tang_exp_parts_f32x8 tang_exp_near_f32x8(tang_f32x8 r, tang_f32x8 shifted) {
  tang_f32x8 p = tang_spread_f32x8(0x1.9b4912p-13f);
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(0x1.71bd92p-10f));
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(0x1.11284ep-7f));
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(0x1.554a02p-5f));
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(0x1.55550ep-3f));
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(0x1.00000cp-1f));
  p = tang_fma_f32x8(p, r, tang_spread_f32x8(1.0f));
  tang_exp_parts_f32x8 parts;
  parts.p = tang_fma_f32x8(p, r, tang_spread_f32x8(1.0f));
  parts.a = (tang_f32x8)((tang_u32x8)shifted << 23);
  return parts;
}
TANG_INLINE tang_exp_parts_f32x8 tang_exp_split_f32x8(tang_f32x8 x) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f + 127.0f);
  const tang_f32x8 y = tang_clamp_f32x8(x, tang_spread_f32x8(-110.0f), tang_spread_f32x8(89.0f));
  const tang_f32x8 shifted = tang_fma_f32x8(y, tang_spread_f32x8(0x1.715476p-1f), shift);
  const tang_f32x8 n = shifted - shift;
  tang_f32x8 r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.62ep+0f), y);
  r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.0bfbe8p-14f), r);
  return tang_exp_near_f32x8(r, shifted);
}
TANG_INLINE tang_f32x8 tang_exp_f32x8(tang_f32x8 x) {
  const tang_exp_parts_f32x8 e = tang_exp_split_f32x8(x);
  return e.p * e.a * e.a;
}
