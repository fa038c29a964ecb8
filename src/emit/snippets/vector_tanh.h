// exp(2 z) for 0 <= z, as much as is needed of it: 1 beside it rounds away from 9.25 on, and an
// error of 1e-7 counts little. 2 z = n ln 2 + r.
TANG_INLINE tang_f32x8 tang_exp_twice_f32x8(tang_f32x8 z) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f + 127.0f), most = tang_spread_f32x8(9.25f);
  const tang_f32x8 y = tang_choose_f32x8((tang_i32x8)(z > most), most, z);
  const tang_f32x8 shifted = tang_fma_f32x8(y, tang_spread_f32x8(0x1.715476p+1f), shift);
  const tang_f32x8 n = shifted - shift;
  tang_f32x8 r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.62ep-1f), y + y);
  r = tang_fma_f32x8(n, tang_spread_f32x8(-0x1.0bfbe8p-15f), r);
  const tang_f32x8 r2 = r * r;
  const tang_f32x8 high =
      tang_fma_f32x8(tang_spread_f32x8(0x1.106258p-7f), r, tang_spread_f32x8(0x1.572a6ap-5f));
  const tang_f32x8 low =
      tang_fma_f32x8(tang_spread_f32x8(0x1.5557b0p-3f), r, tang_spread_f32x8(0x1.fffdfcp-2f));
  const tang_f32x8 p =
      tang_fma_f32x8(tang_fma_f32x8(high, r2, low), r2, r + tang_spread_f32x8(1.0f));
  return p * (tang_f32x8)((tang_u32x8)shifted << 23);
}
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
  const tang_f32x8 two = tang_spread_f32x8(2.0f);
  const tang_f32x8 large = one - two / (tang_exp_twice_f32x8(z) + one);
  const tang_i32x8 near = (tang_i32x8)(z < tang_spread_f32x8(0.625f));
  return (tang_f32x8)((tang_u32x8)tang_choose_f32x8(near, small, large) | sign);
}
