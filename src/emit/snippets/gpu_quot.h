// A quotient whose floor is right where division rounds a little wrong: one more step makes exact
// quotients exact.

TANG_FN float tang_quot_f32(float a, float b) {
  const float q = a / b;
  const float better = q + tang_fma_f32(-q, b, a) / b;
  return tang_select_f32((better - better) == 0.0f, better, q);
}
