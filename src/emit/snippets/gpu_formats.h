// Conversions between float and the bits of narrow formats: to nearest even, subnormals kept, one
// NaN. No step needs subnormal floats, which devices may flush.

TANG_FN float tang_load_f16(uint h) {
  const uint sign = (h & 0x8000u) << 16u;
  const uint size = h & 0x7fffu;
  const float small = F32(size) * 5.9604644775390625e-8f;
  const uint normal = (size << 13u) + 0x38000000u;
  const uint large = tang_select_u32(size >= 0x7c00u, (size << 13u) | 0x7f800000u, normal);
  return tang_float(sign | tang_select_u32(size < 0x400u, tang_bits(small), large));
}

TANG_FN uint tang_store_f16_f32(float x) {
  const uint u = tang_bits(x);
  const uint sign = (u >> 16u) & 0x8000u;
  const uint size = u & 0x7fffffffu;
  const uint small = tang_bits(tang_float(size) + 0.5f) - 0x3f000000u;
  const uint normal = ((size - 0x38000000u) + 0xfffu + ((size >> 13u) & 1u)) >> 13u;
  const uint finite = tang_select_u32(size < 0x38800000u, small, normal);
  const uint result = sign | tang_select_u32(size >= 0x47800000u, 0x7c00u, finite);
  return tang_select_u32(size > 0x7f800000u, 0x7e00u, result);
}

TANG_FN float tang_load_bf16(uint h) { return tang_float(h << 16u); }

TANG_FN uint tang_store_bf16_f32(float x) {
  const uint u = tang_bits(x);
  const uint near = (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
  return tang_select_u32((u & 0x7fffffffu) > 0x7f800000u, 0x7fc0u, near);
}

TANG_FN float tang_load_f8e5m2(uint h) { return tang_load_f16(h << 8u); }

TANG_FN uint tang_store_f8e5m2_f32(float x) {
  const uint u = tang_bits(x);
  const uint sign = (u >> 24u) & 0x80u;
  const uint size = u & 0x7fffffffu;
  const uint small = tang_bits(tang_float(size) + 128.0f) - 0x43000000u;
  const uint normal = ((size - 0x38000000u) + 0xfffffu + ((size >> 21u) & 1u)) >> 21u;
  const uint finite = tang_select_u32(size < 0x38800000u, small, normal);
  const uint result = sign | tang_select_u32(size >= 0x47800000u, 0x7cu, finite);
  return tang_select_u32(size > 0x7f800000u, 0x7eu, result);
}

TANG_FN float tang_load_f8e4m3(uint h) {
  const uint sign = (h & 0x80u) << 24u;
  const uint size = h & 0x7fu;
  const float small = F32(size) * 0.001953125f;
  const uint normal = (size << 20u) + 0x3c000000u;
  const uint finite = sign | tang_select_u32(size < 8u, tang_bits(small), normal);
  return tang_float(tang_select_u32(size == 0x7fu, 0x7fc00000u, finite));
}

TANG_FN uint tang_store_f8e4m3_f32(float x) {
  const uint u = tang_bits(x);
  const uint sign = (u >> 24u) & 0x80u;
  const uint size = u & 0x7fffffffu;
  const uint small = tang_bits(tang_float(size) + 16384.0f) - 0x46800000u;
  const uint normal = ((size - 0x3c000000u) + 0x7ffffu + ((size >> 20u) & 1u)) >> 20u;
  const uint finite = tang_select_u32(size < 0x3c800000u, small, normal);
  const uint result = sign | tang_select_u32(size >= 0x43e00000u, 0x7eu, finite);
  return tang_select_u32(size > 0x7f800000u, 0x7fu, result);
}

TANG_FN float tang_store_tf32_f32(float x) {
  const uint u = tang_bits(x);
  const uint near = (u + 0xfffu + ((u >> 13u) & 1u)) & 0xffffe000u;
  return tang_float(tang_select_u32((u & 0x7fffffffu) > 0x7f800000u, 0x7fc00000u, near));
}

TANG_FN uint tang_bits_16(uint word, uint at) { return (word >> ((at & 1u) * 16u)) & 0xffffu; }

TANG_FN uint tang_bits_8(uint word, uint at) { return (word >> ((at & 3u) * 8u)) & 0xffu; }

TANG_FN uint tang_bits_4(uint word, uint at) { return (word >> ((at & 7u) * 4u)) & 15u; }
