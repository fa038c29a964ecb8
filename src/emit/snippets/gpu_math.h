// Mathematics of f32 where the target's own may be inexact or does not say what it gives for NaN
// and infinity. See vector_exp.h, vector_log.h, vector_tanh.h and vector_erf.h for the methods.

TANG_FN float tang_exp_f32(float x) {
  const float low = tang_select_f32(x < -110.0f, -110.0f, x);
  const float y = tang_select_f32(low > 90.0f, 90.0f, low);
  const float n = floor(y * 1.4426950408889634f + 0.5f);
  const float r = (y - n * 0.693359375f) + n * 0.000212194442f;
  float p = 0.000198412701f;
  p = p * r + 0.00138888892f;
  p = p * r + 0.00833333377f;
  p = p * r + 0.0416666679f;
  p = p * r + 0.166666672f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  const uint k = U32(I32(n) + 1024);
  const uint a = k >> 1u;
  const float first = tang_float((a - 385u) << 23u);
  const float second = tang_float(((k - a) - 385u) << 23u);
  const float result = ((p + 1.0f) * first) * second;
  return tang_select_f32(tang_nan_f32(x), x, result);
}

TANG_FN float tang_log_near_1(float f, float e) {
  float p = -0.0763410777f;
  p = p * f + 0.1276142f;
  p = p * f - 0.131602556f;
  p = p * f + 0.142017841f;
  p = p * f - 0.166233525f;
  p = p * f + 0.200012252f;
  p = p * f - 0.250008225f;
  p = p * f + 0.333333313f;
  const float s = f * f;
  p = e * -0.000212194442f + p * f * s;
  p = (p - 0.5f * s) + f;
  return e * 0.693359375f + p;
}

