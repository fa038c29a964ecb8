#!/usr/bin/env bash
# Kernels of groups of threads on the virtual machine, which finds races and missing barriers.
. tests/cli/lib.bash

for program in matmul softmax rmsnorm swiglu views; do
  for target in cuda wgsl; do
    expect 0 check "examples/$program.tang" --vm --target $target
  done
done
finish
