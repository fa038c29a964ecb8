#!/usr/bin/env bash
# Every program of examples/ passes check, naive and derived; f32 to 1e-5 of the largest value.
. tests/cli/lib.bash

count=0
for program in examples/*.tang; do
  options=(--tol 1e-5)
  case $program in
    *_bf16.tang) options=() ;;
    examples/attention.tang) options+=(-D seq=33) ;;
  esac
  expect 0 check "$program" "${options[@]}"; silent
  [[ $(head -c 2 "$program") == "# " ]] || fault "$program: it says nothing about itself"
  count=$((count + 1))
done
((count >= 40)) || fault "only $count programs"
finish
