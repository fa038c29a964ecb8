// Elements of block formats from the bytes that they are made of; k is their number in the block.
// See blocks.h.

TANG_FN uint tang_bytes_16(uint low, uint high) { return low | (high << 8u); }

TANG_FN float tang_q8_0(uint scale, uint code) {
  return tang_load_f16(scale) * F32(tang_load_i8(code));
}

TANG_FN float tang_q4_0(uint scale, uint pair, uint k) {
  return tang_load_f16(scale) * F32(I32((pair >> ((k >> 4u) * 4u)) & 15u) - 8);
}

// By bits, which no device flushes. The codes are 0, a half and 2^(e - 1) or 3/2 of it, times
// 2^(s - 127): `twice` is twice the code's size, `exponent` that of the result, and a result below
// the normal range is `twice` shifted.
TANG_FN float tang_mxfp4_f32(uint s, uint pair, uint k) {
  const uint code = (pair >> ((k >> 4u) * 4u)) & 15u;
  const uint size = code & 7u;
  const uint twice = (0xc8643210u >> (size * 4u)) & 15u;
  const uint exponent = (s + (size >> 1u)) - 1u;
  const uint fraction = tang_select_u32(size > 1u, (size & 1u) << 22u, 0u);
  const bool small = (s + (size >> 1u)) < 2u;
  const uint normal =
      tang_select_u32(small, twice << ((s + 21u) & 31u), (exponent << 23u) | fraction);
  const uint large = tang_select_u32((exponent > 254u) && !small, 0x7f800000u, normal);
  const uint number = tang_select_u32(size == 0u, 0u, large);
  const uint bits = number | ((code & 8u) << 28u);
  return tang_float(tang_select_u32(s == 255u, 0x7fc00000u, bits));
}

// The scale and the offset of a run of 32, six bits each, from the bytes `run`, `run + 4` and
// `run & 3` of the block's twelve.
TANG_FN uint tang_q4_k_scale(uint run, uint same, uint next, uint first) {
  return tang_select_u32(run < 4u, same & 63u, (next & 15u) | ((first >> 6u) << 4u));
}

TANG_FN uint tang_q4_k_offset(uint run, uint same, uint next) {
  return tang_select_u32(run < 4u, next & 63u, (next >> 4u) | ((same >> 6u) << 4u));
}

TANG_FN float tang_q4_k_f32(uint d, uint m, uint same, uint next, uint first, uint pair, uint k) {
  const uint run = k >> 5u;
  const float scale = tang_load_f16(d) * F32(tang_q4_k_scale(run, same, next, first));
  const float offset = tang_load_f16(m) * F32(tang_q4_k_offset(run, same, next));
  return scale * F32((pair >> ((run & 1u) * 4u)) & 15u) - offset;
}

TANG_FN float tang_q6_k(uint d, uint scale, uint low, uint high, uint k) {
  const uint quarter = (k >> 5u) & 3u;
  const uint code =
      ((low >> ((quarter >> 1u) * 4u)) & 15u) | (((high >> (quarter * 2u)) & 3u) << 4u);
  return tang_load_f16(d) * F32(tang_load_i8(scale)) * F32(I32(code) - 32);
}
