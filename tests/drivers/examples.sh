#!/usr/bin/env bash
# examples.sh DEVICE: every program of examples/ passes check on a device of a driver, naive and
# derived. Ends with 77, a skipped test, where the device is not there. A driver that compiles for
# longer than a minute (PoCL copies what follows a barrier in a loop) is left alone with that program,
# which happens to some.
. tests/cli/lib.bash
device=$1

"$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }
count=0 slow=0
for program in examples/*.tang; do
  options=(--device "$device" --tol 1e-5)
  case $program in
    *_bf16.tang) options=(--device "$device") ;;
    examples/swiglu_q8.tang) options=(--device "$device" --tol 1e-3) ;;  # its sums are rounded to integers
    examples/attention.tang) options+=(-D seq=33) ;;
  esac
  timeout 60 "$TANG" check "$program" "${options[@]}" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  last="tang check $program --device $device"
  if [[ $got == 124 ]]; then
    echo "$program: not compiled in a minute"
    slow=$((slow + 1))
  elif [[ $got != 0 ]]; then
    fault "$last: exit $got, not 0"
  fi
  count=$((count + 1))
done
((count >= 40)) || fault "only $count programs"
[[ $device == vulkan ]] && allowed=0 || allowed=25
((slow <= allowed)) || fault "$slow programs were not compiled in time"
finish
