// A control loop that runs a policy compiled by tang, the way a robot would: fixed period, fixed
// memory, one thread. Everything lives in static arrays. The heap is an arena of this file whose
// requests are counted; after the start the count must not move.
//
//   tang emit ../policy.tang -o build
//   cc -std=c11 -O3 -march=native -Ibuild control_loop.c build/policy.c -lm -o build/control_loop
//
// Prints how long a call takes, at the median and for all but one call in a thousand.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy.h"

enum { steps = 20000, inputs = 48, first = 256, second = 128, actions = 12 };

// ---- the heap, counted: what is not needed after the start is not given -------------------------

static _Alignas(64) unsigned char arena[1 << 20];
static size_t arena_used;
static long allocations;

static void *take(size_t bytes, size_t alignment) {
  ++allocations;
  const size_t begin = (arena_used + 16 + alignment - 1) / alignment * alignment;
  if (bytes > sizeof arena || begin > sizeof arena - bytes) {
    errno = ENOMEM;
    return NULL;
  }
  memcpy(arena + begin - sizeof bytes, &bytes, sizeof bytes);  // for realloc
  arena_used = begin + bytes;
  return arena + begin;
}

void *malloc(size_t bytes) { return take(bytes, 16); }
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t bytes) {
  if (bytes != 0 && count > sizeof arena / bytes) return NULL;
  return take(count * bytes, 16);  // the arena begins as zeros and no byte is given twice
}
void *realloc(void *block, size_t bytes) {
  void *moved = take(bytes, 16);
  if (block == NULL || moved == NULL) return moved;
  size_t old;
  memcpy(&old, (unsigned char *)block - sizeof old, sizeof old);
  return memcpy(moved, block, old < bytes ? old : bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return take(bytes, alignment < 16 ? 16 : alignment);
}
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  *block = aligned_alloc(alignment, bytes);
  return *block == NULL ? ENOMEM : 0;
}

// ---- the policy and a plant for it to move ------------------------------------------------------

static _Alignas(64) float obs[inputs], w1[first][inputs], b1[first], w2[second][first], b2[second],
    w3[actions][second], b3[actions], act[actions];
static _Alignas(64) unsigned char workspace[policy_workspace_bytes + 1];
static double microseconds[steps];

// Weights as training might leave them: uniform around 0, scaled by the width of the layer.
static void fill(float *values, size_t count, float scale) {
  static unsigned state = 1;
  for (size_t k = 0; k < count; ++k) {
    state = state * 1664525u + 1013904223u;
    values[k] = scale * ((float)(state >> 8) / (float)(1 << 23) - 1.0f);
  }
}

static void start(void *buffers[policy_buffers]) {
  fill(&w1[0][0], first * inputs, 0.2f), fill(b1, first, 0.1f);
  fill(&w2[0][0], second * first, 0.1f), fill(b2, second, 0.1f);
  fill(&w3[0][0], actions * second, 0.1f), fill(b3, actions, 0.1f);
  fill(obs, inputs, 1.0f);
  buffers[policy_buffer_obs] = obs;
  buffers[policy_buffer_w1] = w1, buffers[policy_buffer_b1] = b1;
  buffers[policy_buffer_w2] = w2, buffers[policy_buffer_b2] = b2;
  buffers[policy_buffer_w3] = w3, buffers[policy_buffer_b3] = b3;
  buffers[policy_buffer_act] = act;
}

// The plant: each joint decays towards rest and is pushed by one of the actions.
static void plant(void) {
  for (int k = 0; k < inputs; ++k) obs[k] = 0.98f * obs[k] + 0.05f * act[k % actions];
}

// The policy again, written out, to see that the emitted one is right.
static double largest_error(void) {
  static double x1[first], x2[second];
  double worst = 0;
  for (int a = 0; a < first; ++a) {
    double s = b1[a];
    for (int i = 0; i < inputs; ++i) s += (double)w1[a][i] * obs[i];
    x1[a] = tanh(s);
  }
  for (int b = 0; b < second; ++b) {
    double s = b2[b];
    for (int a = 0; a < first; ++a) s += w2[b][a] * x1[a];
    x2[b] = tanh(s);
  }
  for (int m = 0; m < actions; ++m) {
    double s = b3[m];
    for (int b = 0; b < second; ++b) s += w3[m][b] * x2[b];
    worst = fmax(worst, fabs(s - act[m]));
  }
  return worst;
}

// ---- measurements -------------------------------------------------------------------------------

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The threads of this process; 0 where the system does not say.
static int threads(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  int count = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Threads: %d", &count) == 1) break;
  if (file != NULL) fclose(file);
  return count;
}

int main(void) {
  void *buffers[policy_buffers];
  start(buffers);
  if (tang_workspace(NULL) != policy_workspace_bytes) return 1;
  double error = 0;
  const long before = allocations;
  for (int k = 0; k < steps; ++k) {
    const double begin = now();
    const int failed = tang_run(buffers, NULL, workspace);
    microseconds[k] = now() - begin;
    if (failed) return 1;
    if (k % 1000 == 0) error = fmax(error, largest_error());
    plant();
  }
  const long during = allocations - before;
  const int running = threads();
  qsort(microseconds, steps, sizeof microseconds[0], ascending);
  printf("%d calls  p50 %.1f us  p99.9 %.1f us  max %.1f us\n", steps, microseconds[steps / 2],
         microseconds[steps - 1 - steps / 1000], microseconds[steps - 1]);
  printf("allocations after the start %ld  threads %d  largest error %.1e\n", during, running,
         error);
  if (during != 0 || running > 1 || !(error < 1e-4)) {
    fprintf(stderr, "control_loop: the policy allocates, starts threads or is wrong\n");
    return 1;
  }
  return 0;
}
