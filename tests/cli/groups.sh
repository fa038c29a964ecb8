#!/usr/bin/env bash
# Kernels of groups of threads on the virtual machines of tile and loop programs, which find races
# and missing barriers.
. tests/cli/lib.bash

count=0
for program in examples/*.tang; do
  options=(--vm --target cuda)
  case $program in
    examples/attention.tang) options+=(-D seq=17) ;;
    examples/attention_causal.tang | examples/attention_variants.tang) options+=(-D seq=40) ;;
    examples/matmul.tang) options+=(-D k=40) ;;
    examples/mnist.tang) options+=(-D images=1) ;;
  esac
  expect 0 check "$program" "${options[@]}"
  no_err "is not run"
  count=$((count + 1))
done
((count >= 60)) || fault "only $count programs"

# Without exchanges, in groups of fewer threads.
for program in softmax rmsnorm swiglu views kmeans_step batchnorm_training; do
  expect 0 check "examples/$program.tang" --vm --target wgsl
done

# Sizes that are known, near and at the borders of tiles, as drivers compile them.
for size in 1 31 33 64 100; do
  cat >"$work/sizes.tang" <<END
dim i = $size, j = 2*$size + 1, k = $size
input a[i, k], b[k, j], t[j, k] : f32
c[i, j] = sum[k](a[i, k] * b[k, j])
d[i, j] = sum[k](a[i, k] * t[j, k])
s[j] = sum[k](b[k, j])
r[i, j] = exp(c[i, j] - max[j](c[i, j]))
output c, d, s, r
END
  for target in cuda wgsl; do
    expect 0 check "$work/sizes.tang" --vm --target $target
  done
done
finish
