// Integers of 64 bits as pairs of words: x is the lower one, y the upper one. See gpu_integer.h.

TANG_FN tang_i64 tang_cast_i32_i64(int a) { return tang_pair(U32(a), U32(a >> 31u)); }

TANG_FN int tang_low_i64(tang_i64 a) { return I32(a.x); }

TANG_FN tang_i64 tang_add_i64(tang_i64 a, tang_i64 b) {
  const uint low = a.x + b.x;
  return tang_pair(low, a.y + b.y + tang_select_u32(low < a.x, 1u, 0u));
}

TANG_FN tang_i64 tang_sub_i64(tang_i64 a, tang_i64 b) {
  return tang_pair(a.x - b.x, a.y - b.y - tang_select_u32(a.x < b.x, 1u, 0u));
}

TANG_FN tang_i64 tang_neg_i64(tang_i64 a) { return tang_sub_i64(tang_pair(0u, 0u), a); }

TANG_FN tang_i64 tang_mul_i64(tang_i64 a, tang_i64 b) {
  return tang_pair(a.x * b.x, tang_high_product(a.x, b.x) + a.x * b.y + a.y * b.x);
}

TANG_FN bool tang_eq_i64(tang_i64 a, tang_i64 b) { return (a.x == b.x) && (a.y == b.y); }

TANG_FN bool tang_ne_i64(tang_i64 a, tang_i64 b) { return (a.x != b.x) || (a.y != b.y); }

TANG_FN bool tang_below(tang_i64 a, tang_i64 b) {
  return (a.y < b.y) || ((a.y == b.y) && (a.x < b.x));
}

TANG_FN bool tang_lt_i64(tang_i64 a, tang_i64 b) {
  return (I32(a.y) < I32(b.y)) || ((a.y == b.y) && (a.x < b.x));
}

TANG_FN bool tang_le_i64(tang_i64 a, tang_i64 b) { return !tang_lt_i64(b, a); }

TANG_FN bool tang_negative_i64(tang_i64 a) { return I32(a.y) < 0; }

TANG_FN tang_i64 tang_abs_i64(tang_i64 a) {
  return tang_select_i64(tang_negative_i64(a), tang_neg_i64(a), a);
}

TANG_FN tang_i64 tang_relu_i64(tang_i64 a) {
  return tang_select_i64(tang_negative_i64(a), tang_pair(0u, 0u), a);
}

TANG_FN tang_i64 tang_floor_i64(tang_i64 a) { return a; }

TANG_FN tang_i64 tang_max_i64(tang_i64 a, tang_i64 b) {
  return tang_select_i64(tang_lt_i64(a, b), b, a);
}

TANG_FN tang_i64 tang_min_i64(tang_i64 a, tang_i64 b) {
  return tang_select_i64(tang_lt_i64(b, a), b, a);
}

TANG_FN tang_i64 tang_clamp_i64(tang_i64 x, tang_i64 low, tang_i64 high) {
  return tang_max_i64(low, tang_min_i64(x, high));
}

// Of numbers without a sign, bit by bit where they have upper words.
TANG_FN tang_i64 tang_whole_quotient(tang_i64 a, tang_i64 b) {
  if ((a.y == 0u) && (b.y == 0u)) {
    return tang_pair(a.x / b.x, 0u);
  }
  tang_i64 q = tang_pair(0u, 0u);
  tang_i64 r = tang_pair(0u, 0u);
  for (int k = 63; k >= 0; k -= 1) {
    const uint word = tang_select_u32(k >= 32, a.y, a.x);
    const uint bit = (word >> (U32(k) & 31u)) & 1u;
    const bool over = (r.y >> 31u) != 0u;
    r = tang_pair((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));
    const bool fits = over || !tang_below(r, b);
    const uint one = tang_select_u32(fits, 1u, 0u);
    r = tang_select_i64(fits, tang_sub_i64(r, b), r);
    q = tang_pair((q.x << 1u) | one, (q.y << 1u) | (q.x >> 31u));
  }
  return q;
}

