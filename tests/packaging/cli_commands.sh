#!/bin/bash
# SPDX-License-Identifier: MIT
# cli_commands.sh WEIRCTL - runs weirctl, linked with fake_weir.c, as a user
# would: exit codes, streams, files, signals, pipes.  Prints "N passed, N failed".
set -u

weirctl=$1
test -x "$weirctl" || { echo "no program $weirctl"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export WEIR_CONNINFO='Driver=fake;Password=hunter2'
passed=0
failed=0

# check NAME TEST...: counts a test command.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: %s\n' "$name" "$*"
    sed 's/^/  out: /' "$dir/out"
    sed 's/^/  err: /' "$dir/err"
  fi
}

# run ARGUMENT...: leaves out, err and code; fails if a secret was printed.
run() {
  "$weirctl" "$@" >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
  if grep -q hunter2 "$dir/out" "$dir/err"; then
    code=secret
  fi
}

# gives CODE ARGUMENT...: runs and checks the exit code.
gives() {
  local want=$1
  shift
  run "$@"
  check "exit code of $*" test "$code" = "$want"
}

said() { check "message" grep -qF -- "$1" "$dir/err"; }
printed() { check "output" grep -qF -- "$1" "$dir/out"; }
# lacks TEXT FILE: succeeds if the text is not in the file.
lacks() { ! grep -qaF -- "$1" "$2"; }
silent() { check "silence" test ! -s "$dir/err"; }

# Help and use.
gives 0 help
printed "Usage: weirctl VERB"
gives 0 --version
printed "libweir 0.1.2"
gives 0 help settings
printed "TrustServerCertificate"
printed "  Max Pool Size *"
gives 0 help settings --json
printed '"name":"Max Pool Size","aliases":["Maximum Pool Size"],"unit":"count"'
gives 2 help settings --nosuch
gives 0 help exit-codes
printed "130  interrupted"
for verb in query demo drivers key; do
  gives 0 "$verb" --help
  printed "Usage: weirctl $verb"
  check "examples" grep -q "^Example" "$dir/out"
  gives 0 help "$verb"
  gives 2 "$verb" --nosuch=hunter2
  said "--nosuch is not an option"
done
gives 2
gives 2 nosuch
gives 2 help nosuch
for verb in top check budget; do
  gives 2 "$verb"
  said "not built yet"
done
gives 2 query
said "no SQL"
gives 2 query one two
gives 2 query -f x one
gives 2 query -c
said "-c needs a value"
gives 2 query --conninfo
said "--conninfo needs a value"
gives 2 query -Z
said "-Z is not an option"
gives 2 query --json -Zx
said "-Z is not an option"
gives 2 query --quiet=1 one
said "--quiet is not an option"
for sql in '-- hunter2
SELECT 1' '--SELECT 1' '-1 AS x' '-x y'; do
  gives 2 query "$sql"
  said "put -- before SQL that begins with -"
done
gives 1 query -- '-- x y'
gives 2 query -t soon one
gives 2 query --max-width 0x1 one
gives 2 query ""
gives 2 query $'\xff'
said "offset 0"
gives 2 demo argument
gives 2 demo --threads 0
gives 2 demo --threads 4001
gives 2 demo --rounds 101
gives 2 demo --server-pid 2147483647
gives 2 drivers argument
gives 2 key
gives 2 key a b c

# Exit codes by kind of failure.
while read -r word want; do
  gives "$want" query -c "Driver=fake;Password=hunter2;Fake=$word" one
done <<'END'
parse 3
load 4
name 5
refused 5
tls 6
login 7
timeout 8
overloaded 10
down 10
other 9
END
gives 7 query -c "Fake=login;Password=hunter2" one
said "phase:  login"
said "error 18456, severity 14"
said "tried:  connecting, with Fake=login;, for"
said "to do:"
gives 9 query --driver-dir bad one
gives 1 query syntax
said "SQLSTATE 42000"
gives 8 query slow
gives 9 query short
gives 7 demo -c "Fake=login;Password=hunter2" --threads 3 --rounds 1
gives 3 demo -c "Fake=parse;Password=hunter2"

# Streams.
gives 0 query "SELECT 1 AS one"
silent
gives 0 query sets
said "notice 50000, severity 10, line 7: half way"
printed "(3 rows affected)"
gives 0 query --json sets
said "(3 rows affected)"
check "rows only" test "$(wc -l <"$dir/out")" -eq 3
gives 0 query -q --csv sets
silent
gives 1 query -q raise
said "error 50001, severity 16: raised"
gives 1 query late
printed "   1"
check "no count of a broken set" lacks row "$dir/out"
gives 1 query twice
said "error 102, severity 15, line 3: Incorrect syntax near 'x'."
said "weirctl: the error above ended the statement"
check "an error told once" test "$(grep -c Incorrect "$dir/err")" -eq 1
gives 5 query cut
gives 0 query -v none
said "connected in"
said "session     50"
said "TLS         none"
LC_ALL=C run query types
printed "zażółć | 0x00ff"

