#!/usr/bin/env bash
# derive, run, check, emit and bench on attention: what they print, and their JSON.
. tests/cli/lib.bash

expect 0 derive "$attention" -D seq=4096; out "naive "; out "derived"; out "kernel o"; out "stabilize_softmax"
out "recomputed in the tiles of o"; silent
expect 0 derive "$attention"; out "seq"
expect 0 derive "$attention" --text; cp "$work/out" "$work/derived.tang"
expect 0 derive "$work/derived.tang" --naive --text; cmp -s "$work/out" "$work/derived.tang" || fault "the derived text does not print back"
expect 0 derive "$attention" -D seq=8 --json
for key in '"schema":1' '"rewrites":[' '"law":' '"points":["h","i","e"]' '"reduce":["j"]' '"monoid":"online"' \
  '"materialises":[[8,8,64]]' '"schedule":{' '"text":"' '"allocations":[]'; do out "$key"; done
expect 0 derive "$attention" --why-not --json; out '"near":['
expect 0 derive "$attention" --dump "$work/dump"; exists "$work/dump/00-naive.tang"

expect 0 run "$attention" -D seq=5; out "[8, 5, 64]"; out "f32"; silent
expect 0 run "$attention" -D seq=5 --json; out '"outputs":{"o":{"format":"f32","shape":[8,5,64]}}'; out '"ms":'; out '"allocations":[]'
expect 0 run "$attention" -D seq=5 --out "$work/a.npy"
expect 0 run "$attention" -D seq=5 --naive --out "$work/b.npy"; exists "$work/b.npy"
expect 0 run "$attention" -D seq=5 --device oracle --out o="$work/c.npz"; exists "$work/c.npz"
expect 0 run "$attention" -D seq=0; out "(empty)"
# An output fed back as an input binds the param.
expect 0 run "$attention" --in q="$work/a.npy"; out "[8, 5, 64]"
expect 2 run "$attention" --in q="$work/a.npy" -D seq=6; err "E0711"; err "seq"; err "6"; err "5"
expect 0 run "$attention" -D seq=4 --store o=f16; out "f16"

expect 0 check "$attention" -D seq=33; out "✓"; out "naive 7 of 7"; out "derived 1 of 1"
expect 0 check "$attention" -D seq=33 --device c,oracle --json
[[ $(wc -l <"$work/out") == 2 ]] || fault "check --json: one line a device"
out '"ok":true'; out '"program":"derived"'; out '"tol":'; out '"device":"oracle"'
expect 0 check "$attention" -D seq=33 --device all
expect 1 check "$attention" -D seq=33 --tol 0; out "✗"; out "again: tang check"

