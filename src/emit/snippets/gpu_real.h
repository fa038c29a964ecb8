// Reals of 32 bits; those of 64 are made of the same text by words: float, _f32 and the suffix of
// numbers. NaN propagates; a tie gives the first.

TANG_FN float tang_max_f32(float a, float b) {
  return tang_select_f32((a < b) || tang_nan_f32(b), b, a);
}

TANG_FN float tang_min_f32(float a, float b) {
  return tang_select_f32((b < a) || tang_nan_f32(b), b, a);
}

TANG_FN float tang_abs_f32(float x) { return tang_select_f32(x < 0.0f, -x, x); }

TANG_FN float tang_relu_f32(float x) { return tang_select_f32(x < 0.0f, 0.0f, x); }

TANG_FN float tang_floor_f32(float x) { return floor(x); }

TANG_FN float tang_div_f32(float a, float b) { return floor(tang_quot_f32(a, b)); }

TANG_FN float tang_mod_f32(float a, float b) { return a - b * floor(tang_quot_f32(a, b)); }

TANG_FN float tang_recip_f32(float x) { return 1.0f / x; }

TANG_FN float tang_rsqrt_f32(float x) { return 1.0f / tang_sqrt_f32(x); }

TANG_FN float tang_pow_f32(float x, float y) {
  const float l = tang_log_f32(x);
  const float z = y * l;
  const float rest = tang_fma_f32(y, l, -z);
  const float e = tang_exp_f32(z);
  const bool finite = (e > 0.0f) && (e < tang_float(0x7f800000u));
  const bool plain = (x > 0.0f) && (tang_abs_f32(rest) < 1.0f) && finite;
  return tang_select_f32(plain, tang_fma_f32(e, rest, e), e);
}

TANG_FN float tang_softplus_f32(float x) {
  const float e = tang_exp_f32(tang_select_f32(x < 0.0f, x, -x));
  return tang_max_f32(x, 0.0f) + tang_log1p_f32(e);
}

TANG_FN float tang_sigmoid_f32(float x) {
  const float e = tang_exp_f32(tang_select_f32(x < 0.0f, x, -x));
  return tang_select_f32(x < 0.0f, e, 1.0f) / (1.0f + e);
}

TANG_FN float tang_silu_f32(float x) {
  return tang_select_f32(x < -1024.0f, 0.0f, x * tang_sigmoid_f32(x));
}

TANG_FN float tang_gelu_tanh_f32(float x) {
  const float y = 1.5957691216057308f * (x + 0.044715f * (x * x * x));
  return tang_select_f32(x < -1024.0f, 0.0f, x * tang_sigmoid_f32(y));
}

TANG_FN float tang_gelu_f32(float x) {
  const float y = 0.5f * x * tang_erfc_f32(-0.7071067811865476f * x);
  return tang_select_f32(x < -1024.0f, 0.0f, y);
}
