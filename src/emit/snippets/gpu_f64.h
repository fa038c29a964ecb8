// What reals of 64 bits have beside gpu_real.h: casts, and rounding to odd, so that a second
// rounding, to a format with two bits less, rounds right.

TANG_FN int tang_cast_f64_i32(double x) {
  if (tang_nan_f64(x)) {
    return 0;
  }
  const double low = tang_select_f64(x < F64(-2147483648.0f), F64(-2147483648.0f), x);
  const double both = tang_select_f64(low > F64(2147483647), F64(2147483647), low);
  return I32(tang_rint_f64(both));
}

TANG_FN tang_i64 tang_cast_f64_i64(double x) {
  if (tang_nan_f64(x)) {
    return I64(0);
  }
  if (x < F64(-9223372036854775808.0f)) {
    return I64(U64(1) << U64(63));
  }
  if (x >= F64(9223372036854775808.0f)) {
    return I64((U64(1) << U64(63)) - U64(1));
  }
  return I64(tang_rint_f64(x));
}

TANG_FN double tang_cast_i64_f64(tang_i64 x) { return F64(x); }

TANG_FN float tang_odd(double x) {
  const float near = F32(x);
  const uint u = tang_bits(near);
  const double size = tang_abs_f64(x);
  const double near_size = F64(tang_float(u & 0x7fffffffu));
  const uint down = u - tang_select_u32(near_size > size, 1u, 0u);
  const float odd = tang_float(down | tang_select_u32(near_size != size, 1u, 0u));
  return tang_select_f32(tang_nan_f64(x), near, odd);
}

TANG_FN double tang_mxfp4_f64(uint s, uint pair, uint k) {
  const uint code = (pair >> ((k >> 4u) * 4u)) & 15u;
  const uint twice = (0xc8643210u >> ((code & 7u) * 4u)) & 15u;
  const uint a = s >> 1u;
  const double first = F64(F32(twice) * tang_float((a + 63u) << 23u));
  const double size = first * F64(tang_float(((s - a) + 63u) << 23u));
  const double number = tang_select_f64((code & 8u) != 0u, -size, size);
  return tang_select_f64(s == 255u, F64(tang_float(0x7fc00000u)), number);
}

TANG_FN double tang_q4_k_f64(uint d, uint m, uint same, uint next, uint first, uint pair, uint k) {
  const uint run = k >> 5u;
  const float scale = tang_load_f16(d) * F32(tang_q4_k_scale(run, same, next, first));
  const float offset = tang_load_f16(m) * F32(tang_q4_k_offset(run, same, next));
  return F64(scale) * F64(F32((pair >> ((run & 1u) * 4u)) & 15u)) - F64(offset);
}
