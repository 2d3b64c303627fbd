#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The library never prints, exits, aborts or reads the environment, and has no writable data of its
# own. Checked in the sources and, where a build tree is given, in its objects: names hidden behind
# macros and static variables show there. Two files are exempt: the CDCSIS dialect has global variables
# and prints and writes files by contract, and keeps them in one place each. Usage: check_forbidden.sh [BUILD]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-}
words='abort|exit|_exit|_Exit|quick_exit|printf|fprintf|vprintf|vfprintf|puts|putchar|perror|getenv|secure_getenv|setenv|putenv|setlocale|system'
failed=0
exempt='src/cdcsis/(globals|output)\.c'

# calls BEFORE WORDS NOTE: calls in the files named on standard input. A call is a word followed by a bracket, and not
# behind one of the characters BEFORE; comments and strings do not count.
calls() {
  xargs awk -v before="$1" -v words="$2" -v note="$3" -v root="$root/" '
    BEGIN { call = "(^|[^" before "])(" words ")[ \t]*\\(" }
    {
      line = $0
      gsub(/\\"/, "", line)
      gsub(/"[^"]*"/, "\"\"", line)
      sub(/\/\/.*/, "", line)
      gsub(/\/\*.*\*\//, "", line)
      if (line ~ call) {
        print substr(FILENAME, length(root) + 1) ":" FNR ":" line note
        found = 1
      }
    }
    END { exit found }'
}
find "$root/src" -name '*.[ch]' | grep -vE "/$exempt\$" | sort | calls A-Za-z0-9_ "$words" "" || failed=1

# last digits of these differ from one C library to another: base/elementary.h has them
elementary='sin|cos|tan|sincos|exp2|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|exp|expm1|log|log2|log10|log1p|pow|cbrt|erf|erfc|tgamma|lgamma'
find "$root"/src/{base,ir,symbolic,model,native,numeric,engine,sensitivity,rules,experiment,blocks} -name '*.[ch]' |
  grep -vE '/(number_write|elementary)\.[ch]$' | sort | calls 'A-Za-z0-9_.>' "$elementary" ' (use base_ of it)' || failed=1

# sanitizers and coverage add calls and data of their own: there the sources have to do
instrumented=no
if [ -n "$build" ] && grep -qE '^(SALTUS_SANITIZE:[^=]*=.+|CMAKE_C_FLAGS_DEBUG:[^=]*=.*--coverage.*)$' "$build/CMakeCache.txt"; then
  instrumented=yes
fi
if [ -n "$build" ] && [ "$instrumented" = no ]; then
  objects() { find "$build/CMakeFiles" -path '*saltus_objects_*' -name '*.o' | grep -vE "/$exempt\.o\$" | sort; }
  uses=$(objects | xargs nm -A --undefined-only --format=posix |
    awk -v names="^((__)?($words)(_chk)?|stdout|stderr)\$" '$2 ~ names { print $1, "uses", $2 }')
  # passed as pointers they have no bracket behind them
  libm=$(objects | grep -E '/src/(base|ir|symbolic|model|native|numeric|engine|sensitivity|rules|experiment|blocks)/' |
    xargs nm -A --undefined-only --format=posix | awk -v names="^($elementary)\$" '$2 ~ names { print $1, "uses", $2, "(use base_ of it)" }')
  # .data.rel.ro holds constants with addresses in them; names with a dot first are sections
  data=$(objects | xargs objdump -t | awk '
    / file format / { object = $1; next }
    $NF !~ /^\./ {
      for (i = 1; i < NF; i++)
        if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && $i !~ /^\.data\.rel\.ro/)
          print object, "has writable data:", $NF, $i
    }')
  if [ -n "$uses$libm$data" ]; then
    printf '%s\n%s\n%s\n' "$uses" "$libm" "$data" | sed -e '/^$/d' -e "s@^$build/@@"
    failed=1
  fi
fi

[ "$failed" = 0 ] && echo "forbidden calls and data: none"
exit "$failed"
