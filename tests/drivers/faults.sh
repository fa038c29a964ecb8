#!/usr/bin/env bash
# faults.sh DEVICE: faults planted in the third of four kernels are named by check, on a device of a
# driver or, for `vm`, on the virtual machine of loop programs. Ends with 77 where the device is not
# there.
. tests/cli/lib.bash
device=$1

if [[ $device == vm ]]; then
  where=(--vm --target cuda) target=cuda
else
  "$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }
  where=(--device "$device") target=glsl
fi

program=$work/chain.tang
cat >"$program" <<'END'
dim i = 2, j = 512, k = 512
input x[i, j], w[j, k] : f32
t[i] = sum[j](x[i, j])
p[i, k] = max[j](x[i, j] + w[j, k]) - t[i]
u[i] = sum[k](p[i, k])
v[i, k] = p[i, k] * u[i] - t[i]
output t, u, v
END

# plan TARGET: kernel u as planned for it.
right=$work/right.loop
plan() {
  expect 0 derive "$program" --target "$1" --dump-after lower
  sed -n '/^kernel u /,/^}/p' "$work/err" >"$right"
  at=$(sed -n 's/.*store u\[\(.*\)\] = .*/\1/p' "$right")
  [[ -n $at ]] || fault "kernel u stores nothing"
}
plan $target

# check CODE FILE: the program with that text for kernel u.
check() { expect "$1" check "$program" "${where[@]}" --tol 1e-5 --replace "u=$2"; }
# faulty NAME SED: an edit of the kernel that check names.
faulty() {
  sed "$2" "$right" >"$work/$1.loop"
  ! cmp -s "$right" "$work/$1.loop" || fault "$1: nothing was edited"
  check 1 "$work/$1.loop"
}

check 0 "$right"; out "derived 4 of 4"
faulty offset "s/store u\[/store u[1 - /"
out "kernel u is wrong"; out "every element was written"; no_out "it holds"
faulty unwritten "s/if at == 0 /if $at < 1 and at == 0 /"
out "kernel u is wrong"; out "1 elements were never written"
faulty swapped 's/\bp\b/x/g'
out "kernel u is wrong"; out "it holds the values of t"

# drop N: without its Nth barrier. The first stands between a trip's reads of shared memory and what
# the next one writes to it, the second between that and the reads of other threads.
drop() {
  awk -v n="$1" '!(/^ *barrier$/ && ++k == n)' "$right" >"$work/barrier.loop"
  [[ $(grep -c barrier "$work/barrier.loop") -lt $(grep -c barrier "$right") ]] || fault "no barrier was dropped"
  check 1 "$work/barrier.loop"
}
drop 2
if [[ $device == vm ]]; then
  err 'kernel `u`'; err "is read before it is set"
  where=(--vm --target glsl)  # whose plan has several trips
  plan glsl
  drop 1; err 'kernel `u`'; err "with no barrier between"
else
  out "kernel u is wrong"
fi
finish
