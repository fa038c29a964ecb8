// Casts to i32 clamp; a real rounds to nearest even first, and NaN gives 0.

TANG_FN int tang_cast_f32_i32(float x) {
  if (tang_nan_f32(x)) {
    return 0;
  }
  if (x < -2147483648.0f) {
    return I32(0x80000000u);
  }
  if (x >= 2147483648.0f) {
    return 2147483647;
  }
  return I32(tang_rint(x));
}

TANG_FN uint tang_store_i8_i32(int x) { return U32(tang_clamp_i32(x, -128, 127)) & 0xffu; }

TANG_FN uint tang_store_u8_i32(int x) { return U32(tang_clamp_i32(x, 0, 255)); }

TANG_FN uint tang_store_i4_i32(int x) { return U32(tang_clamp_i32(x, -8, 7)) & 15u; }

TANG_FN uint tang_store_u4_i32(int x) { return U32(tang_clamp_i32(x, 0, 15)); }

TANG_FN int tang_load_i8(uint bits) { return I32(bits ^ 0x80u) - 128; }

TANG_FN int tang_load_u8(uint bits) { return I32(bits); }

TANG_FN int tang_load_i4(uint bits) { return I32(bits ^ 8u) - 8; }

TANG_FN int tang_load_u4(uint bits) { return I32(bits); }
