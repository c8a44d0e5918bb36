# SPDX-License-Identifier: MIT
# Sourced by the check_*.sh scripts: a server to talk to, and counting.
# shellcheck shell=bash disable=SC2034

passed=0
failed=0
server_pid=
port=
work=$(mktemp -d)
build=${WEIR_BUILD_DIR:?WEIR_BUILD_DIR names the build directory}

# Ends the script unless FreeTDS's programs are there; they write UTF-8.
need_freetds() {
  for tool in tsql bsqldb; do
    if ! command -v "$tool" >/dev/null; then
      echo "$tool is missing (package freetds-bin)" >&2
      exit 1
    fi
  done
  export LC_ALL=C.UTF-8
}

stop_server() {
  if [ -n "$server_pid" ]; then
    kill "$server_pid" 2>/dev/null
    wait "$server_pid"
    server_status=$?
    server_pid=
  fi
}

clean_up() {
  stop_server
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

# start_server OPTION...: starts tdsd on a free port and sets port.
start_server() {
  : >"$work/port"
  "$build/bin/tdsd" --port 0 --print-port "$@" \
    >"$work/port" 2>"$work/server.log" &
  server_pid=$!
  for _ in $(seq 100); do
    read -r port <"$work/port" && return 0
    kill -0 "$server_pid" 2>/dev/null || break
    sleep 0.05
  done
  echo "tdsd did not start:" >&2
  cat "$work/server.log" >&2
  return 1
}

# check NAME EXPECTED GOT: counts and shows what differs.
check() {
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
    passed=$((passed + 1))
  else
    echo "FAILED: $1"
    diff <(printf '%s\n' "$2") <(printf '%s\n' "$3")
    failed=$((failed + 1))
  fi
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}
