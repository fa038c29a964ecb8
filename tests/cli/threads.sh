#!/usr/bin/env bash
# --threads: the same bits for any number, what emit writes for several, and what is refused.
. tests/cli/lib.bash

cat >"$work/product.tang" <<'END'
param n = 200
dim i = n, j = 300, k = 100
input a[i, k], b[k, j] : f32
c[i, j] = sum[k](a[i, k] * b[k, j])
y[i, j] = exp(c[i, j] - max[j](c[i, j]))
output y
END

for threads in 1 2 3 7; do
  expect 0 run "$work/product.tang" --threads $threads --out "$work/y$threads.npy"; silent
  cmp -s "$work/y1.npy" "$work/y$threads.npy" || fault "$threads threads give other bits"
done
expect 0 run "$work/product.tang" --out "$work/y.npy"
cmp -s "$work/y1.npy" "$work/y.npy" || fault "the default number of threads gives other bits"
expect 0 check "$work/product.tang" --threads 3
expect 0 check "$work/product.tang" --threads 3 --vm
expect 0 bench "$work/product.tang" --threads 2 --runs 3 --json; out '"threads":2'
expect 0 run "$attention" -D seq=300 --threads 2 --out "$work/o2.npy"
expect 0 run "$attention" -D seq=300 --threads 1 --out "$work/o1.npy"
cmp -s "$work/o1.npy" "$work/o2.npy" || fault "attention on two threads gives other bits"

# A schedule may take the threads away; it cannot ask for more than --threads.
expect 0 check "$work/product.tang" --threads 2 --schedule-out "$work/s.json"
grep -q '"threads": 2' "$work/s.json" || fault "the schedule has no threads"
expect 0 check "$work/product.tang" --threads 2 --schedule "$work/s.json"
expect 2 check "$work/product.tang" --schedule "$work/s.json"; err E0805; err "threads"
sed -i 's/"threads": 2/"threads": 1/' "$work/s.json"
expect 0 check "$work/product.tang" --threads 2 --schedule "$work/s.json"

# Emitted C takes a part only where it was asked for; one file serves any number of parts.
expect 0 emit "$work/product.tang" -o "$work/one"
grep -q run_part "$work"/one/* && fault "emit shares kernels without --threads"
expect 0 emit "$work/product.tang" --threads 2 -o "$work/two"
grep -q '"part_entry": "tang_run_part"' "$work/two/manifest.json" || fault "the manifest lacks the entry"
grep -qi 'pthread\|thrd_' "$work/two/product.c" && fault "the emitted C names a thread library"
cat >"$work/parts.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "product.h"
enum { n = 200, parts = 3 };
static float a[n * 100], b[100 * 300], one[n * 300], shared[n * 300];
static void *alone[] = {a, b, one}, *together[] = {a, b, shared};
static const int64_t symbols[] = {n};
static void *workspace;
static pthread_barrier_t barrier;
static void wait(void *context) { pthread_barrier_wait(context); }
static void *run(void *part) {
  return (void *)(intptr_t)tang_run_part(together, symbols, workspace, (intptr_t)part, parts, wait, &barrier);
}
int main(void) {
  for (int k = 0; k < n * 100; ++k) a[k] = (float)(k % 13) - 6;
  for (int k = 0; k < 100 * 300; ++k) b[k] = (float)(k % 7) / 8;
  workspace = aligned_alloc(64, (tang_workspace(symbols) + 64) / 64 * 64);
  if (tang_run(alone, symbols, workspace)) return 1;
  pthread_t threads[parts];
  pthread_barrier_init(&barrier, 0, parts);
  for (intptr_t k = 0; k < parts; ++k) pthread_create(&threads[k], 0, run, (void *)k);
  for (int k = 0; k < parts; ++k) {
    void *status;
    pthread_join(threads[k], &status);
    if (status) return 2;
  }
  return memcmp(one, shared, sizeof one) != 0;
}
END
cc -std=c11 -pedantic -Wall -Wextra -Werror -Wno-psabi -O1 -c "$work/two/product.c" -o "$work/product.o" &&
  cc -std=c11 -D_GNU_SOURCE -O1 -I"$work/two" "$work/parts.c" "$work/product.o" -lm -pthread -o "$work/parts" &&
  "$work/parts" || fault "three parts do not compute what one does"

for bad in 0 -1 1025 two; do
  expect 2 run "$work/product.tang" --threads $bad; err E0801; err "this is not a number from 1 to 1024"
done
finish
