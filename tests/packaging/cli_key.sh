#!/bin/bash
# SPDX-License-Identifier: MIT
# cli_key.sh WEIRCTL - `weirctl key` with the real library and drivers: what makes
# strings differ, under each strategy, and that no password is ever shown, however
# a string is damaged.  Prints "N passed, N failed".
set -u

weirctl=$1
test -x "$weirctl" || { echo "no program $weirctl"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0
# In no message of its own.
readonly secret='Qz7Kx9Vw3'

verdict() {
  if [ "$1" = 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$2"
    sed 's/^/  out: /' "$dir/out"
    sed 's/^/  err: /' "$dir/err"
  fi
}

# run ARGUMENT...: leaves out, err and code; code is "secret" if one was shown.
run() {
  timeout 20 "$weirctl" key "$@" >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  if grep -qaiF "$secret" "$dir/out" "$dir/err"; then
    code=secret
  fi
}

# gives CODE ARGUMENT...
gives() {
  local want=$1
  shift
  run "$@"
  [ "$code" = "$want" ]
  verdict $? "exit code $code, not $want: $*"
}

# says TEXT: the output, its line ends as |.
says() {
  local got
  got=$(tr '\n' '|' <"$dir/out")
  [ "$got" = "$1" ]
  verdict $? "wanted: $1"
}

# differ WHAT A B: all that is printed behind the two keys.
differ() {
  gives 11 --same "$2" "$3"
  local got
  got=$(tail -n +3 "$dir/out" | tr '\n' '|')
  [ "$got" = "differ|$1" ]
  verdict $? "$2 and $3: wanted differ|$1"
}

# same A B, whichever comes first.
same() {
  gives 0 --same "$1" "$2"
  gives 0 --same "$2" "$1"
}

T="Driver=tds;Server=db"
M="Driver=mock"

# One string: canonical, without secrets.
gives 0 "$T;User ID=sa;Password=$secret;Max Pool Size=100"
says "Driver=tds;Server=db,1433;User ID=sa|"
gives 0 "pwd=$secret;uid=sa;max pool size=7;DRIVER=tds;data source=tcp:db,1433"
says "Driver=tds;Server=db,1433;User ID=sa;Max Pool Size=7|"
gives 0 --json "$T;Access Token=$secret"
says '{"key":"Driver=tds;Server=db,1433;Authentication=AccessToken"}|'
gives 0 "$M;Session Init=\"SET PWD '$secret'\""

# What is the same.
same "$T;User ID=sa;Password=$secret" "pwd=$secret;DRIVER=tds;addr=db,1433;user=sa"
same "$T" "$T;Connect Timeout=3;Command Timeout=5"
for strategy in direct legacy channel; do
  same "$M;Pool Strategy=$strategy" "Pool Strategy = $strategy ;$M;;"
done
same "$M;Pool Strategy=direct" "$M"
same "$M;Pool Strategy=legacy" "$M;Pool Idle Order=lifo;Pool Strategy=LEGACY"
same "$M;Pool Strategy=channel" \
  "$M;Pool Handoff=queued;Pool Strategy=channel;Probe Window=5ms"
same "$M;Pool Key=exact;Password=$secret" "$M;Pool Key=exact;Password=$secret"

# What is not, and what is to blame.
differ "  Database|    1  Sales|    2  (not in it: the default)|" \
  "$T;Database=Sales" "$T"
differ "  Password (a secret, not shown)|" \
  "$T;Password=$secret" "$T;Password=${secret}x"
differ "  Password (a secret, not shown)|" "$T;Password=$secret" "$T"
differ "  Access Token (a secret, not shown)|" \
  "$T;Access Token=$secret" "$T;Access Token=${secret}x"
differ "  Session Init (a secret, not shown)|" "$M;Session Init=$secret" "$M"
differ "  Pool Strategy|    1  legacy|    2  direct (the default)|" \
  "$M;Pool Strategy=legacy" "$M;Lifetime Jitter=0;Idle Expiry=sqlclient"
differ "  Pool Strategy|    1  legacy|    2  channel|" \
  "$M;Pool Strategy=legacy" "$M;Pool Strategy=channel"
differ "  Pool Idle Order|    1  affinity|    2  lifo (the default)|" \
  "$M;Pool Strategy=legacy;Pool Idle Order=affinity" "$M;Pool Strategy=legacy"
differ "  Probe Window|    1  5 ms (the default)|    2  500 ms|" \
  "$M;Pool Strategy=channel" "$M;Probe Window=500ms;Pool Strategy=channel"
differ "  Max Pool Size|    1  100 (the default)|    2  3|" "$M" "$M;Max Pool Size=3"
# What one has to write out because its strategy has another default is no difference.
differ "  Pool Strategy|    1  legacy|    2  direct (the default)|" \
  "$M;Pool Strategy=legacy;Probe Window=500ms" "$M"
differ "  Pool Strategy|    1  legacy|    2  direct (the default)|" \
  "$M;Pool Strategy=legacy" "$M;Lifetime Jitter=0;Idle Expiry=sqlclient"
differ "  Pool Strategy|    1  legacy|    2  channel|" \
  "$M;Pool Strategy=legacy;Pool Idle Order=fifo" "$M;Pool Strategy=channel"
differ "  Driver|    1  tds|    2  mock|  Server|    1  db,1433|    2  (not in it)|  mock server|    1  (not in it)|    2  db|" \
  "$T" "$M;Server=db"
differ "  Pool Key|    1  canonical (the default)|    2  exact|" \
  "$M" "$M;Pool Key=exact"
differ "  Password (a secret, not shown: it, or how it is written)|" \
  "$M;Pool Key=exact;Password=$secret" "$M;Pool Key=exact;Password=${secret}x"
differ "  Password (a secret, not shown: it, or how it is written)|" \
  "$M;Pool Key=exact;Password=$secret" "$M;Pool Key=exact; Password=$secret"
differ "  Pool Idle Order (Pool Key=exact: as it is written)|" \
  "$M;Pool Key=exact;Pool Strategy=legacy" \
  "$M;Pool Key=exact;Pool Strategy=legacy;Pool Idle Order=lifo"
gives 0 --json "$T;Password=$secret;Database=a" "$T;Database='b;c'"
says '{"keys":["Driver=tds;Server=db,1433;Database=a","Driver=tds;Server=db,1433;Database=\"b;c\""],"same":false,"differences":[{"kind":"driver","name":"Database","values":["a","\"b;c\""]},{"kind":"secret","name":"Password"}]}|'

# Refused: the policy is named, the value is not, the choices are.
gives 3 "$M;Pool Strategy=$secret"
grep -qF 'must be one of direct,legacy,channel' "$dir/err"
verdict $? "the strategies there are"
gives 3 "$M;Pool Strategy=legacy;Pool Growth=$secret"
grep -qF 'must be one of adaptive,serial,parallel' "$dir/err"
verdict $? "the kinds of growth there are"

# Damaged strings, in which the password comes to stand anywhere.
for damaged in \
  "$T;Password;$secret" "$T;Password=a;$secret" "$T;Password=a;$secret=b" \
  "$T;$secret" "$secret" "$secret=$T" "Driver=;$secret" \
  "$T;Password='$secret" "$T;Password=\"$secret" "$T;Password={$secret" \
  "$T;Password='a'$secret" "$T;Max Pool Size=$secret" "$T;Credential=$secret" \
  "$T;Credential=5;Password=$secret" "$T;Encrypt=$secret" \
  "$T;Server=$secret,$secret" "$T;Authentication=$secret" \
  "$T;Passwort=$secret" "$T;Max Pool Size $secret=5" "$T;${secret}Password=5" \
  "$T;Password${secret}=5" \
  "$T;Access Token=$secret;Password=$secret" "$T;Trusted_Connection=$secret" \
  "$T;Connect Timeout=$secret" $'Driver=tds;Server=db;Password\n=;\n'"$secret"; do
  run "$damaged"
  [ "$code" = 3 ] || [ "$code" = 4 ]
  verdict $? "a damaged string: $code: $damaged"
  run "$M" "$damaged"
  [ "$code" = 3 ] || [ "$code" = 4 ]
  verdict $? "a damaged second string: $code: $damaged"
done
gives 2 "--$secret"
gives 2 --same "--$secret=x" "$M"

# Hostile in other ways.
long=$(printf 'x%.0s' {1..40000})
gives 3 "$M;$long"
gives 3 "$long=$long"
gives 3 "$M;Database=$long$long"
gives 3 ""
gives 3 "$M" ""
gives 3 "$(printf 'Driver=mock;Database=\xff\xfe')"
gives 0 "$M;Database='$(printf '\x1b[31m')'"
! grep -q $'\x1b' "$dir/out"
verdict $? "no control characters in a key"
gives 0 --json "$M;Database='$(printf '\x1b[31m"\x5c')'" "$M"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$dir/out"
verdict $? "JSON of whatever there is"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
