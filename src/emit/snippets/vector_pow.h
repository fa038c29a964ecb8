// Powers of eight floats, within 1.5 ulp: 2^(y log2(x)), the logarithm and the product in f64
// (5e-12 relative). log2(2^e m) = e + s P(s^2) with s = (m - 1) / (m + 1) and m in [sqrt(1/2),
// sqrt(2)). What exp(y log(x)) is where that is no number or one of them is infinite is told apart.
typedef double tang_wide_f64x4 __attribute__((vector_size(32)));
TANG_INLINE tang_wide_f64x4 tang_widen_f32x8(tang_f32x8 x, int half) {
#if defined(TANG_AVX2)
  return _mm256_cvtps_pd(half ? _mm256_extractf128_ps(x, 1) : _mm256_castps256_ps128(x));
#else
  return (tang_wide_f64x4){x[4 * half], x[4 * half + 1], x[4 * half + 2], x[4 * half + 3]};
#endif
}
TANG_INLINE tang_f32x8 tang_narrow_f32x8(tang_wide_f64x4 a, tang_wide_f64x4 b) {
#if defined(TANG_AVX2)
  return _mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a));
#else
  return (tang_f32x8){(float)a[0], (float)a[1], (float)a[2], (float)a[3],
                      (float)b[0], (float)b[1], (float)b[2], (float)b[3]};
#endif
}
TANG_INLINE tang_wide_f64x4 tang_log2_times(tang_wide_f64x4 m, tang_wide_f64x4 e,
                                            tang_wide_f64x4 y) {
  const tang_wide_f64x4 s = (m - 1.0) / (m + 1.0), t = s * s;
  tang_wide_f64x4 p = t * 0x1.5ce843628c6dbp-2 + 0x1.a58d89b4ffdc6p-2;
  p = p * t + 0x1.27777fe67ece3p-1;
  p = p * t + 0x1.ec709d12d2791p-1;
  p = p * t + 0x1.71547652bedf0p+1;
  return (p * s + e) * y;
}
TANG_INLINE tang_f32x8 tang_pow_f32x8(tang_f32x8 x, tang_f32x8 y) {
  const tang_f32x8 zero = tang_spread_f32x8(0.0f), infinity = tang_spread_f32x8(INFINITY);
  const tang_i32x8 tiny = (tang_i32x8)(x < tang_spread_f32x8(0x1p-126f));
  const tang_f32x8 scaled = tang_choose_f32x8(tiny, x * tang_spread_f32x8(0x1p23f), x);
  const tang_u32x8 u = (tang_u32x8)scaled - 0x3f3504f3u;
  const tang_f32x8 m = (tang_f32x8)((u & 0x007fffffu) + 0x3f3504f3u);
  const tang_f32x8 e = __builtin_convertvector(((tang_i32x8)u >> 23) - (tiny & 23), tang_f32x8);
  // More gives 0 or infinity all the same, unless x is 1.
  const tang_f32x8 power = tang_clamp_f32x8(y, tang_spread_f32x8(-1e12f), tang_spread_f32x8(1e12f));
  tang_wide_f64x4 part[2], whole[2];
  for (int h = 0; h < 2; ++h) {
    const tang_wide_f64x4 z =
        tang_log2_times(tang_widen_f32x8(m, h), tang_widen_f32x8(e, h), tang_widen_f32x8(power, h));
    whole[h] = (z + 0x1.8p52) - 0x1.8p52;
    part[h] = z - whole[h];
  }
  const tang_f32x8 f = tang_narrow_f32x8(part[0], part[1]);
  const tang_f32x8 n = tang_clamp_f32x8(tang_narrow_f32x8(whole[0], whole[1]),
                                        tang_spread_f32x8(-200.0f), tang_spread_f32x8(200.0f));
  tang_f32x8 p = tang_spread_f32x8(0x1.17a1fap-13f);
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.5ef4b6p-10f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.3b6810p-7f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.c6af9ep-5f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.ebfb94p-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.62e430p-1f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(1.0f));
  const tang_u32x8 k = (tang_u32x8)(n + tang_spread_f32x8(0x1.8p23f)) - 0x4b400000u + 1024u;
  const tang_u32x8 low = k >> 1, high = k - low;
  p = p * (tang_f32x8)((low - 512u + 127u) << 23) * (tang_f32x8)((high - 512u + 127u) << 23);
  // The sign of log(x), and -infinity, infinity or NaN where it is that.
  tang_f32x8 l = tang_choose_f32x8((tang_i32x8)(x == zero), -infinity, x - tang_spread_f32x8(1.0f));
  l = tang_choose_f32x8((tang_i32x8)(x < zero), tang_spread_f32x8(NAN), l) * y;
  tang_f32x8 end = tang_choose_f32x8((tang_i32x8)(l < zero), zero, l);
  const tang_f32x8 size = (tang_f32x8)((tang_u32x8)y & 0x7fffffffu);
  const tang_i32x8 plain =
      (tang_i32x8)(x > zero) & (tang_i32x8)(x < infinity) & (tang_i32x8)(size < infinity);
  return tang_choose_f32x8(plain, p, end);
}
