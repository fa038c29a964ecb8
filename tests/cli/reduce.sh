#!/usr/bin/env bash
# reduce: what is left of a program that fails check still fails it, and is small.
. tests/cli/lib.bash

expect 2 reduce "$attention" -D seq=4; err "E0808"; err "passes check"; [[ ! -s $work/out ]] || fault "$last: it prints"
expect 2 reduce "$attention" -D seq=4 --json; out '"id":"E0808"'
expect 2 reduce "$attention"; err "E0712"
expect 2 reduce "$work/none.tang"; err "E0701"
expect 2 reduce "$attention" -D seq=4 --budget soon; err "--budget"
expect 2 reduce "$attention" -D seq=4 --replace z=none; err "no kernel"

# A wrong kernel: only its definition is left, and it is still wrong there.
cat >"$work/wrong.loop" <<'END'
kernel o writes o {
  for n in 0 .. 512 * seq {
    store o[n] = 0.5
  }
}
END
expect 0 reduce "$attention" -D seq=4 --replace o="$work/wrong.loop"
err "fails: c derived kernel o"; err "again: tang check FILE"
cp "$work/out" "$work/small.tang"
[[ $(grep -c '=.*\[' "$work/small.tang") -le 2 ]] || fault "$last: two definitions are one too many"
expect 1 check "$work/small.tang" --replace o="$work/wrong.loop"; out "kernel o is wrong"

# The same without a symbol in the kernel: the param goes, the buffer that the kernel writes keeps its size.
sed 's/512 \* seq/2048/' "$work/wrong.loop" >"$work/numbers.loop"
expect 0 reduce "$attention" -D seq=4 --replace o="$work/numbers.loop" --json;
for key in '"schema":1' '"text":"' '"failure":"c derived kernel o"' '"complete":true'; do out "$key"; done
expect 0 reduce "$attention" -D seq=4 --replace o="$work/numbers.loop"
no_out param; no_out input; out "h = 8, i = 4, e = 64"; out "output o"
cp "$work/out" "$work/small.tang"
expect 1 check "$work/small.tang" --replace o="$work/numbers.loop"
expect 0 reduce "$attention" -D seq=4 --replace o="$work/numbers.loop" -q; silent
cmp -s "$work/out" "$work/small.tang" || fault "$last: another result"

# A tolerance that nothing meets: one operation that rounds is left.
expect 0 reduce examples/layernorm.tang -D tokens=3 --tol 0 --budget 30s
cp "$work/out" "$work/round.tang"; (($(wc -l <"$work/out") <= 4)) || fault "$last: not small"
expect 1 check "$work/round.tang" --tol 0

# A broken promise is a failure too.
cat >"$work/monoid.tang" <<'END'
dim i = 8, j = 8
input x[i, j]
monoid away(a) identity 0 combine(p, q) = p.a - q.a commutative
y[i] = away[j](x[i, j])
z[i] = exp(y[i])
output y, z
END
expect 0 reduce "$work/monoid.tang"; err "fails: error E0508"; out "away[j]"; no_out "exp"
expect 0 help reduce; out "--budget"; out "--replace"
finish
