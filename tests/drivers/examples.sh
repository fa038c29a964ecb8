#!/usr/bin/env bash
# examples.sh DEVICE [NAME...]: programs of examples/, all if none is named, pass check on a device of
# a driver, naive and derived. Ends with 77, a skipped test, where the device is not there. PoCL, which
# copies what follows a barrier in a loop, is left alone with a program that it compiles for longer
# than a minute; that happens to some.
. tests/cli/lib.bash
device=$1
shift
names=("$@")
((${#names[@]})) || for program in examples/*.tang; do names+=("$(basename "$program" .tang)"); done

"$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }
count=0 slow=0
for name in "${names[@]}"; do
  program=examples/$name.tang
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
((count == ${#names[@]} && count > 0)) || fault "only $count programs"
[[ $device == opencl ]] && allowed=2 || allowed=0
((slow <= allowed)) || fault "$slow programs were not compiled in time"
finish
