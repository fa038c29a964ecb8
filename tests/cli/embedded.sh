#!/usr/bin/env bash
# examples/embedded: the emitted C is a bundle that a C program builds and links without tang, that
# allocates nothing and starts no thread.
. tests/cli/lib.bash

: >"$work/out"; : >"$work/err"; last="examples/embedded"
make -C examples/embedded TANG="$TANG" BUILD="$work/build" CFLAGS=-O2 >"$work/out" 2>"$work/err" ||
  fault "it does not build or its assertions fail"
out "20000 calls  p50 "; out "p99.9 "; out "allocations after the start 0  threads 1 "
grep p50 "$work/out"

# The object needs the C library's mathematics and memory functions, and nothing else.
odd=$(nm -u "$work/build/policy.o" | sed 's/^ *U //' | grep -vE '^(mem(cpy|set|move)|(exp|log|tanh|sin|cos|pow|sqrt|floor|fmod|atan2|rint|round|ldexp|scalbn|fma|nearbyint|llrint|lrint)f?|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$')
[[ -z $odd ]] || fault "the emitted C calls $odd"
[[ $(nm -g --defined-only "$work/build/policy.o" | sed 's/.* //' | sort | paste -sd' ') == "tang_run tang_workspace" ]] || fault "the emitted C exports other names"

# The header stands alone, in C and in C++, with symbols and without; sources compile without warnings.
expect 0 emit "$attention" -o "$work/build"; out "attention.h"; out "manifest.json"
for name in attention policy; do
  cc -std=c11 -pedantic -Wall -Wextra -Werror -c "$work/build/$name.c" -o "$work/a.o" || fault "$name.c"
  for language in c c++; do
    printf '#include "%s.h"\nint main(void) { return tang_workspace(0) == 0 && %s_buffers == 0; }\n' $name $name >"$work/use.$language"
    cc -x $language -pedantic -Wall -Wextra -Werror -I"$work/build" -c "$work/use.$language" -o "$work/a.o" || fault "$name.h in $language"
  done
done
grep -q attention_symbol_seq "$work/build/attention.h" || fault "attention.h lacks the symbol"
grep -q attention_workspace_bytes "$work/build/attention.h" && fault "a size that depends on a symbol is no constant"

# Two programs in one: each under names of its own.
expect 0 emit examples/rmsnorm.tang -o "$work/build"
cat >"$work/two.c" <<'END'
#define tang_run policy_run
#define tang_workspace policy_workspace
#include "policy.h"
#undef tang_run
#undef tang_workspace
#define tang_run norm_run
#define tang_workspace norm_workspace
#include "rmsnorm.h"
int main(void) { int64_t n = 3; return policy_workspace(0) == policy_workspace_bytes && norm_workspace(&n) < 1000000 ? 0 : 1; }
END
(cd "$work" && cc -std=c11 -Dtang_run=policy_run -Dtang_workspace=policy_workspace -c build/policy.c -o 1.o &&
  cc -std=c11 -Dtang_run=norm_run -Dtang_workspace=norm_workspace -c build/rmsnorm.c -o 2.o &&
  cc -std=c11 -Ibuild two.c 1.o 2.o -lm -o two && ./two) || fault "two programs cannot be linked"
finish
