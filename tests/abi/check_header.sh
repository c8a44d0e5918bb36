#!/bin/sh
# SPDX-License-Identifier: MIT
# check_header.sh HEADER... - public headers say everything in types that every
# language and every compiler lays out alike, and compile alone.
#
# Prints each breach with file and line; exit 1 if there is one.
set -eu

failed=0
passed=0
vague='enum|bool|_Bool|long|short|unsigned|signed|int|float|size_t|ssize_t'
vague="$vague|off_t|time_t|wchar_t|ptrdiff_t|uintptr_t|intptr_t|FILE"

breach() {
  echo "$1" >&2
  failed=$((failed + 1))
}

# The header with each comment replaced by blanks, so that lines keep their
# numbers.
strip_comments() {
  awk '{
    line = $0; out = ""
    while (line != "") {
      if (inside) {
        end = index(line, "*/")
        if (end == 0) { line = ""; break }
        line = substr(line, end + 2); inside = 0
      } else {
        start = index(line, "/*")
        if (start == 0) { out = out line; break }
        out = out substr(line, 1, start - 1) " "
        line = substr(line, start + 2); inside = 1
      }
    }
    print out
  }' "$1"
}

# forbid HEADER WHAT REGEX: no line outside of comments matches.
forbid() {
  found=$(strip_comments "$1" | grep -nE "$3" || true)
  if [ -n "$found" ]; then
    echo "$found" | while IFS= read -r line; do
      echo "$1:$line: $2" >&2
    done
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
}

# A public header includes <stddef.h> and <stdint.h> only.
check_includes() {
  found=$(strip_comments "$1" | grep -nE '^ *# *include' |
    grep -vE '<(stddef|stdint)\.h>' || true)
  if [ -n "$found" ]; then
    breach "$1:$found: an include that is not <stddef.h> or <stdint.h>"
  else
    passed=$((passed + 1))
  fi
}

# Signatures of a header, one a line: function pointers and prototypes.
signatures() {
  strip_comments "$1" | grep -v '^ *#' | tr '\n' ' ' | sed 's/[;{}]/\n/g' |
    grep -E '\(' | grep -vE '__attribute__|_Static_assert|WEIR_DRV_CHECK' ||
    true
}

# At most 8 parameters, no struct by value in or out.
check_signatures() {
  signatures "$1" | awk -v file="$1" '
    {
      n = split($0, part, ",")
      if (n > 8) { print file ": more than 8 parameters:" $0; bad = 1 }
      args = $0; sub(/^.*\(/, "", args)
      for (i = split(args, part, ","); i > 0; i--)
        if (part[i] ~ /struct +[a-z_]+ +[a-z_]/) {
          print file ": a struct by value:" $0; bad = 1
        }
      if ($0 ~ /^ *(const +)?struct +[a-z_]+ +[a-z_]+ *\(/ ||
          $0 ~ /^ *(typedef +)?(const +)?struct +[a-z_]+ +\(\*/) {
        print file ": returns a struct by value:" $0; bad = 1
      }
    }
    END { exit bad }' >&2 && passed=$((passed + 1)) ||
    failed=$((failed + 1))
}

# compile HEADER COMPILER FLAG...: alone, padding spelt out.
compile() {
  header=$1
  shift
  if ! command -v "$1" >/dev/null; then
    echo "skip: no $1" >&2
    return
  fi
  if echo "#include \"$header\"" | "$@" -Wall -Wextra -Wpedantic -Wpadded \
    -Werror -fsyntax-only -; then
    passed=$((passed + 1))
  else
    breach "$header: $* does not take it"
  fi
}

for header in "$@"; do
  forbid "$header" "a type whose size depends on the compiler" \
    "(^|[^A-Za-z0-9_\"])($vague)([^A-Za-z0-9_]|$)"
  forbid "$header" "a variable number of arguments" '\.\.\.|va_list'
  forbid "$header" "a bit-field" '^ *[a-z0-9_]+_t +[a-z0-9_]+ *: *[0-9]'
  check_includes "$header"
  check_signatures "$header"
  compile "$header" gcc -std=c11 -x c
  compile "$header" clang -std=c11 -x c
  compile "$header" g++ -std=c++17 -x c++
  compile "$header" clang++ -std=c++17 -x c++
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
