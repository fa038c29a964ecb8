// Bits of a float.
static inline uint32_t tang_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline float tang_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

// Multiply-add with one rounding where the machine has it, with two elsewhere.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define TANG_FMA_f32(a, b, c) fmaf(a, b, c)
#define TANG_FMA_f64(a, b, c) fma(a, b, c)
#else
#define TANG_FMA_f32(a, b, c) ((a) * (b) + (c))
#define TANG_FMA_f64(a, b, c) ((a) * (b) + (c))
#endif

// exp(x) = p * a * b with p near 1 and a, b powers of two: x = n ln 2 + r, |r| <= (ln 2) / 2, n
// split in halves, so that results below the normal range round once and large ones reach infinity.
// The polynomial is the Taylor series to r^7, whose remainder is below 6e-9 relative.
typedef struct {
  float p, a, b;
} tang_exp_parts;
static inline tang_exp_parts tang_exp_split(float x) {
  const float low = x < -110.0f ? -110.0f : x;
  const float y = low > 90.0f ? 90.0f : low;
  const float shifted = y * 0x1.715476p+0f + 0x1.8p23f;
  const float n = shifted - 0x1.8p23f;
  const float r = (y - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
  float p = 0x1.a01a02p-13f;
  p = p * r + 0x1.6c16c2p-10f;
  p = p * r + 0x1.111112p-7f;
  p = p * r + 0x1.555556p-5f;
  p = p * r + 0x1.555556p-3f;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  const uint32_t k = tang_bits(shifted) - 0x4b400000u + 1024u;
  const uint32_t half = k >> 1;
  tang_exp_parts parts;
  parts.p = p + 1.0f;
  parts.a = tang_float((half - 512u + 127u) << 23);
  parts.b = tang_float((k - half - 512u + 127u) << 23);
  return parts;
}
static inline float tang_exp_f32(float x) {
  const tang_exp_parts e = tang_exp_split(x);
  return e.p * e.a * e.b;
}
static inline double tang_exp_f64(double x) { return exp(x); }

// What f32 and f64 define alike. N is the suffix of the C library's names.
#define TANG_REAL(T, S, N)                                                               \
  static inline T tang_max_##S(T a, T b) { return (a < b) | (b != b) ? b : a; }          \
  static inline T tang_min_##S(T a, T b) { return (b < a) | (b != b) ? b : a; }          \
  static inline T tang_abs_##S(T x) { return x < 0 ? -x : x; }                           \
  static inline T tang_relu_##S(T x) { return x < 0 ? 0 : x; }                           \
  static inline T tang_floor_##S(T x) { return floor##N(x); }                            \
  static inline T tang_div_##S(T a, T b) { return floor##N(a / b); }                     \
  static inline T tang_mod_##S(T a, T b) { return a - b * floor##N(a / b); }             \
  static inline T tang_recip_##S(T x) { return 1 / x; }                                  \
  static inline T tang_sqrt_##S(T x) { return sqrt##N(x); }                              \
  static inline T tang_rsqrt_##S(T x) { return 1 / sqrt##N(x); }                         \
  static inline T tang_sin_##S(T x) { return sin##N(x); }                                \
  static inline T tang_cos_##S(T x) { return cos##N(x); }                                \
  static inline T tang_atan2_##S(T y, T x) { return atan2##N(y, x); }                    \
  static inline T tang_log_##S(T x) { return log##N(x); }                                \
  static inline T tang_log1p_##S(T x) { return log1p##N(x); }                            \
  static inline T tang_tanh_##S(T x) { return tanh##N(x); }                              \
  static inline T tang_erf_##S(T x) { return erf##N(x); }                                \
  static inline T tang_erfc_##S(T x) { return erfc##N(x); }                              \
  static inline T tang_pow_##S(T x, T y) {                                               \
    return x > 0 && (x - x) + (y - y) == 0 ? pow##N(x, y) : tang_exp_##S(y * log##N(x)); \
  }                                                                                      \
  static inline T tang_softplus_##S(T x) {                                               \
    return tang_max_##S(x, 0) + log1p##N(tang_exp_##S(x < 0 ? x : -x));                  \
  }
TANG_REAL(float, f32, f)
TANG_REAL(double, f64, )

// Two-sided: with e = exp(-|x|) it is e / (1 + e) below 0 and 1 / (1 + e) above.
static inline float tang_sigmoid_f32(float x) {
  const float e = tang_exp_f32(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}
static inline double tang_sigmoid_f64(double x) {
  const double e = exp(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
// x * sigmoid(x); x meets exp(x) before the last scaling, so tiny results keep their precision.
static inline float tang_silu_f32(float x) {
  const tang_exp_parts e = tang_exp_split(x < 0 ? x : -x);
  const float scaled = x * e.p * e.a * e.b;
  return x < -1024.0f ? 0.0f : (x < 0 ? scaled : x) / (1.0f + e.p * e.a * e.b);
}
static inline double tang_silu_f64(double x) { return x < -1024.0 ? 0.0 : x * tang_sigmoid_f64(x); }
static inline float tang_gelu_tanh_f32(float x) {
  const float y = 1.5957691216057308f * (x + 0.044715f * (x * x * x));
  return x < -1024.0f ? 0.0f : x * tang_sigmoid_f32(y);
}
static inline double tang_gelu_tanh_f64(double x) {
  const double y = 1.5957691216057308 * (x + 0.044715 * (x * x * x));
  return x < -1024.0 ? 0.0 : x * tang_sigmoid_f64(y);
}
static inline double tang_gelu_f64(double x) {
  return x < -1024.0 ? 0.0 : 0.5 * x * erfc(-0.7071067811865476 * x);
}
// In f64, because erfc magnifies the rounding of a large argument.
static inline float tang_gelu_f32(float x) { return (float)tang_gelu_f64((double)x); }