# A wrong kernel is found and named; a malformed one is bad input, with its place.
expect 0 derive "$attention" -D seq=4 --dump "$work/dump"
loop=$(echo "$work"/dump/*-program.loop)
sed -n '/^kernel o /,/^}/p' "$loop" >"$work/right.loop"
expect 0 check "$attention" -D seq=4 --replace o="$work/right.loop"
cat >"$work/wrong.loop" <<'END'
kernel o writes o {
  for n in 0 .. 512 * seq {
    store o[n] = 0.5
  }
}
END
expect 1 check "$attention" -D seq=4 --replace o="$work/wrong.loop"; out "kernel o is wrong"; out "every element was written"
expect 1 check "$attention" -D seq=4 --replace o="$work/wrong.loop" --json; out '"ok":false'; out '"kernel":"o"'
sed 's/512/256/' "$work/wrong.loop" >"$work/half.loop"
expect 1 check "$attention" -D seq=4 --replace o="$work/half.loop"; out "1024 elements were never written"
# It runs on the virtual machine, which stays inside of its buffers.
sed 's/512/1024/' "$work/wrong.loop" >"$work/past.loop"
expect 2 check "$attention" -D seq=4 --replace o="$work/past.loop"; err "E0421"; err "a store of element 2048 of \`o\`, which has 2048"
expect 0 check "$attention" -D seq=4 --vm; out "naive 7 of 7"
echo 'kernel o writes o { store' >"$work/bad.loop"
expect 2 check "$attention" -D seq=4 --replace o="$work/bad.loop"; err "bad.loop:1"

# Promises.
cat >"$work/monoid.tang" <<'END'
dim i = 8, j = 8
input x[i, j]
monoid away(a) identity 0 combine(p, q) = p.a - q.a commutative
y[i] = away[j](x[i, j])
output y
END
expect 1 check "$work/monoid.tang"; err "E0508"; err "away"
printf 'dim n = 4, g = 2\ninput seg[n] : i32, x[n]\nsorted seg\ny[g] = sum[n | seg[n] == g](x[n])\noutput y\n' >"$work/seg.tang"
expect 0 check "$work/seg.tang"
printf '\3\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0' >"$work/seg.raw"
expect 1 check "$work/seg.tang" --in seg="$work/seg.raw"; err "E0418"
printf 'dim t = 4, c = 2, v = 3\ninput tok[t] : i32, x[v, c]\ny[t, c] = x[tok[t], c]\noutput y\n' >"$work/gather.tang"
expect 0 check "$work/gather.tang"
expect 1 check "$work/gather.tang" --in tok="$work/seg.raw"; err "E0417"
expect 0 run "$work/gather.tang" --in tok="$work/seg.raw"

expect 0 emit "$attention" -o "$work/emitted" --json; out '"target":"c"'; out '"files":["attention.c","attention.h","manifest.json"]'; out '"kernels":['
exists "$work/emitted/attention.c"; exists "$work/emitted/manifest.json"
cc -std=c11 -c "$work/emitted/attention.c" -o "$work/a.o" || fault "the emitted C does not compile"
cp "$work/emitted/attention.c" "$work/first.c"
expect 0 emit "$attention" -o "$work/emitted" -D seq=64; cmp -s "$work/first.c" "$work/emitted/attention.c" || fault "emit depends on -D"

expect 0 bench "$attention" -D seq=64 --vs-naive --runs 3; out "kernel "; out "total"; out "times as fast"
expect 0 bench "$attention" -D seq=64 --runs 3 --json; out '"total_ms":'; out '"floor_ms":null'; out '"flops":'
expect 0 rules --json; out '"rule":"stabilize_softmax"'
expect 0 devices --json; out '"device":"c"'; out '"limits":{'
expect 0 cache info --json; out '"entries":'
expect 0 cache clear; expect 0 cache info --json; out '"entries":0'

# The schedule as a file.
expect 0 derive "$attention" -D seq=64 --schedule-out "$work/s.json"; exists "$work/s.json"
expect 0 check "$attention" -D seq=64 --schedule "$work/s.json"
expect 0 derive "$attention" -D seq=64 --schedule "$work/s.json" --schedule-out "$work/t.json"
cmp -s "$work/s.json" "$work/t.json" || fault "a schedule that is read is not the one that is written"
for fields in '"mapping":"warp"' '"lanes":8' '"vector":{"dim":"i","block":64}' '"outer":["h"]' '"inner":["e"]' '"blocks":8'; do
  printf '{"schema":1,"kernels":{"o":{%s}}}' "$fields" >"$work/t.json"
  expect 2 check "$attention" -D seq=64 --schedule "$work/t.json"; err "E0805"; err "kernels.o"
done
printf '{"schema":2,"kernels":{}}' >"$work/t.json"
expect 2 check "$attention" -D seq=64 --schedule "$work/t.json"; err "E0805"; err "schema"
# Other legal schedules give the same.
for fields in '"pivot":false' '"inlined":[]' '"blocks":[{"dim":"h","step":1},{"dim":"i","step":16},{"dim":"j","step":24}]'; do
  printf '{"schema":1,"kernels":{"o":{%s}}}' "$fields" >"$work/t.json"
  expect 0 check "$attention" -D seq=64 --schedule "$work/t.json"
done
# Terms kept apart of a monoid that does not commute are refused, with the law; of one that does, taken.
printf 'dim i = 8, t = 64\ninput a[i, t], b[i, t], c[i, t] : f32\nh[i] = affine[t](a[i, t], b[i, t]).b\ns[i] = sum[t](c[i, t])\noutput h, s\n' >"$work/affine.tang"
printf '{"schema":1,"kernels":{"h":{"tile":[{"dim":"t","elements":8}]}}}' >"$work/t.json"
expect 2 check "$work/affine.tang" --schedule "$work/t.json"; err "E0805"; err "fold_perm"; err "commutative"
printf '{"schema":1,"kernels":{"s":{"tile":[{"dim":"t","elements":8}]}}}' >"$work/t.json"
expect 0 check "$work/affine.tang" --schedule "$work/t.json"
# Stored partials: kept in the schedule that is written, refused with the law.
printf '{"kernels":{},"splits":{"s":{"dim":"t","parts":5}}}' >"$work/t.json"
expect 0 check "$work/affine.tang" --schedule "$work/t.json"
expect 0 derive "$work/affine.tang" --schedule "$work/t.json" --schedule-out "$work/s.json"; out "fold_split"; out "s_part"
expect 0 check "$work/affine.tang" --schedule "$work/s.json"
printf '{"kernels":{},"splits":{"h":{"dim":"t","parts":8,"strided":true}}}' >"$work/t.json"
expect 2 check "$work/affine.tang" --schedule "$work/t.json"; err "E0805"; err "fold_perm"; err "commute"
printf '{"kernels":{},"splits":{"h":{"dim":"t","parts":"8"}}}' >"$work/t.json"
expect 2 check "$work/affine.tang" --schedule "$work/t.json"; err "E0805"; err "parts"
# Constant inputs: packed once, said in the JSON; the schedule has it, and is refused without the fact.
printf 'dim m = 3, n = 37, k = 50\ninput x[m, k], w[n, k] : f32\ny[m, n] = sum[k](x[m, k] * w[n, k])\noutput y\n' >"$work/dense.tang"
expect 0 check "$work/dense.tang" --constant w --schedule-out "$work/s.json"; grep -q '"prepared": *true' "$work/s.json" || fault "nothing is prepared"
expect 0 check "$work/dense.tang" --constant w --vm
expect 0 check "$work/dense.tang" --constant w,x --schedule "$work/s.json"
expect 2 check "$work/dense.tang" --schedule "$work/s.json"; err "E0805"; err "purity"; err "--constant"
expect 0 run "$work/dense.tang" --constant w --json; out '"prepare":{"bytes":'
expect 0 bench "$work/dense.tang" --constant w --runs 3 --json; out '"prepare":{"bytes":'
expect 0 run "$work/dense.tang" --json; grep -q '"prepare"' "$work/out" && fault "something is prepared"
expect 0 emit "$work/dense.tang" --constant w -o "$work/dense"; grep -q 'int tang_prepare(' "$work/dense/dense.h" || fault "no tang_prepare in the header"
# V25: one compilation serves all sizes.
printf 'param n\ndim i = n, j = 8\ninput x[i, j] : f32\ny[j, i] = x[i, j] * 2\ns[i] = sum[j](x[i, j])\noutput y, s\n' >"$work/sym.tang"
for n in 1 2 3 17 64 2; do TANG_CACHE_DIR=$work/one expect 0 check "$work/sym.tang" -D n=$n; done
[[ $(find "$work/one" -type f | wc -l) == 1 ]] || fault "more than one compilation"
finish
