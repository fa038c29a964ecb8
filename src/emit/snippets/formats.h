// Conversions between float and the narrow formats: to nearest even, subnormals kept, one NaN.
// A subnormal result is rounded by the addition of a constant whose last bit is the result's.

// x rounded to odd: so that a second rounding, to a format with two bits less, rounds x correctly.
static inline float tang_odd(double x) {
  const float near = (float)x;
  const uint32_t u = tang_bits(near);
  const double size = x < 0 ? -x : x;
  const float near_size = tang_float(u & 0x7fffffffu);
  const uint32_t down = u - (uint32_t)((double)near_size > size);
  const float odd = tang_float(down | (uint32_t)((double)near_size != size));
  return x == x ? odd : near;
}

#define TANG_STORE_NARROW(S, T) \
  static inline T tang_store_##S##_f64(double x) { return tang_store_##S##_f32(tang_odd(x)); }

static inline float tang_load_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, size = (uint32_t)(h & 0x7fffu) << 13;
  const uint32_t finite = tang_bits(tang_float(size) * 0x1p112f);
  return tang_float(sign | (size >= 0x0f800000u ? size | 0x7f800000u : finite));
}
static inline uint16_t tang_store_f16_f32(float x) {
  const uint32_t u = tang_bits(x), sign = (u >> 16) & 0x8000u, size = u & 0x7fffffffu;
  const uint32_t small = tang_bits(tang_float(size) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
  const uint32_t finite = size < 0x38800000u ? small : normal;
  const uint32_t result = sign | (size >= 0x47800000u ? 0x7c00u : finite);
  return (uint16_t)(size > 0x7f800000u ? 0x7e00u : result);
}
TANG_STORE_NARROW(f16, uint16_t)

static inline float tang_load_bf16(uint16_t h) { return tang_float((uint32_t)h << 16); }
static inline uint16_t tang_store_bf16_f32(float x) {
  const uint32_t u = tang_bits(x);
  const uint32_t near = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : near);
}
TANG_STORE_NARROW(bf16, uint16_t)

static inline float tang_load_f8e5m2(uint8_t h) { return tang_load_f16((uint16_t)(h << 8)); }
static inline uint8_t tang_store_f8e5m2_f32(float x) {
  const uint32_t u = tang_bits(x), sign = (u >> 24) & 0x80u, size = u & 0x7fffffffu;
  const uint32_t small = tang_bits(tang_float(size) + 128.0f) - 0x43000000u;
  const uint32_t normal = (size - 0x38000000u + 0xfffffu + ((size >> 21) & 1u)) >> 21;
  const uint32_t finite = size < 0x38800000u ? small : normal;
  const uint32_t result = sign | (size >= 0x47800000u ? 0x7cu : finite);
  return (uint8_t)(size > 0x7f800000u ? 0x7eu : result);
}
TANG_STORE_NARROW(f8e5m2, uint8_t)

static inline float tang_load_f8e4m3(uint8_t h) {
  const uint32_t sign = (uint32_t)(h & 0x80u) << 24, size = (uint32_t)(h & 0x7fu) << 20;
  const uint32_t finite = tang_bits(tang_float(size) * 0x1p120f);
  return tang_float(size == 0x07f00000u ? 0x7fc00000u : sign | finite);
}
static inline uint8_t tang_store_f8e4m3_f32(float x) {
  const uint32_t u = tang_bits(x), sign = (u >> 24) & 0x80u, size = u & 0x7fffffffu;
  const uint32_t small = tang_bits(tang_float(size) + 16384.0f) - 0x46800000u;
  const uint32_t normal = (size - 0x3c000000u + 0x7ffffu + ((size >> 20) & 1u)) >> 20;
  const uint32_t finite = size < 0x3c800000u ? small : normal;
  const uint32_t result = sign | (size >= 0x43e00000u ? 0x7eu : finite);
  return (uint8_t)(size > 0x7f800000u ? 0x7fu : result);
}
TANG_STORE_NARROW(f8e4m3, uint8_t)

static inline float tang_store_tf32_f32(float x) {
  const uint32_t u = tang_bits(x);
  const float near = tang_float((u + 0xfffu + ((u >> 13) & 1u)) & 0xffffe000u);
  return (u & 0x7fffffffu) > 0x7f800000u ? tang_float(0x7fc00000u) : near;
}
TANG_STORE_NARROW(tf32, float)
static inline float tang_load_tf32(float x) { return x; }

// Rounding without storing.
#define TANG_ROUND(S)                                      \
  static inline float tang_round_##S##_f32(float x) {      \
    return tang_load_##S(tang_store_##S##_f32(x));         \
  }                                                        \
  static inline double tang_round_##S##_f64(double x) {    \
    return (double)tang_load_##S(tang_store_##S##_f64(x)); \
  }
TANG_ROUND(f16)
TANG_ROUND(bf16)
TANG_ROUND(f8e5m2)
TANG_ROUND(f8e4m3)
TANG_ROUND(tf32)
static inline float tang_round_f32_f32(float x) { return x; }
static inline double tang_round_f32_f64(double x) { return (double)(float)x; }
static inline float tang_round_f64_f32(float x) { return x; }
static inline double tang_round_f64_f64(double x) { return x; }
