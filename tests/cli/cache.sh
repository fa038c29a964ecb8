#!/usr/bin/env bash
# cache: info, clear, prune, export and import, as text and as JSON.
. tests/cli/lib.bash

expect 0 run "$attention" -D seq=4
expect 0 cache; out "$TANG_CACHE_DIR  1 entry, "
expect 0 cache info --json; out '"schema":1'; out "\"dir\":\"$TANG_CACHE_DIR\""; out '"entries":1'; out '"bytes":'
expect 0 cache export "$work/one.pack" --json; out '"exported":1'
expect 0 cache clear; out "removed 1 entry"

# An imported program needs no compiler run.
expect 0 cache import "$work/one.pack"; out "imported 1 entry"
mkdir "$work/tmp"; chmod 500 "$work/tmp"
((EUID == 0)) || TMPDIR=$work/tmp expect 0 run "$attention" -D seq=4
expect 0 cache import "$work/one.pack" --json; out '"imported":0'; out '"entries":1'

# Damaged files: one error, nothing imported.
expect 0 cache clear
head -c 5000 "$work/one.pack" >"$work/cut.pack"
expect 2 cache import "$work/cut.pack"; err "E0702"; err "cut.pack"; [[ ! -s $work/out ]] || fault "$last: it prints"
{ cat "$work/one.pack"; echo; } >"$work/long.pack"
expect 2 cache import "$work/long.pack"; err "E0703"
tr 'a' 'b' <"$work/one.pack" >"$work/other.pack"
expect 2 cache import "$work/other.pack" --json; out '"id":"E0703"'
expect 2 cache import "$attention"; err "E0703"
expect 2 cache import "$work/none"; err "E0701"
expect 0 cache info --json; out '"entries":0'
(ulimit -f 4; expect 2 cache import "$work/one.pack"; err "E0708"; finish) || failures=$((failures + 1))
(ulimit -f 4; expect 0 cache export "$work/empty.pack"; finish) || failures=$((failures + 1))
[[ -z $(ls -A "$TANG_CACHE_DIR") ]] || fault "a refused import leaves files"
TANG_CACHE_DIR=$work/one.pack/x expect 2 cache import "$work/one.pack"; err "E0708"; err "one.pack/x"

# Prune removes what is damaged or long unused.
expect 0 cache import "$work/one.pack"
expect 0 cache prune; out "removed 0 entries"
touch -d '40 days ago' "$TANG_CACHE_DIR"/*
expect 0 cache prune --json; out '"removed":1'; out '"entries":0'
expect 0 run "$attention" -D seq=4
for entry in "$TANG_CACHE_DIR"/*; do echo >>"$entry"; done
expect 0 cache prune; out "removed 1 entry"

expect 2 cache shrink; err "no such action"; err "prune"
expect 2 cache export; err "needs a file"
expect 2 cache info more; err "too many"
(unset TANG_CACHE_DIR HOME XDG_CACHE_HOME; expect 0 cache; out "no cache directory"; expect 2 cache export "$work/x"; err "TANG_CACHE_DIR"; finish) || failures=$((failures + 1))
expect 0 help cache; out "30 days"; out "256 MiB"
finish
