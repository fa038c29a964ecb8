#!/usr/bin/env bash
# story.sh DEVICE: a device of a driver tells the beginning of the golden story, with kernels compiled
# once for all positions. Ends with 77, a skipped test, where the device or the model is not there.
. tests/cli/lib.bash
device=$1
data=${TANG_TEST_DATA:-../shared/data}
model=$data/stories260K.bin

"$TANG" devices --json | grep -q "\"device\":\"$device\"" || { echo "no device $device: skipped"; exit 77; }
[[ -e $model ]] || { echo "no $model: skipped"; exit 77; }
expect 0 generate --model "$model" --tokenizer "$data/tok512.bin" --steps 60 --device "$device" -q
text=$(head -c -1 "$work/out")
((${#text} > 100)) || fault "$last: too short"
[[ $(head -c ${#text} "$data/stories260K.golden.txt") == "$text" ]] || fault "$last: not the golden story"
finish