TANG_FN float tang_log_f32(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float y = tang_select_f32(tiny, x * 8388608.0f, x);
  const uint u = tang_bits(y) - 0x3f3504f3u;
  const float f = tang_float((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float e = F32(I32(u) >> 23u) - tang_select_f32(tiny, 23.0f, 0.0f);
  const float p = tang_log_near_1(f, e);
  const float infinity = tang_float(0x7f800000u);
  const float above = tang_select_f32(x < infinity, p, x);
  const float most = tang_select_f32(x == 0.0f, -infinity, above);
  const float all = tang_select_f32(x < 0.0f, tang_float(0x7fc00000u), most);
  return tang_select_f32(tang_nan_f32(x), x, all);
}

TANG_FN float tang_log1p_f32(float x) {
  const float far = tang_log_f32(1.0f + x);
  const bool near = (x > -0.29f) && (x < 0.41f);
  const float y = tang_select_f32(near, tang_log_near_1(x, 0.0f), far);
  return tang_select_f32(x == 0.0f, x, y);
}

TANG_FN float tang_tanh_f32(float x) {
  const uint sign = tang_bits(x) & 0x80000000u;
  const float z = tang_float(tang_bits(x) ^ sign);
  const float t = z * z;
  const float capped = tang_select_f32(z > 10.0f, 10.0f, z);
  const float large = 1.0f - 2.0f / (tang_exp_f32(capped + capped) + 1.0f);
  float p = -0.00570534263f;
  p = p * t + 0.0206394456f;
  p = p * t - 0.053739842f;
  p = p * t + 0.133314446f;
  p = p * t - 0.333332807f;
  const float small = z * t * p + z;
  const float y = tang_select_f32(z < 0.625f, small, large);
  return tang_select_f32(tang_nan_f32(x), x, tang_float(tang_bits(y) | sign));
}

TANG_FN float tang_erf_f32(float x) {
  const uint sign = tang_bits(x) & 0x80000000u;
  const float size = tang_float(tang_bits(x) ^ sign);
  const float z = tang_select_f32(size > 3.925f, 3.925f, size);
  const float t = z * z;
  float p = 1.91205186e-06f;
  p = p * t + 0.000266194576f;
  p = p * t + 0.0035256003f;
  p = p * t + 0.0493143573f;
  p = p * t + 0.178115845f;
  p = p * t + 1.05449712f;
  float q = 3.55565317e-05f;
  q = q * t + 0.00108766812f;
  q = q * t + 0.0140022803f;
  q = q * t + 0.106707066f;
  q = q * t + 0.469358414f;
  q = q * t + 0.934523761f;
  const float y = tang_select_f32(size > 3.925f, 1.0f, z * (p / q));
  const float most = tang_select_f32(y > 1.0f, 1.0f, y);
  return tang_select_f32(tang_nan_f32(x), x, tang_float(tang_bits(most) | sign));
}

TANG_FN float tang_erfc_f32(float x) {
  const float size = tang_float(tang_bits(x) & 0x7fffffffu);
  const float z = tang_select_f32(size > 10.5f, 10.5f, size);
  float p = 0.0197227839f;
  p = p * z + 0.137842163f;
  p = p * z + 0.43994844f;
  p = p * z + 0.744706392f;
  p = p * z + 0.601331472f;
  float q = 0.0349573046f;
  q = q * z + 0.244334742f;
  q = q * z + 0.797007978f;
  q = q * z + 1.44456196f;
  q = q * z + 1.42323661f;
  q = q * z + 0.601331472f;
  const float h = tang_float(tang_bits(z) & 0xfffff000u);
  const float tail = (p / q) * tang_exp_f32(-(z - h) * (z + h)) * tang_exp_f32(-(h * h));
  const float y = tang_select_f32(x < 0.0f, 2.0f - tail, tail);
  return tang_select_f32(tang_nan_f32(x), x, y);
}

// sin(n pi + r) of |r| <= pi / 2, from r and n; of larger x than 10^4 by tang_far_turns.
TANG_FN float tang_half_wave(float r, uint turns) {
  const uint sign = tang_bits(r) & 0x80000000u;
  const float z = tang_float(tang_bits(r) ^ sign);
  const float t = z * z;
  float p = 2.60511274e-06f;
  p = p * t - 0.000198094349f;
  p = p * t + 0.00833306648f;
  p = p * t - 0.166666597f;
  const float y = z * t * p + z;
  const float most = tang_select_f32(y > 1.0f, 1.0f, y);
  return tang_float((tang_bits(most) ^ sign) ^ (turns << 31u));
}

TANG_FN float tang_less_turns(float x, float n) {
  const float a = x - n * 3.140625f;
  const float b = a - n * 0.000967502594f;
  const float c = b - n * 1.50990672e-07f;
  return c - n * 5.12668814e-12f;
}

// Word k of the digits of 1 / pi after the point.
TANG_FN uint tang_digits(uint k) {
  const uint a = tang_select_u32(k == 0u, 0x517cc1b7u, 0x27220a94u);
  const uint b = tang_select_u32(k == 2u, 0xfe13abe8u, 0xfa9a6ee0u);
  const uint c = tang_select_u32(k == 4u, 0x6db14accu, 0x9e21c820u);
  const uint d = tang_select_u32(k < 4u, b, c);
  return tang_select_u32(k < 2u, a, d);
}

// |x| / pi for |x| >= 2 as a fixed-point number of 64 bits, 63 of them after the point; whole
// turns but for the last bit are lost (Payne and Hanek, 1983). Then what is left beyond the
// nearest whole number (or half of an odd one) times pi.
TANG_FN float tang_far_wave(float x, bool cosine) {
  const uint size = tang_bits(x) & 0x7fffffffu;
  const uint exponent = (size >> 23u) - 127u;
  const uint mantissa = ((size & 0x007fffffu) | 0x00800000u) << 8u;
  const uint word = exponent >> 5u;
  const uint shift = exponent & 31u;
  const uint before = tang_select_u32(word == 0u, 0u, tang_digits(word - 1u));
  const uint first = tang_digits(word);
  const uint second = tang_digits(word + 1u);
  const uint third = tang_digits(word + 2u);
  const bool none = shift == 0u;
  const uint rest = 32u - shift;
  const uint back = rest & 31u;
  const uint d0 = tang_select_u32(none, before, (before << shift) | (first >> back));
  const uint d1 = tang_select_u32(none, first, (first << shift) | (second >> back));
  const uint d2 = tang_select_u32(none, second, (second << shift) | (third >> back));
  const uint low = tang_high_product(mantissa, d2);
  const uint middle = mantissa * d1;
  const uint sum = middle + low;
  const uint carry = tang_select_u32(sum < middle, 1u, 0u);
  const uint high = mantissa * d0 + tang_high_product(mantissa, d1) + carry;
  const uint quarter = tang_select_u32(cosine, 0x40000000u, 0u);
  const uint moved = high + quarter;
  const uint turns = (moved + 0x40000000u) >> 31u;
  const uint left = moved - (turns << 31u);
  const float r = F32(I32(left)) * 1.46291808e-09f + F32(sum) * 3.40612147e-19f;
  const uint flip = tang_select_u32(cosine, 0u, tang_bits(x) & 0x80000000u);
  const float y = tang_half_wave(r, turns);
  return tang_float(tang_bits(y) ^ flip);
}

TANG_FN float tang_sin_f32(float x) {
  const float size = tang_float(tang_bits(x) & 0x7fffffffu);
  if (!(size < tang_float(0x7f800000u))) {
    return tang_float(0x7fc00000u);
  }
  if (size > 10000.0f) {
    return tang_far_wave(x, false);
  }
  const float n = floor(x * 0.318309873f + 0.5f);
  return tang_half_wave(tang_less_turns(x, n), U32(I32(n)));
}

TANG_FN float tang_cos_f32(float x) {
  const float size = tang_float(tang_bits(x) & 0x7fffffffu);
  if (!(size < tang_float(0x7f800000u))) {
    return tang_float(0x7fc00000u);
  }
  if (size > 10000.0f) {
    return tang_far_wave(x, true);
  }
  const float n = floor(x * 0.318309873f);
  return tang_half_wave(tang_less_turns(x, n + 0.5f), U32(I32(n)) + 1u);
}

// Of 0 <= z <= 1: below tan(pi / 8) by a polynomial, above by the difference from pi / 4.
TANG_FN float tang_arc(float z) {
  const bool large = z > 0.41421356f;
  const float y = tang_select_f32(large, (z - 1.0f) / (z + 1.0f), z);
  const float t = y * y;
  float p = 0.0805374450f;
  p = p * t - 0.138776856f;
  p = p * t + 0.199777106f;
  p = p * t - 0.333329491f;
  return tang_select_f32(large, 0.785398163f, 0.0f) + (p * t * y + y);
}

TANG_FN float tang_atan2_f32(float y, float x) {
  const float a = tang_float(tang_bits(y) & 0x7fffffffu);
  const float b = tang_float(tang_bits(x) & 0x7fffffffu);
  const float infinity = tang_float(0x7f800000u);
  const float most = tang_select_f32(a < b, b, a);
  const float least = tang_select_f32(a < b, a, b);
  const float ratio = tang_select_f32(least == infinity, 1.0f, least / most);
  const float z = tang_select_f32(most == 0.0f, 0.0f, ratio);
  const float arc = tang_arc(z);
  const float steep = tang_select_f32(a < b, arc, 1.57079633f - arc);
  const bool back = (tang_bits(x) >> 31u) != 0u;
  const float whole = tang_select_f32(back, 3.14159265f - steep, steep);
  const float all = tang_float(tang_bits(whole) | (tang_bits(y) & 0x80000000u));
  return tang_select_f32(tang_nan_f32(x) || tang_nan_f32(y), tang_float(0x7fc00000u), all);
}
