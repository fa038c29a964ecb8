// Logarithms of eight floats: log within 1 ulp, log1p within 2, softplus within 3.5. x = m 2^e with
// m in [sqrt(1/2), sqrt(2)), f = m - 1 is exact, and log(1 + f) = f - f^2 / 2 + f^3 P(f) with P
// minimax in the relative error of the whole (6e-9). ln 2 is split so that e times its first part
// is exact (Cody and Waite, 1980).
TANG_INLINE tang_f32x8 tang_log_f32x8(tang_f32x8 x) {
  const tang_f32x8 zero = tang_spread_f32x8(0.0f), infinity = tang_spread_f32x8(INFINITY);
  const tang_i32x8 tiny = (tang_i32x8)(x < tang_spread_f32x8(0x1p-126f));
  const tang_f32x8 y = tang_choose_f32x8(tiny, x * tang_spread_f32x8(0x1p23f), x);
  const tang_u32x8 u = (tang_u32x8)y - 0x3f3504f3u;
  const tang_f32x8 f = (tang_f32x8)((u & 0x007fffffu) + 0x3f3504f3u) - tang_spread_f32x8(1.0f);
  const tang_f32x8 e = __builtin_convertvector(((tang_i32x8)u >> 23) - (tiny & 23), tang_f32x8);
  tang_f32x8 p = tang_spread_f32x8(-0x1.38b16cp-4f);
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.055a98p-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(-0x1.0d85a4p-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.22da4p-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(-0x1.54723ep-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.99a006p-3f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(-0x1.000228p-2f));
  p = tang_fma_f32x8(p, f, tang_spread_f32x8(0x1.555554p-2f));
  const tang_f32x8 s = f * f;
  p = tang_fma_f32x8(e, tang_spread_f32x8(-0x1.bd0106p-13f), p * f * s);
  p = tang_fma_f32x8(s, tang_spread_f32x8(-0.5f), p) + f;
  p = tang_fma_f32x8(e, tang_spread_f32x8(0x1.63p-1f), p);
  // Outside of 0 … infinity.
  p = tang_choose_f32x8((tang_i32x8)(x < infinity), p, x);
  p = tang_choose_f32x8((tang_i32x8)(x == zero), -infinity, p);
  return tang_choose_f32x8((tang_i32x8)(x < zero), tang_spread_f32x8(NAN), p);
}
// u = 1 + x is rounded, by c; log(1 + x) is log(u) + c / u.
TANG_INLINE tang_f32x8 tang_log1p_f32x8(tang_f32x8 x) {
  const tang_f32x8 one = tang_spread_f32x8(1.0f), u = one + x;
  const tang_i32x8 above = (tang_i32x8)(x > one);
  const tang_f32x8 c = tang_choose_f32x8(above, one - (u - x), x - (u - one));
  const tang_f32x8 l = tang_log_f32x8(u);
  const tang_i32x8 finite = (tang_i32x8)(u > one - one) & (tang_i32x8)(u < INFINITY);
  const tang_f32x8 y = tang_choose_f32x8(finite, l + c / u, l);
  return tang_choose_f32x8((tang_i32x8)(u == one), x, y);
}
TANG_INLINE tang_f32x8 tang_softplus_f32x8(tang_f32x8 x) {
  const tang_f32x8 zero = tang_spread_f32x8(0.0f);
  const tang_f32x8 least = (tang_f32x8)((tang_u32x8)x | 0x80000000u);
  return tang_choose_f32x8((tang_i32x8)(x < zero), zero, x) +
         tang_log1p_f32x8(tang_exp_f32x8(least));
}
