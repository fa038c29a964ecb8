// tanh of eight floats, within 2 ulp: an odd polynomial below 0.625, minimax in the relative error
// (5e-9), and 1 - 2 / (exp(2 |x|) + 1) above.
TANG_INLINE tang_f32x8 tang_tanh_f32x8(tang_f32x8 x) {
  const tang_u32x8 sign = (tang_u32x8)x & 0x80000000u;
  const tang_f32x8 z = (tang_f32x8)((tang_u32x8)x ^ sign), t = z * z;
  tang_f32x8 p = tang_spread_f32x8(-0x1.75e7c4p-8f);
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.52281cp-6f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.b83c9ep-5f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.11072ap-3f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.555532p-2f));
  const tang_f32x8 small = tang_fma_f32x8(z * t, p, z), one = tang_spread_f32x8(1.0f);
  const tang_f32x8 large = one - tang_spread_f32x8(2.0f) / (tang_exp_f32x8(z + z) + one);
  const tang_i32x8 near = (tang_i32x8)(z < tang_spread_f32x8(0.625f));
  return (tang_f32x8)((tang_u32x8)tang_choose_f32x8(near, small, large) | sign);
}
