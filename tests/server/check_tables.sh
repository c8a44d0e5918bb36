#!/bin/bash
# SPDX-License-Identifier: MIT
# tdsd --sqlite as a whole process: two clients of FreeTDS and our own read rows
# that survive a restart, an endless query is cancelled, fifty clients write.
set -u
# shellcheck source=tests/server/check_support.sh
. "$(dirname "$0")/check_support.sh"

need_freetds
database=$work/tables.db

# tsql_run: runs the batches on standard input; tabs become bars.
tsql_run() {
  TDSVER=7.4 timeout 60 tsql -o q -H 127.0.0.1 -p "$port" -U sa -P x 2>&1 |
    sed -e 's/[[:space:]]*$//' -e '/^$/d' -e 's/\t/|/g'
}

bsqldb_run() {
  printf '%s\n' "$1" |
    timeout 20 bsqldb -S "127.0.0.1:$port" -U sa -P x -q -t '|' 2>&1 |
    sed -e 's/[[:space:]]*$//' -e '/^$/d'
}

weirctl_run() {
  timeout 30 "$build/bin/weirctl" query -q --json "$@" -c \
    "Driver=tds;Server=127.0.0.1,$port;User ID=sa;Password=x;Encrypt=Optional" \
    2>&1
}

start_server --sqlite "$database" || exit 1
check 'tables are made and filled' "id|name|price
1|zażółć|9.50
2|two|10.00" "$(tsql_run <<'SQL'
CREATE TABLE dbo.stock (id int IDENTITY(1,1) PRIMARY KEY, name nvarchar(20)
  NOT NULL, price decimal(10,2), at datetime2(3) DEFAULT SYSUTCDATETIME())
INSERT stock (name, price) VALUES (N'zażółć', 9.5), ('two', 10)
SELECT TOP 5 id, name, price FROM stock WITH (NOLOCK) ORDER BY price
go
SQL
)"
check 'errors read as SQL Server says them' "Msg 2627 (severity 14, state 1) from TDSD Line 1:
|\"Violation of PRIMARY KEY constraint 'PK__k__id'. Cannot insert duplicate key in object 'dbo.k'.\"
Msg 3621 (severity 0, state 1) from TDSD Line 1:
|\"The statement has been terminated.\"
Msg 208 (severity 16, state 1) from TDSD Line 1:
|\"Invalid object name 'nosuch'.\"" "$(tsql_run <<'SQL'
CREATE TABLE k (id int PRIMARY KEY); INSERT k VALUES (1)
go
INSERT k VALUES (1)
go
DELETE nosuch
go
SQL
)"
stop_server
check 'the server ends cleanly' 0 "$server_status"

start_server --sqlite "$database" || exit 1
check 'bsqldb finds the rows after a restart' 'zażółć
two' "$(bsqldb_run 'SELECT name FROM stock ORDER BY id')"
check 'our driver finds them' '{"id":1,"name":"zażółć","price":"9.50"}
{"id":2,"name":"two","price":"10.00"}' \
  "$(weirctl_run 'SELECT id, name, price FROM stock ORDER BY id')"

begun=$(date +%s)
weirctl_run -t 1 'WITH c (n) AS (SELECT 1 UNION ALL SELECT n % 5 + 1 FROM c)
  SELECT COUNT(*) FROM c' >"$work/endless" && echo "FAILED: it ended"
took=$(($(date +%s) - begun))
check 'an endless query is cancelled in time' yes \
  "$([ "$took" -le 20 ] && echo yes || echo "$took s")"
check 'and the server goes on' '{"n":2}' \
  "$(weirctl_run 'SELECT COUNT(*) AS n FROM stock')"

pids=()
for i in $(seq 50); do
  printf 'INSERT stock (name, price) VALUES (N%s, %s)\ngo\n' "'c$i'" "$i" |
    tsql_run >"$work/client.$i" &
  pids+=($!)
done
wait "${pids[@]}"
check 'nobody was told anything' '' "$(cat "$work"/client.*)"
check 'fifty clients write at once' '{"n":50,"s":"1275.00"}' \
  "$(weirctl_run "SELECT COUNT(*) AS n, SUM(price) AS s FROM stock WHERE name LIKE 'c%'")"
check 'clients did nothing wrong' '' "$(cat "$work/server.log")"
stop_server

finish
