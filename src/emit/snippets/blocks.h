// Elements of block formats by their number: `p` is the first block, in GGUF's byte layout.
// Products of a scale and a code are exact in f32. Values that f32 cannot hold, sums of two
// products in q4_k and the largest of mxfp4, are given as f64, or rounded once to f32.

static inline float tang_half_at(const uint8_t* p) {
  return tang_load_f16((uint16_t)(p[0] | (uint32_t)p[1] << 8));
}
static inline float tang_signed(uint8_t byte) { return (float)((int32_t)(byte ^ 0x80u) - 128); }

// The nibble of element k among `bytes` bytes, whose low halves are the first elements.
static inline uint32_t tang_nibble(const uint8_t* p, int64_t k, int64_t bytes) {
  return ((uint32_t)p[k & (bytes - 1)] >> (k < bytes ? 0 : 4)) & 15u;
}

static inline float tang_load_q8_0(const uint8_t* p, int64_t i) {
  const uint8_t* b = p + (i >> 5) * 34;
  return tang_half_at(b) * tang_signed(b[2 + (i & 31)]);
}

static inline float tang_load_q4_0(const uint8_t* p, int64_t i) {
  const uint8_t* b = p + (i >> 5) * 18;
  return tang_half_at(b) * (float)((int32_t)tang_nibble(b + 2, i & 31, 16) - 8);
}

// 2^(s - 127) as an f32; 2^-127 is subnormal and 255 means NaN.
static inline float tang_power_at(uint8_t s) {
  const uint32_t bits = s == 0 ? 0x00400000u : s == 255 ? 0x7fc00000u : (uint32_t)s << 23;
  return tang_float(bits);
}
// The digits of the constant are twice the eight magnitudes.
static inline float tang_e2m1(uint32_t code) {
  const float magnitude = (float)(0xc8643210u >> (code & 7u) * 4u & 15u) * 0.5f;
  return code & 8u ? -magnitude : magnitude;
}
#define TANG_LOAD_MXFP4(T, S)                                        \
  static inline T tang_load_mxfp4_##S(const uint8_t* p, int64_t i) { \
    const uint8_t* b = p + (i >> 5) * 17;                            \
    const float code = tang_e2m1(tang_nibble(b + 1, i & 31, 16));    \
    return (T)tang_power_at(b[0]) * (T)code;                         \
  }
TANG_LOAD_MXFP4(float, f32)
TANG_LOAD_MXFP4(double, f64)

// The scale and the offset of eight runs, six bits each: see base/blocks.h.
static inline uint32_t tang_q4_k_scale(const uint8_t* p, int64_t run) {
  return run < 4 ? p[run] & 63u : (p[run + 4] & 15u) | ((uint32_t)p[run - 4] >> 6 << 4);
}
static inline uint32_t tang_q4_k_offset(const uint8_t* p, int64_t run) {
  return run < 4 ? p[run + 4] & 63u : ((uint32_t)p[run + 4] >> 4) | ((uint32_t)p[run] >> 6 << 4);
}
#define TANG_LOAD_Q4_K(T, S)                                                        \
  static inline T tang_load_q4_k_##S(const uint8_t* p, int64_t i) {                 \
    const uint8_t* b = p + (i >> 8) * 144;                                          \
    const int64_t k = i & 255, run = k >> 5;                                        \
    const float scale = tang_half_at(b) * (float)tang_q4_k_scale(b + 4, run);       \
    const float offset = tang_half_at(b + 2) * (float)tang_q4_k_offset(b + 4, run); \
    const uint32_t q = tang_nibble(b + 16 + (k >> 6) * 32, k & 63, 32);             \
    return (T)scale * (T)q - (T)offset;                                             \
  }
TANG_LOAD_Q4_K(float, f32)
TANG_LOAD_Q4_K(double, f64)

static inline float tang_load_q6_k(const uint8_t* p, int64_t i) {
  const uint8_t* b = p + (i >> 8) * 210;
  const int64_t k = i & 255, half = k >> 7, quarter = (k >> 5) & 3, lane = k & 31;
  const uint32_t low = (uint32_t)b[half * 64 + (quarter & 1) * 32 + lane] >> (quarter >> 1) * 4;
  const uint32_t high = (uint32_t)b[128 + half * 32 + lane] >> quarter * 2;
  const int32_t q = (int32_t)((low & 15u) | (high & 3u) << 4) - 32;
  return tang_half_at(b + 208) * tang_signed(b[192 + (k >> 4)]) * (float)q;
}
