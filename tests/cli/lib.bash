# Sourced by the tests of this folder: small assertions about one run of tang. $TANG is the program;
# tests run in the root of the project. A test ends with `finish`.
set -u
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export TANG_CACHE_DIR=${TANG_CACHE_DIR:-$work/cache}
attention=examples/attention.tang
failures=0

fault() {
  echo "FAILED: $*"
  echo "  stdout: $(head -c 600 "$work/out")"
  echo "  stderr: $(head -c 600 "$work/err")"
  failures=$((failures + 1))
}

# expect CODE ARGS...: runs tang and checks its exit code.
expect() {
  local code=$1 got
  shift
  "$TANG" "$@" >"$work/out" 2>"$work/err" </dev/null
  got=$?
  last="tang $*"
  [[ $got == "$code" ]] || fault "$last: exit $got, not $code"
}

# out TEXT, err TEXT: the last run printed it. no_out, no_err: it did not.
out() { grep -qF -- "$1" "$work/out" || fault "$last: stdout lacks: $1"; }
err() { grep -qF -- "$1" "$work/err" || fault "$last: stderr lacks: $1"; }
no_out() { ! grep -qF -- "$1" "$work/out" || fault "$last: stdout has: $1"; }
no_err() { ! grep -qF -- "$1" "$work/err" || fault "$last: stderr has: $1"; }
silent() { [[ ! -s $work/err ]] || fault "$last: stderr is not empty"; }
exists() { [[ -e $1 ]] || fault "$last: $1 is missing"; }
missing() { [[ ! -e $1 ]] || fault "$last: $1 exists"; }

finish() { ((failures == 0)) || exit 1; }
