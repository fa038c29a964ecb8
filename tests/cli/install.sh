#!/usr/bin/env bash
# An installed tree: find_package(tang) builds examples/cpp, which are right; libtang.so exports the
# C interface alone; headers stand by themselves.
. tests/cli/lib.bash

: >"$work/out"; : >"$work/err"
build=$(dirname "$TANG")
if grep -q '^TANG_SANITIZE:BOOL=ON' "$build/CMakeCache.txt"; then
  echo "skipped: the examples are built without sanitizers"; exit 0
fi
step() {  # step NAME COMMAND...
  last=$1; shift
  "$@" >"$work/out" 2>"$work/err" || { fault "failed"; finish; }
}
prefix=$work/prefix
step "cmake --install" cmake --install "$build" --prefix "$prefix"
step "configure" cmake -S examples/cpp -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
step "build" cmake --build "$work/build"
step "attention" "$work/build/attention" c; out "attention on c: right"; cat "$work/out"
step "norm" "$work/build/norm" c; out "norm on c"; out "right"; cat "$work/out"

last="attention on no device"
"$work/build/attention" quartz >"$work/out" 2>"$work/err"; [[ $? == 2 ]] || fault "exit code"
err "E0802"; err "there is no device \`quartz\`"

last="libtang.so"
library=$(find "$prefix" -name libtang.so)
nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^tang_' >"$work/out" && fault "it exports other names"
[[ $(nm -D --defined-only "$library" | grep -c ' T tang_') -ge 15 ]] || fault "functions are missing"

last="headers"
for standard in c99 c11; do
  cc -std=$standard -pedantic -Wall -Wextra -Werror -x c -fsyntax-only "$prefix/include/tang/tang.h" || fault "tang.h in $standard"
done
echo '#include <tang/tang.hpp>' | c++ -std=c++20 -pedantic -Wall -Wextra -Werror -x c++ -fsyntax-only -I"$prefix/include" - || fault "tang.hpp"
[[ -z $(grep -rl "$PWD" "$prefix/lib"/*/cmake "$prefix/lib/cmake" 2>/dev/null) ]] || fault "the package names this checkout"
finish