# Where SQL and connection strings come from.
printf '\xef\xbb\xbfnone' >"$dir/sql"
gives 0 query -f "$dir/sql"
gives 2 query -f "$dir/nosuch"
printf none | "$weirctl" query - >"$dir/out" 2>"$dir/err"
check "SQL from standard input" test $? -eq 0
printf none | "$weirctl" query -f - >"$dir/out" 2>"$dir/err"
check "SQL from -f -" test $? -eq 0
printf 'Driver=fake;Password=hunter2\r\n\n' >"$dir/conn"
chmod 600 "$dir/conn"
gives 0 query -c "@$dir/conn" none
silent
chmod 644 "$dir/conn"
gives 0 query -c "@$dir/conn" none
said "chmod 600"
gives 3 query -c "@$dir/nosuch" none
: >"$dir/conn"
gives 3 query -c "@$dir/conn" none
said "empty"
head -c 70000 /dev/zero | tr '\0' x >"$dir/conn"
gives 3 query -c "@$dir/conn" none
said "at most 65536 bytes"
gives 3 query -c "" none
for verb in "query none" demo "key -"; do
  # shellcheck disable=SC2086 # words
  WEIR_CONNINFO='' run $verb
  check "no connection string" test "$code" = 3
done
said "WEIR_CONNINFO is empty"
check "no advice that does not fit" lacks "-c " "$dir/err"
code=$(unset WEIR_CONNINFO && run query none && echo "$code")
check "no connection string at all" test "$code" = 3
said "no connection string: give -c CONNINFO or -c @FILE, or set WEIR_CONNINFO"
printf '# prod\nA=1;\n#B=2\n\nPassword=hunter2\n#' >"$dir/conn"
chmod 600 "$dir/conn"
gives 0 key "@$dir/conn"
check "no comments in a key" test "$(tr -d '\n' <"$dir/out")" = "A=1;"
printf '# nothing\n' >"$dir/conn"
gives 3 key "@$dir/conn"

# Drivers and keys.
gives 4 drivers
printed "drv1 | 1.1     | /lib/drv1.so | writable by others"
FAKE_DRIVERS=1 run drivers
check "good drivers" test "$code" = 0
FAKE_DRIVERS=0 run drivers
check "no drivers" test "$code" = 4
said "no driver found"
export WEIR_DRIVER_PATH="relative::$dir:/dev/null"
FAKE_DRIVERS=1 run drivers --driver-dir "$dir/nosuch:$dir"
check "directories left out" test "$code" = 0
said "skipped $dir/nosuch of --driver-dir: No such file or directory"
said "skipped relative of WEIR_DRIVER_PATH: not an absolute path"
said "skipped /dev/null of WEIR_DRIVER_PATH: not a directory"
check "only those" test "$(wc -l <"$dir/err")" -eq 3
unset WEIR_DRIVER_PATH
FAKE_DRIVERS=300 run drivers --json
check "many drivers" test "$(wc -l <"$dir/out")" -eq 300
gives 0 key "A=1;Password=hunter2"
check "a key alone" test "$(cat "$dir/out")" = "A=1;"
gives 0 key "A=1;Password=hunter2" "A=1;Password=hunter2"
check "same" test "$(tail -n 1 "$dir/out")" = same
gives 0 key "A=1;Password=hunter2" "A=1;Password=hunter3"
printed "  Password (a secret, not shown)"
gives 0 key "A=1" "A=2"
check "differ" test "$(tail -n +3 "$dir/out" | tr '\n' '|')" = \
  "differ|  A|    1  1|    2  2|  Order|    1  (not in it: the default)|    2  (not in it: the default)|"
gives 0 key --json "A=1;Password=hunter2"
check "json" test "$(cat "$dir/out")" = '{"key":"A=1;"}'
gives 0 key --json "A=1" "A=1"
check "same json" test "$(cat "$dir/out")" = \
  '{"keys":["A=1","A=1"],"same":true,"differences":[]}'
gives 0 key --json "A=1" "A=2"
printed '"same":false,"differences":[{"kind":"setting","name":"A","values":["1","2"]},{"kind":"driver","name":"Order","values":[null,null]}]}'
gives 0 key --json "A=1;Password=hunter2" "A=1;Password=hunter3"
printed '"differences":[{"kind":"secret","name":"Password"}]}'
gives 0 key --same "A=1" "A=1"
gives 11 key --same "A=1" "A=2"
gives 11 key --same --json "A=1;Password=hunter2" "A=1;Password=hunter3"
gives 2 key --same "A=1"
gives 2 key --nosuch "A=1"
gives 3 key "Fake=parse"
gives 3 key "A=1" "Fake=parse"

