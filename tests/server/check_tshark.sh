#!/bin/bash
# SPDX-License-Identifier: MIT
# Wireshark's dissector, which nobody here wrote, finds nothing malformed in what
# tdsd says: the plaintext tap of whole sessions, TLS or not.
set -u
# shellcheck source=tests/server/check_support.sh
. "$(dirname "$0")/check_support.sh"

for tool in tsql tshark; do
  if ! command -v "$tool" >/dev/null; then
    echo "$tool is missing (packages freetds-bin, tshark)" >&2
    exit 1
  fi
done
export LC_ALL=C.UTF-8

session="SELECT 1 AS i, CAST(NULL AS int) AS n, N'zażółć' AS t, 1.5 AS d,
  CAST(1 AS bit) AS b, CAST(1 AS bigint) AS l, CAST(0.5 AS float) AS f,
  CAST('2020-02-29' AS date) AS dt, 0x00FF AS x, CAST('a' AS char(3)) AS c,
  CAST('max' AS varchar(max)) AS m, CAST(1.5 AS money) AS mo,
  CAST('01234567-89ab-cdef-0123-456789abcdef' AS uniqueidentifier) AS g
go
SELECT n, REPLICATE('x', 100) AS x FROM dbo.rows(500)
go
PRINT 'hello' SELECT 1 / 0 SELECT * FROM nosuch
go
BEGIN TRAN SAVE TRAN s ROLLBACK TRAN s COMMIT USE tempdb
go
"

# tshark takes the feature list of LOGIN7 for GSS data; that one is its own.
malformed() {
  tshark -r "$1" -d tcp.port==1433,tds \
    -Y 'tds && (_ws.malformed || _ws.expert.severity >= 0x600000 ||
      tds.unknown_tds_token)' \
    -T fields -e frame.number -e _ws.expert.message 2>/dev/null |
    grep -v 'Unknown header (class=0'
}

for mode in off login-only self-signed; do
  for version in 7.1 7.2 7.3 7.4; do
    tap=$work/$mode-$version.pcap
    start_server --tls "$mode" --tap "$tap" || exit 1
    printf '%s' "$session" |
      TDSVER=$version timeout 20 tsql -o q -H 127.0.0.1 -p "$port" -U sa -P x \
        >/dev/null 2>&1
    stop_server
    check "tls $mode, TDS $version: nothing malformed" "" "$(malformed "$tap")"
    requests=$(tshark -r "$tap" -d tcp.port==1433,tds -Y 'tds.type == 1' \
      2>/dev/null | wc -l)
    check "tls $mode, TDS $version: the batches are there" 4 "$requests"
    logins=$(tshark -r "$tap" -d tcp.port==1433,tds -Y 'tds.type == 16' \
      2>/dev/null | wc -l)
    check "tls $mode, TDS $version: the login is there" 1 "$logins"
  done
done

finish
