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

static inline float2 tang_float2(float a, float b) {
  float2 v;
  v.x = a;
  v.y = b;
  return v;
}

static inline float4 tang_float4(float a, float b, float c, float d) {
  float4 v;
  v.x = a;
  v.y = b;
  v.z = c;
  v.w = d;
  return v;
}

static inline int2 tang_int2(int a, int b) {
  int2 v;
  v.x = a;
  v.y = b;
  return v;
}

static inline int4 tang_int4(int a, int b, int c, int d) {
  int4 v;
  v.x = a;
  v.y = b;
  v.z = c;
  v.w = d;
  return v;
}

static inline uint2 tang_uint2(uint a, uint b) {
  uint2 v;
  v.x = a;
  v.y = b;
  return v;
}

static inline uint4 tang_uint4(uint a, uint b, uint c, uint d) {
  uint4 v;
  v.x = a;
  v.y = b;
  v.z = c;
  v.w = d;
  return v;
}
