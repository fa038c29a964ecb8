// Contraction is written out as TANG_FMA where it is wanted and forbidden elsewhere. Floating-point
// exceptions and errno are not looked at, so loops with selects and roots vectorise.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define TANG_VECTOR _Pragma("clang loop vectorize(assume_safety)")
#define TANG_UNROLL _Pragma("clang loop unroll(full)")
#define TANG_ROLLED
#elif defined(__GNUC__)
// gcc 12 rewrites the address of an array that is read both ways to one from null, and then takes
// the function to end there and its stores to be none.
#pragma GCC optimize("fp-contract=off", "no-trapping-math", "no-math-errno", \
                     "no-delete-null-pointer-checks")
// gcc 12 folds double -> float -> double to nothing when it vectorises straight-line code.
#if defined(TANG_NARROWS)
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
#define TANG_VECTOR _Pragma("GCC ivdep")
#define TANG_UNROLL _Pragma("GCC unroll 16")
#define TANG_ROLLED _Pragma("GCC unroll 1")
#else
#pragma STDC FP_CONTRACT OFF
#define TANG_VECTOR
#define TANG_UNROLL
#define TANG_ROLLED
#endif

// The line of an element, which need not exist.
#if defined(__GNUC__)
#define TANG_PREFETCH(p, i) \
  __builtin_prefetch((const void*)((uintptr_t)(p) + (uintptr_t)(i) * sizeof(*(p))))
#else
#define TANG_PREFETCH(p, i) ((void)(i))
#endif

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Sizes: a product or sum that does not fit sets *bad. Operands are not negative.
static inline int64_t tang_size_mul(int64_t a, int64_t b, int* bad) {
  if (a != 0 && b > INT64_MAX / a) *bad = 1;
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
static inline int64_t tang_size_add(int64_t a, int64_t b, int* bad) {
  if (a > INT64_MAX - b) *bad = 1;
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static inline int64_t tang_size_sub(int64_t a, int64_t b, int* bad) {
  if (b > a) *bad = 1;
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
// Bytes of `count` elements of `bits` bits, rounded up to the next multiple of 64 bytes.
static inline int64_t tang_size_bytes(int64_t count, int64_t bits, int* bad) {
  const int64_t bytes = bits == 4 ? count / 2 + count % 2 : tang_size_mul(count, bits / 8, bad);
  return bytes > INT64_MAX - 63 ? (*bad = 1, 0) : (bytes + 63) / 64 * 64;
}
// The same for elements that lie in blocks, which must be whole.
static inline int64_t tang_size_blocks(int64_t count, int64_t block, int64_t bytes, int* bad) {
  if (count % block != 0) *bad = 1;
  return tang_size_bytes(tang_size_mul(count / block, bytes, bad), 8, bad);
}
