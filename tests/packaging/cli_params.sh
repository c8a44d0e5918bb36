#!/bin/bash
# SPDX-License-Identifier: MIT
# cli_params.sh WEIRCTL - parameters, output values and what the server says of an
# error, with the mock driver behind the real program.  Prints "N passed, N failed".
set -u

weirctl=$1
test -x "$weirctl" || { echo "no program $weirctl"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

# has FILE TEXT: every file has the empty text.
has() { [ -z "$2" ] || grep -qF -- "$2" "$1"; }

# gives CODE OUT ERR ARGUMENT...: the exit code, and a text in each stream.
gives() {
  local want=$1 out=$2 err=$3 code
  shift 3
  "$weirctl" query -c "Driver=mock${settings:-}" "$@" >"$dir/out" 2>"$dir/err" \
    </dev/null
  code=$?
  if [ "$code" = "$want" ] && has "$dir/out" "$out" && has "$dir/err" "$err"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED ($code): $*"
    sed 's/^/  out: /' "$dir/out"
    sed 's/^/  err: /' "$dir/err"
  fi
}

gives 0 '{"text":"q","p1":5,"p2":null,"p3":"x"}' "" \
  --json --param @a:int=5 --param @b --param @c=x q
gives 0 '{"name":"@d","type":7,"hint":"decimal(10,2)","out":0}' "" \
  --json --param '@d:decimal(10,2)=1.50' params
gives 0 '{"@n":7,"@t":"new"}' "(3 rows affected)" \
  --json --out @n:int=7 --out @t:nvarchar --prepared "count 3; out 2 new"
gives 0 '(output values)' "" --out @n:int=7 "rows 1"
gives 0 '@n' "" --csv --out @n:int=7 "rows 1"
gives 2 "" '"@a:int": the value is not a whole number' --param @a:int=secret q
if grep -q secret "$dir/err"; then
  failed=$((failed + 1))
  echo "FAILED: a value was shown"
fi
gives 2 "" 'a name is wanted' --param =1 q
script="notice 50000 11 'hi' state 3 line 7 in 'dbo.p', "
script+="fail statement syntax native 102 severity 15 state 4 line 12 'near'"
settings=";Mock Script Text=\"exec: $script\""
gives 1 "" "error 50000, severity 11, state 3, line 7 of dbo.p: hi" q
gives 1 "" "error 102, severity 15, state 4, line 12" q

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