TANG_FN tang_i64 tang_div_i64(tang_i64 a, tang_i64 b) {
  if ((b.x == 0u) && (b.y == 0u)) {
    return tang_pair(0u, 0u);
  }
  const tang_i64 n = tang_abs_i64(a);
  const tang_i64 d = tang_abs_i64(b);
  const tang_i64 q = tang_whole_quotient(n, d);
  if (tang_negative_i64(a) == tang_negative_i64(b)) {
    return q;
  }
  const bool whole = tang_eq_i64(tang_mul_i64(q, d), n);
  return tang_sub_i64(tang_neg_i64(q), tang_pair(tang_select_u32(whole, 0u, 1u), 0u));
}

TANG_FN tang_i64 tang_mod_i64(tang_i64 a, tang_i64 b) {
  if ((b.x == 0u) && (b.y == 0u)) {
    return tang_pair(0u, 0u);
  }
  return tang_sub_i64(a, tang_mul_i64(tang_div_i64(a, b), b));
}

TANG_FN int tang_cast_i64_i32(tang_i64 a) {
  const uint most = tang_select_u32(tang_negative_i64(a), 0x80000000u, 0x7fffffffu);
  return I32(tang_select_u32(a.y == U32(I32(a.x) >> 31u), a.x, most));
}

// The upper 32 bits of what is left when leading zeros are shifted out, with the last bit set if
// others are lost: it rounds as the number does.
TANG_FN float tang_cast_i64_f32(tang_i64 a) {
  const tang_i64 n = tang_abs_i64(a);
  uint high = n.y;
  uint low = n.x;
  float scale = 4294967296.0f;
  if (high == 0u) {
    high = low;
    low = 0u;
    scale = 1.0f;
  } else {
    for (int k = 0; (k < 32) && ((high >> 31u) == 0u); k += 1) {
      high = (high << 1u) | (low >> 31u);
      low = low << 1u;
      scale = scale * 0.5f;
    }
  }
  const float size = F32(high | tang_select_u32(low != 0u, 1u, 0u)) * scale;
  return tang_select_f32(tang_negative_i64(a), -size, size);
}

TANG_FN tang_i64 tang_cast_f32_i64(float x) {
  const uint bits = tang_bits(x);
  const uint size = bits & 0x7fffffffu;
  if (size < 0x4f000000u) {
    return tang_cast_i32_i64(I32(tang_rint(x)));
  }
  if (size > 0x7f800000u) {
    return tang_pair(0u, 0u);
  }
  const bool negative = (bits >> 31u) != 0u;
  if (size >= 0x5f000000u) {
    return tang_pair(tang_select_u32(negative, 0u, 0xffffffffu),
                     tang_select_u32(negative, 0x80000000u, 0x7fffffffu));
  }
  const uint mantissa = (bits & 0x007fffffu) | 0x00800000u;
  const uint shift = (size >> 23u) - 150u;
  const uint low = tang_select_u32(shift > 31u, 0u, mantissa << (shift & 31u));
  const uint over = mantissa << ((shift - 32u) & 31u);
  const uint high = tang_select_u32(shift > 31u, over, mantissa >> ((32u - shift) & 31u));
  const tang_i64 n = tang_pair(low, high);
  return tang_select_i64(negative, tang_neg_i64(n), n);
}

TANG_FN uint tang_store_i8_i64(tang_i64 x) { return tang_store_i8_i32(tang_cast_i64_i32(x)); }

TANG_FN uint tang_store_u8_i64(tang_i64 x) { return tang_store_u8_i32(tang_cast_i64_i32(x)); }

TANG_FN uint tang_store_i4_i64(tang_i64 x) { return tang_store_i4_i32(tang_cast_i64_i32(x)); }

TANG_FN uint tang_store_u4_i64(tang_i64 x) { return tang_store_u4_i32(tang_cast_i64_i32(x)); }
