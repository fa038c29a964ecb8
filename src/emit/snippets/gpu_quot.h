// A quotient whose floor is right where division rounds a little wrong: one more step makes exact
// quotients exact. What is not finite is told by its bits: a compiler may take x - x for 0.

TANG_FN float tang_quot_f32(float a, float b) {
  const float q = a / b;
  const float better = q + tang_fma_f32(-q, b, a) / b;
  return tang_select_f32((tang_bits(better) & 0x7f800000u) < 0x7f800000u, better, q);
}
