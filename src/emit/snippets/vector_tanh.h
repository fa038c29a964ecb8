// tanh of eight floats, within 2 ulp: an odd polynomial below 0.625, minimax in the relative error
// (5e-9), and 1 - 2 / (exp(2 |x|) + 1) above. There 2 |x| = n ln 2 + 2 r, an error of 1e-7 counts
// little, and from 9.25 on 1 rounds the rest away.
TANG_INLINE tang_f32x8 tang_tanh_f32x8(tang_f32x8 x) {
  const tang_f32x8 shift = tang_spread_f32x8(0x1.8p23f + 127.0f), one = tang_spread_f32x8(1.0f);
  const tang_f32x8 two = tang_spread_f32x8(2.0f), least = tang_spread_f32x8(-0.0f);
  const tang_u32x8 sign = (tang_u32x8)x & (tang_u32x8)least;
  const tang_f32x8 z = (tang_f32x8)((tang_u32x8)x ^ sign), t = z * z;
  const tang_f32x8 y = tang_at_most_f32x8(z, tang_spread_f32x8(9.25f));
  const tang_f32x8 shifted = tang_fma_f32x8(y, tang_spread_f32x8(0x1.715476p+1f), shift);
  const tang_f32x8 r = tang_fma_f32x8(shifted - shift, tang_spread_f32x8(-0x1.62e43p-2f), y);
  const tang_f32x8 r2 = r * r, near = tang_fma_f32x8(two, r, one);
  const tang_f32x8 high =
      tang_fma_f32x8(tang_spread_f32x8(0x1.106258p-2f), r, tang_spread_f32x8(0x1.572a6ap-1f));
  const tang_f32x8 low =
      tang_fma_f32x8(tang_spread_f32x8(0x1.5557b0p+0f), r, tang_spread_f32x8(0x1.fffdfcp+0f));
  const tang_f32x8 e = tang_fma_f32x8(tang_fma_f32x8(high, r2, low), r2, near);
  const tang_f32x8 power = (tang_f32x8)((tang_u32x8)shifted << 23);
  const tang_f32x8 large = one - two / tang_fma_f32x8(e, power, one);
  tang_f32x8 p = tang_spread_f32x8(-0x1.75e7c4p-8f);
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.52281cp-6f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.b83c9ep-5f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(0x1.11072ap-3f));
  p = tang_fma_f32x8(p, t, tang_spread_f32x8(-0x1.555532p-2f));
  const tang_f32x8 small = tang_fma_f32x8(z * t, p, z);
  const tang_i32x8 is_small = (tang_i32x8)(z < tang_spread_f32x8(0.625f));
  return (tang_f32x8)((tang_u32x8)tang_choose_f32x8(is_small, small, large) | sign);
}
