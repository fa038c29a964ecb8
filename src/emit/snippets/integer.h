// Integers wrap; div and mod round towards minus infinity, and a divisor 0 gives 0.
#define TANG_INTEGER(T, U, S)                                               \
  static inline T tang_add_##S(T a, T b) { return (T)((U)a + (U)b); }       \
  static inline T tang_sub_##S(T a, T b) { return (T)((U)a - (U)b); }       \
  static inline T tang_mul_##S(T a, T b) { return (T)((U)a * (U)b); }       \
  static inline T tang_neg_##S(T a) { return (T)((U)0 - (U)a); }            \
  static inline T tang_abs_##S(T a) { return a < 0 ? tang_neg_##S(a) : a; } \
  static inline T tang_relu_##S(T a) { return a < 0 ? 0 : a; }              \
  static inline T tang_floor_##S(T a) { return a; }                         \
  static inline T tang_max_##S(T a, T b) { return a < b ? b : a; }          \
  static inline T tang_min_##S(T a, T b) { return b < a ? b : a; }          \
  static inline T tang_div_##S(T a, T b) {                                  \
    if (b == 0) return 0;                                                   \
    if (b == -1) return tang_neg_##S(a);                                    \
    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));                   \
  }                                                                         \
  static inline T tang_mod_##S(T a, T b) {                                  \
    if (b == 0 || b == -1) return 0;                                        \
    return a % b + ((a % b != 0) & ((a < 0) != (b < 0)) ? b : 0);           \
  }
TANG_INTEGER(int64_t, uint64_t, i64)
TANG_INTEGER(int32_t, uint32_t, i32)

// Where the steps of a loop begin that a part of the kernel takes; those of part `parts` would
// follow all.
static inline int64_t tang_share(int64_t first, int64_t end, int64_t step, int64_t part,
                                 int64_t parts) {
  const int64_t steps = end > first ? (end - first - 1) / step + 1 : 0;
  return first + steps * part / parts * step;
}

// Casts clamp; a real rounds to nearest even first, and NaN gives 0.
static inline int32_t tang_cast_i64_i32(int64_t x) {
  return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}
static inline int32_t tang_cast_f64_i32(double x) {
  const double low = x < -2147483648.0 ? -2147483648.0 : x;
  const double both = low > 2147483647.0 ? 2147483647.0 : low;
  return x == x ? (int32_t)rint(both) : 0;
}
static inline int32_t tang_cast_f32_i32(float x) { return tang_cast_f64_i32((double)x); }
static inline int64_t tang_cast_f64_i64(double x) {
  if (!(x == x)) return 0;
  if (x < -9223372036854775808.0) return INT64_MIN;
  if (x >= 9223372036854775808.0) return INT64_MAX;
  return (int64_t)rint(x);
}
static inline int64_t tang_cast_f32_i64(float x) { return tang_cast_f64_i64((double)x); }

#define TANG_CLAMP(T, S, N, LO, HI) \
  static inline T tang_round_##N##_##S(T x) { return x < LO ? LO : x > HI ? HI : x; }
#define TANG_CLAMPS(T, S)         \
  TANG_CLAMP(T, S, i8, -128, 127) \
  TANG_CLAMP(T, S, u8, 0, 255)    \
  TANG_CLAMP(T, S, i4, -8, 7)     \
  TANG_CLAMP(T, S, u4, 0, 15)
TANG_CLAMPS(int64_t, i64)
TANG_CLAMPS(int32_t, i32)
static inline int64_t tang_round_i32_i64(int64_t x) { return tang_cast_i64_i32(x); }
static inline int32_t tang_round_i32_i32(int32_t x) { return x; }
static inline int64_t tang_round_i64_i64(int64_t x) { return x; }
static inline int32_t tang_round_i64_i32(int32_t x) { return x; }

// Four-bit integers lie two to a byte, the low half first.
static inline uint32_t tang_load_u4_bits(const uint8_t* p, int64_t i) {
  return (uint32_t)(p[i >> 1] >> ((i & 1) * 4)) & 15u;
}
static inline int32_t tang_load_u4(const uint8_t* p, int64_t i) {
  return (int32_t)tang_load_u4_bits(p, i);
}
static inline int32_t tang_load_i4(const uint8_t* p, int64_t i) {
  return (int32_t)(tang_load_u4_bits(p, i) ^ 8u) - 8;
}
static inline void tang_store_4bits(uint8_t* p, int64_t i, uint32_t bits) {
  const uint32_t shift = (uint32_t)(i & 1) * 4u;
  p[i >> 1] = (uint8_t)((p[i >> 1] & (0xf0u >> shift)) | ((bits & 15u) << shift));
}
