// Elements of block formats from the bytes that they are made of; k is their number in the block.
// See blocks.h.

TANG_FN uint tang_bytes_16(uint low, uint high) { return low | (high << 8u); }

TANG_FN float tang_q8_0(uint scale, uint code) {
  return tang_load_f16(scale) * F32(tang_load_i8(code));
}

TANG_FN float tang_q4_0(uint scale, uint pair, uint k) {
  return tang_load_f16(scale) * F32(I32((pair >> ((k >> 4u) * 4u)) & 15u) - 8);
}

// 2^(s - 128) is taken in two steps, so that no step is subnormal.
TANG_FN float tang_mxfp4_f32(uint s, uint pair, uint k) {
  const uint code = (pair >> ((k >> 4u) * 4u)) & 15u;
  const uint twice = (0xc8643210u >> ((code & 7u) * 4u)) & 15u;
  const uint a = s >> 1u;
  const float first = F32(twice) * tang_float((a + 63u) << 23u);
  const float size = first * tang_float(((s - a) + 63u) << 23u);
  const float number = tang_select_f32((code & 8u) != 0u, -size, size);
  return tang_select_f32(s == 255u, tang_float(0x7fc00000u), number);
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
