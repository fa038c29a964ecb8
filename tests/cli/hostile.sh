#!/usr/bin/env bash
# A machine that does not help: no compiler, no home, a cache that cannot be used, little memory,
# full disks, damaged files. One clear message each, the documented exit code, no partial output.
. tests/cli/lib.bash

# No compiler.
PATH=/nonexistent expect 3 run "$attention" -D seq=4; err "E0901"
PATH=/nonexistent expect 0 run "$attention" -D seq=4 --device oracle
PATH=/nonexistent expect 0 emit "$attention" -o "$work/emitted"
# PoCL ends a program that it finds no linker for.
OCL_ICD_VENDORS=/nonexistent VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent \
  PATH=/nonexistent expect 0 check "$attention" -D seq=4 --device all; out oracle; no_out "c  "

# The cache.
mkdir "$work/locked"; chmod 500 "$work/locked"
: >"$work/file"
TANG_CACHE_DIR=$work/file/x expect 0 run "$attention" -D seq=4; err "W0901"; err "$work/file/x"
[[ $(grep -c W0901 "$work/err") == 1 ]] || fault "one warning"
# Permissions do not bind root.
((EUID == 0)) || { TANG_CACHE_DIR=$work/locked expect 0 run "$attention" -D seq=4; err "W0901"; err "$work/locked"; }
TANG_CACHE=0 expect 0 run "$attention" -D seq=4; silent
(unset TANG_CACHE_DIR HOME XDG_CACHE_HOME; expect 0 run "$attention" -D seq=4; silent; finish) || failures=$((failures + 1))
(unset TANG_CACHE_DIR; export XDG_CACHE_HOME=$work/xdg; expect 0 run "$attention" -D seq=4; exists "$work/xdg/tang"; finish) || failures=$((failures + 1))
# Damaged entries are misses.
expect 0 run "$attention" -D seq=4
for entry in "$TANG_CACHE_DIR"/*; do head -c 100 "$entry" >"$work/cut"; cp "$work/cut" "$entry"; done
expect 0 run "$attention" -D seq=4; silent
# A full disk, as a file size limit: for the cache and the compiler, and for outputs.
(ulimit -f 16; TANG_CACHE_DIR=$work/full expect 0 derive "$attention" -D seq=4; finish) || failures=$((failures + 1))
mkdir "$work/tmp"
(ulimit -f 4; export TMPDIR=$work/tmp TANG_CACHE_DIR=$work/full; expect 3 run "$attention" -D seq=4 --naive; err "E0902"; err "$work/tmp"; finish) || failures=$((failures + 1))
[[ -z $(ls -A "$work/tmp") && -z $(ls -A "$work/full" 2>/dev/null) ]] || fault "files of a failed compilation are left"
expect 0 run "$attention" -D seq=300
(ulimit -f 100; expect 2 run "$attention" -D seq=300 --out "$work/o.npy"; err "E0708"; missing "$work/o.npy"; finish) || failures=$((failures + 1))
[[ -z $(find "$work" -name '*.part*') ]] || fault "a partial file is left"
expect 2 run "$attention" -D seq=4 --out "$work/nowhere/o.npy"; err "nowhere"
[[ ! -e /dev/full ]] || { "$TANG" derive "$attention" >/dev/full 2>"$work/err"; [[ $? == 2 ]] || fault "stdout on a full disk"; }
"$TANG" derive "$attention" | head -c 1 >/dev/null; [[ ${PIPESTATUS[0]} == 0 ]] || fault "a closed pipe is no error"

# Memory.
expect 5 run "$attention" -D seq=100000000 --naive; err "E0903"; err "bytes"
expect 5 run "$attention" -D seq=9000000000000000000; err "E0903"
(ulimit -v 262144; expect 0 run "$attention" -D seq=1024; finish) || failures=$((failures + 1))
sed 's/h = 8/h = 1/' "$attention" >"$work/one.tang"
expect 0 run "$work/one.tang" -D seq=16
(ulimit -v 262144; expect 0 run "$work/one.tang" -D seq=16384; finish) || failures=$((failures + 1))

# Damaged arrays.
expect 0 run "$attention" -D seq=5 --out "$work/o.npy"
head -c 200 "$work/o.npy" >"$work/cut.npy"
expect 2 run "$attention" --in q="$work/cut.npy"; err "cut.npy"; err "E0702"
head -c 200 /dev/zero >"$work/text.npy"
expect 2 run "$attention" --in q="$work/text.npy"; err "E0703"
head -c 100 /dev/zero >"$work/q.raw"
expect 2 run "$attention" -D seq=5 --in q="$work/q.raw"; err "E0706"; err "10240"
expect 2 run "$attention" -D seq=5 --in q="$work/none.npy"; err "none.npy"
expect 2 run "$attention" -D seq=5 --in k="$work/o.npy" --in k="$work/o.npy"; err "twice"
printf 'dim i = 4\ninput x[i, i]\ny[i] = x[i, i]\noutput y\n' >"$work/two.tang"
expect 2 run "$work/two.tang" --in x="$work/o.npy"; err "E0706"; err "[8, 5, 64]"; err "x[4, 4]"

# Interrupted.
"$TANG" run "$work/one.tang" -D seq=16384 --naive --device oracle >/dev/null 2>&1 &
pid=$!
sleep 0.5; kill -INT $pid; wait $pid; code=$?
[[ $code == 130 ]] || fault "interrupted: exit $code, not 130"
# A compilation: the interrupt is held back until its files are gone.
(TMPDIR=$work/tmp TANG_CACHE=0 exec "$TANG" run "$attention" -D seq=4 --naive) >/dev/null 2>&1 &
pid=$!
for ((k = 0; k < 200; k++)); do [[ -n $(ls -A "$work/tmp") ]] && break; sleep 0.01; done
kill -INT $pid; wait $pid; code=$?
[[ $code == 130 ]] || fault "interrupted compilation: exit $code, not 130"
[[ -z $(ls -A "$work/tmp") ]] || fault "files of an interrupted compilation are left"
finish
