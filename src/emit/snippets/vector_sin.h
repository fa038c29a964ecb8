// sin and cos of eight floats, within 1.8 ulp, 2.4 where there is no fused multiply-add. x = n pi +
// r with |r| <= pi / 2 and n whole, or half of an odd number for the cosine, so that either is
// sin(r) but for the sign. pi is split so that n times all parts but the last is exact, or is
// rounded once with what it is taken from (Cody and Waite, Software Manual for the Elementary
// Functions, 1980). The polynomial is minimax in the relative error, 7e-9. Lanes that are too large
// for this go to the C library.
#if defined(TANG_AVX2)
#define TANG_NEAR_TURNS 100000.0f
#else
#define TANG_NEAR_TURNS 10000.0f
#endif
TANG_INLINE tang_f32x8 tang_less_turns_f32x8(tang_f32x8 x, tang_f32x8 n) {
#if defined(TANG_AVX2)
  tang_f32x8 r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.921fb4p+1f), x);
  r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.4442d0p-23f), r);
  return tang_fma_f32x8(n, tang_spread_f32x8(-0x1.846988p-47f), r);
#else
  tang_f32x8 r = x - n * tang_spread_f32x8(0x1.92p+1f);
  r = r - n * tang_spread_f32x8(0x1.fb4p-11f);
  r = r - n * tang_spread_f32x8(0x1.444p-23f);
  return r - n * tang_spread_f32x8(0x1.68c234p-38f);
#endif
}
// sin(r), negated where the last bit of `turns` is set.
TANG_INLINE tang_f32x8 tang_half_wave_f32x8(tang_f32x8 r, tang_u32x8 turns) {
  const tang_u32x8 sign = (tang_u32x8)r & 0x80000000u;
  const tang_f32x8 z = (tang_f32x8)((tang_u32x8)r ^ sign), t = z * z;
  tang_f32x8 p = tang_spread_f32x8(0x1.5da6fep-19f);
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.9f6f18p-13f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.110ed4p-7f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.55554cp-3f));
  p = tang_at_most_f32x8(tang_fma_f32x8(z * t, p, z), tang_spread_f32x8(1.0f));
  return (tang_f32x8)((tang_u32x8)p ^ sign ^ turns << 31);
}
TANG_INLINE bool tang_any_f32x8(tang_i32x8 c) {
#if defined(TANG_AVX2)
  return _mm256_movemask_ps((tang_f32x8)c) != 0;
#else
  return ((c[0] | c[1]) | (c[2] | c[3])) | ((c[4] | c[5]) | (c[6] | c[7]));
#endif
}
static void tang_far_waves_f32x8(tang_f32x8* y, const tang_f32x8* x, bool cosine) {
  for (int k = 0; k < 8; ++k)
    if ((*x)[k] > TANG_NEAR_TURNS || (*x)[k] < -TANG_NEAR_TURNS)
      (*y)[k] = cosine ? tang_cos_f32((*x)[k]) : tang_sin_f32((*x)[k]);
}
TANG_INLINE tang_f32x8 tang_waves_f32x8(tang_f32x8 x, tang_f32x8 y, bool cosine) {
  const tang_f32x8 size = (tang_f32x8)((tang_u32x8)x & 0x7fffffffu);
  if (!tang_any_f32x8((tang_i32x8)(size > tang_spread_f32x8(TANG_NEAR_TURNS)))) return y;
  tang_f32x8 from = x, to = y;
  tang_far_waves_f32x8(&to, &from, cosine);
  return to;
}
TANG_INLINE tang_f32x8 tang_sin_f32x8(tang_f32x8 x) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f);
  const tang_f32x8 shifted = tang_fma_f32x8(x, tang_spread_f32x8(0x1.45f306p-2f), shift);
  const tang_f32x8 r = tang_less_turns_f32x8(x, shifted - shift);
  return tang_waves_f32x8(x, tang_half_wave_f32x8(r, (tang_u32x8)shifted), false);
}
TANG_INLINE tang_f32x8 tang_cos_f32x8(tang_f32x8 x) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f), half = tang_spread_f32x8(0.5f);
  const tang_f32x8 n = tang_fma_f32x8(x, tang_spread_f32x8(0x1.45f306p-2f), -half);
  const tang_f32x8 shifted = n + shift;
  const tang_f32x8 r = tang_less_turns_f32x8(x, shifted - shift + half);
  return tang_waves_f32x8(x, tang_half_wave_f32x8(r, (tang_u32x8)shifted + 1), true);
}
