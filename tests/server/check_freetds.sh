#!/bin/bash
# SPDX-License-Identifier: MIT
# FreeTDS, which nobody here wrote, logs in to tdsd in every TLS mode it knows
# and with every version it speaks, and reads what it should.
set -u
# shellcheck source=tests/server/check_support.sh
. "$(dirname "$0")/check_support.sh"

need_freetds

# tsql_run VERSION PASSWORD: runs the batch on standard input; tabs become bars.
tsql_run() {
  TDSVER=$1 timeout 20 tsql -o q -H 127.0.0.1 -p "$port" -U sa -P "$2" 2>&1 |
    sed -e 's/[[:space:]]*$//' -e '/^$/d' -e 's/\t/|/g'
}

# Everything the SELECT of literals promises, as tsql shows it.
values_sql="SELECT 1 AS i, CAST(NULL AS int) AS n, N'zażółć' AS t,
  CAST(-12.345 AS decimal(10,3)) AS d, CAST(1 AS bit) AS b,
  CAST(9223372036854775807 AS bigint) AS l, CAST(0.5 AS float) AS f,
  CAST('2020-02-29 12:34:56.789' AS datetime2(3)) AS dt, 0x00FF AS x
go
SELECT 'it''s' + '!' AS s; SELECT a, b FROM (VALUES (1, 'x'), (2, NULL))
  AS v (a, b) UNION ALL SELECT 3, 'y'
go
"
values_expected="i|n|t|d|b|l|f|dt|x
1|NULL|zażółć|-12.345|1|9223372036854775807|0.5|Feb 29 2020 12:34PM|00ff
s
it's!
a|b
1|x
2|NULL
3|y"

errors_sql="PRINT 'hello'
go
SELECT 1 / 0
go
SELECT FROM
go
SELECT * FROM nosuch
go
RAISERROR('no %s', 16, 3, 'way')
go
"
errors_expected="hello
Msg 8134 (severity 16, state 1) from TDSD Line 1:
|\"Divide by zero error encountered.\"
Msg 156 (severity 15, state 1) from TDSD Line 1:
|\"Incorrect syntax near the keyword 'FROM'.\"
Msg 208 (severity 16, state 1) from TDSD Line 1:
|\"Invalid object name 'nosuch'.\"
Msg 50000 (severity 16, state 3) from TDSD Line 1:
|\"no way\""

# db-lib reads through another of FreeTDS's doors.
bsqldb_run() {
  printf '%s\n' "$1" |
    timeout 20 bsqldb -S "127.0.0.1:$port" -U sa -P x -q -t '|' 2>&1 |
    sed -e 's/[[:space:]]*$//' -e '/^$/d'
}

for mode in off login-only self-signed; do
  start_server --tls "$mode" || exit 1
  for version in 7.3 7.4; do
    check "tsql $version, tls $mode: values" "$values_expected" \
      "$(printf '%s' "$values_sql" | tsql_run "$version" x)"
  done
  for version in 7.1 7.2; do
    check "tsql $version, tls $mode: one row" "a|m
1|max" "$(printf "SELECT 1 AS a, CAST('max' AS varchar(max)) AS m\ngo\n" |
      tsql_run "$version" x)"
  done
  check "tsql, tls $mode: messages" "$errors_expected" \
    "$(printf '%s' "$errors_sql" | tsql_run 7.4 x)"
  check "tsql, tls $mode: wrong password" \
    "|\"Login failed for user 'sa'.\"" \
    "$(printf 'go\n' | tsql_run 7.4 wrong | grep -m 1 'Login failed')"
  check "bsqldb, tls $mode: rows" "1|zażółć
2|NULL" "$(bsqldb_run "SELECT 1 AS a, N'zażółć' AS b UNION ALL SELECT 2, NULL" |
    grep '|')"
  check "tls $mode: no complaint about FreeTDS" "" \
    "$(grep -v "login of 'sa' refused" "$work/server.log")"
  stop_server
  check "tls $mode: a clean end on SIGTERM" 0 "$server_status"
done

finish
