// Casts of integers of 64 bits.

TANG_FN int tang_cast_i64_i32(tang_i64 x) {
  const tang_i64 low = tang_select_i64(x < I64(-2147483647), I64(-2147483647) - I64(1), x);
  return I32(tang_select_i64(low > I64(2147483647), I64(2147483647), low));
}

TANG_FN float tang_cast_i64_f32(tang_i64 x) { return F32(x); }

TANG_FN tang_i64 tang_cast_f32_i64(float x) {
  if (tang_nan_f32(x)) {
    return I64(0);
  }
  if (x < -9223372036854775808.0f) {
    return I64(U64(1) << U64(63));
  }
  if (x >= 9223372036854775808.0f) {
    return I64((U64(1) << U64(63)) - U64(1));
  }
  return I64(tang_rint(x));
}

TANG_FN uint tang_store_i8_i64(tang_i64 x) {
  return U32(tang_clamp_i64(x, I64(-128), I64(127))) & 0xffu;
}

TANG_FN uint tang_store_u8_i64(tang_i64 x) { return U32(tang_clamp_i64(x, I64(0), I64(255))); }

TANG_FN uint tang_store_i4_i64(tang_i64 x) { return U32(tang_clamp_i64(x, I64(-8), I64(7))) & 15u; }

TANG_FN uint tang_store_u4_i64(tang_i64 x) { return U32(tang_clamp_i64(x, I64(0), I64(15))); }
