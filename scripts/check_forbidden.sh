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

# sources: a call is a word followed by a bracket; comments and strings do not count
strip_comments() {
  sed -e 's@\\"@@g' -e 's@"[^"]*"@""@g' -e 's@//.*@@' -e 's@/\*.*\*/@@g' "$1"
}
while IFS= read -r file; do
  found=$(strip_comments "$file" | grep -nE "(^|[^A-Za-z0-9_])($words)[[:space:]]*\(" || true)
  if [ -n "$found" ]; then
    while IFS= read -r line; do echo "${file#"$root"/}:$line"; done <<<"$found"
    failed=1
  fi
done < <(find "$root/src" -name '*.[ch]' | grep -vE "/$exempt\$" | sort)

# last digits of these differ from one C library to another: base/elementary.h has them
elementary='sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|atanh|exp|expm1|log|log2|log10|log1p|pow|cbrt|erf|erfc|tgamma|lgamma'
while IFS= read -r file; do
  found=$(strip_comments "$file" | grep -nE "(^|[^A-Za-z0-9_.>])($elementary)[[:space:]]*\(" || true)
  if [ -n "$found" ]; then
    while IFS= read -r line; do echo "${file#"$root"/}:$line (use base_ of it)"; done <<<"$found"
    failed=1
  fi
done < <(find "$root"/src/{base,ir,symbolic,model,native,numeric,engine,sensitivity,rules,experiment,blocks} -name '*.[ch]' | grep -vE '/(number_write|elementary)\.[ch]$' | sort)

# sanitizers and coverage add calls and data of their own: there the sources have to do
instrumented=no
if [ -n "$build" ] && grep -qE '^(SALTUS_SANITIZE:[^=]*=.+|CMAKE_C_FLAGS_DEBUG:[^=]*=.*--coverage.*)$' "$build/CMakeCache.txt"; then
  instrumented=yes
fi
if [ -n "$build" ] && [ "$instrumented" = no ]; then
  while IFS= read -r object; do
    short=${object#"$build"/}
    calls=$(nm --undefined-only --format=just-symbols "$object" |
      grep -E "^(__)?($words)(_chk)?$|^stdout$|^stderr$" || true)
    if [ -n "$calls" ]; then
      echo "$short uses:" $calls
      failed=1
    fi
    # .data.rel.ro holds constants with addresses in them; names with a dot first are sections
    data=$(objdump -t "$object" | awk '
      $NF !~ /^\./ {
        for (i = 1; i < NF; i++)
          if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && $i !~ /^\.data\.rel\.ro/) print $NF, $i
      }')
    if [ -n "$data" ]; then
      echo "$short has writable data:" $data
      failed=1
    fi
  done < <(find "$build/CMakeFiles" -path '*saltus_objects_*' -name '*.o' | grep -vE "/$exempt\.o\$" | sort)
fi

[ "$failed" = 0 ] && echo "forbidden calls and data: none"
exit "$failed"
