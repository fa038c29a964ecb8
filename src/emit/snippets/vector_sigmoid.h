// Sigmoids of eight floats, two-sided as in real.h: sigmoid and silu within 3.2 ulp, 3.6 and 4.5
// where there is no fused multiply-add. gelu_tanh is as
// good as the rounding of its argument lets it be.
TANG_INLINE tang_f32x8 tang_minus_abs_f32x8(tang_f32x8 x) {
  return (tang_f32x8)((tang_u32x8)x | 0x80000000u);
}
TANG_INLINE tang_f32x8 tang_sigmoid_f32x8(tang_f32x8 x) {
  const tang_f32x8 one = tang_spread_f32x8(1.0f);
  const tang_f32x8 e = tang_exp_f32x8(tang_minus_abs_f32x8(x));
  return tang_choose_f32x8((tang_i32x8)(x < one - one), e, one) / (one + e);
}
TANG_INLINE tang_f32x8 tang_silu_f32x8(tang_f32x8 x) {
  const tang_f32x8 zero = tang_spread_f32x8(0.0f);
  const tang_exp_parts_f32x8 e = tang_exp_split_f32x8(tang_minus_abs_f32x8(x));
  const tang_f32x8 top = tang_choose_f32x8((tang_i32x8)(x < zero), x * e.p * e.a * e.a, x);
  const tang_f32x8 y = top / (tang_spread_f32x8(1.0f) + e.p * e.a * e.a);
  return tang_choose_f32x8((tang_i32x8)(x < tang_spread_f32x8(-1024.0f)), zero, y);
}
TANG_INLINE tang_f32x8 tang_gelu_tanh_f32x8(tang_f32x8 x) {
  const tang_f32x8 cube = x + tang_spread_f32x8(0.044715f) * (x * x * x);
  const tang_f32x8 y = x * tang_sigmoid_f32x8(tang_spread_f32x8(1.5957691216057308f) * cube);
  const tang_f32x8 zero = tang_spread_f32x8(0.0f);
  return tang_choose_f32x8((tang_i32x8)(x < tang_spread_f32x8(-1024.0f)), zero, y);
}
