#define tang_select_i32(c, a, b) ((c) ? (a) : (b))

#define tang_select_u32(c, a, b) ((c) ? (a) : (b))

#define tang_select_i64(c, a, b) ((c) ? (a) : (b))

#define tang_select_f32(c, a, b) ((c) ? (a) : (b))

#define tang_select_f64(c, a, b) ((c) ? (a) : (b))

#define tang_nan_f32(x) (isnan(x) != 0)

#define tang_nan_f64(x) (isnan(x) != 0)

static inline void tang_put_4bits(__global uchar* p, long i, uint bits) {
  volatile __global uint* word = (volatile __global uint*)p + (i >> 3);
  const uint shift = (uint)(i & 7) * 4;
  atomic_and(word, ~(15u << shift));
  atomic_or(word, bits << shift);
}

#define tang_quot_f64(a, b) ((a) / (b))
