#!/usr/bin/env bash
# tang report: the page is written, the same for the same program, and says why it has no times.
. tests/cli/lib.bash
page=$work/report.html
has() { grep -qF -- "$1" "$page" || fault "$last: the page lacks: $1"; }
lacks() { ! grep -qF -- "$1" "$page" || fault "$last: the page has: $1"; }

expect 0 report "$attention" -D seq=16 -o "$page"; out "report.html"; silent
has "<h1>attention.tang</h1>"; has "stabilize_softmax"; has 'id="kernel-o"'; has "Medians of"; has "as fast as"
has "tang report examples/attention.tang -D seq=16 --seed 0"; lacks "Not timed"; lacks "{{"
expect 0 report "$attention" -D seq=16 --runs 2 --warm -o "$page" --json; has "Medians of 2 runs"
for key in '"schema":1' '"file":"' '"bytes":' '"rewrites":4' '"kernels":1' '"timed":true'; do out "$key"; done

# Without times: by request, for want of a value, for want of a compiler.
expect 0 report "$attention" --no-run -o "$page"; out "--no-run"; has "Not timed"; has "[8, seq, 64]"; lacks "Medians of"
expect 0 report "$attention" --no-run -o "$work/again.html"; cmp -s "$page" "$work/again.html" || fault "two pages differ"
expect 0 report "$attention" -o "$page" --json; out '"timed":false'; out 'seq has no value'
PATH=/nowhere expect 0 report "$attention" -D seq=4 -o "$page"; out "no C compiler"; has "never stored"

# Every example has its page.
for program in examples/*.tang; do
  expect 0 report "$program" --no-run -o "$page"; silent
done

# Names and texts of the user are text.
printf '# </pre><script>alert(1)</script>\ndim i = 4\ninput x[i]\ny[i] = x[i] + 1\noutput y\n' >"$work/<b>.tang"
expect 0 report "$work/<b>.tang" --no-run -o "$page"; has "&lt;b&gt;.tang"; lacks "<script>alert"; lacks "<b>"

expect 2 report "$attention"; err "E0801"; err "-o report.html"
expect 2 report; err "FILE"
expect 2 report "$attention" --no-run -o "$work/none/report.html"; err "E0708"
expect 2 report "$attention" -D sq=4 -o "$work/x.html"; err "E0710"; missing "$work/x.html"
expect 2 report no-such.tang -o "$work/x.html"; err "no-such.tang"; missing "$work/x.html"
printf 'y[i] = 1\n' >"$work/bad.tang"
expect 2 report "$work/bad.tang" -o "$work/x.html" --json; out '"error":{'; missing "$work/x.html"
finish
