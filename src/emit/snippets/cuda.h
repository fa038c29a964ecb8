#define tang_select_i32(c, a, b) ((c) ? (a) : (b))

#define tang_select_u32(c, a, b) ((c) ? (a) : (b))

#define tang_select_i64(c, a, b) ((c) ? (a) : (b))

#define tang_select_f32(c, a, b) ((c) ? (a) : (b))

#define tang_select_f64(c, a, b) ((c) ? (a) : (b))

#define tang_nan_f32(x) ((x) != (x))

#define tang_nan_f64(x) ((x) != (x))

#define tang_quot_f32(a, b) ((a) / (b))

#define tang_quot_f64(a, b) ((a) / (b))

static __device__ inline void tang_put_4bits(unsigned char* p, long long i, unsigned bits) {
  unsigned* word = (unsigned*)p + (i >> 3);
  const unsigned shift = (unsigned)(i & 7) * 4;
  atomicAnd(word, ~(15u << shift));
  atomicOr(word, bits << shift);
}
