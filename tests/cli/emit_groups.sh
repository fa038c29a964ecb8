#!/usr/bin/env bash
# Sources of every dialect, their manifests, and limits of devices that are absent.
. tests/cli/lib.bash

for target in cuda:cu opencl:cl glsl:comp wgsl:wgsl msl:metal; do
  folder=$work/${target%%:*}
  expect 0 emit examples/softmax.tang --target "${target%%:*}" -o "$folder"
  exists "$folder/manifest.json"
  compgen -G "$folder/*.${target##*:}" >/dev/null || fault "$last: no source"
  grep -q '"threads"' "$folder/manifest.json" || fault "$last: the manifest has no limits"
done

echo '{"threads": 256, "shared_bytes": 16384}' >"$work/small.json"
echo '{"threads": 128, "shared_bytes": 16384}' >"$work/smaller.json"
echo '{"threads": 1024, "shared_bytes": 49152}' >"$work/large.json"
for limits in small smaller large; do
  for program in examples/matmul.tang "examples/attention.tang -D seq=64"; do
    # shellcheck disable=SC2086
    expect 0 emit $program --target wgsl --limits "$work/$limits.json" -o "$work/$limits"
  done
done

# A binding of more than 128 MiB, and more buffers than there are: both numbers.
printf 'dim i = 4097, j = 8192\ninput w[i, j], x[j] : f32\ny[i] = sum[j](w[i, j] * x[j])\noutput y\n' >"$work/large.tang"
expect 4 emit "$work/large.tang" --target wgsl -o "$work/no"; err E0921; err 134250496; err 134217728
echo '{"buffers": 2}' >"$work/two.json"
expect 4 emit examples/matmul.tang --target wgsl --limits "$work/two.json" -o "$work/no"; err E0921
echo '{"buffers": "many"}' >"$work/bad.json"
expect 2 emit examples/matmul.tang --target wgsl --limits "$work/bad.json" -o "$work/no"; err E0807

# What a manifest says of its kernels: no more threads and shared bytes than given.
within() {
  local field value most
  for field in "threads $1" "shared_bytes $2"; do
    most=${field#* }
    for value in $(grep -o "\"${field% *}\": [0-9]*" "$work/fit/manifest.json" | grep -o '[0-9]*$'); do
      ((value <= most)) || fault "$last: ${field% *} $value of $most"
    done
  done
}
emit() { rm -rf "$work/fit" && expect 0 emit "$@" -o "$work/fit"; }
heads() {  # SIZE OF KEYS, SIZE OF VALUES, KEYS
  printf 'dim i = 16, j = %d, d = %d, e = %d\ninput q[i, d], k[j, d], v[j, e] : f32\n' "$3" "$1" "$2"
  printf 's[i, j] = sum[d](q[i, d] * k[j, d]) / sqrt(%d)\n' "$1"
  printf 'p[i, j] = exp(s[i, j] - max[j](s[i, j]))\n'
  printf 'o[i, e] = sum[j](p[i, j] * v[j, e]) / sum[j](p[i, j])\noutput o\n'
}

# V15, V19: groups and windows of every size of device, and heads of any size.
heads 512 512 64 >"$work/h512.tang"
heads 128 512 64 >"$work/h128.tang"
heads 192 128 64 >"$work/h192.tang"
for limits in "256 16384" "128 16384" "1024 49152" "1024 101376"; do
  read -r threads shared <<<"$limits"
  printf '{"threads": %d, "shared_bytes": %d}' "$threads" "$shared" >"$work/limits.json"
  for program in examples/matmul.tang "examples/attention.tang -D seq=64" "$work/h512.tang" \
    "$work/h128.tang" "$work/h192.tang"; do
    for target in cuda wgsl; do
      # shellcheck disable=SC2086
      emit $program --target $target --limits "$work/limits.json"
      within "$threads" "$shared"
    done
  done
done

# V14: no kernel binds more than there are, outputs counted.
for n in 9 12 40; do
  names=$(for ((k = 0; k < n; k++)); do printf 'a%d[i] ' $k; done)
  printf 'dim i = 1024\ninput %s : f32\ny[i] = %s\noutput y\n' \
    "$(sed 's/ *$//; s/ /, /g' <<<"$names")" "$(sed 's/ *$//; s/ / + /g' <<<"$names")" >"$work/sum.tang"
  for limits in '"buffers": 8' '"buffers": 10' '"buffers": 31' '"buffers": 3'; do
    echo "{$limits}" >"$work/limits.json"
    emit "$work/sum.tang" --target wgsl --limits "$work/limits.json"
    most=${limits##* }
    for file in "$work"/fit/*.wgsl; do
      count=$(grep -c 'var<storage' "$file")
      ((count <= most)) || fault "$last: $count buffers of $most"
    done
  done
  expect 0 check "$work/sum.tang" --vm --target wgsl
done

# V09: places past 2^31 have 64 bits, or are refused; nothing is allocated.
printf 'dim a = 320, b = 2560, c = 3072\ninput x[a, b, c] : i8\ny[c] : i8 = x[319, 2, c]\noutput y\n' >"$work/view.tang"
printf 'dim i = 65536\ninput x[32769, i] : i8\ny[i] : i8 = x[32768, i]\noutput y\n' >"$work/row.tang"
printf 'param n\ndim i = n, j = 4\ninput x[i, j] : f32\ny[i] = sum[j](x[i, j])\noutput y\n' >"$work/sizes.tang"
for program in view row sizes; do
  for target in cuda opencl msl; do
    printf '{"binding_bytes": 4294967296}' >"$work/limits.json"
    emit "$work/$program.tang" --target $target --limits "$work/limits.json"
    ! grep -E '(for [(]|const )int ' "$work"/fit/y.* | grep -v 'int thread' || fault "$last: an index of 32 bits"
    grep -q 'for (long' "$work"/fit/y.* || fault "$last: no index of 64 bits"
  done
done
for program in view row; do
  for target in wgsl glsl; do
    expect 4 emit "$work/$program.tang" --target $target --limits "$work/limits.json" -o "$work/no"; err E0921
  done
done

# V12: WGSL has one dimension of groups; each takes turns, so that no size is too large.
printf 'dim i = 16776961\ninput x[i] : f32\ny[i] = 2 * x[i] + 1\noutput y\n' >"$work/elements.tang"
emit "$work/elements.tang" --target wgsl
grep -q 'num_workgroups' "$work"/fit/*.wgsl || fault "$last: groups do not take turns"

# V13: the buffer's name, its size and the limit, and what to do, before anything is read.
expect 4 emit "$work/large.tang" --target wgsl -o "$work/no"
err '`w`'; err 134250496; err 134217728; err 'make `w` smaller'

# V16: f16 stays in memory where a device has none, which is said once.
printf 'dim i = 64, j = 64\ninput x[i] : f16\nt[i] : f16 = x[i] * 2\ny[j] = sum[i](t[i]) + j\noutput t, y\n' >"$work/half.tang"
echo '{"f16": false}' >"$work/limits.json"
emit "$work/half.tang" --target wgsl --limits "$work/limits.json"; err W0921
(($(grep -c W0921 "$work/err") == 1)) || fault "$last: said more than once"
echo '{"f16": true}' >"$work/limits.json"
emit "$work/half.tang" --target wgsl --limits "$work/limits.json"; no_err W0921

# V02: masks are conditions, never tiles that a matrix instruction loads.
emit examples/attention.tang --target msl
! grep -q simdgroup_load "$work"/fit/*.metal || fault "$last: a matrix is loaded"
finish
