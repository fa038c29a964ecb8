#define tang_select_i32(c, a, b) ((c) ? (a) : (b))

#define tang_select_u32(c, a, b) ((c) ? (a) : (b))

#define tang_select_i64(c, a, b) ((c) ? (a) : (b))

#define tang_select_f32(c, a, b) ((c) ? (a) : (b))

static inline void tang_put_4bits(device uchar* p, long i, uint bits) {
  device atomic_uint* word = (device atomic_uint*)p + (i >> 3);
  const uint shift = (uint)(i & 7) * 4;
  atomic_fetch_and_explicit(word, ~(15u << shift), memory_order_relaxed);
  atomic_fetch_or_explicit(word, bits << shift, memory_order_relaxed);
}

static inline long tang_shuffle_i64(long x, ushort mask) {
  const uint low = simd_shuffle_xor((uint)x, mask);
  const uint high = simd_shuffle_xor((uint)(x >> 32), mask);
  return (long)(((ulong)high << 32) | (ulong)low);
}
