#!/usr/bin/env bash
# generate: text from a model, its statistics and JSON, and what is said about bad files and prompts.
. tests/cli/lib.bash
data=${TANG_TEST_DATA:-../shared/data}
model=$data/stories260K.bin tokenizer=$data/tok512.bin

expect 2 generate; err "--model"
expect 2 generate --model "$work/none"; err "E0701"
expect 2 generate --model examples; err "not built yet"
printf 'GGUF\3\0\0\0' >"$work/m.gguf"
expect 2 generate --model "$work/m.gguf"; err "E0806"
printf '\100\0\0\0\0\0\0\0' >"$work/short.bin"
expect 2 generate --model "$work/short.bin" --json; err "E0702"; out '"id":"E0702"'
head -c 64 /dev/zero >"$work/zero.bin"
expect 2 generate --model "$work/zero.bin"; err "E0714"; err "dim = 0"

if [[ ! -e $model || ! -e $tokenizer ]]; then
  echo "no $model: the model itself is not tested"
  finish
  exit
fi
story=(generate --model "$model" --tokenizer "$tokenizer")

# Exactly the golden text, then a newline.
expect 0 "${story[@]}" --steps 200; err "tokens/s"; err "57 kernels a step"
{ cat "$data/stories260K.golden.txt"; echo; } | cmp -s - "$work/out" || fault "$last: not the golden story"
expect 0 "${story[@]}" --steps 200 -q; silent

expect 0 "${story[@]}" --steps 6 --prompt "Once upon" --json -q; silent
for key in '"schema":1' '"device":"c"' '"text":" a time' '"tokens":[' '"prompt_tokens":3' '"prefill_ms":' \
  '"decode_ms":' '"tokens_per_s":' '"compiles":1' '"kernels_per_step":57'; do out "$key"; done
expect 0 "${story[@]}" --steps 6 --prompt "Once upon"; cp "$work/out" "$work/greedy"
expect 0 "${story[@]}" --steps 6 --prompt "Once upon" --naive; cmp -s "$work/greedy" "$work/out" || fault "$last: another text"
expect 0 "${story[@]}" --steps 3 --prompt "Once upon" --device oracle; out "a time"
printf 'Once upon' | "$TANG" "${story[@]}" --steps 6 --prompt - -q | cmp -s "$work/greedy" - || fault "--prompt -: another text"
expect 0 "${story[@]}" --steps 0 -q; [[ $(wc -c <"$work/out") == 1 ]] || fault "$last: more than a newline"

# Sampling depends on the seed and on nothing else.
expect 0 "${story[@]}" --steps 40 --temp 0.9 --seed 1; cp "$work/out" "$work/one"
expect 0 "${story[@]}" --steps 40 --temp 0.9 --seed 1; cmp -s "$work/one" "$work/out" || fault "$last: not repeatable"
expect 0 "${story[@]}" --steps 40 --temp 0.9 --seed 2; cmp -s "$work/one" "$work/out" && fault "$last: the seed changes nothing"

# Contexts, prompts, options.
expect 0 "${story[@]}" --steps 512 -q
expect 2 "${story[@]}" --steps 513; err "E0717"; err "512"; err "513"
expect 2 "${story[@]}" --prompt "$(printf 'z%.0s' {1..600})"; err "E0717"
expect 2 "${story[@]}" --prompt $'ab\xff'; err "E0716"; err "byte 2"
expect 2 "${story[@]}" --steps -1; err "--steps"
expect 2 "${story[@]}" --steps many; err "--steps"
expect 2 "${story[@]}" --temp -1; err "--temp"
expect 2 "${story[@]}" --temp nan; err "--temp"
expect 3 "${story[@]}" --device cuda; err "E0911"
expect 2 generate --model "$model"; err "--tokenizer"

# Damaged files.
head -c 500000 "$model" >"$work/cut.bin"
expect 2 generate --model "$work/cut.bin" --tokenizer "$tokenizer"; err "E0702"; err "1056540"; err "500000"
{ cat "$model"; echo; } >"$work/long.bin"
expect 2 generate --model "$work/long.bin" --tokenizer "$tokenizer"; err "E0703"
head -c 3000 "$tokenizer" >"$work/tok.bin"
expect 2 generate --model "$model" --tokenizer "$work/tok.bin"; err "E07"
expect 2 generate --model "$model" --tokenizer "$model"; err "E07"

# A full disk is an error, a reader that went away is none.
"$TANG" "${story[@]}" --steps 20 -q >/dev/full 2>"$work/err"; [[ $? == 2 ]] || fault "a full disk is no error"
err "E0708"
"$TANG" "${story[@]}" -q 2>"$work/err" | head -c 4 >/dev/null; [[ ${PIPESTATUS[0]} == 0 ]] || fault "a closed pipe is an error"
finish
