// Vectors. The header's allocation would bring in names of the C library that are the program's.
#if defined(__AVX2__) && defined(__FMA__)
#define TANG_AVX2 1
#define _MM_MALLOC_H_INCLUDED 1
#define __MM_MALLOC_H 1
#include <immintrin.h>
// What has been stored past the caches is seen by other threads.
#define TANG_STREAMED _mm_sfence()
#else
#define TANG_STREAMED (void)0
#endif
// Always: a call would pass vectors that are wider than the machine's through memory, and a large
// kernel would reach the compiler's limits of growth.
#define TANG_INLINE static inline __attribute__((always_inline))
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
// A vector that stays in a register.
#if defined(__GNUC__) && defined(__AVX2__)
#define TANG_HOLD(v) __asm__("" : "+x"(v))
#else
#define TANG_HOLD(v) ((void)0)
#endif
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TANG_SHUFFLE 1
#endif
#endif
