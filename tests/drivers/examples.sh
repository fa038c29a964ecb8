#!/usr/bin/env bash
# examples.sh DEVICE: every program of examples/ passes check on a device of a driver, naive and
# derived. Ends with 77, a skipped test, where the device is not there.
. tests/cli/lib.bash
device=$1

"$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }
count=0
for program in examples/*.tang; do
  options=(--device "$device" --tol 1e-5)
  case $program in
    *_bf16.tang) options=(--device "$device") ;;
    examples/swiglu_q8.tang) options=(--device "$device" --tol 1e-3) ;;  # its sums are rounded to integers
    examples/attention.tang) options+=(-D seq=33) ;;
  esac
  expect 0 check "$program" "${options[@]}"
  count=$((count + 1))
done
((count >= 40)) || fault "only $count programs"
finish
