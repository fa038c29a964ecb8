#!/usr/bin/env bash
# cases.sh DEVICE: limits and values that programs for GPUs have got wrong elsewhere, at small sizes on a
# device of a driver. Ends with 77, a skipped test, where the device is not there. PoCL may compile a
# fused softmax for minutes (examples.sh): a few programs are left out after one.
. tests/cli/lib.bash
device=$1 slow=0

"$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }

# program NAME: its text from stdin. right NAME ARGS...: it passes check, naive and derived.
program() { cat >"$work/$1.tang"; }
right() {
  local name=$1 got
  shift
  last="tang check $name.tang --device $device $*"
  timeout 60 "$TANG" check "$work/$name.tang" --device "$device" --tol 1e-4 "$@" \
    >"$work/out" 2>"$work/err" </dev/null
  got=$?
  if [[ $got == 124 && $device == opencl ]]; then
    echo "$last: not done in a minute"
    slow=$((slow + 1))
  elif [[ $got != 0 ]]; then
    fault "$last: exit $got, not 0"
  fi
}
# bytes FILE HEX...: raw data. words FILE: its words of 32 bits in hex.
bytes() {
  local file=$1
  shift
  # shellcheck disable=SC2059
  printf "$(printf '%s' "$*" | sed 's/ //g; s/../\\x&/g')" >"$file"
}
words() { od -An -v -tx4 "$1" | tr -d ' \n'; }
repeat() { for ((r = 0; r < $2; r++)); do printf '%s' "$1"; done; }
equal() { [[ $1 == "$2" ]] || fault "$last: $1 is not $2"; }

# V02: first tiles of keys that are all masked, and splits of the keys.
program causal <<'END'
dim i = 33, j = 33, d = 64, e = 64
input q[i, d], k[j, d], v[j, e] : f32
s[i, j] = sum[d](q[i, d] * k[j, d]) / 8
p[i, j] = exp(s[i, j] - max[j | i - 9 <= j and j <= i](s[i, j]))
o[i, e] = sum[j | i - 9 <= j and j <= i](p[i, j] * v[j, e]) / sum[j | i - 9 <= j and j <= i](p[i, j])
output o
END
for parts in 1 2 5; do
  printf '{"kernels":{},"splits":{"o":{"dim":"j","parts":%d}}}' "$parts" >"$work/split.json"
  right causal --schedule "$work/split.json"
done

# V05: the value of a maximum is one of the two that its operand has, fused or not.
program gate <<'END'
input a, b : f32
m = a * b + 0.25
y = max(m, 0.2)
output y
END
bytes "$work/a" fca9813f && bytes "$work/b" 1b2f9d3e
expect 0 run "$work/gate.tang" --device "$device" --in "a=$work/a" --in "b=$work/b" --out "y=$work/y"
case $(words "$work/y") in 3f0f9d1b | 3f0f9d1c) ;; *) fault "$last: $(words "$work/y")" ;; esac

# V10: more groups than a dimension of a launch has.
program batches <<'END'
param n
dim b = n, i = 8, j = 4
input x[b, i, j], w[b, j] : f32
t[b, j, i] = x[b, i, j]
y[b, i] = sum[j](x[b, i, j] * w[b, j])
output t, y
END
for n in 65535 65536 65537; do right batches -D n=$n; done

# V12: elements of more groups than there are.
program elements <<'END'
param n
dim i = n
input x[i] : f32
y[i] = 2 * x[i] + 1
output y
END
for n in 4194241 16776961; do right elements -D n=$n; done

# V14: more inputs than a kernel binds.
for n in 9 12 40; do
  names=$(for ((k = 0; k < n; k++)); do printf 'a%d[i] ' $k; done)
  printf 'dim i = 1024\ninput %s : f32\ny[i] = %s\noutput y\n' \
    "$(sed 's/ *$//; s/ /, /g' <<<"$names")" "$(sed 's/ *$//; s/ / + /g' <<<"$names")" >"$work/sum.tang"
  right sum
done

# V15, V19: heads of many channels, and of other numbers of them in keys and values.
for sizes in "512 512" "128 512" "192 128"; do
  set -- $sizes
  program heads <<END
