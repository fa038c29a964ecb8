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
finish
