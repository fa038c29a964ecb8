// Error functions of eight floats: erf within 5 ulp, erfc and gelu within 6; 7, 11 and 8 where
// there is no fused multiply-add. erf is x times a ratio of polynomials in x^2, minimax in the
// relative error (2.2e-8), up to 3.925, from where on it rounds to 1. erfc(z) is exp(-z^2) times a
// ratio of polynomials in z for 0 <= z <= 10.1 (9e-9), beyond which it is 0, and erfc(-z) is
// 2 - erfc(z). gelu(x) is x erfc(-x / sqrt(2)) / 2 with the square of x itself.
TANG_INLINE tang_f32x8 tang_erf_f32x8(tang_f32x8 x) {
  const tang_f32x8 one = tang_spread_f32x8(1.0f), most = tang_spread_f32x8(3.925f);
  const tang_u32x8 sign = (tang_u32x8)x & 0x80000000u;
  const tang_f32x8 size = (tang_f32x8)((tang_u32x8)x ^ sign);
  const tang_i32x8 far = (tang_i32x8)(size > most);
  const tang_f32x8 z = tang_choose_f32x8(far, most, size), t = z * z;
  tang_f32x8 p = tang_spread_f32x8(0x1.00a19ap-19f), q = tang_spread_f32x8(0x1.2a4512p-15f);
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.17201p-12f));
  q = tang_fma_f32x8(q, t, tang_spread_f32x8(0x1.1d202cp-10f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.ce1b84p-9f));
  q = tang_fma_f32x8(q, t, tang_spread_f32x8(0x1.cad3a4p-7f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.93fbb4p-5f));
  q = tang_fma_f32x8(q, t, tang_spread_f32x8(0x1.b51278p-4f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.6cc8p-3f));
  q = tang_fma_f32x8(q, t, tang_spread_f32x8(0x1.e09f7ep-2f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.0df386p+0f));
  q = tang_fma_f32x8(q, t, tang_spread_f32x8(0x1.de79e6p-1f));
  const tang_f32x8 y = tang_at_most_f32x8(z * (p / q), one);
  return (tang_f32x8)((tang_u32x8)tang_choose_f32x8(far, one, y) | sign);
}
// exp(-z^2 s) for a power of two s and 0 <= z with z^2 s < 113: the square of the first twelve bits
// is exact, and the rest of it goes to r (see vector_exp.h).
TANG_INLINE tang_exp_parts_f32x8 tang_exp_square_f32x8(tang_f32x8 z, tang_f32x8 s) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f + 127.0f);
  const tang_f32x8 h = (tang_f32x8)((tang_u32x8)z & 0xfffff000u), rest = (z - h) * (z + h) * s;
  const tang_f32x8 y = h * h * s;
  const tang_f32x8 shifted = tang_fma_f32x8(y, tang_spread_f32x8(-0x1.715476p-1f), shift);
  const tang_f32x8 n = shifted - shift;
  const tang_f32x8 r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.62ep+0f), -y);
  return tang_exp_near_f32x8(tang_fma_f32x8(n, tang_spread_f32x8(-0x1.0bfbe8p-14f), r) - rest,
                             shifted);
}
// erfc(z) exp(z^2) is p / q.
typedef struct {
  tang_f32x8 p, q;
} tang_ratio_f32x8;
TANG_INLINE tang_ratio_f32x8 tang_erfc_ratio_f32x8(tang_f32x8 z) {
  tang_f32x8 p = tang_spread_f32x8(0x1.43235ap-6f), q = tang_spread_f32x8(0x1.1e5ec8p-5f);
  q = tang_fma_f32x8(q, z, tang_spread_f32x8(0x1.f465c6p-3f));
  p = tang_fma_f32x8(p, z, tang_spread_f32x8(0x1.1a4cfep-3f));
  q = tang_fma_f32x8(q, z, tang_spread_f32x8(0x1.98116ep-1f));
  p = tang_fma_f32x8(p, z, tang_spread_f32x8(0x1.c281d8p-2f));
  q = tang_fma_f32x8(q, z, tang_spread_f32x8(0x1.71cedp+0f));
  p = tang_fma_f32x8(p, z, tang_spread_f32x8(0x1.7d4a28p-1f));
  q = tang_fma_f32x8(q, z, tang_spread_f32x8(0x1.6c593cp+0f));
  tang_ratio_f32x8 ratio;
  ratio.p = tang_fma_f32x8(p, z, tang_spread_f32x8(0x1.33e1b8p-1f));
  ratio.q = tang_fma_f32x8(q, z, tang_spread_f32x8(0x1.33e1b8p-1f));
  return ratio;
}
TANG_INLINE tang_f32x8 tang_erfc_f32x8(tang_f32x8 x) {
  const tang_f32x8 one = tang_spread_f32x8(1.0f), zero = one - one;
  const tang_f32x8 size = (tang_f32x8)((tang_u32x8)x & 0x7fffffffu);
  const tang_f32x8 z = tang_at_most_f32x8(size, tang_spread_f32x8(10.5f));
  const tang_exp_parts_f32x8 e = tang_exp_square_f32x8(z, one);
  const tang_ratio_f32x8 r = tang_erfc_ratio_f32x8(z);
  const tang_i32x8 below = (tang_i32x8)(x < zero);
  const tang_f32x8 tail = r.p * e.p * e.a;
  const tang_f32x8 y = tang_choose_f32x8(below, r.q + r.q - tail * e.a, tail) / r.q;
  return tang_choose_f32x8(below, y, y * e.a);
}
TANG_INLINE tang_f32x8 tang_gelu_f32x8(tang_f32x8 x) {
  const tang_f32x8 half = tang_spread_f32x8(0.5f), zero = half - half;
  const tang_f32x8 size = (tang_f32x8)((tang_u32x8)x & 0x7fffffffu);
  const tang_f32x8 z = tang_at_most_f32x8(size, tang_spread_f32x8(15.0f));
  const tang_exp_parts_f32x8 e = tang_exp_square_f32x8(z, half);
  const tang_ratio_f32x8 r = tang_erfc_ratio_f32x8(z * tang_spread_f32x8(0x1.6a09e6p-1f));
  const tang_i32x8 below = (tang_i32x8)(x < zero);
  const tang_f32x8 tail = r.p * half * e.p * e.a;
  const tang_f32x8 y = x * (tang_choose_f32x8(below, tail, r.q - tail * e.a) / r.q);
  // x meets the last scaling, so tiny results keep their precision.
  const tang_f32x8 scaled = tang_choose_f32x8(below, y * e.a, y);
  return tang_choose_f32x8((tang_i32x8)(x < tang_spread_f32x8(-1024.0f)), zero, scaled);
}
