#!/usr/bin/env bash
# Bad usage: exit 2, the reason and a next step on stderr, nothing on stdout.
. tests/cli/lib.bash

expect 2; err "a command is missing"
expect 2 deriv; err "derive"
expect 2 derive; err "FILE"
expect 2 derive "$attention" --devcie c; err "--device"
expect 2 derive no-such.tang; err "no-such.tang"
expect 2 run "$attention" -D sq=4; err "E0710"; err "did you mean \`seq\`?"
expect 2 run "$attention" -D seq; err "NAME=INT"
expect 2 run "$attention" -D seq=12x; err "NAME=INT"
expect 2 run "$attention" -D seq=99999999999999999999; err "NAME=INT"
expect 2 run "$attention" -D seq=4 -D seq=5; err "E0711"
expect 2 run "$attention" -D seq=-1; err "at least 0"
expect 2 run "$attention"; err "E0712"; err "-D seq="
expect 2 check "$attention"; err "E0712"
expect 2 bench "$attention"; err "E0712"
expect 2 run "$attention" -D seq=4 --device quantum; err "no device"
if ! "$TANG" devices | grep -q ^cuda; then
  expect 3 run "$attention" -D seq=4 --device cuda; err "E0911"; err "libcuda.so.1"
fi
expect 2 run "$attention" -D seq=4 --device c,oracle; err "one device"
expect 2 emit "$attention"; err "-o DIR"
expect 2 emit "$attention" -o "$work/x" --target perl; err "no target"
expect 2 run "$attention" -D seq=4 --math loose; err "ieee"
expect 2 run "$attention" -D seq=4 --tol -1; err "--tol"
expect 2 run "$attention" -D seq=4 --seed x; err "--seed"
expect 2 run "$attention" -D seq=4 --in w=a.npy; err "no input \`w\`"
expect 2 run "$attention" -D seq=4 --out w=a.npy; err "no output \`w\`"
expect 2 run "$attention" -D seq=4 --store o; err "NAME=FORMAT"
expect 2 run "$attention" -D seq=4 --store x=f16; err "no definition \`x\`"
expect 2 run "$attention" -D seq=4 --store s=i32; err "kind"
expect 2 run "$attention" -D seq=4 --accumulate s=f16; err "not built yet"
expect 2 derive "$attention" --stop-after=nothing; err "no pass"
expect 2 check "$attention" -D seq=4 --replace z=f; err "no kernel \`z\`"
for command in run check bench; do
  expect 2 $command "$attention" -D seq=4 --constant q,kk; err "E0809"; err "did you mean \`k\`?"
done
expect 2 emit "$attention" -o "$work/x" --constant kk; err "E0809"; missing "$work/x"
for command in tune bound grad; do
  expect 2 $command "$attention"; err "not built yet"
  expect 2 $command "$attention" --json; out '"id":"E0806"'
done
expect 2 cache shrink; err "no such action"
expect 2 help E9999; err "no error"

expect 0 --help; out "derive"; out "Not built yet"; silent
expect 0 help derive; cp "$work/out" "$work/help"
expect 0 derive --help; cmp -s "$work/out" "$work/help" || fault "help derive and derive --help differ"
expect 0 help E0401; out "E0401"; silent
expect 0 --version; out "licence"
expect 0 run --version; out "licence"

# Errors as JSON.
expect 2 run "$attention" --json; out '"schema":1'; out '"id":"E0712"'; out '"errors":['
printf 'dim i = 4\ninput x[i]\ny[i] = x[i + 1]\nz[i] = w[i]\noutput y\n' >"$work/bad.tang"
expect 2 derive "$work/bad.tang" --json; out '"id":"E0401"'; out '"line":3'; out '"id":"E0201"'
expect 2 derive "$work/bad.tang"; err "bad.tang:3:"; err "^^^"
# A read that only numbers show to be out of range.
printf 'param n, m\ndim i = n\ninput x[m]\ny[i] = x[i]\noutput y\n' >"$work/read.tang"
expect 0 run "$work/read.tang" -D n=3 -D m=3
expect 2 run "$work/read.tang" -D n=4 -D m=3; err "E0401"; err "0…3"; err "0…2"

# Variables.
TANG_DEVIEC=c expect 0 derive "$attention" --text; err "TANG_DEVICE"
TANG_DEVIEC=c expect 0 derive "$attention" --text -q; silent
TANG_DEVICE=cuda expect 3 run "$attention" -D seq=4
TANG_DEVICE=cuda expect 0 run "$attention" -D seq=4 --device c
TANG_INTERPRET=1 expect 0 run "$attention" -D seq=4 --json; out '"device":"oracle"'
TANG_DEBUG=9 expect 0 derive "$attention" --text; err "TANG_DEBUG"
TANG_LOG=loops expect 0 derive "$attention" -D seq=4; err "kernel o"
finish