dim i = 9, j = 11, d = $1, e = $2
input q[i, d], k[j, d], v[j, e] : f32
s[i, j] = sum[d](q[i, d] * k[j, d]) / sqrt($1)
p[i, j] = exp(s[i, j] - max[j](s[i, j]))
o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])
output o
END
  right heads
done

# V16: f16 in memory, wherever it is computed.
program halves <<'END'
dim i = 1000
input x[i] : f16
y[i] : f16 = x[i] * 2
output y
END
right halves

# V28: every scale and code of mxfp4, and products of few rows.
for ((scale = 0; scale < 256; scale++)); do
  printf '%02x' "$scale"
  repeat 1032547698badcfe 2
done >"$work/hex"
bytes "$work/codes" "$(<"$work/hex")"
program decode <<'END'
dim s = 256, k = 32
input w[s, k] : mxfp4
z[s, k] = w[s, k]
output z
END
expect 0 check "$work/decode.tang" --device "$device" --tol 1e-37 --in "w=$work/codes"
for n in 1 7 8 9; do
  program gemv <<END
dim n = $n, k = 64
input w[n, k] : mxfp4, x[k] : f32
y[n] = sum[k](w[n, k] * x[k])
output y
END
  right gemv
done

# V32: products that overflow f16, though the result does not.
program large <<'END'
dim i = 4, j = 4096, d = 128
input q[i, d], k[j, d], v[j] : f16
s[i, j] = sum[d](q[i, d] * k[j, d]) / sqrt(128)
p[i, j] = exp(s[i, j] - max[j](s[i, j]))
o[i] : f16 = sum[j](p[i, j] * v[j]) / sum[j](p[i, j])
t[i, j] : f16 = s[i, j]
output o, t
END
bytes "$work/q" "$(repeat 004e 512)"
for ((r = 0; r < 1024; r++)); do cat "$work/q"; done >"$work/k"
bytes "$work/v" "$(repeat 0050 4096)"
expect 0 run "$work/large.tang" --device "$device" --in "q=$work/q" --in "k=$work/k" --in "v=$work/v" \
  --out "o=$work/o" --out "t=$work/t"
equal "$(words "$work/o")" 5000500050005000
equal "$(head -c 4 "$work/t" | od -An -tx4 | tr -d ' \n')" 6e5d6e5d

# V40: integers of 64 bits that gather and add.
program gather <<'END'
dim i = 4, n = 2
input x[i] : f32, at[n], large[n] : i64
y[n] = x?[at[n]; 7]
z[n] : i64 = large[n] + 3000000000
output y, z
END
bytes "$work/x" 0000803f 00000040 00004040 00008040
bytes "$work/at" 0100000001000000 0100000000000000
bytes "$work/large" 005ed0b200000000 ffffffffffffffff
"$TANG" run "$work/gather.tang" --device "$device" --in "x=$work/x" --in "at=$work/at" --in "large=$work/large" \
  --out "y=$work/y" --out "z=$work/z" >"$work/out" 2>"$work/err" || fault "run gather.tang: exit $?"
last="tang run gather.tang --device $device"
equal "$(words "$work/y")" 40e0000040000000
equal "$(words "$work/z")" 65a0bc0000000001b2d05dff00000000

# V37: a row has the same bits in every batch.
program norm <<'END'
param n
dim b = n, k = 512, j = 64
input x[b, k], w[k, j], g[j] : f32
y[b, j] = sum[k](x[b, k] * w[k, j])
o[b, j] = y[b, j] * rsqrt(mean[j](y[b, j] * y[b, j]) + 1e-5) * g[j]
output o
END
for n in 64 17 16 2 1; do
  sed "s/^param n$//; s/b = n/b = $n/" "$work/norm.tang" >"$work/norm_$n.tang"
  for text in "norm.tang -D n=$n" norm_$n.tang; do
    # shellcheck disable=SC2086
    expect 0 run "$work/"$text --device "$device" --batch-invariant --deterministic --out "o=$work/o_$n"
    [[ -e $work/rows ]] || cp "$work/o_$n" "$work/rows"
    cmp -s -n $((n * 256)) "$work/o_$n" "$work/rows" || fault "$last: rows differ from those of 64"
  done
done
((slow <= 4)) || fault "$slow programs were not done in time"
finish
