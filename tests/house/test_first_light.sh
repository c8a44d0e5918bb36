#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: test_first_light.sh BUILD
#
# The commands of README.md and packaging/README.md over the programs in
# BUILD/bin, as a newcomer types them: a query over TLS, and the ways in which it
# most often fails.
set -u
bin=$1/bin
passed=0
failed=0
work=$(mktemp -d)
pids=()

clean() {
  [ "${#pids[@]}" -eq 0 ] || kill "${pids[@]}" 2>/dev/null
  rm -rf "$work"
}
trap clean EXIT

# begin OUT COMMAND...: starts a server and waits for the port that it prints to
# the file OUT; sets port.
begin() {
  local out=$1 tries
  shift
  "$@" >"$out" &
  pids+=("$!")
  for ((tries = 0; tries < 200; tries++)); do
    port=$(grep -oE '[0-9]+' "$out" | tail -n 1)
    [ -n "$port" ] && return
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  echo "no port from $1"
  echo "0 passed, 1 failed"
  exit 1
}

# query CONNINFO SQL: sets out, err, status and elapsed_ms.
query() {
  local begun
  begun=$(date +%s%N)
  out=$("$bin/weirctl" query -c "$1" "$2" 2>"$work/err")
  status=$?
  elapsed_ms=$((($(date +%s%N) - begun) / 1000000))
  err=$(cat "$work/err")
}

# verdict STATUS NAME: counts one check, whose condition ended with STATUS.
verdict() {
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
    return
  fi
  failed=$((failed + 1))
  echo "$2: status $status after $elapsed_ms ms"
  printf 'stdout: %s\nstderr: %s\n' "$out" "$err"
}

begin "$work/tdsd" "$bin/tdsd" --port 0 --print-port --tls self-signed --strict-client \
  --login-delay-ms 5
server="Driver=tds;Server=127.0.0.1,$port;User ID=sa;Encrypt=mandatory"

query "$server;Password=x;TrustServerCertificate=true" \
  "SELECT 1 AS one, N'zażółć' AS text"
[ "$status" -eq 0 ] && [[ "$out" == *one*text*1*zażółć* ]]
verdict $? "a query over TLS"

query "$server;Password=x" "SELECT 1"
[ "$status" -eq 6 ] && grep -qi certificate <<<"$err" &&
  grep -q 'to do:.*TrustServerCertificate=true' <<<"$err" &&
  ! grep -q 'TLS handshake: TLS' <<<"$err"
verdict $? "a certificate that nobody vouches for"

query "$server;Password=wrong-one;TrustServerCertificate=true" "SELECT 1"
[ "$status" -ne 0 ] && grep -qi login <<<"$err" &&
  ! grep -q wrong-one <<<"$out$err"
verdict $? "a wrong password"

query "$server;Password=x;TrustServerCertificate=true;Database=nosuch" \
  "SELECT 1"
[ "$status" -eq 7 ] && grep -q 'to do:.*Database=' <<<"$err"
verdict $? "a database that is not there"

query "$server;Password=x;TrustServerCertificate=true" "SELECT 1; SELEC 2"
[ "$status" -eq 1 ] && [ "$(grep -c SELEC <<<"$err")" -eq 1 ]
verdict $? "a statement that is wrong"

out=$("$1/examples/example_first" \
  "$server;Password=x;TrustServerCertificate=true" 2>"$work/err")
status=$? err=$(cat "$work/err")
[ "$status" -eq 0 ] && [ "$out" = hello ]
verdict $? "the program of README.md"

begin "$work/plain" "$bin/tdsd" --port 0 --print-port --tls off \
  --strict-client
query "Driver=tds;Server=127.0.0.1,$port;User ID=sa;Password=x" "SELECT 1"
[ "$status" -eq 6 ] && grep -q 'to do:.*Encrypt=optional' <<<"$err"
verdict $? "a server without TLS"

begin "$work/silent" /usr/bin/python3 -c '
import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
time.sleep(30)'
query "Driver=tds;Server=127.0.0.1,$port;User ID=sa;Password=x;Connect Timeout=2" \
  "SELECT 1"
[ "$status" -ne 0 ] && [ "$elapsed_ms" -ge 1900 ] &&
  [ "$elapsed_ms" -le 4000 ] && grep -qiE 'login|tls|handshake' <<<"$err"
verdict $? "a server that says nothing"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