# The demonstration.
gives 0 demo --threads 20 --rounds 2 --server-pid $$
printed "connections opened     40 in 2 rounds"
printed "at most 20 in a pool of 20, 20 distinct"
printed "query rows             40 from 40 statements"
printed "Cold ramp: 20 threads open 20 connections"
printed "1 thread on 4 open connections"
printed "  legacy   opens one connection at a time"
silent
gives 0 demo --threads 2 --rounds 1 --login-delay-ms 7
printed "incl. the server's 7 ms login delay"
gives 2 demo --login-delay-ms soon
gives 11 demo -c "Fake=extra" --threads 5 --rounds 1
said "direct: a pool of 5 had 6 sessions"
gives 11 demo -c "Fake=surplus" --threads 5 --rounds 1
said "channel: a pool of 5 had 6 sessions"
gives 11 demo -c "Fake=surplus;Pool Strategy=legacy" --threads 5 --rounds 1 --json
printed '"passed":false}'
gives 0 demo --threads 5 --rounds 1 --json
check "one object" test "$(wc -l <"$dir/out")" -eq 1
printed '"strategy":"channel"'
silent
LC_ALL=C.UTF-8 run demo --threads 2 --rounds 1
printed "█"
check "no colours in a pipe" lacks $'\033' "$dir/out"
LC_ALL=C.UTF-8 run demo --threads 2 --rounds 1 --ascii
check "no blocks" lacks "█" "$dir/out"
printed "##"
LC_ALL=C run demo --threads 2 --rounds 1
check "no blocks in another locale" lacks "█" "$dir/out"
# on_terminal: the demo's output on a terminal of 60 columns.
on_terminal() {
  script -qec "stty cols 60; $weirctl demo --threads 2 --rounds 1" /dev/null \
    </dev/null >"$dir/out" 2>"$dir/err"
}
if command -v script >/dev/null; then
  TERM=xterm LC_ALL=C.UTF-8 on_terminal
  printed $'\033[32m█'
  printed "round 1 of 1, channel ..."
  TERM=xterm NO_COLOR=1 LC_ALL=C.UTF-8 on_terminal
  check "no colours if not wanted" lacks $'\033[32m' "$dir/out"
  TERM=dumb LC_ALL=C.UTF-8 on_terminal
  check "no colours for the dumb" lacks $'\033[32m' "$dir/out"
fi
gives 1 demo --threads 5 --rounds 1 --sql syntax
said "5 of 5 threads failed with Pool Strategy=legacy"

# Output that nobody takes.
"$weirctl" query --csv endless 2>"$dir/err" | head -n 1 >"$dir/out"
check "a broken pipe" test "${PIPESTATUS[0]}" -eq 141
silent
"$weirctl" query types >/dev/full 2>"$dir/err"
check "a full disk" test $? -eq 9
said "No space left"
"$weirctl" help >/dev/full 2>"$dir/err"
check "a full disk, help" test $? -eq 9

# Signals.  start WORD ARGUMENT...: runs in the background until WORD shows on
# standard error.
start() {
  local word=$1 line
  shift
  rm -f "$dir/fifo"
  mkfifo "$dir/fifo"
  env --default-signal=INT,TERM "$weirctl" "$@" >"$dir/out" 2>"$dir/fifo" &
  pid=$!
  exec 3<"$dir/fifo"
  while read -r line <&3; do
    case $line in *"$word"*) return ;; esac
  done
}

# ended CODE: waits for it and compares.
ended() {
  cat <&3 >"$dir/err"
  wait "$pid"
  check "exit code after a signal" test $? -eq "$1"
}

start waiting query -v -c "Password=hunter2" hang
check "no secret for ps" lacks hunter2 "/proc/$pid/cmdline"
kill -INT "$pid"
ended 130
said "interrupted while running the statement"
said "the statement may have been executed"
start connected query -v hang
kill -TERM "$pid"
ended 143
start waiting query -c "Fake=hang" one
kill -INT "$pid"
ended 130
said "interrupted while connecting"
check "nothing was executed" lacks executed "$dir/err"
start waiting demo -c "Fake=hang" --threads 4
kill -INT "$pid"
ended 130
check "no report" test ! -s "$dir/out"
said "interrupted before the first round"
start waiting demo --threads 4 --sql hang
kill -INT "$pid"
ended 130
said "weirctl: interrupted in round 1"
check "no failure told" lacks failed "$dir/err"
check "no report" test ! -s "$dir/out"

printf '%d passed, %d failed\n' "$passed" "$failed"
test "$failed" -eq 0
